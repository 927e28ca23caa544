import type { FiguresQuery } from '../../../generated/console.ts'
import { formatChange } from '../../ui/numbers.ts'

type Bucket = FiguresQuery['now']['series'][number]
type Totals = FiguresQuery['now']['totals']

/** A part of a figure: its label, and its number in a bucket. */
interface Part {
  name: string
  colour: string
  of: (bucket: Bucket) => number
}

/** One counted thing, over the span and the span before. */
export interface Figure {
  title: string
  parts: readonly Part[]
  /**
   * The number above its chart. For readers there is no sum: a reader who came on two days counts
   * on each.
   */
  value: number
  before: number
  unit?: string
}

const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((all, n) => all + n, 0)

const COMMENTS = ['approved', 'pending', 'rejected', 'deleted'] as const
const DELIVERIES = ['delivered', 'pending', 'failed', 'held', 'cancelled'] as const

// Neighbouring colours also differ in lightness, for people who cannot distinguish the hues
// (console.css has both themes).
const COLOURS = {
  approved: 'var(--chart-good)',
  delivered: 'var(--chart-good)',
  pending: 'var(--chart-waiting)',
  rejected: 'var(--chart-bad)',
  failed: 'var(--chart-bad)',
  held: 'var(--chart-held)',
  deleted: 'var(--chart-gone)',
  cancelled: 'var(--chart-gone)',
}

const single = (name: string, of: (bucket: Bucket) => number): Part[] => [{ name, colour: 'var(--chart-good)', of }]

const total = (
  title: string,
  parts: readonly Part[],
  of: (totals: Totals) => number,
  { now, before }: FiguresQuery,
) => ({
  title,
  parts,
  value: of(now.totals),
  before: of(before.totals),
})

/** The figures, in the order of a publisher's interest. */
export function figuresOf(answer: FiguresQuery, interval: 'hour' | 'day'): readonly Figure[] {
  const comments = COMMENTS.map((name) => ({ name, colour: COLOURS[name], of: (at: Bucket) => at.comments[name] }))
  const deliveries = DELIVERIES.map((name) => ({
    name,
    colour: COLOURS[name],
    of: (at: Bucket) => at.deliveries[name],
  }))
  return [
    total('Comments', comments, (totals) => sum(totals.comments), answer),
    {
      title: 'Active readers',
      parts: single('readers', (bucket) => bucket.activeReaders),
      ...readersOf(answer, interval),
    },
    total(
      'Reactions',
      single('reactions', ({ reactions }) => reactions),
      (totals) => totals.reactions,
      answer,
    ),
    total(
      'Reports',
      single('reports', ({ reports }) => reports),
      (totals) => totals.reports,
      answer,
    ),
    total('Webhook deliveries', deliveries, (totals) => sum(totals.deliveries), answer),
  ]
}

/**
 * The average, without the current bucket, which is incomplete; on the first day, the present
 * number.
 */
function readersOf({ now, readersBefore }: FiguresQuery, interval: 'hour' | 'day') {
  const [value, before] = [meanReaders(now.series.slice(0, -1)), meanReaders(readersBefore.series)]
  if (value === 0 && before === 0) {
    const unit = interval === 'hour' ? 'this hour so far' : 'today so far'
    return { value: now.series.at(-1)?.activeReaders ?? 0, before, unit }
  }
  return { value, before, unit: interval === 'hour' ? 'an hour on average' : 'a day on average, before today' }
}

function meanReaders(series: readonly { activeReaders: number }[]): number {
  const all = series.reduce((readers, { activeReaders }) => readers + activeReaders, 0)
  return series.length === 0 ? 0 : Math.round((all / series.length) * 10) / 10
}

/** "+12 % against the 7 days before". */
export function changeWords({ value, before }: Pick<Figure, 'value' | 'before'>, than: string): string {
  if (before === 0) return `none in ${than}`
  if (value === before) return `as many as in ${than}`
  return `${formatChange(value / before - 1)} against ${than}`
}

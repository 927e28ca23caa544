import { AsyncLocalStorage } from 'node:async_hooks'

import { isSmallest } from './size.ts'

/** What is measured of a side in a round. It has some of these. */
export interface Figures {
  perSecond?: number
  /** Of CPU, for each of what is counted: the api's or, of a statement, PostgreSQL's. */
  cpuMicros?: number
  /** Hundredths of a core for as many of them as the bench says. */
  share?: number
  /** Milliseconds. */
  p50?: number
  p99?: number
  longest?: number
  ms?: number
  cpuMs?: number
  /** The same of sixteen events at once. */
  burstMicros?: number
  bytes?: number
  burstBytes?: number
  kb?: number
  mb?: number
}

const COLUMNS: Readonly<Record<keyof Figures, readonly [name: string, unit: string]>> = {
  perSecond: ['rate', '/s'],
  cpuMicros: ['CPU', ' µs'],
  share: ['of a core', ' %'],
  p50: ['p50', ' ms'],
  p99: ['p99', ' ms'],
  longest: ['longest', ' ms'],
  ms: ['time', ' ms'],
  cpuMs: ['CPU', ' ms'],
  burstMicros: ['CPU, 16 at once', ' µs'],
  bytes: ['bytes', ''],
  burstBytes: ['bytes, 16 at once', ''],
  kb: ['memory', ' KB'],
  mb: ['memory', ' MB'],
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** The 50th and the 99th of a hundred. */
export const times = (values: readonly number[]): { p50: number; p99: number } => ({
  p50: quantile(values, 0.5),
  p99: quantile(values, 0.99),
})

/**
 * Measures each side once a round, in alternating order, because later sides run on warmer
 * processes. The first `warm` rounds do not count.
 */
export async function inTurns<K extends string, S, F>(
  sides: Readonly<Record<K, S>>,
  measure: (side: S) => Promise<F>,
  { rounds, warm = 1 }: { rounds: number; warm?: number },
): Promise<Record<K, F[]>> {
  const [first, last] = isSmallest ? [0, 1] : [-warm, rounds]
  const names = Object.keys(sides) as K[]
  const measured = Object.fromEntries(names.map((name) => [name, [] as F[]])) as Record<K, F[]>
  for (let round = first; round < last; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const figures = await measure(sides[name])
      if (round >= 0) measured[name].push(figures)
    }
  }
  return measured
}

/** Calls each side. */
export const run = <F>(side: () => Promise<F>): Promise<F> => side()

/** The side that another one is measured beside, and what is wanted. */
export type Beside = readonly [reference: string, target?: string]

/**
 * Prints the median of each figure, and those of the rounds' ratios to the first side or to the one
 * that `besides` names.
 */
export function printTurns(
  title: string,
  rounds: Readonly<Record<string, readonly Figures[]>>,
  besides: Readonly<Record<string, Beside>> = {},
): void {
  const sides = Object.entries(rounds)
  const [[first, some] = ['', []]] = sides
  const columns = (Object.keys(COLUMNS) as (keyof Figures)[]).filter((key) =>
    sides.some(([, all]) => all[0]?.[key] !== undefined),
  )
  const lines = sides.map(([name, all]) => {
    const [reference, target = '']: Beside = besides[name] ?? [first]
    const cells = columns.map((key) => cellOf(key, all, name === reference ? [] : (rounds[reference] ?? [])))
    return [name, ...cells, name === reference ? '' : reference, target]
  })
  const heads = ['', ...columns.map((key) => COLUMNS[key][0]), 'beside', 'target']
  print(`\n${title}, median of ${some.length}`)
  for (const cells of [heads, heads.map(() => '---'), ...lines]) print(`| ${cells.join(' | ')} |`)
}

function cellOf(key: keyof Figures, rounds: readonly Figures[], beside: readonly Figures[]): string {
  if (rounds[0]?.[key] === undefined) return ''
  const own = figure(median(rounds.map((each) => each[key] ?? NaN))) + COLUMNS[key][1]
  if (beside[0]?.[key] === undefined) return own
  return `${own}, ${ratioOf(rounds, beside, key).toFixed(2)} ×`
}

/** The median of the rounds' ratios. */
const ratioOf = (one: readonly Figures[], other: readonly Figures[], key: keyof Figures): number =>
  median(one.map((each, round) => (each[key] ?? NaN) / (other[round]?.[key] ?? NaN)))

export const figure = (value: number): string => value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)

const counts = new AsyncLocalStorage<{ lines: number }>()

/** Runs a bench. Throws where it prints nothing. */
export async function runBench(bench: () => Promise<void>): Promise<void> {
  const count = { lines: 0 }
  await counts.run(count, bench)
  if (count.lines === 0) throw new Error('it has printed nothing')
}

/** Prints a line. Throws if it has NaN or Infinity: the bench has failed. */
export function print(line: string): void {
  if (/\b(?:NaN|Infinity|undefined|null)\b/.test(line)) throw new Error(`a figure is missing: ${line}`)
  const count = counts.getStore()
  if (count !== undefined) count.lines++
  console.log(line)
}

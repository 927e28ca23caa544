import type { TeamQuery } from '../../../generated/console.ts'
import { nameOf } from './names.ts'

type Team = NonNullable<TeamQuery['analyticsTeam']>
type Decisions = Team['totals']
type Cell = string | number | null

const HEAD = [
  'list',
  'name',
  'kind',
  'decisions',
  'approved',
  'rejected',
  'deleted',
  'reviewed',
  'right',
  'wrong',
  'waited',
  'p50Seconds',
  'p90Seconds',
  'longestSeconds',
]

/** What the page shows, as CSV (RFC 4180): a line for each row of its tables. */
export function csvOf({ totals, deciders, rules, sections }: Team): string {
  const rows: Cell[][] = [
    HEAD,
    ['total', null, null, ...cellsOf(totals)],
    ...deciders.map((each) => ['decider', nameOf(each), each.kind, ...cellsOf(each.decisions)]),
    ...rules.map(({ reason, right, wrong, waits }) => [
      'rule',
      reason,
      null,
      right + wrong,
      null,
      null,
      null,
      null,
      right,
      wrong,
      ...waitsOf(waits),
    ]),
    ...sections.map(({ section, decisions }) => ['section', section, null, ...cellsOf(decisions)]),
  ]
  return rows.map((row) => `${row.map(written).join(',')}\r\n`).join('')
}

const cellsOf = (of: Decisions): Cell[] => {
  const { approved, rejected, deleted, reviewed, waits } = of
  return [countOf(of), approved, rejected, deleted, reviewed, null, null, ...waitsOf(waits)]
}

export const countOf = ({ approved, rejected, deleted, reviewed }: Decisions): number =>
  approved + rejected + deleted + reviewed

const waitsOf = ({ count, p50Seconds, p90Seconds, longestSeconds }: Decisions['waits']): Cell[] => [
  count,
  p50Seconds,
  p90Seconds,
  longestSeconds,
]

/** Spreadsheets take a text that begins like this for a formula, unless an apostrophe is first. */
const FORMULA = /^[=+\-@\t\r]/

function written(cell: Cell): string {
  if (typeof cell !== 'string') return String(cell ?? '')
  const text = FORMULA.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** What an import can bring, and what an export has. */
export const COUNTED = [
  'readers',
  'discussions',
  'comments',
  'revisions',
  'reactions',
  'reports',
  'settings',
  'endpoints',
  'auditEntries',
] as const

/** How many of each kind. What there is none of may be missing. */
export type TransferCounts = Partial<Record<(typeof COUNTED)[number], number>>

export const addCounts = (one: TransferCounts, other: TransferCounts): TransferCounts =>
  Object.fromEntries(
    COUNTED.flatMap((name) => {
      const sum = (one[name] ?? 0) + (other[name] ?? 0)
      return sum === 0 ? [] : [[name, sum]]
    }),
  )

/** Something of a file that was not taken, or not as it stands there. */
export interface ImportFinding {
  place: string
  reason: string
}

/** How many there are, and the first of them. */
export interface ImportFindings {
  total: number
  first: readonly ImportFinding[]
}

/** What of the rows of a table an import has used. */
export interface TableUse {
  rows: number
  used: number
  /** The first rows that were not, by number: their texts may have addresses of people. */
  firstUnused: string[]
}

/** The same of the tables of `--map` and `--authors`, where they were given. */
export interface TableUses {
  map?: TableUse
  authors?: TableUse
}

/** The same without the rows that were not used. */
export const sumsOf = (tables: TableUses): Record<string, Pick<TableUse, 'rows' | 'used'>> =>
  Object.fromEntries(Object.entries(tables).map(([name, { rows, used }]: [string, TableUse]) => [name, { rows, used }]))

const MAX_KEPT = 100

export const NO_FINDINGS: ImportFindings = { total: 0, first: [] }

export const addFindings = ({ total, first }: ImportFindings, more: readonly ImportFinding[]): ImportFindings => ({
  total: total + more.length,
  first: first.length >= MAX_KEPT ? first : [...first, ...more].slice(0, MAX_KEPT),
})

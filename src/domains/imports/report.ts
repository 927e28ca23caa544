/** The counted kinds of items in imports and exports. */
export const COUNTED = [
  'readers',
  'discussions',
  'comments',
  'revisions',
  'reactions',
  'reports',
  'settings',
  'endpoints',
  'sites',
  'notices',
  'mutes',
  'auditEntries',
] as const

/** The number of items of each kind. Zeros may be missing. */
export type TransferCounts = Partial<Record<(typeof COUNTED)[number], number>>

export const addCounts = (one: TransferCounts, other: TransferCounts): TransferCounts =>
  Object.fromEntries(
    COUNTED.flatMap((name) => {
      const sum = (one[name] ?? 0) + (other[name] ?? 0)
      return sum === 0 ? [] : [[name, sum]]
    }),
  )

/** An item of a file that was refused, or changed. */
export interface ImportFinding {
  place: string
  reason: string
}

/** Their number, and the first of them. */
export interface ImportFindings {
  total: number
  first: readonly ImportFinding[]
}

/** How many rows of a table an import has used. */
export interface TableUse {
  rows: number
  used: number
  /** The numbers of the first unused rows: their texts may contain personal addresses. */
  firstUnused: string[]
}

/** How the tables of `--map` and `--authors` were used, if given. */
export interface TableUses {
  map?: TableUse
  authors?: TableUse
}

/** The counts of the tables, without the unused rows. */
export const sumsOf = (tables: TableUses): Record<string, Pick<TableUse, 'rows' | 'used'>> =>
  Object.fromEntries(Object.entries(tables).map(([name, { rows, used }]: [string, TableUse]) => [name, { rows, used }]))

const MAX_KEPT = 100
/** A file may give an item an id of any length, which its place names. */
const MAX_LENGTH = 300

const cut = (text: string): string => (text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH).toWellFormed()}…` : text)

export const NO_FINDINGS: ImportFindings = { total: 0, first: [] }

export const addFindings = ({ total, first }: ImportFindings, more: readonly ImportFinding[]): ImportFindings => ({
  total: total + more.length,
  first: [
    ...first,
    ...more.slice(0, MAX_KEPT - first.length).map(({ place, reason }) => ({ place: cut(place), reason: cut(reason) })),
  ],
})

/** The numbers that an undo has removed. */
export interface Removed {
  readers: number
  comments: number
}

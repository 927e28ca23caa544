/** What an import can bring. */
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
export type Counts = Partial<Record<(typeof COUNTED)[number], number>>

export const addCounts = (one: Counts, other: Counts): Counts =>
  Object.fromEntries(
    COUNTED.flatMap((name) => {
      const sum = (one[name] ?? 0) + (other[name] ?? 0)
      return sum === 0 ? [] : [[name, sum]]
    }),
  )

/** Something of a file that was not taken, or not as it stands there. */
export interface Finding {
  place: string
  reason: string
}

/** How many there are, and the first of them. */
export interface Findings {
  total: number
  first: readonly Finding[]
}

const MAX_KEPT = 100

export const NO_FINDINGS: Findings = { total: 0, first: [] }

export const addFindings = ({ total, first }: Findings, more: readonly Finding[]): Findings => ({
  total: total + more.length,
  first: first.length >= MAX_KEPT ? first : [...first, ...more].slice(0, MAX_KEPT),
})

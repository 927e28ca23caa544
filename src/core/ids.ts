import { randomUUID } from 'node:crypto'

/** A UUIDv7 in lower case: time-ordered, so that "newest" is the primary key's own order. */
export type Id = string

/** The time of this process's latest id. */
let ms = 0
let time = ''
let counter = 0

/**
 * A new id, greater than all ids that this process has made before (RFC 9562, section 6.2, method
 * 1). Its random bits come from `randomUUID`, for which Node draws many at once: asking the system
 * for each id took 4 % of the CPU of a posted comment.
 */
export function newId(): Id {
  const random = randomUUID()
  const now = Date.now()
  // Within a millisecond the counter increments, from a random start in the lower half of its
  // range.
  if (now > ms) begin(now, Number.parseInt(random.slice(0, 3), 16) >> 1)
  else if (++counter > MAX_COUNTER) begin(ms + 1, 0)
  return `${time}-7${counter.toString(16).padStart(3, '0')}${random.slice(18)}`
}

const MAX_COUNTER = 0xfff

function begin(at: number, first: number): void {
  ms = at
  time = timeOf(at)
  counter = first
}

const timeOf = (at: number): string => {
  const hex = at.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}`
}

/**
 * Less and greater than every id. A list begins at one of them, so that its first page has the same
 * query plan as all others.
 */
export const FIRST_ID: Id = '00000000-0000-0000-0000-000000000000'
export const LAST_ID: Id = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/**
 * Whether a text has the form of an id. Others are not found without a query. The two bounds above
 * are no ids.
 */
export const isId = (text: string): boolean => UUID.test(text) && text !== FIRST_ID && text !== LAST_ID

/** An id as it is stored: a UUID may be written in upper case. Any other text stays as it is. */
export function inLowerCase(text: string): string {
  if (text.length !== LAST_ID.length || isId(text)) return text
  const lower = text.toLowerCase()
  return isId(lower) ? lower : text
}

/** When an id was made (ms since 1970). */
export const timeOfId = (id: Id): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

/** A lower bound for ids made from `at` on; ids made before are less. */
export const firstIdAt = (at: Date): Id => `${timeOf(Math.max(0, at.getTime()))}-7000-8000-000000000000`

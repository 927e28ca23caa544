import { v7 } from 'uuid'

/** A UUIDv7 in lower case: time-ordered, so that "newest" is the primary key's own order. */
export type Id = string

export const newId = (): Id => v7()

/**
 * Before and after every id: where a list begins, so that its first page has the plan of every
 * other.
 */
export const FIRST_ID: Id = '00000000-0000-0000-0000-000000000000'
export const LAST_ID: Id = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether a text can be an id at all. What cannot be one is simply not found. */
export const isId = (text: string): boolean => UUID.test(text)

/** Not after any id that is made from `at` on, and after those that were made before. */
export const firstIdAt = (at: Date): Id => {
  const time = Math.max(0, at.getTime()).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
}

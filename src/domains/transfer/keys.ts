import { sha256 } from '../../core/crypto.ts'
import type { Id } from '../../core/ids.ts'

/** A digest that stands for an item of a source, in the form of a UUID. */
export type Key = string

type Kind = 'reader' | 'discussion' | 'comment' | 'reaction' | 'report' | 'name'

/** The key of an item: of the ids that make it one at its source. */
export function keyOf(source: string, kind: Kind, ...ids: readonly string[]): Key {
  const hex = sha256(JSON.stringify([source, kind, ...ids])).toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}

/**
 * The id of what an item becomes: a UUIDv7 of its time, so that lists have it in its place, and
 * otherwise made of its key. The same item always gets the same id: an import that was cut off goes
 * on with it.
 */
export function idAt(key: Key, at: Date): Id {
  const time = at.getTime().toString(16).padStart(12, '0')
  const rest = key.replaceAll('-', '')
  const variant = ((Number.parseInt(rest.charAt(3), 16) & 3) | 8).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-${variant}${rest.slice(4, 7)}-${rest.slice(7, 19)}`
}

import { sha256Hex } from '../../core/secrets/crypto.ts'
import type { Id } from '../../core/ids.ts'

/** A digest that identifies an item of a source, in the form of a UUID. */
export type Key = string

type Kind = 'reader' | 'discussion' | 'comment' | 'reaction' | 'shadow_reaction' | 'report' | 'mute' | 'name'

/** Comments refer to the same pages, parents and readers again and again. */
const MAX_RECENT = 20_000
const recent = new Map<string, Key>()

/** The key of an item, made of the ids that identify it at its source. */
export function keyOf(source: string, kind: Kind, ...ids: readonly string[]): Key {
  const name = JSON.stringify([source, kind, ...ids])
  const known = recent.get(name)
  if (known !== undefined) return known
  const hex = sha256Hex(name)
  const key = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
  if (recent.size >= MAX_RECENT) recent.clear()
  recent.set(name, key)
  return key
}

/**
 * The id of the row for an item: a UUIDv7 with its time, so that lists have it in the right place,
 * and bits of its key. The same item always gets the same id, so an interrupted import continues
 * with it.
 */
export function idAt(key: Key, at: Date): Id {
  const time = at.getTime().toString(16).padStart(12, '0')
  const variant = ((Number.parseInt(key.charAt(3), 16) & 3) | 8).toString(16)
  const rest = `${key.slice(4, 7)}-${key.charAt(7)}${key.slice(9, 13)}${key.slice(14, 18)}${key.slice(19, 22)}`
  return `${time.slice(0, 8)}-${time.slice(8)}-7${key.slice(0, 3)}-${variant}${rest}`
}

/** A key for an external id within one import. The import's id keeps it from being guessed. */
export const nameKey = (importId: Id, externalId: string): Key => keyOf(importId, 'name', externalId)

import type { FieldError } from '../../core/errors.ts'
import { firstIdAt, isId } from '../../core/ids.ts'
import { externalIdSchema, hasAtMost, webUrl } from '../../core/input/texts.ts'
import { check } from '../../core/input/validate.ts'
import type { TenantSettings } from '../../core/settings/tenant.ts'
import { type Key, keyOf } from '../../domains/imports/keys.ts'
import type { Item } from '../item.ts'
import type { PageRules } from '../pages.ts'

// What the checks of all kinds of items share.

/** The rules for the items of one import. */
export interface Rules extends PageRules {
  /** The scope in which ids are unique. */
  source: string
  /** Whether it is an export of this service, whose ids are kept. */
  keepsIds: boolean
  /** Whether it may set who signs in to the console. An upload may be of an admin, who may not. */
  setsStaff: boolean
  settings: Pick<TenantSettings, 'reactionTypes'>
  /** The tenant's own ids of readers, by lower-case e-mail address or by id at the source. */
  authors: ReadonlyMap<string, string>
  /** The latest time of any item. */
  now: Date
}

export class Refused extends Error {}

/** The first error, with its field: `body must have at most 9 characters`. */
export const inWords = ([{ pointer, message }]: [FieldError, ...FieldError[]], field = pointer.slice(1)): string =>
  `${field.replaceAll('/', '.') || 'it'} ${message}`

export interface Checking extends Rules {
  place: string
  changes: string[]
}

export function begin(item: Item & { id: string }, key: Key, checking: Checking) {
  const { place, keepsIds, changes } = checking
  const isKept = keepsIds && isId(item.id)
  const isAhead = isKept && liesAhead(item.id, checking)
  if (isAhead) changes.push('id: lies in the future, and becomes another one')
  return { key, place, keptId: isKept && !isAhead ? item.id : null, item }
}

/** Lists are sorted by the time in ids: an id in the future would stay at the top. */
export const liesAhead = (id: string, { now }: Checking): boolean => id >= firstIdAt(new Date(now.getTime() + DAY_MS))

export const keyOrNull = (source: string, kind: 'comment' | 'reader', id: string | null | undefined): Key | null =>
  id == null ? null : keyOf(source, kind, id)

export const dateOf = (text: string | null | undefined): Date | null => (text == null ? null : new Date(text))

const DAY_MS = 86_400_000

/**
 * When an item was made. A time at most a day ahead is taken for a wrong clock or time zone, and
 * replaced by now: lists are sorted by it, and the item would stay at the top.
 */
export function createdAtOf({ createdAt }: { createdAt?: string | null | undefined }, checking: Checking): Date | null {
  const date = dateOf(createdAt)
  if (date === null) return null
  if (date.getTime() > checking.now.getTime() + DAY_MS) throw new Refused('createdAt: lies in the future')
  return pastAt('createdAt', date, checking)
}

/** Fields with an optional time. */
export type PastField<Given> = keyof {
  [Field in keyof Given as Given[Field] extends string | null | undefined ? Field : never]: Field
}

/** The time of a past event. */
export function pastOf(field: string, text: string | null | undefined, checking: Checking): Date | null {
  const date = dateOf(text)
  return date === null ? null : pastAt(field, date, checking)
}

export function pastAt(field: string, date: Date, { now, changes }: Checking): Date {
  if (date <= now) return date
  changes.push(`${field}: lies in the future and is taken as now`)
  return now
}

/**
 * A value that only an export of this service can know. In other files it is ignored or computed.
 */
export function ofExport<Value>(field: string, value: Value | null, { keepsIds, changes }: Checking): Value | null {
  if (keepsIds || value === null) return value
  changes.push(`${field}: is only taken from an export of this service, which begins with a header`)
  return null
}

/** A text beside comments, which may be shortened. */
export function shortOf(
  text: string | null | undefined,
  max: number,
  name: string,
  { changes }: Checking,
): string | null {
  if (text == null) return null
  if (hasAtMost(text, max)) return text
  changes.push(`has a ${name} of more than ${max} characters: its end is left out`)
  return Array.from(text).slice(0, max).join('')
}

export function externalIdOf(text: string, schema = externalIdSchema): string {
  const parsed = check(schema, text)
  if ('errors' in parsed) throw new Refused(inWords(parsed.errors, 'externalId'))
  return parsed.data
}

export const urlOf = (text: string | null | undefined): string | null => {
  const url = webUrl.nullish().safeParse(text)
  return url.success ? (url.data ?? null) : null
}

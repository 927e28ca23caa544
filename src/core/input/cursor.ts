import { type ServiceError, invalid } from '../errors.ts'
import { type Id, isId } from '../ids.ts'
import { isBase64url } from './base64url.ts'
import { reachOf } from './validate.ts'

/** An opaque cursor: the sort that it belongs to, and the key of the last row. */
export const encodeCursor = (sort: string, ...key: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify([sort, ...key])).toString('base64url')

/** The cursor before the first row: the page after it is the first page. */
export const START = encodeCursor('start')

/**
 * The key in a cursor of `sort`, each part as text. Null without a cursor. Throws
 * `validation_failed` at `/after`.
 */
export function decodeCursor(sort: string, parts: number, cursor: string | null | undefined): string[] | null {
  if (cursor == null || cursor === START) return null
  const key = parse(cursor)
  if (key === undefined || key[0] !== sort || key.length !== parts + 1) {
    throw badCursor()
  }
  return key.slice(1).map(String)
}

/** The error for a cursor that is malformed, or belongs to another list. */
export const badCursor = (): ServiceError => invalid('/after', 'invalid', 'is not a cursor of this list')

/** The id in a cursor. */
export function idOf(text: string | undefined): Id {
  if (text === undefined || !isId(text)) throw badCursor()
  return text
}

/**
 * The id in a cursor of a list that is sorted by id; null without a cursor. Throws
 * `validation_failed` at `/after`.
 */
export function idInCursor(list: string, cursor: string | null | undefined): Id | null {
  const key = decodeCursor(list, 1, cursor)
  return key === null ? null : idOf(key[0])
}

/** The count in a cursor: it must fit PostgreSQL's `integer`. */
export function countOf(text: string | undefined): number {
  const count = Number(text)
  if (text === undefined || !/^\d{1,10}$/.test(text) || count > 2_147_483_647) throw badCursor()
  return count
}

/** The instant in a cursor. */
export function instantOf(text: string | undefined): string {
  const at = Date.parse(text ?? '')
  if (Number.isNaN(at) || reachOf(at) !== null) throw badCursor()
  return new Date(at).toISOString()
}

function parse(cursor: string): unknown[] | undefined {
  if (!isBase64url(cursor)) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    return Array.isArray(value) && value.every((part) => typeof part === 'string' || typeof part === 'number')
      ? value
      : undefined
  } catch {
    return undefined
  }
}

import { wholeTime } from '../../ui/clock.ts'

/** The change of one field. For a list of words: the added and the removed words. */
export interface AuditChange {
  field: string
  before: string | null
  after: string | null
}

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const isPlain = (value: unknown): boolean => typeof value !== 'object' || value === null

/** Every field by path, such as `policy.timeoutMs`. */
function flattened(value: unknown, path = ''): Map<string, unknown> {
  if (!isObject(value)) return new Map(value === undefined ? [] : [[path, value]])
  return new Map(
    Object.entries(value).flatMap(([name, each]) => [...flattened(each, path === '' ? name : `${path}.${name}`)]),
  )
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/

/** Texts that read like another value of `shown`. */
const LIKE_OTHERS = new Set(['none', 'empty', 'yes', 'no'])

const shownText = (text: string): string => {
  if (text === '') return 'empty'
  if (LIKE_OTHERS.has(text)) return `“${text}”`
  return INSTANT.test(text) ? wholeTime(text) : text
}

/** In words, without the signs of JSON. */
function shown(value: unknown): string | null {
  if (value === undefined) return null
  if (value === null) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string') return shownText(value)
  if (Array.isArray(value)) return listed(value.map(shown), ', ')
  if (typeof value === 'number') return String(value)
  return listed(
    Object.entries(value).map(([name, each]) => `${name} ${shown(each)}`),
    ' ',
  )
}

const listed = (parts: readonly (string | null)[], between: string): string => parts.join(between) || 'none'

/**
 * The changed fields, in order; for something created or deleted, all of its fields. `wordsOf` has
 * the words for a text of a field, where it is chosen from a list.
 */
export function changesOf(
  before: unknown,
  after: unknown,
  wordsOf: (field: string, text: string) => string | undefined = () => undefined,
): AuditChange[] {
  const said = (field: string, value: unknown): string | null =>
    (typeof value === 'string' ? wordsOf(field, value) : undefined) ?? shown(value)
  const [old, now] = [flattened(before ?? undefined), flattened(after ?? undefined)]
  const fields = [...new Set([...old.keys(), ...now.keys()])]
  return fields.flatMap((field) => {
    const [was, is] = [old.get(field), now.get(field)]
    // Missing before and null after, or the reverse, is no change worth showing. Null and an empty
    // list are none either.
    if (JSON.stringify(was ?? null) === JSON.stringify(is ?? null) || (isNone(was) && isNone(is))) return []
    if (isWords(was) && isWords(is)) return wordChange(field, was, is)
    return [{ field, before: said(field, was), after: said(field, is) }]
  })
}

const isNone = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0)
const isWords = (value: unknown): value is unknown[] => Array.isArray(value) && value.every(isPlain)

function wordChange(field: string, was: readonly unknown[], is: readonly unknown[]): AuditChange[] {
  const words = (list: readonly unknown[], without: readonly unknown[]): string | null => {
    const rest = list.filter((each) => !without.includes(each))
    return rest.length === 0 ? null : shown(rest)
  }
  const change = { field, before: words(was, is), after: words(is, was) }
  // The same words in another order.
  return [change.before === null && change.after === null ? { field, before: shown(was), after: shown(is) } : change]
}

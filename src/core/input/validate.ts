import type { z } from 'zod'

import { type FieldError, MAX_FIELD_ERRORS, validationFailed } from '../errors.ts'
import { counted } from './texts.ts'

/**
 * Checks `input` against `schema`. Throws `validation_failed` with a pointer to each wrong value.
 */
export function validate<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const result = check(schema, input)
  if ('data' in result) return result.data
  throw validationFailed(result.errors)
}

/** Checks `input` against `schema`, and returns the data or the first errors. */
export function check<S extends z.ZodType>(
  schema: S,
  input: unknown,
): { data: z.output<S> } | { errors: [FieldError, ...FieldError[]] } {
  const result = schema.safeParse(input, { error: unsaid, reportInput: true })
  if (result.success) return { data: result.data }
  // A failed parse always has issues.
  const errors = result.error.issues.slice(0, MAX_FIELD_ERRORS).flatMap(fieldErrors)
  return { errors: errors as [FieldError, ...FieldError[]] }
}

/**
 * The text of an error for which neither the schema nor `fieldErrors` has one. Callers never see
 * zod's own texts.
 */
const unsaid = ({ code, format }: { code?: string; format?: unknown }): string =>
  code === 'invalid_format' && format === 'url' ? 'must be an http or https URL' : 'has the wrong form'

/** A JSON pointer (RFC 6901) from a path. */
export const pointer = (path: readonly PropertyKey[]): string =>
  path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** The required type, in words, for a value of another type. */
const EXPECTED: Readonly<Record<string, string>> = {
  array: 'must be a list',
  boolean: 'must be true or false',
  int: 'must be a whole number',
  number: 'must be a number',
  object: 'must be an object',
  string: 'must be a string',
}

function fieldErrors(issue: z.core.$ZodIssue): FieldError[] {
  const at = pointer(issue.path)
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.slice(0, MAX_FIELD_ERRORS).map((key) => ({
        pointer: `${at}${pointer([key])}`,
        code: 'unknown_field',
        message: 'is not a field of this request',
      }))
    case 'invalid_type':
      return [
        issue.input == null
          ? { pointer: at, code: 'required', message: 'is required' }
          : { pointer: at, code: 'wrong_type', message: EXPECTED[issue.expected] ?? 'has the wrong type' },
      ]
    case 'too_small':
      return [{ pointer: at, ...size(issue.origin, 'too_short', 'too_small', 'at least', issue.minimum) }]
    case 'too_big':
      return [{ pointer: at, ...size(issue.origin, 'too_long', 'too_large', 'at most', issue.maximum) }]
    case 'invalid_value':
      return [{ pointer: at, code: 'not_allowed', message: `must be one of ${issue.values.map(String).join(', ')}` }]
    case 'custom':
      return [{ pointer: at, code: String(issue.params?.code ?? 'invalid'), message: issue.message }]
    default:
      return [{ pointer: at, code: 'invalid', message: lowerFirst(issue.message) }]
  }
}

function size(origin: string, short: string, small: string, words: string, bound: number | bigint) {
  if (origin === 'string') return { code: short, message: `must have ${words} ${counted(bound, 'character')}` }
  if (origin === 'array') return { code: short, message: `must have ${words} ${counted(bound, 'entry', 'entries')}` }
  return { code: small, message: `must be ${words} ${bound}` }
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

// RFC 3339 writes no year after 9999. Nothing here is older than the ids, which count milliseconds
// since 1970.
const EARLIEST = 0
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/**
 * What is wrong with an instant in milliseconds since 1970; null where it may be stored and
 * compared.
 */
export function reachOf(at: number): 'too_small' | 'too_large' | null {
  if (at < EARLIEST) return 'too_small'
  return at > LATEST ? 'too_large' : null
}

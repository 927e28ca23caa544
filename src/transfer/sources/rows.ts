import { z } from 'zod'

import { type Found, tooMuchIn } from '../item.ts'

/** Values that programs omit, or write as null. */
export const text = z.string().nullish()
export const flag = z.boolean().nullish()

/**
 * Parses what a source has in one place, with the schema of the fields that are read; or says why
 * it cannot be taken.
 */
export function parseRow<S extends z.ZodObject>(
  schema: S,
  value: unknown,
  place: string,
  isBounded = true,
): { row: z.output<S>; found?: never } | { row?: never; found: Found } {
  const tooMuch = isBounded ? tooMuchIn(value) : null
  if (tooMuch !== null) return { found: { place, refused: tooMuch } }
  const parsed = schema.safeParse(value)
  if (parsed.success) return { row: parsed.data }
  const [issue] = parsed.error.issues
  const refused = `${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'is not valid'}`
  return { found: { place, refused, ...(lacksMost(schema, value) && { isForeign: true }) } }
}

/**
 * Whether a value lacks most of the fields that its format requires, and most of those that it
 * knows. A field alone may be damaged.
 */
function lacksMost(schema: z.ZodObject, value: unknown): boolean {
  const fields = z.record(z.string(), z.unknown()).safeParse(value).data
  if (fields === undefined) return true
  const lacks = (names: readonly string[]): boolean =>
    names.filter((name) => fields[name] === undefined).length * 2 > names.length
  const required = schema.safeParse({}).error?.issues.map(({ path }) => String(path[0])) ?? []
  return lacks(required) && lacks(Object.keys(schema.shape))
}

/**
 * A line of JSON as a row of `schema`, or why it is refused. One that is not bounded may have any
 * number of values.
 */
export function parseLine<S extends z.ZodObject>(
  schema: S,
  line: string | null,
  place: string,
  { reviver, isBounded }: { reviver?: (key: string, value: unknown) => unknown; isBounded?: boolean } = {},
) {
  if (line === null) return { found: { place, refused: 'is too long' } as Found }
  try {
    const value: unknown = JSON.parse(line)
    // A reviver takes ten times as long as the parser, so it is given lines of few values alone.
    const isRevived = reviver !== undefined && tooMuchIn(value) === null
    return parseRow(schema, isRevived ? JSON.parse(line, reviver) : value, place, isBounded)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    // The library's message quotes the line, which contains people's texts.
    return { found: { place, refused: 'is not JSON' } as Found }
  }
}

/** An address unchanged; null for those that stand for none. */
export const addressIn = (address: string | null | undefined): string | null =>
  address == null || address === '' || address === 'undefined' ? null : address

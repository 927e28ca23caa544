import { z } from 'zod'

import type { Found } from '../item.ts'

/** Values that programs omit, or write as null. */
export const text = z.string().nullish()
export const flag = z.boolean().nullish()

/**
 * Parses what a source has in one place, with the schema of the fields that are read; or says why
 * it cannot be taken.
 */
export function parseRow<S extends z.ZodType>(
  schema: S,
  value: unknown,
  place: string,
): { row: z.output<S>; found?: never } | { row?: never; found: Found } {
  const parsed = schema.safeParse(value)
  if (parsed.success) return { row: parsed.data }
  const [issue] = parsed.error.issues
  const refused = `${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'is not valid'}`
  return { found: { place, refused, ...(lacks(value, issue?.path ?? []) && { isForeign: true }) } }
}

const lacks = (value: unknown, [field, ...inner]: readonly PropertyKey[]): boolean =>
  field === undefined ||
  (inner.length === 0 && z.record(z.string(), z.unknown()).safeParse(value).data?.[String(field)] === undefined)

/** The same for a line of JSON. */
export function parseLine<S extends z.ZodType>(
  schema: S,
  line: string | null,
  place: string,
  reviver?: (key: string, value: unknown) => unknown,
) {
  if (line === null) return { found: { place, refused: 'is too long' } as Found }
  try {
    return parseRow(schema, JSON.parse(line, reviver), place)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    // The library's message quotes the line, which contains people's texts.
    return { found: { place, refused: 'is not JSON' } as Found }
  }
}

/** An address unchanged; null for those that stand for none. */
export const addressIn = (address: string | null | undefined): string | null =>
  address == null || address === '' || address === 'undefined' ? null : address

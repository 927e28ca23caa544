import { z } from 'zod'

const SHAPE_EXTENSION = 'shape'

/**
 * Adds to a type, field or argument what GraphQL cannot express, for the reference: the bounds of
 * an input, from the schema of its operation's check, or the form of a JSON value.
 */
export const shapedBy = (shape: z.ZodType): { shape: z.ZodType } => ({ [SHAPE_EXTENSION]: shape })

/**
 * The shape as a JSON Schema (draft 2020-12); undefined if there is none. Parts that JSON Schema
 * cannot express are left out.
 */
export function shapeOf(extensions: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const shape = extensions[SHAPE_EXTENSION]
  if (!(shape instanceof z.ZodType)) return undefined
  return z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' })
}

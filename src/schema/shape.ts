import { z } from 'zod'

const SHAPE_EXTENSION = 'shape'

/**
 * Says of a type, field or argument what the schema language cannot: bounds of an input, by the
 * schema that its operation checks it with, or the form of a JSON value. It stands in the
 * reference.
 */
export const shapedBy = (shape: z.ZodType): { shape: z.ZodType } => ({ [SHAPE_EXTENSION]: shape })

/**
 * The shape as a JSON Schema (draft 2020-12); undefined where none is given. What JSON Schema
 * cannot say is left out.
 */
export function shapeOf(extensions: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const shape = extensions[SHAPE_EXTENSION]
  if (!(shape instanceof z.ZodType)) return undefined
  return z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' })
}

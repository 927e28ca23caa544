import { z } from 'zod'

import { grouped } from '../core/input/texts.ts'
import { builder } from './builder.ts'

// GraphQL types made from zod schemas. A field has its schema's description, with the bounds
// added, because GraphQL has no other place for them. Objects and choices are named by their
// `title`.

type Types = (typeof builder)['$inferSchemaTypes']
type Values = Readonly<Record<string, unknown>>

interface Wrapper {
  unwrap(): z.ZodType
}

const isWrapped = (schema: z.ZodType): schema is z.ZodType & Wrapper =>
  schema instanceof z.ZodDefault ||
  schema instanceof z.ZodPrefault ||
  schema instanceof z.ZodNullable ||
  schema instanceof z.ZodOptional ||
  schema instanceof z.ZodExactOptional

/** A schema without its default and null, and the description found on the way. */
function bare(schema: z.ZodType): { schema: z.ZodType; isNullable: boolean; description: string } {
  if (!isWrapped(schema)) return { schema, isNullable: false, description: schema.description ?? '' }
  const inner = bare(schema.unwrap())
  const hasNull = !(schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
  return {
    schema: inner.schema,
    isNullable: inner.isNullable || hasNull,
    description: schema.description ?? inner.description,
  }
}

function kindOf(
  schema: z.ZodType,
): 'Int' | 'Boolean' | 'String' | 'JSON' | 'DateTime' | ['String'] | ReturnType<typeof makeEnum> {
  if (schema instanceof z.ZodNumber) return 'Int'
  if (schema instanceof z.ZodBoolean) return 'Boolean'
  if (schema instanceof z.ZodString) return 'String'
  if (schema instanceof z.ZodDate) return 'DateTime'
  if (schema instanceof z.ZodRecord) return 'JSON'
  if (schema instanceof z.ZodArray) return ['String']
  if (schema instanceof z.ZodEnum) return enumOf(schema)
  throw new Error(`src/graphql/checked.ts knows no type for ${String(schema.meta()?.title)}`)
}

const enums = new Map<string, ReturnType<typeof makeEnum>>()

/** One enum per name, for both input and output. */
export function enumOf(schema: z.ZodEnum) {
  const { title = '' } = schema.meta() ?? {}
  const made = enums.get(title) ?? makeEnum(title, schema)
  enums.set(title, made)
  return made
}

function makeEnum(title: string, schema: z.ZodEnum) {
  const { description = '', values } = schema.meta() as { description?: string; values: Record<string, string> }
  return builder.enumType(title, {
    description,
    values: Object.fromEntries(Object.entries(values).map(([name, text]) => [name, { description: text }])),
  })
}

/** The output fields of an object that `shape` describes: all that are not `writeOnly`. */
export const outputFields = <Parent extends Values>(
  t: PothosSchemaTypes.ObjectFieldBuilder<Types, Parent>,
  shape: Readonly<Record<string, z.ZodType>>,
) =>
  Object.fromEntries(
    Object.entries(shape).flatMap(([name, given]) => {
      if (given.meta()?.writeOnly === true) return []
      const { schema, isNullable, ...options } = bare(given)
      const description = options.description + boundsOf(schema)
      const type = ofObjects(schema, outputType) ?? kindOf(schema)
      const resolve = (parent: Parent) => parent[name] as never
      return [[name, t.field({ type, nullable: isNullable, description, resolve })]]
    }),
  )

/** The type of an object or a list of objects; undefined for other values. */
function ofObjects<Type>(schema: z.ZodType, typeOf: (each: z.ZodObject, isEntry: boolean) => Type) {
  if (schema instanceof z.ZodObject) return typeOf(schema, false)
  if (schema instanceof z.ZodArray && schema.element instanceof z.ZodObject)
    return [typeOf(schema.element, true)] as [Type]
  return undefined
}

const outputs = new Map<string, PothosSchemaTypes.ObjectRef<Types, Values>>()

function outputType(schema: z.ZodObject): PothosSchemaTypes.ObjectRef<Types, Values> {
  const { title = '', description = '' } = schema.meta() ?? {}
  const make = () =>
    builder.objectRef<Values>(title).implement({ description, fields: (t) => outputFields(t, schema.shape) })
  const made = outputs.get(title) ?? make()
  outputs.set(title, made)
  return made
}

/** A sentence with the bounds of a number or a list. */
function boundsOf(schema: z.ZodType): string {
  const { minimum = 0, maximum, minItems = 0, maxItems } = z.toJSONSchema(schema, { unrepresentable: 'any' })
  if (maximum !== undefined) return ` From ${grouped(minimum)} to ${grouped(maximum)}.`
  if (maxItems === undefined) return ''
  return ` ${minItems === 0 ? 'At most' : `From ${grouped(minItems)} to`} ${grouped(maxItems)} entries.`
}

type InputFields<Shape extends z.ZodRawShape> = {
  [Name in keyof Shape]: PothosSchemaTypes.InputFieldRef<Types, z.input<Shape[Name]>>
}

/**
 * The input fields of the same object. A field is required if it has no default and cannot be null,
 * unless omitted fields stay as they are.
 */
export const inputFields = <Shape extends Record<string, z.ZodType>>(
  t: PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>,
  shape: Shape,
  { isPatch = false } = {},
) =>
  Object.fromEntries(
    Object.entries(shape).map(([name, given]) => {
      const { schema, ...options } = bare(given)
      const description = options.description + boundsOf(schema)
      const type = ofObjects(schema, inputType) ?? kindOf(schema)
      return [name, t.field({ type, description, required: !isPatch && !isWrapped(given) })]
    }),
    // The schema's own types of the fields, from which GraphQL's are made.
  ) as unknown as InputFields<Shape>

/** An entry of a list replaces the earlier one as a whole. */
function inputType(schema: z.ZodObject, isEntry: boolean): PothosSchemaTypes.InputObjectRef<Types, Values> {
  const { title = '', description = '' } = schema.meta() ?? {}
  return builder.inputType(`${title}Input`, {
    description: isEntry ? description : `${description} Omitted fields do not change.`,
    fields: (t) => inputFields(t, schema.shape, { isPatch: !isEntry }),
  })
}

import { isDeepStrictEqual } from 'node:util'

/** A JSON Schema (draft 2020-12), as OpenAPI 3.1 and AsyncAPI 3 have it. */
export interface Schema {
  [keyword: string]: unknown
  properties?: Record<string, Schema>
}

/** The named parts of a document, which references point to. */
export interface Components {
  readonly schemas: Readonly<Record<string, Schema>>
  readonly responses: Readonly<Record<string, object>>
  /** A reference to `schema` by its name; a different schema of the same name gets a number. */
  refTo(name: string, schema: Schema): Schema
  /** A reference to `response` by its name, numbered in the same way. */
  responseRef(name: string, response: object): { $ref: string }
}

export function createComponents(): Components {
  const schemas: Record<string, Schema> = {}
  const responses: Record<string, object> = {}
  return {
    schemas,
    responses,
    refTo: (name, schema) => ({ $ref: `#/components/schemas/${keep(schemas, name, schema)}` }),
    responseRef: (name, response) => ({ $ref: `#/components/responses/${keep(responses, name, response)}` }),
  }
}

/** The name of `value` in `kept`, added if needed. */
function keep<T>(kept: Record<string, T>, name: string, value: T): string {
  for (let n = 1; ; n++) {
    const key = n === 1 ? name : `${name}${n}`
    kept[key] ??= value
    if (isDeepStrictEqual(kept[key], value)) return key
  }
}

/** The schema, or null. One that says nothing allows null already. */
export function orNull(schema: Schema): Schema {
  if (typeof schema.type === 'string' && schema.enum === undefined) return { ...schema, type: [schema.type, 'null'] }
  return saysNothing(schema) ? schema : { anyOf: [schema, { type: 'null' }] }
}

const saysNothing = (schema: Schema): boolean =>
  ['type', '$ref', 'anyOf'].every((keyword) => schema[keyword] === undefined)
const ANY = ['object', 'array', 'string', 'number', 'boolean', 'null']

/**
 * Adds to each choice in a document, and to each property of any type, which types it may have:
 * Scalar takes an object for none if one of its properties has no type.
 */
export function addTypes(value: unknown, schemas: Readonly<Record<string, Schema>>): void {
  if (Array.isArray(value)) return value.forEach((each) => addTypes(each, schemas))
  if (typeof value !== 'object' || value === null) return
  const schema = value as Schema
  if (Array.isArray(schema.anyOf) && schema.type === undefined) {
    const types = typesOf(schema, schemas)
    if (types !== null) schema.type = types.length === 1 ? types[0] : types
  }
  for (const each of Object.values(schema.properties ?? {})) if (saysNothing(each)) each.type = ANY
  Object.entries(schema).forEach(([name, each]) => name.startsWith('example') || addTypes(each, schemas))
}

/** Null for a schema that allows any type. */
function typesOf(schema: Schema, schemas: Readonly<Record<string, Schema>>): string[] | null {
  const { $ref, type, anyOf } = schema
  if (typeof $ref === 'string') return typesOf(schemas[$ref.replace('#/components/schemas/', '')] ?? {}, schemas)
  if (type !== undefined) return [type].flat() as string[]
  const all = Array.isArray(anyOf) ? anyOf.map((choice) => typesOf(choice as Schema, schemas)) : [null]
  return all.includes(null) ? null : [...new Set(all.flatMap((types) => types ?? []))]
}

/** The schema with the description of its place. */
export const described = (schema: Schema, description: string | null | undefined): Schema =>
  description == null ? schema : { ...schema, description }

const BOUNDS = ['minLength', 'maxLength', 'minimum', 'maximum', 'minItems', 'maxItems', 'pattern', 'format'] as const

/** The bounding keywords of a shape. JavaScript's largest number does not count as a bound. */
export const boundsOf = (shape: Schema): Schema =>
  Object.fromEntries(
    BOUNDS.flatMap((keyword) => {
      const bound = shape[keyword]
      return bound === undefined || Math.abs(Number(bound)) === Number.MAX_SAFE_INTEGER ? [] : [[keyword, bound]]
    }),
  )

const isNull = (schema: Schema): boolean => schema.type === 'null'

/** A shape without null, and whether it allowed null. */
export function withoutNull(shape: Schema): { shape: Schema; hasNull: boolean } {
  const choices = shape.anyOf as Schema[] | undefined
  if (choices === undefined || !choices.some(isNull)) return { shape, hasNull: false }
  const [first = {}] = choices.filter((choice) => !isNull(choice))
  return { shape: withoutNull(first).shape, hasNull: true }
}

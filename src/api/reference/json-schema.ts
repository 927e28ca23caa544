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
  /** The same for a response. */
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

/** The schema, or null. */
export const orNull = (schema: Schema): Schema =>
  typeof schema.type === 'string' && schema.enum === undefined
    ? { ...schema, type: [schema.type, 'null'] }
    : { anyOf: [schema, { type: 'null' }] }

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

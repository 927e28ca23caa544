import { type GraphQLEnumType, type GraphQLScalarType, isEnumType } from 'graphql'

import type { Components, Schema } from './json-schema.ts'

const SCALARS: Readonly<Record<string, Schema>> = {
  ID: { type: 'string', format: 'uuid' },
  String: { type: 'string' },
  Int: { type: 'integer', format: 'int32' },
  Float: { type: 'number' },
  Boolean: { type: 'boolean' },
  DateTime: { type: 'string', format: 'date-time' },
  JSON: {},
}

/** Inputs of type ID that are no UUID, by their names. */
const OTHER_IDS: Readonly<Record<string, Schema>> = {
  kid: { type: 'string', pattern: '^[0-9a-f]{8}$' },
  documentId: { type: 'string', minLength: 1, maxLength: 255 },
}

/** The schema of an input of this name whose type is ID. */
export const idSchema = (name: string, schema: Schema): Schema =>
  schema.format === 'uuid' && Object.hasOwn(OTHER_IDS, name) ? { ...OTHER_IDS[name] } : schema

/** The schema of a scalar or enum of GraphQL. Throws for a scalar without a defined JSON form. */
export function leafSchema(type: GraphQLScalarType | GraphQLEnumType, components: Components): Schema {
  if (isEnumType(type)) return components.refTo(type.name, enumSchema(type))
  const schema = SCALARS[type.name]
  if (schema === undefined) throw new Error(`src/api/reference/scalars.ts knows no JSON schema for ${type.name}`)
  return { ...schema }
}

function enumSchema(type: GraphQLEnumType): Schema {
  const values = type.getValues()
  const lines = values.flatMap(({ name, description }) =>
    description == null ? [] : [`- \`${name}\`: ${description}`],
  )
  const description = [type.description ?? '', ...(lines.length === 0 ? [] : ['', ...lines])].join('\n')
  return { type: 'string', enum: values.map(({ name }) => name), description }
}

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

import {
  getNamedType,
  type GraphQLField,
  type GraphQLInputType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
} from 'graphql'

import { schema } from '../../src/api/execution/schema.ts'
import { newId } from '../../src/core/ids.ts'

/** All fields of a root. */
export function fieldsOf(root: 'Query' | 'Mutation'): GraphQLField<unknown, unknown>[] {
  const type = schema.getType(root)
  return isObjectType(type) ? Object.values(type.getFields()) : []
}

/** A value of a type, as a literal. */
function literalOf(type: GraphQLInputType): string {
  if (isNonNullType(type)) return literalOf(type.ofType)
  if (isListType(type)) return '[]'
  if (isEnumType(type)) return type.getValues()[0]?.name ?? ''
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields())
    const given = type.isOneOf ? fields.slice(0, 1) : fields.filter(isRequiredInputField)
    return `{ ${given.map((field) => `${field.name}: ${literalOf(field.type)}`).join(', ')} }`
  }
  return LITERALS[type.name] ?? '"x"'
}

const LITERALS: Readonly<Record<string, string>> = {
  ID: JSON.stringify(newId()),
  Int: '1',
  Boolean: 'true',
  DateTime: '"2026-01-01T00:00:00.000Z"',
}

/** A selection of a root field with its required arguments. */
export function callOf({ name, args, type }: GraphQLField<unknown, unknown>): string {
  const given = args.filter(isRequiredArgument).map((argument) => `${argument.name}: ${literalOf(argument.type)}`)
  const selected = isLeafType(getNamedType(type)) ? '' : ' { __typename }'
  return `${name}${given.length === 0 ? '' : `(${given.join(', ')})`}${selected}`
}

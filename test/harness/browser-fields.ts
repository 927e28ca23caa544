import {
  getNamedType,
  getNullableType,
  type GraphQLField,
  type GraphQLInputType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  OperationTypeNode,
} from 'graphql'

import { schema } from '../../src/api/execution/schema.ts'
import { CLIENT_EXTENSION } from '../../src/graphql/access.ts'

interface RootField {
  kind: OperationTypeNode
  field: GraphQLField<unknown, unknown>
}

/** Every root field, with the operation that it stands in. */
export const ROOT_FIELDS: readonly RootField[] = Object.values(OperationTypeNode).flatMap((kind) =>
  Object.values(schema.getRootType(kind)?.getFields() ?? {}).map((field) => ({ kind, field })),
)

/** Whether a browser may ask it. */
export const isOpen = ({ field }: Pick<RootField, 'field'>): boolean => field.extensions[CLIENT_EXTENSION] === true

function sampleFor(given: GraphQLInputType, id: string): unknown {
  const type = getNullableType(given)
  if (isListType(type)) return [sampleFor(type.ofType, id)]
  if (isEnumType(type)) return type.getValues()[0]?.value
  if (isInputObjectType(type)) {
    const all = Object.values(type.getFields())
    const needed = type.isOneOf ? all.slice(0, 1) : all.filter((field) => isNonNullType(field.type))
    return Object.fromEntries(needed.map((field) => [field.name, sampleFor(field.type, id)]))
  }
  return { ID: id, Int: 1, Boolean: true, DateTime: new Date().toISOString() }[String(type)] ?? 'like'
}

/** A document that asks the field, in which `id` stands for all ids. */
export function documentOf({ kind, field }: RootField, id: string): { query: string; variables: object } {
  const args = field.args.filter(({ type }) => isNonNullType(type))
  const declared = args.map(({ name, type }) => `$${name}: ${String(type)}`).join(', ')
  const given = args.map(({ name }) => `${name}: $${name}`).join(', ')
  const selection = isLeafType(getNamedType(field.type)) ? '' : '{ __typename }'
  return {
    query: `${kind} ${declared && `(${declared})`} { ${field.name}${given && `(${given})`} ${selection} }`,
    variables: Object.fromEntries(args.map(({ name, type }) => [name, sampleFor(type, id)])),
  }
}

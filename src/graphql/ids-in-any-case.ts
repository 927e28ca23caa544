import {
  type GraphQLFieldResolver,
  type GraphQLInputType,
  type GraphQLSchema,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'

import { inLowerCase } from '../core/ids.ts'

type Values = Readonly<Record<string, unknown>>

/** Puts the ids in a value into lower case. Returns the value itself where they are, as in most. */
type Change = (value: unknown) => unknown

/** Null for a type without ids. */
function changeOf(type: GraphQLInputType): Change | null {
  if (isNonNullType(type)) return changeOf(type.ofType)
  if (isListType(type)) {
    const each = changeOf(type.ofType)
    const isOther = (entry: unknown): boolean => each?.(entry) !== entry
    return each && ((value) => (Array.isArray(value) && value.some(isOther) ? value.map(each) : value))
  }
  if (isInputObjectType(type)) {
    const change = changeOfAll(Object.values(type.getFields()).map((field) => [field.name, field.type]))
    return change && ((value) => (value === null ? null : change(value as Values)))
  }
  return type.name === 'ID' ? (value) => (typeof value === 'string' ? inLowerCase(value) : value) : null
}

/** Puts the ids of named values, such as variables, in lower case; null where none has ids. */
export function changeOfAll(types: Iterable<readonly [string, GraphQLInputType]>): ((values: Values) => Values) | null {
  const changes = [...types].flatMap(([name, type]) => {
    const change = changeOf(type)
    return change === null ? [] : [[name, change] as const]
  })
  if (changes.length === 0) return null
  return (values) => {
    let changed = values
    for (const [name, change] of changes) {
      const value = values[name]
      const next = value === undefined ? value : change(value)
      if (next !== value) changed = { ...changed, [name]: next }
    }
    return changed
  }
}

type Resolver = GraphQLFieldResolver<unknown, unknown, Values>

/**
 * Has the fields of a schema take ids in upper case too: a UUID means one thing in any case (RFC
 * 9562, section 4). Around the resolvers, because graphql-jit reads variables of the type `ID`
 * without asking it.
 */
export function takeIdsInAnyCase(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue
    for (const field of Object.values(type.getFields())) {
      const change = changeOfAll(field.args.map((argument) => [argument.name, argument.type]))
      if (change === null) continue
      const around =
        (resolve: Resolver): Resolver =>
        (source, args, ctx, info) =>
          resolve(source, change(args), ctx, info)
      if (field.resolve !== undefined) field.resolve = around(field.resolve)
      if (field.subscribe !== undefined) field.subscribe = around(field.subscribe)
    }
  }
  return schema
}

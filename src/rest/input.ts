import {
  getNamedType,
  getNullableType,
  type GraphQLInputType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  isScalarType,
  Kind,
  typeFromAST,
  type VariableDefinitionNode,
} from 'graphql'

import type { FieldError } from '../core/errors.ts'
import { pointer } from '../core/validate.ts'

type Path = readonly PropertyKey[]

/**
 * Checks a JSON value against an input type of the schema: nothing unknown, nothing missing, no wrong type.
 * `given` are the fields that come from elsewhere (the path) and must not be repeated.
 */
export function checkInput(
  type: GraphQLInputType,
  value: unknown,
  given: ReadonlySet<string>,
  path: Path = [],
): FieldError[] {
  const fail = (code: string, message: string): FieldError[] => [{ pointer: pointer(path), code, message }]
  if (value === null) return isNonNullType(type) ? fail('wrong_type', 'must not be null') : []
  const nullable = getNullableType(type)
  if (isListType(nullable)) {
    if (!Array.isArray(value)) return fail('wrong_type', 'must be a list')
    return value.flatMap((entry: unknown, index) => checkInput(nullable.ofType, entry, new Set(), [...path, index]))
  }
  if (isInputObjectType(nullable)) {
    if (typeof value !== 'object' || Array.isArray(value)) return fail('wrong_type', 'must be an object')
    const fields = nullable.getFields()
    const entries = value as Record<string, unknown>
    const unknown = Object.keys(entries)
      .filter((name) => !Object.hasOwn(fields, name) || given.has(name))
      .map((name) => ({
        pointer: pointer([...path, name]),
        code: 'unknown_field',
        message: 'is not a field of this request',
      }))
    const known = Object.values(fields).flatMap((field) => {
      if (given.has(field.name)) return []
      const at = [...path, field.name]
      if (Object.hasOwn(entries, field.name)) return checkInput(field.type, entries[field.name], new Set(), at)
      return isRequiredInputField(field) ? [{ pointer: pointer(at), code: 'required', message: 'is required' }] : []
    })
    return [...unknown, ...known]
  }
  if (isEnumType(nullable)) {
    const names = nullable.getValues().map(({ name }) => name)
    if (typeof value === 'string' && names.includes(value)) return []
    return fail('not_allowed', `must be one of ${names.join(', ')}`)
  }
  if (isScalarType(nullable)) {
    // GraphQL takes a number for an ID; JSON of this service does not.
    if (nullable.name === 'ID' && typeof value !== 'string') return fail('wrong_type', 'must be a string')
    try {
      nullable.parseValue(value)
    } catch {
      return fail('wrong_type', `must be of type ${nullable.name}`)
    }
  }
  return []
}

/** A text of the query string as the JSON value that a variable of `type` takes. What does not fit stays a text, and is refused as one. */
export function fromQuery(type: GraphQLInputType, text: string | string[]): unknown {
  const nullable = getNullableType(type)
  if (isListType(nullable)) return [text].flat().map((entry) => fromQuery(nullable.ofType, entry))
  if (Array.isArray(text)) return text
  const { name } = getNamedType(nullable)
  if (name === 'Int' && /^-?\d{1,10}$/.test(text)) return Number(text)
  if (name === 'Boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

/** The input types of an operation's variables. */
export function variableTypes(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
): Map<string, GraphQLInputType> {
  return new Map(
    definitions.map(({ variable, type }) => {
      const inputType = type.kind === Kind.NAMED_TYPE ? typeFromAST(schema, type) : typeFromAST(schema, type as never)
      if (inputType === undefined) throw new Error(`variable $${variable.name.value} has an unknown type`)
      return [variable.name.value, inputType as GraphQLInputType]
    }),
  )
}

import {
  getNamedType,
  getNullableType,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  isScalarType,
  typeFromAST,
  type VariableDefinitionNode,
} from 'graphql'

import { type FieldError, ServiceError } from '../../core/errors.ts'
import { pointer } from '../../core/validate.ts'

/** Where a value stands, and what may be said of it in another way than the schema has it. */
interface InputOptions {
  path?: readonly PropertyKey[]
  /** Fields that come from elsewhere (the path of a REST route) and must not be repeated. */
  given?: ReadonlySet<string>
  /**
   * Whether GraphQL's coercion is in force: a single value for a list of one, a number for an ID.
   */
  coerces?: boolean
}

/**
 * Checks a JSON value against an input type of the schema: nothing unknown, nothing missing, no
 * wrong type. It goes no deeper than the type does. graphql-js' `coerceInputValue` reports neither
 * a code nor the field that is unknown or missing, but an English sentence about the object.
 */
export function checkInput(type: GraphQLInputType, value: unknown, options: InputOptions = {}): FieldError[] {
  const { path = [], given = NOTHING, coerces = false } = options
  const fail = (code: string, message: string): FieldError[] => [{ pointer: pointer(path), code, message }]
  if (value === null) return isNonNullType(type) ? fail('wrong_type', 'must not be null') : []
  const nullable = getNullableType(type)
  if (isListType(nullable)) {
    if (Array.isArray(value)) {
      return value.flatMap((entry: unknown, n) => checkInput(nullable.ofType, entry, { path: [...path, n], coerces }))
    }
    return coerces ? checkInput(nullable.ofType, value, { path, coerces }) : fail('wrong_type', 'must be a list')
  }
  if (isInputObjectType(nullable)) {
    if (typeof value !== 'object' || Array.isArray(value)) return fail('wrong_type', 'must be an object')
    return checkFields(nullable, value as Record<string, unknown>, { path, given, coerces })
  }
  if (isEnumType(nullable)) {
    const names = nullable.getValues().map(({ name }) => name)
    if (typeof value === 'string' && names.includes(value)) return []
    return fail('not_allowed', `must be one of ${names.join(', ')}`)
  }
  if (!isScalarType(nullable)) return []
  // GraphQL takes a number for an ID; JSON of this service does not.
  if (!coerces && nullable.name === 'ID' && typeof value !== 'string') return fail('wrong_type', 'must be a string')
  try {
    nullable.parseValue(value)
    return []
  } catch (error) {
    return saidBy(error).map(({ code, message }) => ({ pointer: pointer(path), code, message }))
  }

  /** The words of a scalar of ours; of GraphQL's own ones, ours for them. */
  function saidBy(error: unknown): readonly Pick<FieldError, 'code' | 'message'>[] {
    const said = error instanceof ServiceError ? error.extras.errors : undefined
    return said ?? [{ code: 'wrong_type', message: `must be of type ${getNamedType(type).name}` }]
  }
}

function checkFields(
  type: GraphQLInputObjectType,
  entries: Readonly<Record<string, unknown>>,
  { path, given, coerces }: Required<InputOptions>,
): FieldError[] {
  const fields = type.getFields()
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
    if (Object.hasOwn(entries, field.name)) return checkInput(field.type, entries[field.name], { path: at, coerces })
    return isRequiredInputField(field) ? [{ pointer: pointer(at), code: 'required', message: 'is required' }] : []
  })
  return [...unknown, ...known]
}

const NOTHING: ReadonlySet<string> = new Set()

/**
 * A text of the query string as the JSON value that a variable of `type` takes. What does not fit
 * stays a text, and is refused as one.
 */
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
      const inputType = typeFromAST(schema, type)
      if (!isInputType(inputType)) throw new Error(`variable $${variable.name.value} has no input type`)
      return [variable.name.value, inputType]
    }),
  )
}

import {
  getNamedType,
  getNullableType,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLScalarType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  typeFromAST,
  type VariableDefinitionNode,
} from 'graphql'

import { type FieldError, MAX_FIELD_ERRORS, ServiceError } from '../../core/errors.ts'
import { counted } from '../../core/input/texts.ts'
import { pointer } from '../../core/input/validate.ts'

/** The place of a value, and exceptions to the schema's rules for it. */
interface InputOptions {
  path?: readonly PropertyKey[]
  /** Fields given elsewhere (in the path of a REST route), which must not be repeated. */
  given?: ReadonlySet<string>
  /** Whether GraphQL's coercion applies: a single value for a list of one, a number for an ID. */
  coerces?: boolean
}

/**
 * Checks a JSON value against an input type of the schema: no unknown fields, no missing ones, no
 * wrong types. It recurses no deeper than the type, and ends at the twentieth error, because it
 * runs before credentials are asked for. graphql-js' `coerceInputValue` gives neither a code nor
 * the unknown or missing field, but an English sentence about the object.
 */
export function checkInput(
  type: GraphQLInputType,
  value: unknown,
  { path = [], given = NOTHING, coerces = false }: InputOptions = {},
): FieldError[] {
  const errors: FieldError[] = []
  checkValue(type, value, { at: [...path], coerces, errors }, given)
  return errors
}

/** A check under way. Paths are built only for errors, because nearly all input is valid. */
interface Check {
  /** The place of the present value. */
  at: PropertyKey[]
  coerces: boolean
  errors: FieldError[]
}

function checkValue(type: GraphQLInputType, value: unknown, check: Check, given = NOTHING): void {
  const kind = kindOf(type)
  if (value === null) {
    if (!kind.isNullable) fail(check, 'wrong_type', 'must not be null')
  } else if (kind.list !== undefined) checkList(kind.list, value, check)
  else if (kind.object !== undefined) {
    if (typeof value !== 'object' || Array.isArray(value)) fail(check, 'wrong_type', 'must be an object')
    else checkFields(kind.object, value as Record<string, unknown>, check, given)
  } else if (kind.names !== undefined) {
    if (typeof value === 'string' && kind.names.includes(value)) return
    fail(check, 'not_allowed', `must be one of ${kind.names.join(', ')}`)
  } else if (kind.scalar !== undefined) checkScalar(kind.scalar, value, check)
}

/** The kind of a type: one of these fields is set. */
interface TypeKind {
  isNullable: boolean
  list?: GraphQLInputType
  object?: GraphQLInputObjectType
  /** The values of an enum. */
  names?: readonly string[]
  scalar?: GraphQLScalarType
}

// Cached, because asking graphql-js for a type's kind checks up to five prototypes.
const kinds = new WeakMap<GraphQLInputType, TypeKind>()

function kindOf(type: GraphQLInputType): TypeKind {
  const known = kinds.get(type)
  if (known !== undefined) return known
  const nullable = getNullableType(type)
  const isNullable = !isNonNullType(type)
  const kind = isListType(nullable)
    ? { isNullable, list: nullable.ofType }
    : isInputObjectType(nullable)
      ? { isNullable, object: nullable }
      : isEnumType(nullable)
        ? { isNullable, names: nullable.getValues().map(({ name }) => name) }
        : { isNullable, scalar: nullable }
  kinds.set(type, kind)
  return kind
}

function checkList(type: GraphQLInputType, value: unknown, check: Check): void {
  if (!Array.isArray(value)) {
    if (check.coerces) checkValue(type, value, check)
    else fail(check, 'wrong_type', 'must be a list')
    return
  }
  if (value.length > MAX_ENTRIES) {
    return fail(check, 'too_long', `must have at most ${counted(MAX_ENTRIES, 'entry', 'entries')}`)
  }
  for (let n = 0; n < value.length && !isFull(check); n++) checkAt(n, type, value[n], check)
}

/** The entries of the longest list that an operation takes. Most operations take fewer. */
const MAX_ENTRIES = 1000

const isFull = ({ errors }: Check): boolean => errors.length >= MAX_FIELD_ERRORS

function checkAt(key: PropertyKey, type: GraphQLInputType, value: unknown, check: Check): void {
  check.at.push(key)
  checkValue(type, value, check)
  check.at.pop()
}

function checkScalar(type: GraphQLScalarType, value: unknown, check: Check): void {
  // GraphQL accepts a number for an ID; the JSON of this service does not.
  if (!check.coerces && type.name === 'ID' && typeof value !== 'string') {
    return fail(check, 'wrong_type', 'must be a string')
  }
  try {
    type.parseValue(value)
  } catch (error) {
    // Our scalars' own messages, or ours for GraphQL's scalars.
    const refusals = error instanceof ServiceError ? error.extras.errors : undefined
    if (refusals === undefined) fail(check, 'wrong_type', WRONG[type.name] ?? 'has the wrong type')
    for (const { code, message } of refusals ?? []) fail(check, code, message)
  }
}

/** The message for a value that a scalar of GraphQL refuses. */
const WRONG: Readonly<Record<string, string>> = {
  Boolean: 'must be true or false',
  Float: 'must be a number',
  ID: 'must be a string',
  Int: 'must be a whole number from -2147483648 to 2147483647',
  String: 'must be a string',
}

const fail = ({ at, errors }: Check, code: string, message: string): void =>
  void errors.push({ pointer: pointer(at), code, message })

function checkFields(
  type: GraphQLInputObjectType,
  entries: Readonly<Record<string, unknown>>,
  check: Check,
  given: ReadonlySet<string>,
): void {
  const fields = type.getFields()
  const { at, errors } = check
  const before = errors.length
  for (const name of Object.keys(entries)) {
    if (isFull(check)) return
    if (Object.hasOwn(fields, name) && !given.has(name)) continue
    errors.push({ pointer: pointer([...at, name]), code: 'unknown_field', message: 'is not a field of this request' })
  }
  for (const name in fields) {
    const field = fields[name]
    if (isFull(check)) return
    if (field === undefined || given.has(name)) continue
    if (Object.hasOwn(entries, name)) checkAt(name, field.type, entries[name], check)
    else if (isRequiredInputField(field)) {
      errors.push({ pointer: pointer([...at, name]), code: 'required', message: 'is required' })
    }
  }
  if (type.isOneOf && errors.length === before && !hasOne(Object.keys(fields), entries, check)) {
    fail(check, 'exactly_one', `must have exactly one of ${Object.keys(fields).join(' and ')}`)
  }
}

/**
 * Whether an object has one field, which is not null, as `@oneOf` has it. In JSON outside of
 * GraphQL null stands for an absent field.
 */
function hasOne(names: readonly string[], entries: Readonly<Record<string, unknown>>, { coerces }: Check): boolean {
  const given = names.filter((name) => Object.hasOwn(entries, name) && (coerces || entries[name] !== null))
  return given.length === 1 && entries[given[0] ?? ''] !== null
}

const NOTHING: ReadonlySet<string> = new Set()

/**
 * Converts a text of the query string to the JSON value of a variable's type. A text that does not
 * fit stays a text, and is then refused.
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

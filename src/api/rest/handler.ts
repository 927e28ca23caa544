import {
  getNamedType,
  getNullableType,
  type GraphQLField,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLNonNull,
  type GraphQLSchema,
  isInputObjectType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql'

import { type Access, requireAccess } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { type FieldError, ServiceError, unknownParameter, validationFailed } from '../../core/errors.ts'
import { ACCESS_EXTENSION } from '../../graphql/access.ts'
import { changeOfAll } from '../../graphql/ids-in-any-case.ts'
import { checkInput, fromQuery, variableTypes } from '../execution/input.ts'
import { isRelayConnection, listOf, type Route } from '../../graphql/route.ts'
import { ownOperation } from '../yoga/operations.ts'

export interface RestRequest {
  params: Readonly<Record<string, string>>
  query: Readonly<Record<string, string | string[]>>
  /** Undefined if the request has no body. */
  body: unknown
}

export interface RestResponse {
  status: number
  body: unknown
}

export type Variables = Readonly<Record<string, unknown>>

/** A route in two steps: `read` checks the caller and the request, `run` executes it. */
export interface CompiledRoute {
  /** What it requires of its caller. */
  access: Access
  /** The checked variables of a request. */
  read: (ctx: Ctx, request: RestRequest) => Variables
  run: (ctx: Ctx, variables: Variables) => Promise<RestResponse>
  /** Both. */
  answer: (ctx: Ctx, request: RestRequest) => Promise<RestResponse>
}

export const DEFAULT_LIMIT = 20
export const MAX_LIMIT = 100

/** Compiles a route against the schema, except its operation. Throws if they do not match. */
export function compileRoute(schema: GraphQLSchema, route: Route): CompiledRoute {
  const operation = operationOf(route)
  const access = accessOfRoute(schema, route)
  const types = variableTypes(schema, operation.variableDefinitions ?? [])
  // Kept pages are found by these ids, before a resolver runs.
  const changed = changeOfAll(types) ?? ((variables: Variables) => variables)
  const params = new Set([...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name as string))
  const inputType = types.get('input')
  const readVariables =
    inputType !== undefined
      ? readBody(inputType, params)
      : route.method === 'GET'
        ? readQuery(types, params, route.bounds ?? {})
        : readBodyVariables(types, params)
  const full = ownOperation(route.document)
  const lighter = route.lighter === undefined ? full : ownOperation(route.lighter.document)
  const isServedByLighter = (route.lighter?.serves ?? (() => false)) as (variables: Variables) => boolean
  const project = projectionOf(route)
  const other = route.otherStatus as { status: number; when: (data: unknown) => boolean } | undefined

  const read: CompiledRoute['read'] = (ctx, request) => {
    requireAccess(ctx, access)
    const { variables, errors } = readVariables(request)
    if (errors.length > 0) throw validationFailed(errors)
    return changed(variables)
  }
  const run: CompiledRoute['run'] = async (ctx, variables) => {
    const execute = isServedByLighter(variables) ? lighter : full
    const data = await execute(ctx, variables).catch(inRestWords)
    const status = other?.when(data) === true ? other.status : route.status
    return { status, body: status === 204 ? undefined : project(data) }
  }
  return { access, read, run, answer: async (ctx, request) => run(ctx, read(ctx, request)) }
}

/**
 * The access that a route requires: that of its root field. Below `/admin/` it is an admin's,
 * unless it is open to every member, or to all.
 */
export function accessOfRoute(schema: GraphQLSchema, route: Route): Access {
  const access = rootField(schema, route).extensions[ACCESS_EXTENSION] as Access
  return route.path.startsWith('/admin/') && access !== 'public' && access !== 'member' ? 'admin' : access
}

/**
 * Whether a route honours `Idempotency-Key`: writes do, except login, which belongs to no tenant,
 * whatever its credentials.
 */
export const takesIdempotencyKey = (schema: GraphQLSchema, route: Route): boolean =>
  route.method !== 'GET' && accessOfRoute(schema, route) !== 'public'

/** The GraphQL root field of a route. Throws if its operation does not match. */
export function rootField(schema: GraphQLSchema, route: Route): GraphQLField<unknown, unknown> {
  const operation = operationOf(route)
  const selection = operation.selectionSet.selections[0]
  if (selection?.kind !== Kind.FIELD || operation.selectionSet.selections.length !== 1) {
    throw new Error(`${route.method} ${route.path}: an operation of REST selects exactly one root field`)
  }
  const field = schema.getRootType(operation.operation)?.getFields()[selection.name.value]
  if (field === undefined) throw new Error(`${route.method} ${route.path}: no root field ${selection.name.value}`)
  return field
}

/** The operation of a route. */
export function operationOf(route: Route): OperationDefinitionNode {
  const operation = route.document.definitions.find((definition) => definition.kind === Kind.OPERATION_DEFINITION)
  if (operation === undefined) throw new Error(`${route.method} ${route.path}: its document has no operation`)
  return operation
}

interface Read {
  variables: Record<string, unknown>
  errors: FieldError[]
}

/** `params` are fields of the input that the body must not have: they are in the path. */
function readBody(inputType: GraphQLInputType, params: ReadonlySet<string>) {
  const choices = choicesIn(inputType)
  const bodyType = choices.length === 0 ? inputType : flat(inputType, choices)
  return (request: RestRequest): Read => {
    // A missing body counts as an empty one.
    const { body = {} } = request
    const errors = [...unknownParameters(request.query, new Set()), ...checkInput(bodyType, body, { given: params })]
    // A wrong body can be of any form and length, and is not copied.
    if (errors.length > 0) return { variables: {}, errors }
    const input = choices.reduce(gather, body as Readonly<Record<string, unknown>>)
    const missing = choices.filter(({ name, isRequired }) => isRequired && !Object.hasOwn(input, name))
    if (missing.length > 0) return { variables: {}, errors: missing.map(noChoice) }
    return { variables: { input: { ...input, ...request.params } }, errors }
  }
}

/** A field of an input with one of several ways to name a thing (`@oneOf`). */
interface Choice {
  name: string
  type: GraphQLInputObjectType
  isRequired: boolean
}

const noChoice = ({ type }: Choice): FieldError => ({
  pointer: '',
  code: 'exactly_one',
  message: `must have exactly one of ${Object.keys(type.getFields()).join(' and ')}`,
})

/** The `@oneOf` inputs in an input. REST has their fields in the body itself. */
export function choicesIn(inputType: GraphQLInputType): Choice[] {
  const type = getNamedType(inputType)
  if (!isInputObjectType(type)) return []
  return Object.values(type.getFields()).flatMap(({ name, type: of }) => {
    const choice = getNullableType(of)
    return isInputObjectType(choice) && choice.isOneOf ? [{ name, type: choice, isRequired: isNonNullType(of) }] : []
  })
}

function flat(inputType: GraphQLInputType, choices: readonly Choice[]): GraphQLInputType {
  const { fields, ...config } = (getNamedType(inputType) as GraphQLInputObjectType).toConfig()
  const left = Object.entries(fields).filter(([name]) => choices.every((choice) => choice.name !== name))
  const chosen = choices.flatMap(({ type }) => Object.entries(type.toConfig().fields))
  return new GraphQLNonNull(new GraphQLInputObjectType({ ...config, fields: Object.fromEntries([...left, ...chosen]) }))
}

/** The body with the fields of a choice in its input. The operation refuses two of them. */
function gather(body: Readonly<Record<string, unknown>>, { name, type }: Choice): Readonly<Record<string, unknown>> {
  const isOfChoice = ([field]: [string, unknown]): boolean => Object.hasOwn(type.getFields(), field)
  // A body of null has been refused.
  const all = Object.entries(body ?? {})
  const chosen = all.filter((entry) => isOfChoice(entry) && entry[1] !== null)
  const left = all.filter((entry) => !isOfChoice(entry))
  return Object.fromEntries(chosen.length === 0 ? left : [...left, [name, Object.fromEntries(chosen)]])
}

/** A body whose fields are variables: of a query with long arguments, or of a nested input. */
function readBodyVariables(types: ReadonlyMap<string, GraphQLInputType>, params: ReadonlySet<string>) {
  const fields = Object.fromEntries([...types].map(([name, type]) => [name, { type }]))
  const asInput = new GraphQLNonNull(new GraphQLInputObjectType({ name: 'Body', fields }))
  return (request: RestRequest): Read => {
    const errors = [
      ...unknownParameters(request.query, new Set()),
      ...checkInput(asInput, request.body === undefined ? {} : request.body, { given: params }),
    ]
    if (errors.length > 0) return { variables: {}, errors }
    return { variables: { ...(request.body as object | undefined), ...request.params }, errors }
  }
}

function readQuery(
  types: ReadonlyMap<string, GraphQLInputType>,
  params: ReadonlySet<string>,
  bounds: NonNullable<Route['bounds']>,
) {
  const isList = types.has('first') && types.has('after')
  const names = new Map(
    [...types.keys()].filter((name) => !params.has(name)).map((name) => [queryName(name, isList), name]),
  )
  const bounded = Object.entries({ ...(isList ? { limit: { min: 1, max: MAX_LIMIT } } : {}), ...bounds })
  return (request: RestRequest): Read => {
    const errors = unknownParameters(request.query, new Set(names.keys()))
    if (request.body !== undefined)
      errors.push({ pointer: '', code: 'unknown_field', message: 'must be absent: this request takes no body' })
    const variables: Record<string, unknown> = { ...request.params }
    for (const [outer, inner] of names) {
      const text = request.query[outer]
      const type = types.get(inner)
      if (type === undefined) continue
      if (text === undefined) continue
      const value = fromQuery(type, text)
      errors.push(...checkInput(type, value, { path: [outer] }))
      variables[inner] = value
    }
    if (isList) variables.first ??= DEFAULT_LIMIT
    for (const [outer, { min, max }] of bounded) {
      const value = variables[names.get(outer) ?? '']
      if (typeof value !== 'number' || (value >= min && value <= max)) continue
      const code = value < min ? 'too_small' : 'too_large'
      errors.push({ pointer: `/${outer}`, code, message: `must be from ${min} to ${max}` })
    }
    return { variables, errors }
  }
}

/** The name of a variable in the query string. */
export const queryName = (name: string, isList: boolean): string =>
  isList && name === 'first' ? 'limit' : isList && name === 'after' ? 'cursor' : name

const unknownParameters = (query: RestRequest['query'], known: ReadonlySet<string>): FieldError[] =>
  Object.keys(query)
    .filter((name) => !known.has(name))
    .map(unknownParameter)

/** The route's projection of its operation's data. */
export function projectionOf(route: Route): (data: unknown) => unknown {
  if (route.answer !== undefined) return route.answer as (data: unknown) => unknown
  const isMutation = operationOf(route).operation === OperationTypeNode.MUTATION
  return (data) => plainAnswer(Object.values(data as object)[0], isMutation)
}

/**
 * The value of the operation's only field, or of that field's only member. A connection becomes a
 * list, and so does a plain list. The members of a mutation's payload are put into one object.
 */
function plainAnswer(value: unknown, isPayload: boolean): unknown {
  if (Array.isArray(value)) return { data: value }
  if (isRelayConnection(value)) return listOf(value)
  const members = isCompound(value) ? Object.entries(value) : []
  const only: unknown = members.length === 1 ? members[0]?.[1] : undefined
  if (isCompound(only)) return plainAnswer(only, false)
  if (!isPayload || !members.some(([, member]) => isCompound(member))) return value
  return Object.assign({}, ...members.map(([name, member]) => (isCompound(member) ? member : { [name]: member })))
}

/** Whether a value has parts. The reference's placeholders for plain values have none. */
const isCompound = (value: unknown): value is object =>
  Array.isArray(value) || (typeof value === 'object' && value !== null && Object.keys(value).length > 0)

const REST_POINTERS: Readonly<Record<string, string>> = { '/after': '/cursor' }

/** Renames the pointers of a page's arguments to their REST names; `limit` is checked before. */
function inRestWords(error: unknown): never {
  if (!(error instanceof ServiceError) || error.extras.errors === undefined) throw error
  const errors = error.extras.errors.map((each) => ({ ...each, pointer: REST_POINTERS[each.pointer] ?? each.pointer }))
  throw validationFailed(errors)
}

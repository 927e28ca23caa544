import { getNamedType, type GraphQLField, type GraphQLSchema, isObjectType, Kind, OperationTypeNode } from 'graphql'

import type { Access } from '../../core/access.ts'
import {
  accessOfRoute,
  DEFAULT_LIMIT,
  MAX_LIMIT,
  operationOf,
  queryName,
  rootField,
  takesIdempotencyKey,
} from '../rest/handler.ts'
import type { Route } from '../../graphql/route.ts'
import { answerSchema } from './answers.ts'
import { exampleBody, exampleOf } from './examples.ts'
import { type HeaderName, LIMIT_HEADERS, refusalHeaders } from './headers.ts'
import { type Input, inputSchema, inputsOf, objectSchema } from './inputs.ts'
import { idSchema } from './scalars.ts'
import type { Components, Schema } from './json-schema.ts'
import { codesOf, headerRefs, refusalResponses } from './refusals.ts'

/** A route as an operation of OpenAPI. */
export function operationObject(schema: GraphQLSchema, route: Route, tag: string, components: Components) {
  const inputs = inputsOf(schema, route)
  const access = accessOfRoute(schema, route)
  const isWrite = takesIdempotencyKey(schema, route)
  const codes = codesOf(schema, route, inputs)
  const body = bodyObject(route, inputs, components)
  return {
    tags: [tag],
    summary: route.summary,
    description: `${route.description ?? answeredField(schema, route).description ?? ''}\n\n${accessText(access)}`,
    'x-access': access,
    security: securityOf(access),
    parameters: [...parameters(route, inputs, components), ...headerParameters(route, isWrite)],
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      ...successes(schema, route, access, components),
      ...refusalResponses(codes, (code) => refusalHeaders(code, access !== 'public', isWrite), components),
    },
  }
}

/**
 * The field that the route is about: if a query only passes through other fields, the innermost
 * one.
 */
function answeredField(schema: GraphQLSchema, route: Route): GraphQLField<unknown, unknown> {
  let field = rootField(schema, route)
  let [selection] = operationOf(route).selectionSet.selections
  while (operationOf(route).operation === OperationTypeNode.QUERY && selection?.kind === Kind.FIELD) {
    const [inner, ...others] = selection.selectionSet?.selections ?? []
    const type = getNamedType(field.type)
    if (inner?.kind !== Kind.FIELD || others.length > 0 || !isObjectType(type)) break
    field = type.getFields()[inner.name.value] ?? field
    selection = inner
  }
  return field
}

const ACCESS: Readonly<Record<string, string>> = {
  public: 'Needs no credentials.',
  key: 'Takes any live API key, or an admin token.',
  member: 'Takes the admin token of any member.',
  reader: 'Takes any live API key, or an admin token, with the identity assertion of a reader.',
  admin: 'Takes only the admin token of an owner or admin.',
}

/** Which callers an `access` lets in. */
export const accessText = (access: Access): string =>
  ACCESS[access] ??
  `Needs the capability \`${access}\`: an API key that has it, or the admin token of a member whose role has it.`

/**
 * Who may call, as alternatives. The identity is optional if it only adds the reader's own view.
 */
export function securityOf(access: Access): Record<string, string[]>[] {
  const callers =
    access === 'admin' || access === 'member' ? [{ AdminToken: [] }] : [{ ApiKey: [] }, { AdminToken: [] }]
  const withIdentity = callers.map((caller) => ({ ...caller, Identity: [] }))
  if (access === 'public') return []
  if (access === 'reader') return withIdentity
  return access === 'key' ? [...callers, ...withIdentity] : callers
}

/**
 * The operation's own name. If several routes run one operation, the later ones are named by their
 * difference.
 */
export function operationId(route: Route, taken: ReadonlySet<string>): string {
  const name = operationOf(route).name?.value ?? ''
  const id = name.charAt(0).toLowerCase() + name.slice(1)
  if (!taken.has(id)) return id
  if (route.path.startsWith('/admin/')) return `${id}AsAdmin`
  const parameter = [...route.path.matchAll(/:(\w+)/g)].at(-1)?.[1] ?? 'path'
  return `${id}By${parameter.charAt(0).toUpperCase()}${parameter.slice(1)}`
}

/**
 * The name of a path parameter in the reference: the resource's own is `id`. The route table uses
 * the operations' names, which can differ for one path; OpenAPI forbids that.
 */
export function pathName({ path }: Route, name: string): string {
  const [first] = [...path.matchAll(/:(\w+)/g)]
  return first?.[1] === name && !OWN_NAMES.has(name) ? 'id' : name
}

/** What names a resource in a path and is not its id. */
const OWN_NAMES: ReadonlySet<string> = new Set(['externalId', 'kid', 'documentId'])

function parameters(route: Route, inputs: readonly Input[], components: Components) {
  const given = inputs.filter((input) => input.in !== 'body')
  const isList = ['first', 'after'].every((name) => given.some((input) => input.name === name))
  return given.map((input) => {
    const name = { query: queryName(input.name, isList), path: pathName(route, input.name), body: input.name }[input.in]
    if (isList && name === 'limit') return LIMIT
    if (isList && name === 'cursor') return CURSOR
    const { type: types, ...schema } = idSchema(input.name, inputSchema(input.type, components, input.shape))
    const bounds = input.in === 'query' ? route.bounds?.[input.name] : undefined
    const own = input.description ?? bounds?.description
    const isInPath = input.in === 'path' && name === 'externalId'
    const description = isInPath ? [own, ENCODED].filter((text) => text != null).join(' ') : own
    // An address cannot contain null.
    const type = Array.isArray(types) ? types.filter((each) => each !== 'null')[0] : types
    const plain = Array.isArray(schema.anyOf) ? (schema.anyOf[0] as Schema) : schema
    return {
      name,
      in: input.in,
      required: input.isRequired,
      ...(description == null ? {} : { description }),
      schema: {
        ...(type === undefined ? {} : { type }),
        ...plain,
        ...(bounds === undefined ? {} : { minimum: bounds.min, maximum: bounds.max }),
        ...(input.default === undefined ? {} : { default: input.default }),
      },
      ...(input.in === 'path' ? { example: pathExample(input.name) } : {}),
    }
  })
}

const ENCODED = 'Percent-encoded: the page `/2026/news` is `%2F2026%2Fnews` in the path.'

const LIMIT = {
  name: 'limit',
  in: 'query',
  required: false,
  description: 'The maximum number of entries.',
  schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
}

const CURSOR = {
  name: 'cursor',
  in: 'query',
  required: false,
  description: 'The `nextCursor` of the previous page. The default is the first page.',
  schema: { type: 'string' },
}

const pathExample = (name: string): unknown =>
  Object.values(exampleOf({ properties: { [name]: { type: 'string', format: 'uuid' } } }, {}) as object)[0]

const headerParameters = ({ isDiscussionPage }: Route, isWrite: boolean) => [
  ...(isWrite ? [parameterRef('Idempotency-Key')] : []),
  ...(isDiscussionPage === true ? [parameterRef('If-None-Match')] : []),
  parameterRef('X-Request-Id'),
]

const parameterRef = (name: string) => ({ $ref: `#/components/parameters/${name}` })

function bodyObject(route: Route, inputs: readonly Input[], components: Components) {
  const fields = inputs.filter((input) => input.in === 'body')
  if (fields.length === 0) return undefined
  const name = operationOf(route).name?.value ?? ''
  const schema = components.refTo(`${name}Body`, objectSchema(fields, components))
  return {
    required: fields.some(({ isRequired }) => isRequired),
    content: { 'application/json': { schema, example: exampleBody(name, schema, components.schemas) } },
  }
}

function successes(schema: GraphQLSchema, route: Route, access: Access, components: Components) {
  const names: HeaderName[] = [
    'X-Request-Id',
    ...(access === 'public' ? [] : LIMIT_HEADERS),
    ...(takesIdempotencyKey(schema, route) ? (['Idempotency-Replayed'] as const) : []),
    ...(route.isDiscussionPage === true ? (['ETag'] as const) : []),
  ]
  const headers = headerRefs(names)
  const success = (description: string) => {
    const answer = answerSchema(schema, route, components)
    const example = exampleOf(answer, components.schemas)
    return { description, headers, content: { 'application/json': { schema: answer, example } } }
  }
  const { otherStatus: other, status } = route
  return {
    [status]: status === 204 ? { description: 'Done.', headers } : success(STATUS_TEXT[status] ?? 'Success.'),
    ...(other === undefined ? {} : { [other.status]: success(other.description) }),
    ...(route.isDiscussionPage === true
      ? { 304: { description: 'Not changed since the `ETag` of `If-None-Match`.', headers } }
      : {}),
  }
}

const STATUS_TEXT: Readonly<Record<number, string>> = {
  200: 'Success.',
  201: 'Created.',
  202: 'Accepted. The work continues in the background.',
}

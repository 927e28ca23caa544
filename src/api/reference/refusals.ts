import { STATUS_CODES } from 'node:http'

import { getNamedType, type GraphQLField, type GraphQLSchema } from 'graphql'

import type { Access } from '../../core/access.ts'
import { CAPABILITIES } from '../../core/capabilities.ts'
import { type ErrorCode, ERRORS } from '../../core/error-table.ts'
import { type FieldError, problemOf, ServiceError } from '../../core/errors.ts'
import { THROWS_EXTENSION } from '../../graphql/access.ts'
import { accessOfRoute, rootField, takesIdempotencyKey } from '../rest/handler.ts'
import type { Route } from '../../graphql/route.ts'
import type { HeaderName } from './headers.ts'
import type { Input } from './inputs.ts'
import type { Components, Schema } from './json-schema.ts'

const CODES = Object.keys(ERRORS) as ErrorCode[]

/** Errors that every request can get. */
const ANYWHERE: readonly ErrorCode[] = [
  'malformed_json',
  'ambiguous_credentials',
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'invalid_admin_token',
  'tenant_suspended',
  'uri_too_long',
  'validation_failed',
  'headers_too_large',
  'rate_limited',
  'internal',
  'unavailable',
]
const WITH_CREDENTIALS: readonly ErrorCode[] = ['missing_credentials', 'invalid_identity', 'expired_identity']
const WITH_BODY: readonly ErrorCode[] = ['body_too_large', 'unsupported_media_type']
const WRITES: readonly ErrorCode[] = ['idempotency_conflict', 'idempotency_in_progress']

/** The error codes that a route can answer, in the order of the table. */
export function codesOf(schema: GraphQLSchema, route: Route, inputs: readonly Input[]): ErrorCode[] {
  const codes = new Set(codesOfField(rootField(schema, route), accessOfRoute(schema, route)))
  const add = (more: readonly ErrorCode[]): void => more.forEach((code) => codes.add(code))
  if (route.method !== 'GET') add(WITH_BODY)
  if (takesIdempotencyKey(schema, route)) add(WRITES)
  // A path that is too long is not found either.
  const names = inputs.some((input) => input.in === 'path' || getNamedType(input.type).name === 'ID')
  if (names) add(['not_found'])
  return inOrder([...codes])
}

/** The codes in the order of the table. */
export const inOrder = (codes: readonly ErrorCode[]): ErrorCode[] => CODES.filter((code) => codes.includes(code))

/** The error codes of a root field with this `access`, in no order. */
export const codesOfField = ({ extensions }: GraphQLField<unknown, unknown>, access: Access): ErrorCode[] => [
  ...ANYWHERE,
  ...((extensions[THROWS_EXTENSION] ?? []) as readonly ErrorCode[]),
  ...(access === 'public' ? [] : WITH_CREDENTIALS),
  ...(access === 'public' || access === 'member' ? [] : (['second_factor_setup_required'] as const)),
  ...(access === 'admin' || access === 'member' ? (['admin_only'] as const) : []),
  ...(access === 'reader' ? (['identity_required'] as const) : []),
  ...((CAPABILITIES as readonly string[]).includes(access) ? (['missing_capability'] as const) : []),
]

export const PROBLEM: Schema = {
  type: 'object',
  description: 'Why a request was refused (RFC 9457). `code` is stable, the texts are not.',
  properties: {
    type: { type: 'string', format: 'uri', description: 'Identifies the kind of problem.' },
    title: { type: 'string', description: 'The kind of problem as text.' },
    status: { type: 'integer', description: 'The HTTP status.' },
    detail: { type: 'string', description: 'The details of this problem.' },
    code: { type: 'string', enum: CODES, description: 'The stable code of the problem, for programs.' },
    requestId: { type: 'string', description: 'The `X-Request-Id` of the answer.' },
    errors: {
      type: 'array',
      description: 'Each wrong value of the request.',
      items: {
        type: 'object',
        properties: {
          pointer: {
            type: 'string',
            description: 'A JSON pointer into the body (RFC 6901), or the name of a query parameter.',
          },
          code: { type: 'string', description: 'The code of the error.' },
          message: { type: 'string', description: 'The error as text.' },
        },
        required: ['pointer', 'code', 'message'],
      },
    },
    tenants: {
      type: 'array',
      description: 'What to choose from, of `tenant_required`.',
      items: {
        type: 'object',
        properties: {
          slug: { type: 'string', description: 'The short name, which login takes as `tenant`.' },
          name: { type: 'string', description: 'The name to show.' },
        },
        required: ['slug', 'name'],
      },
    },
  },
  required: ['type', 'title', 'status', 'detail', 'code', 'requestId'],
}

const EXAMPLE_ERRORS: readonly FieldError[] = [
  { pointer: '/body', code: 'too_long', message: 'must have at most 10000 characters' },
]

/** One example of each code, as `components.examples`. */
export const PROBLEM_EXAMPLES = Object.fromEntries(
  CODES.map((code) => {
    const errors = code === 'validation_failed' ? EXAMPLE_ERRORS : undefined
    const detail = errors?.map(({ pointer, message }) => `${pointer} ${message}`).join('; ')
    const value = problemOf(new ServiceError(code, { detail, errors }), '7d1b2a04-5c0e-4c55-9d0d-5f6f1f3d7a11')
    return [code, { summary: ERRORS[code].title, value }]
  }),
)

/** The responses of these codes, one for each status. */
export function refusalResponses(
  codes: readonly ErrorCode[],
  headersOfCode: (code: ErrorCode) => readonly HeaderName[],
  components: Components,
): Record<string, { $ref: string }> {
  const statuses = [...new Set(codes.map((code) => ERRORS[code].status))]
  return Object.fromEntries(
    statuses.map((status) => {
      const response = refusalResponse(
        codes.filter((code) => ERRORS[code].status === status),
        headersOfCode,
      )
      return [String(status), components.responseRef(STATUS_CODES[status]?.replaceAll(' ', '') ?? 'Refused', response)]
    }),
  )
}

const refusalResponse = (codes: readonly ErrorCode[], headersOfCode: (code: ErrorCode) => readonly HeaderName[]) => ({
  description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join('\n\n'),
  headers: headerRefs([...new Set(codes.flatMap(headersOfCode))]),
  content: {
    'application/problem+json': {
      schema: { $ref: '#/components/schemas/Problem' },
      examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
    },
  },
})

/** References to `components.headers`. */
export const headerRefs = (names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

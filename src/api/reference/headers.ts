import { type ErrorCode, ERRORS } from '../../core/error-table.ts'

const number = (description: string) => ({ description, schema: { type: 'integer' }, example: 1 })
const text = (description: string, example: string) => ({ description, schema: { type: 'string' }, example })

/** Every header of an answer, as `components.headers`. */
export const HEADERS = {
  'X-Request-Id': text('Identifies the request in the logs. A well-formed id of the request is kept.', '7d1b2a04'),
  'RateLimit-Limit': number('Requests that the bucket of the API key holds.'),
  'RateLimit-Remaining': number('Requests left in the bucket.'),
  'RateLimit-Reset': number('Seconds until the bucket is full.'),
  'Retry-After': number('Seconds after which to try again.'),
  'WWW-Authenticate': text('How to authenticate.', 'Bearer realm="engagement", error="missing_credentials"'),
  'Idempotency-Replayed': {
    description:
      '`true` where this is the stored outcome of an earlier request with the same `Idempotency-Key`. It leaves out what is ' +
      'shown once: API keys and secrets.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  ETag: text('Identifies this version of the answer, for `If-None-Match`.', '"42-1f3a"'),
  Deprecation: text('`true` where `token` was used.', 'true'),
  Sunset: text('When the parameter `token` stops working.', 'Wed, 30 Jun 2027 00:00:00 GMT'),
} as const

export type HeaderName = keyof typeof HEADERS

/** Headers of every answer to an authenticated caller. */
export const LIMIT_HEADERS: readonly HeaderName[] = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']

const RETRY: ReadonlySet<ErrorCode> = new Set([
  'rate_limited',
  'too_many_streams',
  'slow_mode',
  'idempotency_in_progress',
  'unavailable',
])

/** Refusals that come from the operation itself: these are stored outcomes of a write. */
const STORED: ReadonlySet<number> = new Set([403, 404, 409, 422])

/** The headers of an error code, with those for callers that have a limit, and for writes. */
export function refusalHeaders(code: ErrorCode, isLimited: boolean, isWrite: boolean): HeaderName[] {
  const { status } = ERRORS[code]
  return [
    'X-Request-Id',
    ...(RETRY.has(code) ? (['Retry-After'] as const) : []),
    ...(status === 401 ? (['WWW-Authenticate'] as const) : []),
    ...(isLimited && status > 401 ? LIMIT_HEADERS : []),
    ...(isWrite && STORED.has(status) ? (['Idempotency-Replayed'] as const) : []),
  ]
}

/** Every parameter in a header, as `components.parameters`. */
export const HEADER_PARAMETERS = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes the request safe to repeat. For 24 h a repetition gets the first answer, and nothing is done twice.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    example: 'comment-8c1f',
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of an earlier answer. If it has not changed, the answer is 304 without a body.',
    schema: { type: 'string' },
    example: '"42-1f3a"',
  },
  'X-Request-Id': {
    name: 'X-Request-Id',
    in: 'header',
    description: 'An id of your own for the request, 1 to 128 printable characters. An invalid one is replaced.',
    schema: { type: 'string' },
    example: 'backend-17',
  },
} as const

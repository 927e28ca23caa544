import { type ErrorCode, ERRORS } from '../../core/errors.ts'

const number = (description: string) => ({ description, schema: { type: 'integer' }, example: 1 })
const text = (description: string, example: string) => ({ description, schema: { type: 'string' }, example })

/** Every header of an answer, as `components.headers`. */
export const HEADERS = {
  'X-Request-Id': text('Names the request in our logs; the one that was sent, where that was well-formed.', '7d1b2a04'),
  'RateLimit-Limit': number('Requests that the bucket of the API key holds.'),
  'RateLimit-Remaining': number('Requests that it holds now.'),
  'RateLimit-Reset': number('Seconds until it is full.'),
  'Retry-After': number('Seconds after which to try again.'),
  'WWW-Authenticate': text('How to say who calls.', 'Bearer realm="engagement", error="missing_credentials"'),
  'Idempotency-Replayed': {
    description:
      '`true` where this is the stored outcome of an earlier request with the same `Idempotency-Key`. It leaves out what is ' +
      'shown once: API keys and secrets.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  ETag: text('Names this state of the answer, for `If-None-Match`.', '"42-1f3a"'),
  Deprecation: text('`true` where `token` was used.', 'true'),
  Sunset: text('When `token` ends.', 'Wed, 30 Jun 2027 00:00:00 GMT'),
} as const

export type HeaderName = keyof typeof HEADERS

/** Headers of every answer to a caller who says who it is. */
export const LIMIT_HEADERS: readonly HeaderName[] = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']

const RETRY: ReadonlySet<ErrorCode> = new Set([
  'rate_limited',
  'too_many_streams',
  'idempotency_in_progress',
  'unavailable',
])

/** Refusals of the operation itself: a write's stored outcome. */
const STORED: ReadonlySet<number> = new Set([403, 404, 409, 422])

/** Headers that go with an error code, where callers have a limit, and on a write. */
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

/** Every parameter that is a header, as `components.parameters`. */
export const HEADER_PARAMETERS = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes the request safe to send again: for 24 h the first outcome is answered again, and nothing is done twice.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    example: 'comment-8c1f',
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of an earlier answer: where it is still that, the answer is 304 without a body.',
    schema: { type: 'string' },
    example: '"42-1f3a"',
  },
  'X-Request-Id': {
    name: 'X-Request-Id',
    in: 'header',
    description: 'A name of your own for the request, 1 to 128 printable characters. Another one is replaced.',
    schema: { type: 'string' },
    example: 'backend-17',
  },
} as const

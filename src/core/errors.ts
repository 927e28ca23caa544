/**
 * Every error that a caller can meet: code → HTTP status and public text
 * (docs/reference/errors.md).
 */
export const ERRORS = {
  malformed_json: { status: 400, title: 'The request cannot be read' },
  ambiguous_credentials: {
    status: 400,
    title: 'Send an API key in X-API-Key or an admin token in Authorization, not both',
  },

  missing_credentials: {
    status: 401,
    title: 'This request needs an API key in X-API-Key, or an admin token in Authorization',
  },
  invalid_api_key: { status: 401, title: 'The API key is unknown or malformed' },
  expired_api_key: { status: 401, title: 'The API key has expired' },
  revoked_api_key: { status: 401, title: 'The API key has been revoked' },
  invalid_admin_token: { status: 401, title: 'The admin token or the login is not valid' },
  invalid_ticket: { status: 401, title: 'The stream ticket is not valid' },
  expired_ticket: { status: 401, title: 'The stream ticket has expired' },
  invalid_client_token: { status: 401, title: 'The client token is not valid' },
  expired_client_token: { status: 401, title: 'The client token has expired' },
  invalid_identity: { status: 401, title: 'The identity assertion is not valid' },
  expired_identity: { status: 401, title: 'The identity assertion has expired' },

  missing_capability: { status: 403, title: 'The key lacks a capability' },
  capability_escalation: { status: 403, title: 'A key can grant only capabilities that it holds itself' },
  admin_only: { status: 403, title: 'Only an admin may do this' },
  identity_required: { status: 403, title: "Writes on a reader's behalf need an identity assertion" },
  reader_banned: { status: 403, title: 'The reader is banned' },
  not_author: { status: 403, title: 'Only the author may do this' },
  edit_window_closed: { status: 403, title: 'The time to edit this comment is over' },
  origin_not_allowed: { status: 403, title: 'The Origin is not among those that the tenant allows' },

  not_found: { status: 404, title: 'There is no such resource' },
  unknown_document: { status: 404, title: 'The tenant has no such document' },
  method_not_allowed: { status: 405, title: 'This path does not take this method' },
  not_acceptable: { status: 406, title: 'The service has no answer of a type that Accept names' },

  request_timeout: { status: 408, title: 'The request did not arrive completely in time' },

  discussion_locked: { status: 409, title: 'The discussion is locked' },
  discussion_archived: { status: 409, title: 'The discussion is archived' },
  invalid_transition: { status: 409, title: 'The resource is not in a state that allows this' },
  key_budget_exhausted: { status: 409, title: 'The tenant has as many active keys as its budget allows' },
  endpoint_budget_exhausted: { status: 409, title: 'The tenant has as many webhook endpoints as its budget allows' },
  idempotency_conflict: { status: 409, title: 'This idempotency key was used with another request' },
  idempotency_in_progress: { status: 409, title: 'The first request with this idempotency key is still running' },
  document_conflict: { status: 409, title: 'The id names another document' },
  external_id_taken: { status: 409, title: 'The external id leads to another discussion' },
  already_reported: { status: 409, title: 'The reader has already reported this comment' },

  body_too_large: { status: 413, title: 'The body is larger than 256 KiB' },
  uri_too_long: { status: 414, title: 'The address of the request is longer than 16 KiB' },
  unsupported_media_type: { status: 415, title: 'The body must be application/json' },
  validation_failed: { status: 422, title: 'The request has wrong or missing values' },

  headers_too_large: { status: 431, title: 'The headers of the request are larger than 16 KiB' },
  rate_limited: { status: 429, title: 'Too many requests' },
  too_many_streams: { status: 429, title: 'Too many open streams' },

  internal: { status: 500, title: 'Something went wrong on our side' },
  unavailable: { status: 503, title: 'The service cannot answer now' },
} as const satisfies Record<string, { status: number; title: string }>

export type ErrorCode = keyof typeof ERRORS

/** One wrong value: its place (JSON pointer, RFC 6901), a code, and a message. */
export interface FieldError {
  pointer: string
  code: string
  message: string
}

interface Extras {
  /** Public: says in one sentence what was refused. */
  detail?: string | undefined
  errors?: readonly FieldError[] | undefined
  /** Answered as `Retry-After`. */
  retryAfterSeconds?: number | undefined
  /** Answered as `Allow`. */
  allow?: readonly string[] | undefined
  /** For the log only; never shown. */
  cause?: unknown
}

/**
 * A refusal that is shown to the caller. Any other thrown error becomes `internal`, which shows
 * nothing of its cause.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly extras: Extras

  constructor(code: ErrorCode, extras: Extras = {}) {
    super(extras.detail ?? ERRORS[code].title, { cause: extras.cause })
    this.name = 'ServiceError'
    this.code = code
    this.status = ERRORS[code].status
    this.extras = extras
  }
}

/** The error for a query parameter that the route does not have. */
export const unknownParameter = (name: string): FieldError => ({
  pointer: `/${name}`,
  code: 'unknown_parameter',
  message: 'is not a parameter of this request',
})

/** A body can have a hundred thousand wrong values, and callers fix one at a time. */
const MAX_FIELD_ERRORS = 20

/** The first wrong values as one `validation_failed`, whose detail names the place of each. */
export function validationFailed(all: readonly FieldError[]): ServiceError {
  const errors = all.slice(0, MAX_FIELD_ERRORS)
  const detail = errors.map(({ pointer, message }) => `${pointer === '' ? 'The body' : pointer} ${message}`).join('; ')
  return new ServiceError('validation_failed', { detail, errors })
}

/** `validation_failed` for one value; `message` continues a sentence about it: `must …`. */
export const invalid = (pointer: string, code: string, message: string): ServiceError =>
  validationFailed([{ pointer, code, message }])

/** A problem document (RFC 9457). */
export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  code: ErrorCode
  requestId: string
  errors?: readonly FieldError[]
}

/** One sentence for the caller that describes an error. */
export const detailOf = ({ code, extras }: ServiceError): string => extras.detail ?? `${ERRORS[code].title}.`

/** The public form of an error, without anything of its cause. */
export function problemOf(error: ServiceError, requestId: string): Problem {
  const { title, status } = ERRORS[error.code]
  const { errors } = error.extras
  return {
    type: `urn:engagement-service:error:${error.code}`,
    title,
    status,
    detail: detailOf(error),
    code: error.code,
    requestId,
    ...(errors === undefined ? {} : { errors }),
  }
}

/**
 * Whole seconds until a retry makes sense, for `Retry-After`; undefined where the error has none.
 */
export const retryAfterOf = ({ extras: { retryAfterSeconds } }: ServiceError): number | undefined =>
  retryAfterSeconds === undefined ? undefined : Math.max(1, Math.ceil(retryAfterSeconds))

/** The headers of an error: `Retry-After`, `Allow`, `WWW-Authenticate`. */
export function refusalHeaders(error: ServiceError): Record<string, string> {
  const { allow } = error.extras
  const retryAfter = retryAfterOf(error)
  return {
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
    ...(allow === undefined ? {} : { allow: allow.join(', ') }),
    ...(error.status === 401 ? { 'www-authenticate': `Bearer realm="engagement", error="${error.code}"` } : {}),
  }
}

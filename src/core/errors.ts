import { type ErrorCode, ERRORS } from './error-table.ts'

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
  /** Public: what the caller chooses from, as further members of the problem. */
  more?: Readonly<Record<string, unknown>> | undefined
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

/**
 * `not_found` for one thing of a kind. A caller who may not see a thing gets the same words as for
 * one that is not there, so that they do not learn that it exists.
 */
export const noSuch = (kind: string): ServiceError =>
  new ServiceError('not_found', { detail: `There is no such ${kind}.` })

/** The error for a query parameter that the route does not have. */
export const unknownParameter = (name: string): FieldError => ({
  pointer: `/${name}`,
  code: 'unknown_parameter',
  message: 'is not a parameter of this request',
})

/**
 * A body can have a hundred thousand wrong values, and callers fix one at a time. A check ends at
 * this number of them.
 */
export const MAX_FIELD_ERRORS = 20

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
export const sentenceOf = ({ code, extras }: ServiceError): string => extras.detail ?? `${ERRORS[code].title}.`

/**
 * What to say beside the title: why this request was refused, else when requests are and what to
 * do (RFC 9457, section 3.1.4). A link is its text.
 */
const detailOf = ({ code, extras }: ServiceError): string =>
  extras.detail ?? ERRORS[code].help.replaceAll(/\[([^[\]]+)\]\([^()]+\)/g, '$1')

/** The public form of an error, without anything of its cause. */
export function problemOf(error: ServiceError, requestId: string): Problem {
  const { title, status } = ERRORS[error.code]
  const { errors, more } = error.extras
  return {
    type: `urn:engagement-service:error:${error.code}`,
    title,
    status,
    detail: detailOf(error),
    code: error.code,
    requestId,
    ...(errors === undefined ? {} : { errors }),
    ...more,
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

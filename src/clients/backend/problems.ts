import { randomUUID } from 'node:crypto'

/**
 * The refusals of this library, with the service's own texts. Those of the service are passed on
 * unchanged.
 */
export const PROBLEMS = {
  identity_required: {
    status: 403,
    title: "Writes on a reader's behalf need an identity assertion",
    help: 'Send the assertion of the reader in `X-Service-Identity`, or mint the client token with it. The page of a site sends a token of the issuer.',
  },
  origin_not_allowed: {
    status: 403,
    title: 'The Origin is not among those that the tenant allows',
    help: 'Add the origin of the page to `allowedOrigins` in the tenant settings, or to the origins of its site.',
  },
  not_found: {
    status: 404,
    title: 'There is no such resource',
    help: 'The id or path does not exist, belongs to another tenant, or is not visible to the caller.',
  },
  method_not_allowed: {
    status: 405,
    title: 'This path does not take this method',
    help: 'The header `Allow` lists the methods that the path takes.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is larger than 256 KiB',
    help: 'Send a smaller body.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body must be application/json',
    help: 'Send `Content-Type: application/json` in UTF-8, without compression.',
  },
  validation_failed: {
    status: 422,
    title: 'The request has wrong or missing values',
    help: 'Each of `errors` has the `pointer` to a wrong value, a `code` and a `message`. Correct the request; the same one fails again.',
  },
  internal: {
    status: 500,
    title: 'Something went wrong on our side',
    help: 'The service failed. Report it with the `requestId`, which is also in the log.',
  },
  unavailable: {
    status: 503,
    title: 'The service cannot answer now',
    help: 'The database is not available, a lock was not free in time, the service is starting, or it lacks an encryption key. Send the request again after `Retry-After`; an `Idempotency-Key` keeps a write from being done twice.',
  },
} as const

interface Extras {
  detail?: string
  /** The wrong values of the request, by their places. */
  errors?: readonly { pointer: string; code: string; message: string }[]
  headers?: Readonly<Record<string, string>>
}

/**
 * A refusal that the page gets. Any other thrown error becomes `internal`, which reveals nothing.
 */
export class Refusal extends Error {
  readonly code: keyof typeof PROBLEMS
  readonly extras: Extras

  constructor(code: keyof typeof PROBLEMS, extras: Extras = {}) {
    super(extras.detail ?? PROBLEMS[code].title)
    this.name = 'Refusal'
    this.code = code
    this.extras = extras
  }
}

/** `validation_failed` for one wrong value. */
export const invalid = (pointer: string, code: string, message: string): Refusal =>
  new Refusal('validation_failed', {
    detail: `${pointer === '' ? 'The body' : pointer} ${message}`,
    errors: [{ pointer, code, message }],
  })

/** A refusal as a problem document (RFC 9457), as the service writes them. */
export function problem({ code, extras: { detail, errors, headers } }: Refusal, requestId: string): Response {
  const { status, title, help } = PROBLEMS[code]
  const body = {
    type: `urn:engagement-service:error:${code}`,
    title,
    status,
    detail: detail ?? help,
    code,
    requestId,
    ...(errors === undefined ? {} : { errors }),
  }
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...headers },
  })
}

/** The request's own id if it is well-formed, else a new one. */
export function requestIdOf(headers: Headers): string {
  const given = headers.get('x-request-id') ?? ''
  return /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomUUID()
}

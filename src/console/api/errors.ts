/** One member of `errors` in a problem document of the service (contract, section 2). */
export interface InvalidField {
  pointer: string
  code: string
  message: string
}

/** A refusal of the service, by its code. */
export class ApiError extends Error {
  readonly code: string
  readonly fields: readonly InvalidField[]
  readonly requestId: string | null
  readonly retryAfterSeconds: number | null

  constructor(
    code: string,
    message: string,
    about: { fields?: readonly InvalidField[]; requestId?: string | null; retryAfterSeconds?: number | null } = {},
  ) {
    super(message)
    this.name = 'ApiError'
    this.code = code
    this.fields = about.fields ?? []
    this.requestId = about.requestId ?? null
    this.retryAfterSeconds = about.retryAfterSeconds ?? null
  }
}

/** The token is of no use any more: whoever works here signs in again. */
export const isExpiry = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 'invalid_admin_token' || error.code === 'missing_credentials')

/** What a person is told of an error. */
export function wordsOf(error: unknown): string {
  if (error instanceof ApiError) return error.message
  if (error instanceof TypeError) return 'The service cannot be reached. Check your connection and try again.'
  return error instanceof Error ? error.message : String(error)
}

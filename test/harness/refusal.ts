import type { ErrorCode } from '../../src/core/error-table.ts'
import type { FieldError } from '../../src/core/errors.ts'

interface Refusal {
  status: number
  code: ErrorCode
  errors?: FieldError[]
  requestId?: string
}

/** What an answer refuses with: a problem document, or the first error of GraphQL. */
export function refusalIn(json: unknown): Refusal {
  const { errors: [first] = [] } = json as { errors?: { extensions?: Refusal }[] }
  return first?.extensions ?? (json as Refusal)
}

import { ApiError } from '../api/errors.ts'

/** The fields that a refusal names, by their names in a form: `/input/policy/timeoutMs` is `policy.timeoutMs`. */
export function fieldErrors(error: unknown): Record<string, string> {
  if (!(error instanceof ApiError)) return {}
  return Object.fromEntries(
    error.fields.map(({ pointer, message }) => [pointer.replace(/^\/(input\/)?/, '').replaceAll('/', '.'), message]),
  )
}

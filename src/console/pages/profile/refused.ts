import { ApiError } from '../../api/errors.ts'

/**
 * Runs `send`; a refusal with this code becomes one of a form's field. Not by `request`, to which
 * some of these codes mean that the sign-in has ended.
 */
export async function refusedAt<Result>(
  { code, field, message }: { code: string; field: string; message: string },
  send: () => Promise<Result>,
): Promise<Result> {
  try {
    return await send()
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== code) throw error
    const fields = [{ pointer: `/${field}`, code, message }]
    throw new ApiError('validation_failed', error.message, { fields })
  }
}

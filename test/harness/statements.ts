import { vi } from 'vitest'

import type { TestService } from './service.ts'

/** Of a request's caller: they are kept for a while, and uses are written from time to time. */
const OF_CALLERS =
  /^(find_(key_by_digest|key_set|tenant|client_token|sign_in|origin)|live_identity_secrets|record_key_uses)$/

/**
 * What `work` gives, and the names of the statements by hand that run meanwhile, without those of
 * callers.
 */
export async function statementsOf<T>(
  { app }: Pick<TestService, 'app'>,
  work: () => Promise<T>,
): Promise<{ result: T; statements: string[] }> {
  const query = vi.spyOn(app.db, 'query')
  try {
    const result = await work()
    const names = query.mock.calls.map(([{ name }]) => name)
    return { result, statements: names.filter((name) => !OF_CALLERS.test(name)) }
  } finally {
    query.mockRestore()
  }
}

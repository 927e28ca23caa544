import { expect } from 'vitest'

import type { Headers, TestResponse, TestService } from './service.ts'

/**
 * Requests of a test to a service that starts later, each with the headers of `always`. `ok` fails
 * unless the request succeeds, and gives the JSON of the answer.
 */
export function callsTo(service: () => Pick<TestService, 'call'>, always: () => Headers = () => ({})) {
  const call = (method: string, path: string, body?: unknown, headers: Headers = {}): Promise<TestResponse> =>
    service().call(method, path, { headers: { ...always(), ...headers }, body })
  const ok = async (...asked: Parameters<typeof call>): Promise<TestResponse['json']> => {
    const { status, json, text } = await call(...asked)
    expect(status, `${asked[0]} ${asked[1]}: ${text}`).toBeLessThan(300)
    return json
  }
  /** The entries of a list on all its pages. `between` runs before each further one. */
  const entriesOf = async (
    path: string,
    between: (page: TestResponse['json']) => Promise<unknown> = async () => undefined,
  ): Promise<TestResponse['json'][]> => {
    const entries = []
    for (let cursor = ''; ;) {
      const page = await ok('GET', path + cursor)
      entries.push(...page.data)
      if (!page.hasMore) return entries
      await between(page)
      cursor = `&cursor=${page.nextCursor}`
    }
  }
  return { call, ok, entriesOf }
}

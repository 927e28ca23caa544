import { expect } from 'vitest'

import type { Call, Headers, Json, TestResponse } from './send.ts'

/**
 * Requests of a test to a service that starts later, each with the headers of `always`. `ok` fails
 * unless the request succeeds, and gives the JSON of the answer.
 */
export function callsTo(service: () => { call: Call }, always: () => Headers = () => ({})) {
  const call = (method: string, path: string, body?: unknown, headers: Headers = {}): Promise<TestResponse> =>
    service().call(method, path, { headers: { ...always(), ...headers }, body })
  const ok = async (...asked: Parameters<typeof call>): Promise<Json> => {
    const { status, json, text } = await call(...asked)
    expect(status, `${asked[0]} ${asked[1]}: ${text}`).toBeLessThan(300)
    return json
  }
  /** The entries of a list on all its pages. `between` runs before each further one. */
  const entriesOf = async (
    path: string,
    between: (page: Json) => Promise<unknown> = async () => undefined,
  ): Promise<Json[]> => {
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

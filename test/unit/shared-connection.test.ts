import { expect, test, vi } from 'vitest'

import { SharedConnection } from '../../src/api/graphql-sse/shared-connection.ts'

test('an operation begins once the client has taken earlier results', async () => {
  const shared = new SharedConnection()
  let begun = 0
  const operation = async (): Promise<void> => {
    begun++
    await Promise.resolve()
    void shared.gate.enter()
  }
  const all = Promise.all(Array.from({ length: 100 }, () => shared.runInTurn(operation)))
  await vi.waitFor(() => expect(shared.gate.held).toBe(16))
  await shared.settled()
  expect(begun).toBe(16)
  for (let taken = 1; taken <= 10; taken++) {
    shared.gate.leave()
    await vi.waitFor(() => expect(begun).toBe(16 + taken))
  }
  shared.close()
  await all
})

import { expect, test, vi } from 'vitest'

import { SharedConnection } from '../../src/api/graphql-sse/shared-connection.ts'

const turn = (operationId: string, isGone?: () => boolean) => ({ operationId, isGone })

/** A connection whose client has not taken 16 results. */
function fullConnection(): SharedConnection {
  const shared = new SharedConnection()
  for (let n = 0; n < 16; n++) void shared.gate.enter()
  return shared
}

test('an operation that its client ends before its turn does not begin', async () => {
  const shared = fullConnection()
  const run = vi.fn<() => Promise<string>>(() => Promise.resolve('done'))
  const [ended, other] = [shared.runInTurn(turn('ended'), run), shared.runInTurn(turn('other'), run)]
  shared.giveUp('ended')
  expect(await ended).toBe(null)
  expect(run).not.toHaveBeenCalled()
  shared.gate.leave()
  expect(await other).toBe('done')
})

test('an operation whose client has left does not begin, and is not held', async () => {
  const shared = fullConnection()
  const run = vi.fn<() => Promise<void>>(() => Promise.resolve())
  let isGone = false
  const left = shared.runInTurn(
    turn('left', () => isGone),
    run,
  )
  isGone = true
  const next = shared.runInTurn(turn('next'), run)
  expect(await left).toBe(null)
  expect(run).not.toHaveBeenCalled()
  shared.close()
  await next
})

test('an operation begins once the client has taken earlier results', async () => {
  const shared = new SharedConnection()
  let begun = 0
  const operation = async (): Promise<void> => {
    begun++
    await Promise.resolve()
    void shared.gate.enter()
  }
  const all = Promise.all(Array.from({ length: 100 }, (_, n) => shared.runInTurn(turn(String(n)), operation)))
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

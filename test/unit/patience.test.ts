import { afterEach, describe, expect, test, vi } from 'vitest'

import { Patience } from '../../src/core/queues/patience.ts'

const lockFailure = (): Error => Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' })

/** Longer than the machine may stand still. */
const LONG_MS = 60_000

afterEach(() => void vi.restoreAllMocks())

describe('a tenant’s writes', () => {
  test('use at most half of the connections at once, in order of arrival', async () => {
    const patience = new Patience({ connections: 8, patienceMs: LONG_MS })
    const ended: number[] = []
    let running = 0
    let most = 0
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        patience.run(async () => {
          most = Math.max(most, ++running)
          await new Promise((resolve) => setImmediate(resolve))
          running--
          ended.push(n)
        }),
      ),
    )
    expect(most).toBe(4)
    expect(ended).toEqual(Array.from({ length: 20 }, (_, n) => n))
  })

  test.each(['55P03', '40P01'])(
    'are tried again after %s, with little patience for locks while that is recent',
    async (code) => {
      // At one instant, however long the machine takes.
      vi.spyOn(performance, 'now').mockReturnValue(0)
      const patience = new Patience({ connections: 2, patienceMs: LONG_MS })
      const waits: (number | undefined)[] = []
      const written = await patience.run(async (lockWaitMs) => {
        waits.push(lockWaitMs)
        if (waits.length < 3) throw Object.assign(lockFailure(), { code })
        return 'written'
      })
      expect(written).toBe('written')
      expect(waits).toEqual([undefined, 25, 25])
      expect(patience.isStuck).toBe(true)
    },
  )

  test('that wait for a retry leave their place to others', async () => {
    const patience = new Patience({ connections: 2, patienceMs: LONG_MS })
    let isFree = false
    const stuck = patience.run(async () => {
      if (!isFree) throw lockFailure()
      return 'stuck'
    })
    expect(await patience.run(async () => 'other')).toBe('other')
    isFree = true
    expect(await stuck).toBe('stuck')
  })

  test('that wait are retried one at a time, in order of arrival', async () => {
    const patience = new Patience({ connections: 16, patienceMs: LONG_MS })
    let isFree = false
    let running = 0
    const tried: number[] = []
    const done: number[] = []
    const writes = Array.from({ length: 100 }, (_, n) => {
      let isFirst = true
      return patience.run(async () => {
        if (isFirst) {
          isFirst = false
          throw lockFailure()
        }
        expect(++running).toBe(1)
        tried.push(n)
        await new Promise((resolve) => setImmediate(resolve))
        running--
        if (!isFree) {
          isFree = tried.length > 2
          throw lockFailure()
        }
        done.push(n)
      })
    })
    await Promise.all(writes)
    expect(tried.slice(0, 3)).toEqual([0, 1, 2])
    expect(done).toHaveLength(100)
    // Three failed tries for all of them together, not for each.
    expect(tried).toHaveLength(103)
  })

  test('are unavailable after their time', async () => {
    let now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now)
    const patience = new Patience({ connections: 2, patienceMs: 100 })
    let tries = 0
    const write = patience.run(async () => {
      tries++
      now += 60
      throw lockFailure()
    })
    await expect(write).rejects.toMatchObject({ code: 'unavailable', extras: { retryAfterSeconds: 1 } })
    expect(tries).toBe(2)
  })

  test('that fail for any other reason are not retried', async () => {
    const patience = new Patience({ connections: 2, patienceMs: LONG_MS })
    let tries = 0
    const write = patience.run(async () => {
      tries++
      throw new Error('Connection terminated')
    })
    await expect(write).rejects.toThrow('Connection terminated')
    expect([tries, patience.isStuck]).toEqual([1, false])
  })
})

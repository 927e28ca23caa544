import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { addressBucket } from '../../src/core/limits.ts'
import { takeForAnswers } from '../../src/live/browser-limits.ts'
import type { App } from '../../src/core/app.ts'
import { createMemoryLimits } from '../../src/data/limits/memory.ts'
import {
  createSharedLimits,
  createTokenStore,
  type TokenRequest,
  type TokenStore,
} from '../../src/data/limits/shared.ts'

const RATE = { perSecond: 10, burst: 5 }

/** Limits on a clock that stands until it is moved. */
function limitsAt(start = 1000) {
  let now = start
  const limits = createMemoryLimits(() => now)
  const take = (name = 'a', rate = RATE) => limits.take('caller', name, rate)
  return { limits, take, pass: (ms: number) => void (now += ms) }
}

const allowed = (count: number, take: () => { isAllowed: boolean }): number =>
  Array.from({ length: count }, () => take()).filter(({ isAllowed }) => isAllowed).length

test('a long name of a bucket is shared and kept as its digest', async () => {
  const named: string[] = []
  const take = async ({ name }: TokenRequest) => (named.push(name), { isAllowed: true, tokens: 1 })
  const limits = createSharedLimits({ isUp: () => true, take, close: () => undefined })
  const long = (end: string): string => `tenant/${'a'.repeat(255)}${end}`
  limits.take('siteReader', long('1'), RATE)
  await limits.takeExactly('siteReader', long('1'), RATE)
  await limits.giveBackExactly('siteReader', long('1'), RATE, 1)
  limits.take('siteReader', long('2'), RATE)
  limits.take('siteReader', 'tenant/short', RATE)
  limits.close()
  const [first] = named
  expect(first?.length).toBeLessThan(100)
  expect(named).toEqual([first, first, first, expect.not.stringMatching(`^${first}$`), 'tenant/short'])
})

describe('a token bucket', () => {
  test('gives the burst at once, and no more', () => {
    const { take } = limitsAt()
    expect(allowed(20, take)).toBe(5)
  })

  test('reports the tokens left, when it is full, and when there is a token', () => {
    const { take, pass } = limitsAt()
    expect(take()).toEqual({ isAllowed: true, remaining: 4, resetSeconds: 1, retryAfterSeconds: 0 })
    expect(allowed(4, take)).toBe(4)
    pass(40)
    const refused = take()
    expect(refused).toMatchObject({ isAllowed: false, remaining: 0, resetSeconds: 1 })
    expect(refused.retryAfterSeconds).toBeCloseTo(0.06, 5)
  })

  test('gives as many as are regained, over any time', () => {
    const { take, pass } = limitsAt()
    let count = allowed(50, take)
    for (let ms = 0; ms < 60_000; ms += 7) {
      pass(7)
      count += allowed(3, take)
    }
    expect(count).toBeGreaterThanOrEqual(5 + 600 - 1)
    expect(count).toBeLessThanOrEqual(5 + 601)
  })

  test('holds at most the burst after a rest', () => {
    const { take, pass } = limitsAt()
    allowed(5, take)
    pass(3_600_000)
    expect(allowed(20, take)).toBe(5)
  })

  test('is not charged for refusals', () => {
    const { take, pass } = limitsAt()
    allowed(1000, take)
    pass(100)
    expect(take().isAllowed).toBe(true)
  })

  test('gives several tokens if there is one, and owes the missing ones', () => {
    const { limits, take, pass } = limitsAt()
    allowed(4, take)
    expect(limits.take('caller', 'a', RATE, 8)).toMatchObject({ isAllowed: true, remaining: 0 })
    expect(limits.take('caller', 'a', RATE, 2).isAllowed).toBe(false)
    pass(790)
    expect(take().isAllowed).toBe(false)
    pass(20)
    expect(take().isAllowed).toBe(true)
  })

  test('follows a changed rate at once', () => {
    const { take, pass } = limitsAt()
    allowed(5, take)
    pass(10)
    expect(take('a', { perSecond: 1000, burst: 5 }).isAllowed).toBe(true)
    pass(1000)
    expect(allowed(20, () => take('a', { perSecond: 10, burst: 2 }))).toBe(2)
  })

  test('is one per name and kind', () => {
    const { limits, take } = limitsAt()
    allowed(20, take)
    expect(take('b').isAllowed).toBe(true)
    expect(limits.take('address', 'a', RATE).isAllowed).toBe(true)
  })

  test('takes returned tokens, up to its capacity', () => {
    const { limits, take } = limitsAt()
    allowed(5, take)
    limits.giveBack('caller', 'a', RATE, 2)
    expect(allowed(20, take)).toBe(2)
    limits.giveBack('caller', 'a', RATE, 1000)
    expect(allowed(20, take)).toBe(5)
  })

  test('is not evicted by a flood of other addresses', () => {
    const { limits, take } = limitsAt()
    allowed(5, take)
    for (let n = 0; n < 120_000; n++) limits.take('address', String(n), RATE)
    expect(take().isAllowed).toBe(false)
  })
})

describe('the bucket of an address', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2/64'],
    ['2001:db8:1:2:ffff::', '2001:db8:1:2/64'],
    ['unknown', 'unknown'],
  ])('%s is %s', (address, bucket) => {
    expect(addressBucket(address)).toBe(bucket)
  })
})

describe('a token that must be taken exactly', () => {
  test('is not reported again when the store answers too late: it may have been taken', async () => {
    vi.useFakeTimers()
    try {
      const asked: TokenRequest[] = []
      const limits = createSharedLimits({
        isUp: () => true,
        take: (request) => {
          asked.push(request)
          return Promise.reject(new Error('too late'))
        },
        close: () => undefined,
      })
      const { isAllowed } = await limits.takeExactly('login', 'ann', RATE)
      await vi.advanceTimersByTimeAsync(1000)
      expect([isAllowed, asked.map(({ isExact }) => isExact)]).toEqual([true, [true]])
      limits.close()
    } finally {
      vi.useRealTimers()
    }
  })

  test('is returned at once: the next one at another process finds it', async () => {
    const take: TokenStore = createTokenStore(() => 0)
    const limitsOf = () =>
      createSharedLimits({ isUp: () => true, take: async (asked) => take(asked), close: () => undefined })
    const [one, other] = [limitsOf(), limitsOf()]
    const ONCE = { perSecond: 0.001, burst: 2 }
    for (let n = 0; n < 5; n++) {
      expect((await one.takeExactly('login', 'ann', ONCE)).isAllowed).toBe(true)
      await one.giveBackExactly('login', 'ann', ONCE, 2)
    }
    const guesses = [other, one, other].map((each) => each.takeExactly('login', 'ann', ONCE))
    expect((await Promise.all(guesses)).map(({ isAllowed }) => isAllowed)).toEqual([true, true, false])
    one.close()
    other.close()
  })
})

describe('shared limits whose store answers late', () => {
  const LATE_MS = 60
  /** They are of one process; others share the store. */
  const late = () => {
    const store = createTokenStore(Date.now)
    const limits = createSharedLimits({
      isUp: () => true,
      take: async (request) => {
        const answer = store(request)
        await new Promise((resolve) => setTimeout(resolve, LATE_MS))
        return answer
      },
      close: () => undefined,
      now: Date.now,
    })
    const left = (kind: 'ticket' | 'client', name: string, rate = RATE): [own: number, shared: number] => {
      const { tokens } = store({ kind, name, rate, tokens: 0, isExact: false })
      return [limits.take(kind, name, rate, 0).remaining, Math.floor(tokens)]
    }
    return { limits, left }
  }
  const SLOW = { perSecond: 0.001, burst: 20 }

  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test('keep tokens that are returned while an earlier answer is under way', async () => {
    const { limits, left } = late()
    for (const beforeMs of [0, 10, LATE_MS + 10, 500]) {
      limits.take('client', 'a', SLOW, 8)
      await vi.advanceTimersByTimeAsync(beforeMs)
      limits.giveBack('client', 'a', SLOW, 8)
      await vi.advanceTimersByTimeAsync(1000)
      expect([beforeMs, ...left('client', 'a', SLOW)]).toEqual([beforeMs, 20, 20])
    }
    limits.close()
  })

  test('take nothing of a token for answers that its address cannot pay, however often they are tried', async () => {
    const { limits, left } = late()
    const settings = { UNAUTHENTICATED_RATE_PER_SECOND: 0.001, UNAUTHENTICATED_RATE_BURST: 20 }
    const app = { limits, settings } as App
    const use = { tenantId: 't', id: 'a', address: '203.0.113.7' } as Parameters<typeof takeForAnswers>[1]
    limits.take('ticket', 't/address/203.0.113.7', SLOW, 20)
    for (let n = 0; n < 20; n++) {
      expect(takeForAnswers(app, use, SLOW, 8)).toBe(false)
      await vi.advanceTimersByTimeAsync(250)
    }
    expect(left('client', 't/a', SLOW)).toEqual([20, 20])
    limits.close()
  })
})

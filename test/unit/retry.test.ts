import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { tenantSettings } from '../../src/core/settings/tenant.ts'
import { effectivePolicy } from '../../src/domains/webhooks/rules/policy.ts'
import { retryDelayMs } from '../../src/worker/attempt.ts'

const defaults = effectivePolicy(tenantSettings({}), {})

describe('the wait after a failed attempt', () => {
  test('is 1 s, then 2 s, without jitter', () => {
    expect(retryDelayMs(1, defaults, 0)).toBe(1000)
    expect(retryDelayMs(2, defaults, 0)).toBe(2000)
  })

  test('is at most half as long again with jitter', () => {
    expect(retryDelayMs(1, defaults, 0.999999)).toBe(1500)
    expect(retryDelayMs(2, defaults, 0.5)).toBe(2500)
  })

  test('is 5 s to 24 h by the schedule of days: ten attempts, whatever maxAttempts is', () => {
    const seconds = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]
    for (const maxAttempts of [1, 3, 10]) {
      const waits = Array.from({ length: 10 }, (_each, place) =>
        retryDelayMs(place + 1, { ...defaults, maxAttempts, schedule: 'days' }, 0.5),
      )
      expect(waits).toEqual([...seconds.map((each) => each * 1000), null])
    }
  })

  test('is null after the last attempt', () => {
    expect(retryDelayMs(3, defaults, 0)).toBeNull()
    expect(retryDelayMs(1, { ...defaults, maxAttempts: 1 }, 0)).toBeNull()
  })

  test('lies between base × 2^(n−1) and one and a half of it, for every policy and chance', () => {
    const chance = fc.double({ min: 0, max: 0.999999, noNaN: true })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 10, max: 60_000 }),
        chance,
        (n, backoffBaseMs, drawn) => {
          const delay = retryDelayMs(n, { ...defaults, maxAttempts: 10, backoffBaseMs }, drawn)
          expect(delay).toBeGreaterThanOrEqual(backoffBaseMs * 2 ** (n - 1))
          expect(delay).toBeLessThanOrEqual(backoffBaseMs * 2 ** (n - 1) * 1.5 + 1)
        },
      ),
    )
  })
})

describe('the policy in force', () => {
  test("is the tenant's, with the endpoint's own values over it", () => {
    const settings = tenantSettings({ webhookPolicy: { maxAttempts: 5 } })
    expect(effectivePolicy(settings, { timeoutMs: 500 })).toEqual({ ...defaults, maxAttempts: 5, timeoutMs: 500 })
  })

  test('never disables before the circuit opens', () => {
    expect(effectivePolicy(tenantSettings({}), { breakerThreshold: 80 }).disableThreshold).toBe(80)
  })
})

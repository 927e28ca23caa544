import fc from 'fast-check'
import { expect, test } from 'vitest'

import { StopClock } from '../../src/core/process/stop-clock.ts'

test('the phases of a stop fit into its grace period, one after the other, however late each one ends', () => {
  const seconds = fc.double({ min: 0, max: 300, noNaN: true })
  fc.assert(
    fc.property(seconds, seconds, fc.array(seconds, { minLength: 3, maxLength: 3 }), (grace, drain, delays) => {
      const begunAt = 1000
      const clock = new StopClock({ graceSeconds: grace, drainSeconds: drain }, begunAt)
      expect(clock.drainMs).toBeLessThanOrEqual((grace * 1000) / 2)
      let now = begunAt
      for (const [index, phase] of (['drain', 'streams', 'work'] as const).entries()) {
        const left = clock.leftMs(phase, now)
        expect(left).toBeGreaterThanOrEqual(0)
        now += left
        // A phase that is on time leaves a fifth of what follows the drain.
        const endsBy = begunAt + clock.drainMs + (grace * 1000 - clock.drainMs) * 0.8
        if (left > 0) expect(now).toBeLessThanOrEqual(endsBy + 0.001)
        now += (delays[index] ?? 0) * 1000
      }
    }),
  )
})

test('by default 5 s to drain, streams by 7.5 s, the rest by 9 s', () => {
  const clock = new StopClock({ graceSeconds: 10, drainSeconds: 5 }, 0)
  expect((['drain', 'streams', 'work'] as const).map((phase) => clock.leftMs(phase, 0))).toEqual([5000, 7500, 9000])
  expect((['drain', 'streams', 'work'] as const).map((phase) => clock.leftMs(phase, 8000))).toEqual([0, 0, 1000])
})

import fc from 'fast-check'
import { expect, test } from 'vitest'

import { WritePause } from '../../src/live/streams/pause.ts'

const MAX_MS = 50

/** A pause whose clock stands still until it is put on. */
function pauseAt(maxMs = MAX_MS) {
  let now = 0
  const pause = new WritePause({ maxMs, now: () => now })
  return {
    pause,
    wait: (ms: number) => void (now += ms),
    /** Events go out one by one, each so many milliseconds, to so many streams. */
    run({ streams, everyMs, forMs }: { streams: number; everyMs: number; forMs: number }) {
      for (const until = now + forMs; now < until; now += everyMs) pause.count(streams)
    },
  }
}

test('is 5 ms before the first event, after a single one, and at the pace of a chat', () => {
  const { pause, run, wait } = pauseAt()
  expect(pause.ms).toBe(5)
  pause.count(300)
  expect(pause.ms).toBe(5)
  wait(60_000)
  run({ streams: 100, everyMs: 200, forMs: 60_000 })
  expect(pause.ms).toBe(5)
})

test.each([
  { streams: 20, everyMs: 20, ms: 5 },
  { streams: 200, everyMs: 20, ms: 11 },
  { streams: 1000, everyMs: 100, ms: 11 },
  { streams: 500, everyMs: 20, ms: 27.5 },
  { streams: 2000, everyMs: 80, ms: 27.5 },
  { streams: 1000, everyMs: 20, ms: 50 },
  { streams: 5000, everyMs: 20, ms: 50 },
])('an event each $everyMs ms to $streams streams makes it $ms ms', ({ streams, everyMs, ms }) => {
  const { pause, run } = pauseAt()
  run({ streams, everyMs, forMs: 10_000 })
  expect(pause.ms).toBeGreaterThan(ms * 0.9)
  expect(pause.ms).toBeLessThan(ms * 1.1 + 0.1)
})

test('grows within half a second of load, and falls back within four seconds of silence', () => {
  const { pause, run, wait } = pauseAt()
  run({ streams: 5000, everyMs: 20, forMs: 500 })
  expect(pause.ms).toBe(50)
  wait(4000)
  expect(pause.ms).toBeLessThan(10)
  wait(1000)
  expect(pause.ms).toBe(5)
})

test('depends on the events, however they were grouped', () => {
  const alone = pauseAt()
  const grouped = pauseAt()
  for (let n = 0; n < 500; n++) {
    for (let k = 0; k < 4; k++) alone.pause.count(300)
    grouped.pause.count(1200)
    alone.wait(80)
    grouped.wait(80)
  }
  expect(grouped.pause.ms).toBeCloseTo(alone.pause.ms, 9)
  expect(alone.pause.ms).toBeGreaterThan(10)
})

test('stays between 5 ms and the setting, whatever goes out', () => {
  const step = fc.record({
    streams: fc.integer({ min: 0, max: 1_000_000 }),
    waitMs: fc.integer({ min: 0, max: 10_000 }),
  })
  fc.assert(
    fc.property(fc.integer({ min: 5, max: 1000 }), fc.array(step, { maxLength: 50 }), (maxMs, steps) => {
      const { pause, wait } = pauseAt(maxMs)
      for (const { streams, waitMs } of steps) {
        pause.count(streams)
        expect(pause.ms).toBeGreaterThanOrEqual(5)
        expect(pause.ms).toBeLessThanOrEqual(maxMs)
        wait(waitMs)
      }
    }),
  )
})

import { expect, test, vi } from 'vitest'

import { useQueueWatchers } from '../harness/queue-watchers.ts'

const { begin, post, service, subscribe } = useQueueWatchers({ STREAM_REPAIR_SECONDS: '1' })

test('a burst leads to few messages, of which the last is right', async () => {
  const seen = await begin()
  const begun = performance.now()
  await Promise.all(Array.from({ length: 20 }, (_, n) => post(`hold ${n}`, `reader-${n}`)))
  await vi.waitFor(() => expect(seen.counts.at(-1)).toEqual({ pending: 20, reported: 0 }))
  const took = performance.now() - begun
  // One for the pace, one for each repair: without a pace it would be 20.
  expect(seen.counts.length).toBeLessThanOrEqual(1 + Math.ceil(took / 250) + 1 + Math.ceil(took / 1000))
  expect(seen.counts.length).toBeLessThan(20)
})

test('followers who join and leave in a burst cause no extra messages; each gets the present state at once', async () => {
  const seen = await begin()
  const begun = performance.now()
  let posted = 0
  const join = async (): Promise<void> => {
    while (posted < 60) {
      const [least, other] = [posted, subscribe(false)]
      await vi.waitFor(() => expect(other.counts).not.toEqual([]))
      expect(other.counts[0]?.pending).toBeGreaterThanOrEqual(least)
      other.close()
    }
  }
  const write = async (): Promise<void> => {
    while (posted < 60) {
      await post(`hold ${Math.random()}`, `reader-${posted}`)
      posted++
    }
  }
  await Promise.all([write(), write(), join()])
  await vi.waitFor(() => expect(seen.counts.at(-1)?.pending).toBeGreaterThanOrEqual(60))
  const took = performance.now() - begun
  expect(seen.counts.length).toBeLessThanOrEqual(1 + Math.ceil(took / 250) + 1 + Math.ceil(took / 1000))
})

test('without the bus a change is sent within 5 s', async () => {
  const seen = await begin()
  vi.spyOn(service.app.bus, 'publish').mockImplementation(() => undefined)
  await post('hold this')
  await vi.waitFor(() => expect(seen.counts.at(-1)).toEqual({ pending: 1, reported: 0 }), { timeout: 5000 })
})

import { expect, test } from 'vitest'

import type { EventLog } from '../../src/live/event-log.ts'
import type { PastNews } from '../../src/live/streams/frames.ts'
import { Past } from '../../src/live/past.ts'

/** A discussion of `count` events, which lie in the database alone. */
function pastOf(count: number, bytesOf: (seq: number) => number) {
  const asked: number[] = []
  const event = (seq: number): PastNews => ({
    seq,
    type: 'comment_created',
    audience: 'public',
    recipientId: null,
    json: 'x'.repeat(bytesOf(seq)),
  })
  const events: EventLog = {
    heads: () => Promise.resolve([]),
    missed: () => Promise.resolve({ visible: 0, firstAt: null, isWhole: true }),
    events: (_key, { after, upTo }, _viewer, limit) => {
      const last = Math.min(upTo, after + limit)
      asked.push(limit)
      return Promise.resolve(Array.from({ length: last - after }, (_, index) => event(after + 1 + index)))
    },
  }
  const past = new Past({ key: { tenantId: 't', discussionId: 'd' }, events, budget: { bytes: 0, maxBytes: 0 } })
  /** Replays all of it: the sequence numbers, and the bytes of each read. */
  const replay = async () => {
    const seqs: number[] = []
    const reads: number[] = []
    for (let after = 0; after < count;) {
      const { frames, upTo } = await past.read({ after, upTo: count }, { kind: 'tenant' })
      seqs.push(...frames.map(({ seq }) => seq))
      reads.push(frames.reduce((sum, { bytes }) => sum + bytes.length, 0))
      after = upTo
    }
    return { seqs, reads }
  }
  return { asked, replay }
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

test('a replay of long events reads some 1 MiB at a time', async () => {
  const { replay } = pastOf(500, () => 60_000)
  const { seqs, reads } = await replay()
  expect(seqs).toEqual(upTo(500))
  expect(reads[0]).toBeLessThan(4 * 2 ** 20)
  for (const bytes of reads.slice(1)) expect(bytes).toBeLessThan(1.2 * 2 ** 20)
})

test('a replay of short events reads 200 at a time', async () => {
  const { asked, replay } = pastOf(1000, () => 500)
  expect((await replay()).seqs).toEqual(upTo(1000))
  expect(asked).toEqual([50, 200, 200, 200, 200, 200])
})

test('events of any length all arrive, in order', async () => {
  const { replay } = pastOf(2000, (seq) => (seq % 7 === 0 ? 200_000 : 10))
  expect((await replay()).seqs).toEqual(upTo(2000))
})

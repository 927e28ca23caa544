import { expect, test, vi } from 'vitest'

import { hubOf } from '../../src/live/hub.ts'
import { useService } from '../harness/service.ts'
import { openStream, type StreamClient } from '../harness/stream-client.ts'

const service = useService()

/** The stream's figures, by name and labels. */
async function figures(): Promise<Record<string, number>> {
  const text = await service.scrape()
  const lines = text.matchAll(/^(stream_\S+) (\S+)$/gm)
  return Object.fromEntries([...lines].map(([, name = '', value]) => [name, Number(value)]))
}

async function open(id: string, query = '', headers: Record<string, string> = { 'x-api-key': service.apiKey }) {
  const client = await openStream(`${service.url}/api/v1/stream/${id}${query}`, headers)
  await vi.waitFor(() => expect(client.connected).toBeDefined())
  return client
}

const bytesOf = (clients: readonly StreamClient[]): number =>
  clients
    .flatMap(({ events }) => events)
    .reduce((sum, { id, event, data }) => {
      return sum + Buffer.byteLength(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    }, 0)

test('/metrics counts events sent on streams, replays, and streams that the service ended, by reason', async () => {
  const reader = await service.as('ann')
  const write = (id: string, body: string) =>
    service.call('POST', `/discussions/${id}/comments`, { body: { body }, headers: reader })
  const id = await service.newDiscussion()
  const before = await figures()
  expect(before['stream_connections']).toBe(0)

  const begun = Date.now()
  const live = [await open(id), await open(id)]
  for (const text of ['one', 'two', 'three — é']) expect((await write(id, text)).status).toBe(201)
  await vi.waitFor(() => live.forEach(({ seqs }) => expect(seqs).toEqual([1, 2, 3])))
  const late = await open(id, '?lastEventId=1')
  await vi.waitFor(() => expect(late.seqs).toEqual([2, 3]))

  // Figures are at most a second old.
  const now = await vi.waitFor(async () => {
    const found = await figures()
    expect(found['stream_connections']).toBe(3)
    return found
  })
  expect(now).toMatchObject({
    stream_discussions: 1,
    stream_events_total: 3,
    'stream_frames_total{kind="live"}': 6,
    'stream_frames_total{kind="replay"}': 2,
    'stream_bytes_total{kind="live"}': bytesOf(live),
    'stream_bytes_total{kind="replay"}': bytesOf([late]),
    stream_replays_total: 1,
    stream_repaired_events_total: 0,
    stream_delay_seconds_count: 3,
  })
  // It grows from 5 ms with the load.
  expect(now['stream_pause_seconds']).toBeGreaterThanOrEqual(0.005)
  expect(now['stream_pause_seconds']).toBeLessThanOrEqual(0.05)
  // Seconds: each of the three events came within this test.
  expect(now['stream_delay_seconds_sum']).toBeLessThan((3 * (Date.now() - begun)) / 1000)

  const key = await service.newKey()
  await open(id, '', key.headers)
  expect((await service.call('DELETE', `/keys/${key.id}`)).status).toBeLessThan(300)
  await vi.waitFor(async () => expect((await figures())['stream_cuts_total{reason="revoked"}']).toBe(1))

  await hubOf(service.app).close({ graceMs: 0 })
  await vi.waitFor(async () => {
    expect(await figures()).toMatchObject({ stream_connections: 0, 'stream_cuts_total{reason="shutdown"}': 3 })
  })
})

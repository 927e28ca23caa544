import { setTimeout } from 'node:timers/promises'

import { EventSource } from 'eventsource'
import { expect, test, vi } from 'vitest'

import { useService } from '../harness/service.ts'
import { holdsWithin } from '../harness/standstill.ts'
import { useStreams } from '../harness/streams.ts'

const service = useService()
const { open } = useStreams(service)

const setDuration = async (maxDurationSeconds: number): Promise<void> => {
  await service.ok('PATCH', '/settings', { stream: { maxDurationSeconds } })
}

test('a stream is resumed by an EventSource by itself, without loss', async () => {
  const discussionId = await service.newDiscussion()
  await setDuration(1)
  const source = new EventSource(`${service.url}/api/v1/stream/${discussionId}?lastEventId=0`, {
    fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, 'x-api-key': service.apiKey } }),
  })
  const seqs: number[] = []
  let connections = 0
  source.addEventListener('comment_created', ({ lastEventId }) => seqs.push(Number(lastEventId)))
  source.addEventListener('connected', () => connections++)
  try {
    const wanted: number[] = []
    for (let n = 1; connections < 2; n++) {
      const headers = await service.as('ada')
      await service.call('POST', `/discussions/${discussionId}/comments`, { body: { body: 'Hello' }, headers })
      wanted.push(n)
      await setTimeout(200)
    }
    await vi.waitFor(() => expect(seqs).toEqual(wanted))
  } finally {
    source.close()
    await setDuration(900)
  }
})

test('a stream ends within 1 s when its key is revoked', async () => {
  const { id, headers } = await service.newKey()
  const stream = await open(await service.newDiscussion(), headers)
  expect(stream.status).toBe(200)
  await service.call('DELETE', `/keys/${id}`)
  await holdsWithin(1000, async () => expect(stream.closed).toBe(true))
})

test('a stream ends when its key expires', async () => {
  const expiresAt = new Date(Date.now() + 1500).toISOString()
  const { key } = (await service.call('POST', '/keys', { body: { label: 'short', capabilities: [], expiresAt } })).json
  const stream = await open(await service.newDiscussion(), { 'x-api-key': key })
  expect(stream.status).toBe(200)
  await vi.waitFor(() => expect(stream.closed).toBe(true))
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expiresAt))
})

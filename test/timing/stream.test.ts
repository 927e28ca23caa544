import { setTimeout } from 'node:timers/promises'

import { EventSource } from 'eventsource'
import { afterEach, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { createAdmin } from '../../src/domains/bootstrap/bootstrap.ts'
import { MEMBER_ENDS } from '../harness/ends.ts'
import { useService } from '../harness/service.ts'
import { holdsWithin } from '../harness/standstill.ts'
import { openStream, type StreamClient } from '../harness/stream-client.ts'

const service = useService()
const clients: StreamClient[] = []

afterEach(() => clients.splice(0).forEach((client) => client.close()))

const newDiscussion = async (): Promise<string> =>
  (await service.call('POST', '/discussions', { body: { externalId: newId() } })).json.id

async function open(
  path: string,
  headers: Record<string, string> = { 'x-api-key': service.apiKey },
): Promise<StreamClient> {
  const client = await openStream(`${service.url}/api/v1/stream/${path}`, headers)
  clients.push(client)
  return client
}

const setDuration = async (maxDurationSeconds: number): Promise<void> => {
  const response = await service.call('PATCH', '/settings', { body: { stream: { maxDurationSeconds } } })
  expect(response.status).toBe(200)
}

test('a stream is resumed by an EventSource by itself, without loss', async () => {
  const discussionId = await newDiscussion()
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

test.each(MEMBER_ENDS)('a stream ends when its member %s, within 1 s, and the others stay', async (_how, end) => {
  const discussionId = await newDiscussion()
  const admin = await createAdmin(service.app, service.tenant.id, `leaver-${newId()}@example.com`)
  const { token } = (await service.call('POST', '/admin/auth/login', { body: admin, headers: { 'x-api-key': '' } }))
    .json
  const headers = { authorization: `Bearer ${token}` }
  const [theirs, other] = [await open(discussionId, headers), await open(discussionId)]
  await vi.waitFor(() => expect(theirs.connected).toBeDefined())
  await end(service, admin.email)
  await holdsWithin(1000, async () => expect(theirs.closed).toBe(true))
  expect(other.closed).toBe(false)
})

test('a stream ends when its key is revoked, within 1 s, and the others stay', async () => {
  const { id, key } = (await service.call('POST', '/keys', { body: { label: 'stream', capabilities: [] } })).json
  const discussionId = await newDiscussion()
  const stream = await open(discussionId, { 'x-api-key': key })
  const other = await open(discussionId)
  expect(stream.status).toBe(200)
  expect((await service.call('DELETE', `/keys/${id}`)).status).toBe(204)
  await holdsWithin(1000, async () => expect(stream.closed).toBe(true))
  expect(other.closed).toBe(false)
})

test('a stream ends when its key expires', async () => {
  const expiresAt = new Date(Date.now() + 1500).toISOString()
  const { key } = (await service.call('POST', '/keys', { body: { label: 'short', capabilities: [], expiresAt } })).json
  const stream = await open(await newDiscussion(), { 'x-api-key': key })
  expect(stream.status).toBe(200)
  await vi.waitFor(() => expect(stream.closed).toBe(true))
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expiresAt))
})

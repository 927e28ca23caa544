import { afterEach, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { useService } from '../harness/service.ts'
import { openStream, type StreamClient } from '../harness/stream-client.ts'

const service = useService()
const clients: StreamClient[] = []

afterEach(() => clients.splice(0).forEach((client) => client.close()))

const newDiscussion = async (): Promise<string> =>
  (await service.call('POST', '/discussions', { body: { externalId: newId() } })).json.id

const newKey = async (more: object = {}): Promise<{ id: string; key: string }> =>
  (await service.call('POST', '/keys', { body: { label: 'mints', capabilities: [], ...more } })).json

const mintedBy = async (key: string, discussionId: string): Promise<string> =>
  (await service.call('POST', '/stream/ticket', { body: { discussionId }, headers: { 'x-api-key': key } })).json.ticket

async function open(discussionId: string, ticket: string): Promise<StreamClient> {
  const client = await openStream(`${service.url}/api/v1/stream/${discussionId}?ticket=${ticket}`)
  clients.push(client)
  return client
}

test('the open streams of a ticket end within 1 s of the revocation of its key', async () => {
  const discussionId = await newDiscussion()
  const { id, key } = await newKey()
  const ticket = await mintedBy(key, discussionId)
  const streams = [await open(discussionId, ticket), await open(discussionId, ticket)]
  await vi.waitFor(() => expect(streams.every(({ connected }) => connected !== undefined)).toBe(true))
  await service.call('DELETE', `/keys/${id}`)
  const endedAt = performance.now()
  await vi.waitFor(() => expect(streams.map(({ closed }) => closed)).toEqual([true, true]))
  expect(performance.now() - endedAt).toBeLessThan(1000)
})

test('a ticket ends when its key expires', async () => {
  const discussionId = await newDiscussion()
  const { key } = await newKey({ expiresAt: new Date(Date.now() + 1500).toISOString() })
  const ticket = await mintedBy(key, discussionId)
  const stream = await open(discussionId, ticket)
  await vi.waitFor(() => expect(stream.connected).toBeDefined())
  await vi.waitFor(() => expect(stream.closed).toBe(true))
  const refused = await open(discussionId, ticket)
  await vi.waitFor(() => expect(refused.closed).toBe(true))
  expect(JSON.parse(refused.text)).toMatchObject({ status: 401, code: 'invalid_ticket' })
  expect(refused.status).toBe(401)
})

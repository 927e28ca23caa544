import { expect, test, vi } from 'vitest'

import { useService } from '../harness/service.ts'
import { expectProblem, useStreams } from '../harness/streams.ts'

const service = useService()
const { open } = useStreams(service)

const newKey = async (more: object = {}): Promise<{ id: string; key: string }> =>
  (await service.call('POST', '/keys', { body: { label: 'mints', capabilities: [], ...more } })).json

const mintedBy = async (key: string, discussionId: string): Promise<string> =>
  (await service.call('POST', '/stream/ticket', { body: { discussionId }, headers: { 'x-api-key': key } })).json.ticket

const openBy = (discussionId: string, ticket: string) => open(`${discussionId}?ticket=${ticket}`, {})

test('the open streams of a ticket end within 1 s of the revocation of its key', async () => {
  const discussionId = await service.newDiscussion()
  const { id, key } = await newKey()
  const ticket = await mintedBy(key, discussionId)
  const streams = [await openBy(discussionId, ticket), await openBy(discussionId, ticket)]
  await vi.waitFor(() => expect(streams.every(({ connected }) => connected !== undefined)).toBe(true))
  await service.call('DELETE', `/keys/${id}`)
  const endedAt = performance.now()
  await vi.waitFor(() => expect(streams.map(({ closed }) => closed)).toEqual([true, true]))
  expect(performance.now() - endedAt).toBeLessThan(1000)
})

test('a ticket ends when its key expires', async () => {
  const discussionId = await service.newDiscussion()
  const { key } = await newKey({ expiresAt: new Date(Date.now() + 1500).toISOString() })
  const ticket = await mintedBy(key, discussionId)
  const stream = await openBy(discussionId, ticket)
  await vi.waitFor(() => expect(stream.connected).toBeDefined())
  await vi.waitFor(() => expect(stream.closed).toBe(true))
  await expectProblem(await openBy(discussionId, ticket), 401, 'invalid_ticket')
})

import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { type Hub, hubOf } from '../../src/live/hub.ts'
import { type TestResponse, useKey, useService } from '../harness/service.ts'
import { openStream } from '../harness/stream-client.ts'

const READERS = ['ann', 'bob', 'cem'] as const
type Reader = (typeof READERS)[number]

const service = useService()
let hub: Hub
/** Compares with the database, which does not happen automatically here. */
let repair: () => Promise<void>
const readers = new Map<string, { id: string; headers: Record<string, string> }>()
const plainKey = useKey(service)

beforeAll(async () => {
  hub = hubOf(service.app)
  repair = hub.repair.bind(hub)
  vi.spyOn(hub, 'repair').mockResolvedValue()
  await service.call('PATCH', '/settings', { body: { reportThreshold: 2 } })
  for (const name of READERS) {
    const headers = await service.as(name)
    const { json } = await post('/discussions/by-external/greetings/comments', { body: 'Hello' }, headers)
    readers.set(name, { id: json.author.id as string, headers })
  }
})
afterAll(() => vi.restoreAllMocks())

const post = (path: string, body?: object, headers = {}): Promise<TestResponse> =>
  service.call('POST', path, { headers, ...(body === undefined ? {} : { body }) })

let texts = 0

test('a long repair and a long replay show no text that was rejected or deleted by their end; with moderate_content they do', async () => {
  const discussionId = await service.newDiscussion()
  const path = `${service.url}/api/v1/stream/${discussionId}`
  const { headers, id: readerId } = readers.get('ann')!
  const { ticket } = (await post('/stream/ticket', { discussionId }, headers)).json
  const byTicket = () => openStream(`${path}?ticket=${ticket}&lastEventId=0`)
  const live = await byTicket()
  const hush = vi.spyOn(service.app.bus, 'publish').mockImplementation(() => undefined)
  const write = async (reader: Reader, parentId?: string): Promise<string> => {
    // Sent in pieces of 64 KiB: the texts and their end are in several.
    const body = { body: `${++texts} ${'long '.repeat(1998)}`, parentId }
    return (await post(`/discussions/${discussionId}/comments`, body, readers.get(reader)?.headers)).json.id as string
  }
  const root = await write('ann')
  const replies = [await write('bob', root), await write('bob', root), await write('bob', root)]
  const [rejected, deleted] = replies
  const back = await write('cem')
  await post(`/comments/${rejected}/reject`)
  await service.call('DELETE', `/comments/${deleted}`)
  await post(`/comments/${back}/reject`)
  await post(`/comments/${back}/approve`)
  hush.mockRestore()
  await repair()
  const late = await byTicket()
  const plain = await openStream(`${path}?lastEventId=0`, plainKey)
  const moderator = await openStream(`${path}?lastEventId=0`, { 'x-api-key': service.apiKey })
  for (const stream of [live, late, plain, moderator]) {
    await vi.waitFor(() => expect(stream.seqs).toEqual(Array.from({ length: 12 }, (_, index) => index + 1)))
    const written = stream.events.filter(({ event }) => /^(comment_created|notification_reply)$/.test(event ?? ''))
    const mayModerate = stream === moderator
    for (const { data } of written) {
      const { id, body, bodyHtml, author, status } = data.data.comment
      const isHidden = !mayModerate && [rejected, deleted].includes(id)
      expect([body, bodyHtml].map((text) => text === null)).toEqual([isHidden, isHidden])
      expect(author === null).toBe(isHidden)
      expect(status).toBe('approved')
    }
    expect(written.map(({ data }) => data.data.comment.id)).toEqual([root, ...replies.flatMap((id) => [id, id]), back])
    expect(written.filter(({ event }) => event === 'notification_reply').map(({ data }) => data.data)).toMatchObject(
      replies.map(() => ({ parentCommentId: root, recipient: { readerId } })),
    )
    stream.close()
  }
})

test('a text that reports took out of view stays away after its author wrote another one, which was approved', async () => {
  const discussionId = await service.newDiscussion()
  const [author, ...others] = READERS
  const { headers } = readers.get(author)!
  const { json } = await post(`/discussions/${discussionId}/comments`, { body: 'An insult' }, headers)
  const id = json.id as string
  for (const each of others) await post(`/comments/${id}/report`, { reason: 'abuse' }, readers.get(each)?.headers)
  await service.call('PATCH', `/comments/${id}`, { body: { body: 'An apology' }, headers })
  expect((await post(`/comments/${id}/approve`, { revision: 2 })).json).toMatchObject({
    status: 'approved',
    revision: 2,
  })
  await service.call('PATCH', `/comments/${id}`, { body: { body: 'A better apology' }, headers })
  const { ticket } = (await post('/stream/ticket', { discussionId })).json
  const told = async (): Promise<unknown[]> => {
    const stream = await openStream(`${service.url}/api/v1/stream/${discussionId}?ticket=${ticket}&lastEventId=0`)
    await vi.waitFor(() => expect(stream.seqs).toEqual([1, 2, 4, 5]))
    stream.close()
    return stream.events.map(({ data }) => data.data.comment.body)
  }
  const bodies = [null, null, null, 'A better apology']
  expect(await told()).toEqual(bodies)
  hub.forgetEvents(service.tenant.id)
  expect(await told()).toEqual(bodies)
})

import { beforeAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { Cursors } from '../../src/live/streams/cursor.ts'
import { useService } from '../harness/service.ts'
import { type Received, type StreamClient } from '../harness/stream-client.ts'
import { expectProblem, useStreams } from '../harness/streams.ts'

const ORIGIN = 'https://www.example.com'

const service = useService()
const { open } = useStreams(service)

beforeAll(async () => {
  await service.call('PATCH', '/settings', { body: { allowedOrigins: [ORIGIN] } })
})

/** In the order of cursors. */
const newDiscussions = async (count: number): Promise<string[]> => {
  const ids: string[] = []
  for (let n = 0; n < count; n++) ids.push(await service.newDiscussion())
  return ids.toSorted()
}

const mint = async (body: object, headers: Record<string, string> = {}) =>
  service.call('POST', '/stream/ticket', { body, headers })

interface Ticket {
  ticket: string
  lastEventId: string
  streamUrl: string
  discussions: { discussionId: string; externalId: string; discussionState: string; lastEventId: string }[]
}

async function ticketFor(discussionIds: string[], headers: Record<string, string> = {}): Promise<Ticket> {
  const { status, json } = await mint({ discussionIds }, headers)
  expect(status).toBe(201)
  return json as Ticket
}

const openBy = ({ streamUrl }: Pick<Ticket, 'streamUrl'>, headers: Record<string, string> = {}) =>
  open(streamUrl, headers)

async function connected(client: StreamClient): Promise<Received> {
  await vi.waitFor(() => expect(client.connected).toBeDefined())
  return client.connected as Received
}

async function comment(discussionId: string, body = 'Hello', more: object = {}, reader = 'ada') {
  return service.ok(
    'POST',
    `/discussions/${discussionId}/comments`,
    { body, ...more },
    await service.as(reader),
  ) as Promise<{ id: string }>
}

const placeOf = ({ data }: Received): string => `${data.discussionId}/${data.seq}`

describe('POST /stream/ticket for several discussions', () => {
  test('answers 201 with the discussions in the order of the cursor', async () => {
    const ids = await newDiscussions(3)
    await comment(ids[1] as string)
    const { status, json } = await mint({ discussionIds: ids.toReversed() })
    expect(status).toBe(201)
    const prefix = new Cursors(ids).encode([]).slice(0, 9)
    expect(json).toEqual({
      ticket: expect.any(String),
      discussionId: ids[0],
      discussionState: 'open',
      expiresAt: expect.stringMatching(/^\d{4}-.*Z$/),
      lastEventId: `${prefix}0.1.0`,
      streamUrl: `${service.url}/api/v1/stream?ticket=${json.ticket}`,
      discussions: ids.map((discussionId, n) => ({
        discussionId,
        externalId: expect.any(String),
        discussionState: 'open',
        lastEventId: n === 1 ? '1' : '0',
      })),
      recipient: null,
    })
    expect(json.ticket.length).toBeLessThan(1024)
  })

  test('by external ids creates the discussions that are missing, and answers with these names', async () => {
    const names = ['several/b', 'several/a', 'several/c']
    await mint({ externalId: 'several/a' })
    const { status, json } = await mint({ externalIds: names })
    expect(status).toBe(201)
    const { discussions } = json as Ticket
    expect(discussions.map(({ externalId }) => externalId).toSorted()).toEqual(names.toSorted())
    expect(discussions.map((each) => each.discussionId)).toEqual(
      discussions.map((each) => each.discussionId).toSorted(),
    )
    expect((await mint({ externalIds: names })).json.discussions).toEqual(discussions)
  })

  test('by a present and a former external id of one discussion opens it once', async () => {
    const { json } = await mint({ externalId: 'several/old' })
    await service.call('PATCH', `/discussions/${json.discussionId}`, { body: { externalId: 'several/new' } })
    const renamed = (await mint({ externalIds: ['several/old', 'several/new'] })).json as Ticket
    expect(renamed.discussions).toMatchObject([{ discussionId: json.discussionId, externalId: 'several/old' }])
  })

  test('takes 50 discussions, also by ids in capitals, and opens them', async () => {
    const ids = await newDiscussions(50)
    const ticket = await ticketFor(ids.map((id) => id.toUpperCase()))
    expect(ticket.discussions.map(({ discussionId }) => discussionId)).toEqual(ids)
    const stream = await openBy(ticket)
    expect((await connected(stream)).data).toEqual({
      lastEventId: ticket.lastEventId,
      replayed: 0,
      complete: true,
      incomplete: [],
      gone: [],
    })
    await Promise.all(ids.map((id) => comment(id)))
    await vi.waitFor(() => expect(stream.events).toHaveLength(50))
    expect(stream.events.map(placeOf).toSorted()).toEqual(ids.map((id) => `${id}/1`))
    expect(stream.events.at(-1)?.id).toBe(new Cursors(ids).encode(ids.map(() => 1)))
  })

  test.each<[string, object]>([
    ['no discussion', { discussionIds: [] }],
    ['no page', { externalIds: [] }],
    ['discussions and pages', { discussionIds: [newId()], externalIds: ['x'] }],
    ['one and several', { discussionIds: [newId()], discussionId: newId() }],
    ['51 discussions', { discussionIds: Array.from({ length: 51 }, newId) }],
    ['51 pages', { externalIds: Array.from({ length: 51 }, newId) }],
    ['a page twice', { externalIds: ['x', 'x'] }],
    ['an empty external id', { externalIds: ['x', ''] }],
    ['a text for a list', { externalIds: 'x' }],
    ['null as a discussion', { discussionIds: [null] }],
    ['a list as a discussion', { discussionIds: [['x']] }],
  ])('with %s answers 422 validation_failed', async (_name, body) => {
    expect(await mint(body)).toMatchObject({ status: 422, json: { code: 'validation_failed' } })
  })

  test("with an unknown discussion, or another tenant's, answers 404 not_found", async () => {
    const other = await service.addTenant('several-other')
    const [own, foreign] = [await service.newDiscussion(), await service.newDiscussion()]
    expect(await mint({ discussionIds: [own, newId()] })).toMatchObject({ status: 404 })
    expect(await mint({ discussionIds: [own, 'no id'] })).toMatchObject({ status: 404 })
    expect(await mint({ discussionIds: [foreign] }, { 'x-api-key': other.apiKey })).toMatchObject({ status: 404 })
  })
})

describe('GET /stream', () => {
  test('sends the events of all discussions, each with a cursor that resumes after it', async () => {
    const ids = await newDiscussions(3)
    const ticket = await ticketFor(ids)
    const stream = await openBy(ticket)
    await connected(stream)
    for (let n = 0; n < 9; n++) await comment(ids[(n * n) % 3] as string, `comment ${n}`)
    await vi.waitFor(() => expect(stream.events).toHaveLength(9))
    for (const [n, { id = '' }] of stream.events.entries()) {
      const resumed = await openBy(ticket, { 'last-event-id': id })
      expect((await connected(resumed)).data).toMatchObject({ lastEventId: id, replayed: 8 - n, complete: true })
      await vi.waitFor(() => expect(resumed.events).toHaveLength(8 - n))
      expect(resumed.events.map(placeOf).toSorted()).toEqual(
        stream.events
          .slice(n + 1)
          .map(placeOf)
          .toSorted(),
      )
      resumed.close()
    }
  })

  test('has the JSON of the stream of one discussion, and of gzip the same text', async () => {
    const ids = await newDiscussions(2)
    const [one = ''] = ids
    const single = await open(`${one}?ticket=${(await mint({ discussionId: one })).json.ticket}`, {})
    const plain = await openBy(await ticketFor(ids))
    const packed = await openBy(await ticketFor(ids), { 'accept-encoding': 'gzip' })
    await Promise.all([single, plain, packed].map(connected))
    for (let n = 0; n < 5; n++) await comment(one, 'A long text. '.repeat(n * 40 + 1))
    await Promise.all([single, plain, packed].map((each) => vi.waitFor(() => expect(each.events).toHaveLength(5))))
    expect(plain.events.map(({ data }) => data as object)).toEqual(single.events.map(({ data }) => data as object))
    expect(packed.events).toEqual(plain.events)
    expect(packed.headers['content-encoding']).toBe('gzip')
    await service.call('DELETE', `/discussions/${ids[1]}`)
    await service.call('DELETE', `/discussions/${one}`)
    // The trailer has a right checksum.
    await vi.waitFor(() => expect([packed.closed, packed.goodbye !== undefined]).toEqual([true, true]))
    expect(packed.failure).toBeNull()
  })

  test("shows a reader's notifications to that reader alone", async () => {
    const ids = await newDiscussions(2)
    const [first = '', second = ''] = ids
    const root = await comment(first, 'root', {}, 'several-ada')
    const ofAda = await openBy(await ticketFor(ids, await service.as('several-ada')))
    const ofNobody = await openBy(await ticketFor(ids))
    await Promise.all([ofAda, ofNobody].map(connected))
    await comment(first, 'reply', { parentId: root.id }, 'several-bob')
    await comment(second, 'last')
    await vi.waitFor(() => expect(ofNobody.events).toHaveLength(2))
    await vi.waitFor(() => expect(ofAda.events).toHaveLength(3))
    expect(ofAda.events.map(({ event }) => event)).toContain('notification_reply')
    expect(ofNobody.events.map(({ event }) => event)).not.toContain('notification_reply')
    // A cursor also passes the events that are not for the client.
    const cursor = ofNobody.events.at(-1)?.id
    const now = (await ticketFor(ids)).lastEventId
    expect(cursor).toBe(now)
  })

  test.each([
    ['a number', () => '5'],
    ['nothing but the check', (own: string) => own.slice(0, 9)],
    ['a position too many', (own: string) => `${own}.0`],
    ['a position too few', (own: string) => own.replace(/\.\d+$/, '')],
    ['a negative one', (own: string) => own.replace('-', '--')],
    ['an exponent', (own: string) => own.replace(/\d+$/, '1e3')],
    ['one of other discussions', (own: string) => `00000000${own.slice(8)}`],
    ['a text of 4 KB', (own: string) => own + '.1'.repeat(2000)],
    ['many cursors', (own: string) => Array.from({ length: 500 }, () => own).join(', ')],
    ['one and nonsense', (own: string) => `${own}, x`],
    ['a position that is to come', (own: string) => own.replace(/\d+$/, '999')],
  ])('with %s as the cursor is incomplete, and live', async (_name, of) => {
    const ids = await newDiscussions(2)
    await comment(ids[0] as string)
    const ticket = await ticketFor(ids)
    const stream = await openBy(ticket, { 'last-event-id': of(ticket.lastEventId) })
    const { data } = await connected(stream)
    expect(data).toMatchObject({ lastEventId: ticket.lastEventId, complete: false, replayed: 0 })
    expect(data.incomplete.length).toBeGreaterThan(0)
    await comment(ids[1] as string)
    await vi.waitFor(() => expect(stream.events.map(placeOf)).toEqual([`${ids[1]}/1`]))
  })

  test('of several cursors takes the latest', async () => {
    const ids = await newDiscussions(2)
    const ticket = await ticketFor(ids)
    for (const id of ids) await comment(id)
    const later = await ticketFor(ids)
    const stream = await openBy(ticket, { 'last-event-id': `${ticket.lastEventId}, ${later.lastEventId}` })
    expect((await connected(stream)).data).toMatchObject({ lastEventId: later.lastEventId, replayed: 0 })
  })

  test('names the discussions whose position is too old, and resumes the others', async () => {
    const other = await service.addTenant('several-window')
    const headers = { 'x-api-key': other.apiKey }
    await service.call('PATCH', '/settings', { headers, body: { stream: { replayEvents: 100 } } })
    const minted = (await mint({ externalIds: ['a', 'b'] }, headers)).json as Ticket
    const [busy, calm] = minted.discussions.map(({ discussionId }) => discussionId) as [string, string]
    const ada = { ...headers, ...(await other.as('ada')) }
    const post = async (id: string): Promise<string> => {
      const written = await service.call('POST', `/discussions/${id}/comments`, { body: { body: 'x' }, headers: ada })
      return (written.json as { id: string }).id
    }
    for (const id of [calm, calm]) await post(id)
    const liked = await post(busy)
    for (let n = 0; n < 100; n++)
      await service.call('POST', `/comments/${liked}/reactions`, { body: { type: 'like' }, headers: ada })
    const stream = await openBy(minted, { 'last-event-id': minted.lastEventId })
    const { data } = await connected(stream)
    expect(data).toMatchObject({ replayed: 2, complete: false, incomplete: [busy], gone: [] })
    expect(data.lastEventId).toMatch(/-101\.0$/)
    await vi.waitFor(() => expect(stream.events.map(placeOf)).toEqual([`${calm}/1`, `${calm}/2`]))
  })

  test('goes on when one of its discussions is deleted, and ends with the last', async () => {
    const ids = await newDiscussions(3)
    const [first = '', second = '', third = ''] = ids
    const ticket = await ticketFor(ids)
    const stream = await openBy(ticket)
    await connected(stream)
    await comment(second)
    await comment(third)
    await vi.waitFor(() => expect(stream.events).toHaveLength(2))
    await service.call('DELETE', `/discussions/${second}`)
    await vi.waitFor(() =>
      expect(stream.all.filter(({ event }) => event === 'discussion-gone')).toEqual([
        { event: 'discussion-gone', data: { discussionId: second } },
      ]),
    )
    await comment(first)
    await vi.waitFor(() => expect(stream.events.map(placeOf)).toContain(`${first}/1`))
    const cursor = stream.events.at(-1)?.id ?? ''
    expect(cursor).toBe(new Cursors(ids).encode([1, 1, 1]))

    const resumed = await openBy(ticket, { 'last-event-id': cursor })
    expect((await connected(resumed)).data).toEqual({
      lastEventId: cursor,
      replayed: 0,
      complete: true,
      incomplete: [],
      gone: [second],
    })
    await comment(third)
    await vi.waitFor(() => expect(resumed.events.map(placeOf)).toEqual([`${third}/2`]))

    for (const id of [first, third]) await service.call('DELETE', `/discussions/${id}`)
    for (const each of [stream, resumed]) {
      await vi.waitFor(() => expect(each.closed).toBe(true))
      expect(each.goodbye?.data.lastEventId).toBe(new Cursors(ids).encode([1, 1, 2]))
    }
    await expectProblem(await openBy(ticket, { 'last-event-id': cursor }), 404, 'not_found')
  })

  test('takes no key, and no ticket of another stream', async () => {
    const [one = '', two = ''] = await newDiscussions(2)
    const several = await ticketFor([one, two])
    const single = (await mint({ discussionId: one })).json as Ticket
    const at = (path: string) => ({ streamUrl: `${service.url}/api/v1/stream${path}` })
    await expectProblem(await openBy(at(''), { 'x-api-key': service.apiKey }), 401, 'missing_credentials')
    await expectProblem(await openBy(at('')), 401, 'missing_credentials')
    await expectProblem(await openBy(at(`?token=${service.apiKey}`)), 401, 'missing_credentials')
    await expectProblem(await openBy(at(`?ticket=${single.ticket}`)), 401, 'invalid_ticket')
    await expectProblem(await openBy(at(`/${one}?ticket=${several.ticket}`)), 401, 'invalid_ticket')
    await expectProblem(await openBy(at('?ticket=x')), 401, 'invalid_ticket')
    await expectProblem(await openBy(at(`?ticket=${several.ticket}&x=1`)), 422, 'validation_failed')
  })

  test('ends with the key that minted its ticket', async () => {
    const { id, key } = await service.newKey()
    const ticket = await ticketFor(await newDiscussions(2), { 'x-api-key': key })
    const stream = await openBy(ticket)
    await connected(stream)
    await service.call('DELETE', `/keys/${id}`)
    await vi.waitFor(() => expect(stream.goodbye?.data).toEqual({ lastEventId: ticket.lastEventId }))
    await expectProblem(await openBy(ticket), 401, 'invalid_ticket')
  })

  test('answers pages of allowed origins alone, also in a preflight', async () => {
    const ticket = await ticketFor(await newDiscussions(2))
    const allowed = await openBy(ticket, { origin: ORIGIN })
    expect(allowed.headers['access-control-allow-origin']).toBe(ORIGIN)
    await expectProblem(await openBy(ticket, { origin: 'https://evil.example' }), 403, 'origin_not_allowed')
    const preflight = (origin: string) =>
      fetch(ticket.streamUrl, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'GET' } })
    expect((await preflight(ORIGIN)).status).toBe(204)
    expect((await preflight('https://evil.example')).status).toBe(403)
    const refused = await fetch(`${service.url}/api/v1/stream?ticket=x`, { headers: { origin: ORIGIN } })
    expect(refused.headers.get('access-control-allow-origin')).toBe(ORIGIN)
  })

  test('counts as one stream of the tenant, and as none of a discussion', async () => {
    const other = await service.addTenant('several-caps')
    const headers = { 'x-api-key': other.apiKey }
    await service.call('PATCH', '/settings', { headers, body: { stream: { maxStreamsPerTicket: 2 } } })
    const ticket = (await mint({ externalIds: ['a', 'b', 'c'] }, headers)).json as Ticket
    await Promise.all([await openBy(ticket), await openBy(ticket)].map(connected))
    const full = await openBy(ticket)
    await vi.waitFor(() => expect(full.goodbye).toBeDefined())
    const [{ discussionId } = { discussionId: '' }] = ticket.discussions
    const { json: presence } = await service.call('GET', `/discussions/${discussionId}/presence`, { headers })
    expect(presence.streams).toBe(0)
    expect((await service.call('GET', '/overview', { headers })).json.openStreams).toBe(2)
  })
})

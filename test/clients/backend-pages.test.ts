import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import { MAX_BODY_BYTES } from '../../src/clients/backend/requests.ts'
import { newId } from '../../src/core/ids.ts'
import { at, type BackendSite, fetchSite, SITES, writesOf } from '../harness/backends.ts'
import { useService } from '../harness/service.ts'
import { openStream, type StreamClient } from '../harness/stream-client.ts'

const service = useService()

describe.each(Object.entries(SITES))('a backend mounted by %s', (_name, mount) => {
  let site: BackendSite
  beforeAll(async () => {
    site = await mount(service)
  })
  afterAll(() => site.close())

  const post = async (page: string, as: string, body: object) => site.ask('POST', `/comments${at(page)}`, { as, body })

  test('serves a whole thread: posts, replies, pages, edits, reactions, reports, deletions', async () => {
    const page = `/2026/11/${newId()}?a=b&c=d#e`
    const first = await post(page, 'ann', { body: 'First' })
    expect(first).toMatchObject({
      status: 201,
      json: { body: 'First', author: { externalId: 'ann', name: 'Ann', avatarUrl: 'https://www.example.com/ann.png' } },
    })
    const { id } = first.json
    const reply = await post(page, 'bob', { body: 'A reply', parentId: id })
    expect(reply).toMatchObject({
      status: 201,
      json: { parentId: id, author: { externalId: 'bob', profileUrl: null } },
    })
    await post(page, 'bob', { body: 'Second' })

    const reacted = await site.ask('PUT', `/comments/${id}/reaction`, { as: 'bob', body: { type: 'like' } })
    expect(reacted).toMatchObject({ status: 200, json: { commentId: id, type: 'like', reactionCounts: { like: 1 } } })
    expect(await site.ask('GET', `/comments/${id}`, { as: 'bob' })).toMatchObject({
      status: 200,
      json: { viewerReaction: 'like' },
    })
    const oldest = await site.ask('GET', `/comments${at(page, '&sort=oldest&limit=1&replies=2')}`, { as: 'bob' })
    expect(oldest).toMatchObject({
      status: 200,
      json: { hasMore: true, data: [{ id, viewerReaction: 'like', replies: { data: [{ body: 'A reply' }] } }] },
    })
    const more = `&sort=oldest&limit=1&cursor=${encodeURIComponent(oldest.json.nextCursor)}`
    expect((await site.ask('GET', `/comments${at(page, more)}`)).json).toMatchObject({
      hasMore: false,
      data: [{ body: 'Second', viewerReaction: null }],
    })
    expect((await site.ask('GET', `/comments${at(page, `&parentId=${id}`)}`)).json.data).toMatchObject([
      { body: 'A reply' },
    ])

    const edited = await site.ask('PATCH', `/comments/${id}`, { as: 'ann', body: { body: 'First, edited' } })
    expect(edited).toMatchObject({ status: 200, json: { body: 'First, edited', revision: 2 } })
    expect(await site.ask('PATCH', `/comments/${id}`, { as: 'bob', body: { body: 'Mine' } })).toMatchObject({
      status: 403,
      json: { code: 'not_author' },
    })
    const report = { as: 'ann', body: { reason: 'spam' } }
    expect((await site.ask('POST', `/comments/${reply.json.id}/report`, report)).status).toBe(201)
    expect(await site.ask('POST', `/comments/${reply.json.id}/report`, report)).toMatchObject({
      status: 409,
      json: { code: 'already_reported' },
    })
    const unreacted = await site.ask('DELETE', `/comments/${id}/reaction`, { as: 'bob' })
    expect(unreacted).toMatchObject({ status: 200, json: { type: null, reactionCounts: {} } })
    expect(await site.ask('DELETE', `/comments/${reply.json.id}`, { as: 'ann' })).toMatchObject({
      status: 403,
      json: { code: 'not_author' },
    })
    const deleted = await site.ask('DELETE', `/comments/${reply.json.id}`, { as: 'bob' })
    expect(deleted).toMatchObject({ status: 204, text: '' })

    const discussion = await site.ask('GET', `/discussion${at(page)}`)
    expect(discussion).toMatchObject({ status: 200, json: { externalId: page, state: 'open', commentCount: 2 } })
    const counts = await site.ask('GET', `/counts${at(page, '&externalId=nothing-yet')}`)
    expect(counts.json.data).toMatchObject([
      { externalId: page, commentCount: 2, state: 'open' },
      { externalId: 'nothing-yet', commentCount: 0, state: 'open' },
    ])
  })

  test('answers null for the discussion of a page without comments, which is no error', async () => {
    expect(await site.ask('GET', `/discussion${at('nothing-yet')}`)).toMatchObject({ status: 200, json: null })
  })

  test('answers all that a page shows first at once, each part as its own path does', async () => {
    const page = `/2026/11/${newId()}`
    const { id } = (await post(page, 'ann', { body: 'First' })).json
    await post(page, 'bob', { body: 'A reply', parentId: id })
    await post(page, 'bob', { body: 'Second' })
    const query = '&sort=oldest&limit=1&replies=3'
    const { status, json, headers } = await site.ask('GET', `/thread${at(page, query)}`, { as: 'bob' })
    expect([status, headers.get('cache-control')]).toEqual([200, 'private, no-store'])
    const { ticket, ...parts } = json
    const of = async (path: string) => (await site.ask('GET', path, { as: 'bob' })).json
    expect(parts).toEqual({
      settings: await of('/settings'),
      reader: (await of('/me')).reader,
      discussion: await of(`/discussion${at(page)}`),
      comments: await of(`/comments${at(page, query)}`),
      own: [],
    })
    expect(parts.comments).toMatchObject({ hasMore: true, data: [{ id, replies: { data: [{ body: 'A reply' }] } }] })
    const { lastEventId } = parts.discussion
    const stream = await openStream(`${ticket.streamUrl}&lastEventId=${lastEventId}`)
    await post(page, 'ann', { body: 'Third' })
    await vi.waitFor(() => expect(stream.events).toMatchObject([{ data: { data: { comment: { body: 'Third' } } } }]))
    stream.close()
    expect((await site.ask('GET', `/thread${at(page)}`)).json).toMatchObject({
      reader: null,
      comments: { hasMore: false },
    })
  })

  test('answers with a thread what waits or was rejected to its author alone, with the decision', async () => {
    const page = newId()
    await post(page, 'ann', { body: 'In view' })
    await service.call('PATCH', '/settings', { body: { moderationMode: 'pre' } })
    const waiting = (await post(page, 'ann', { body: 'Waiting' })).json
    const rejected = (await post(page, 'ann', { body: 'Rejected' })).json
    await post(newId(), 'ann', { body: 'On another page' })
    await service.call('PATCH', '/settings', { body: { moderationMode: 'none' } })
    await service.call('POST', `/comments/${rejected.id}/reject`, { body: { reason: 'spam', message: 'No ads.' } })
    const ownOf = async (as?: string) =>
      (await site.ask('GET', `/thread${at(page)}`, as === undefined ? {} : { as })).json.own
    expect(await ownOf('ann')).toMatchObject([
      { id: rejected.id, status: 'rejected', body: 'Rejected', decision: { reason: 'spam', message: 'No ads.' } },
      { id: waiting.id, status: 'pending', body: 'Waiting', decision: null },
    ])
    expect([await ownOf('bob'), await ownOf()]).toEqual([[], null])
    // However many others the reader has written since.
    for (let n = 0; n < 51; n++) await post(page, 'ann', { body: `Number ${n}` })
    expect((await ownOf('ann')).map(({ id }: { id: string }) => id)).toEqual([rejected.id, waiting.id])
    const all = await site.ask('GET', '/me/comments?status=pending&limit=2', { as: 'ann' })
    expect(all.json.data).toMatchObject([{ body: 'On another page' }, { body: 'Waiting' }])
    expect((await site.ask('GET', '/me/comments')).json.code).toBe('identity_required')
  })

  test("answers and changes the signed-in reader's notifications and preferences alone", async () => {
    const page = newId()
    const root = (await post(page, 'ann', { body: 'A root' })).json
    await post(page, 'bob', { body: 'A reply', parentId: root.id })
    const told = (await site.ask('GET', '/me/notifications?unread=true&limit=1', { as: 'ann' })).json
    expect(told.data).toMatchObject([{ kind: 'reply', comment: { body: 'A reply' }, discussion: { externalId: page } }])
    expect(told).toHaveProperty('hasMore')
    expect((await site.ask('GET', '/me/notifications', { as: 'bob' })).json.data).toEqual([])
    const { count } = (await site.ask('GET', '/me/notifications/count', { as: 'ann' })).json
    const read = await site.ask('POST', '/me/notifications/read', { as: 'ann', body: { ids: [told.data[0].id] } })
    expect(read.json).toMatchObject({ count: count - 1 })
    const none = { as: 'ann', body: { reply: 'none' } }
    expect((await site.ask('PATCH', '/me/preferences', none)).json).toMatchObject({ reply: 'none', mention: 'all' })
    expect((await site.ask('GET', '/me/preferences', { as: 'bob' })).json).toMatchObject({ reply: 'all' })
    await site.ask('PATCH', '/me/preferences', { as: 'ann', body: { reply: 'all' } })
    for (const path of ['/me/notifications', '/me/notifications/count', '/me/preferences'])
      expect((await site.ask('GET', path)).json.code).toBe('identity_required')
  })

  test('names whom the signed-in reader can mention on a page, and nobody where there is no discussion', async () => {
    const page = newId()
    await post(page, 'ann', { body: 'A root' })
    await post(page, 'bob', { body: 'Another one' })
    const authors = async (query: string) => (await site.ask('GET', `/authors${query}`, { as: 'ann' })).json.data
    const [bob] = await authors(at(page))
    expect(await authors(`${at(page)}&prefix=${encodeURIComponent(bob.name.slice(0, 2))}`)).toEqual([bob])
    expect(await authors(`${at(page)}&prefix=zz`)).toEqual([])
    expect(await authors(`${at(page)}&prefix=${encodeURIComponent('\u0640')}`)).toEqual([])
    expect(await authors(at(newId()))).toEqual([])
    expect((await site.ask('GET', `/authors${at(page)}`)).json.code).toBe('identity_required')
  })

  test('mutes a reader for the signed-in one alone', async () => {
    const page = newId()
    const { author } = (await post(page, 'bob', { body: 'Loud' })).json
    const mute = (method: string, as?: string) =>
      site.ask(method, `/readers/${author.id}/mute`, as === undefined ? {} : { as })
    expect((await mute('PUT')).json.code).toBe('identity_required')
    expect((await mute('PUT', 'ann')).status).toBe(200)
    const mutedFor = async (as: string) =>
      (await site.ask('GET', `/comments${at(page)}`, { as })).json.data[0].authorMuted
    expect([await mutedFor('ann'), await mutedFor('bob')]).toEqual([true, null])
    expect((await mute('DELETE', 'ann')).status).toBe(204)
    expect(await mutedFor('ann')).toBe(null)
  })

  test('begins no discussion where a page is read', async () => {
    const page = newId()
    const { json } = await site.ask('GET', `/thread${at(page)}`, { as: 'ann' })
    expect(json).toMatchObject({ reader: { id: 'ann' }, discussion: null, comments: null, own: null, ticket: null })
    expect(await site.ask('GET', `/discussion${at(page)}`)).toMatchObject({ status: 200, json: null })
  })

  test('refuses a wrong query of a thread as that of its comments', async () => {
    const page = newId()
    await post(page, 'ann', { body: 'First' })
    for (const query of [
      '&sort=best',
      '&limit=0',
      '&parentId=x',
      '&cursor=x',
      '&sort=top&sort=newest',
      '&externalId=b',
    ])
      expect(await site.ask('GET', `/thread${at(page, query)}`)).toMatchObject({
        status: 422,
        json: { code: 'validation_failed' },
      })
  })

  test('says until when a reader is banned, but not in shadow, and who is signed in even while the service is down', async () => {
    const as = 'bob'
    const { author } = (await site.ask('POST', `/comments${at(newId())}`, { as, body: { body: 'Hi' } })).json
    const ban = (body: object) => service.call('POST', `/readers/${author.id}/ban`, { body })
    const until = new Date(Date.now() + 86_400_000).toISOString()
    await ban({ until, reason: 'For moderators' })
    expect((await site.ask('GET', '/me', { as })).json.reader).toMatchObject({ id: as, ban: { until } })
    await ban({ shadow: true })
    expect((await site.ask('GET', '/me', { as })).json.reader.ban).toBe(null)
    await service.call('POST', `/readers/${author.id}/unban`)
    const away = fetchSite(service, { url: 'http://127.0.0.1:9', onError: () => undefined })
    expect((await away.ask('GET', '/me', { as })).json.reader).toMatchObject({ id: as, ban: null })
  })

  test('says who is signed in', async () => {
    const { status, json, headers } = await site.ask('GET', '/me', { as: 'bob' })
    expect(status).toBe(200)
    expect(json).toEqual({ reader: { id: 'bob', name: 'Bob', avatarUrl: null, profileUrl: null, ban: null } })
    expect(headers.get('cache-control')).toBe('private, no-store')
    expect((await site.ask('GET', '/me')).json).toEqual({ reader: null })
    expect((await site.ask('GET', '/me', { as: 'stranger' })).json).toEqual({ reader: null })
  })

  test('lets signed-out readers read, and refuses their writes with 403 identity_required', async () => {
    const page = newId()
    const { id } = (await post(page, 'ann', { body: 'Hello' })).json
    expect((await site.ask('GET', `/comments${at(page)}`)).status).toBe(200)
    for (const [method, path, body] of writesOf(page, id)) {
      expect(await site.ask(method, path, { body })).toMatchObject({ status: 403, json: { code: 'identity_required' } })
    }
    expect((await site.ask('POST', `/ticket${at(page)}`)).status).toBe(201)
  })

  test('refuses oversized bodies with 413 body_too_large, and continues', async () => {
    const refused = await site.ask('POST', `/comments${at(newId())}`, {
      as: 'ann',
      body: JSON.stringify({ body: 'x'.repeat(MAX_BODY_BYTES - 10) }),
    })
    // Express's own parser stands in front, with a bound of its own.
    if (mount !== SITES.express) expect(refused).toMatchObject({ json: { code: 'body_too_large' } })
    expect(refused.status).toBe(413)
    expect((await post(newId(), 'ann', { body: 'Small' })).status).toBe(201)
  })

  test('refuses other types and broken bodies', async () => {
    const headers = { 'content-type': 'text/plain' }
    const path = `/comments${at(newId())}`
    expect(await site.ask('POST', path, { as: 'ann', body: '{"body":"Hello"}', headers })).toMatchObject({
      status: 415,
      json: { code: 'unsupported_media_type' },
    })
    expect(await site.ask('POST', path, { as: 'ann' })).toMatchObject({ status: 422 })
    const broken = await site.ask('POST', path, { as: 'ann', body: '{"body":' })
    expect(broken.status).toBe(400)
    expect(await site.ask('DELETE', `/comments/${newId()}`, { as: 'ann', body: {} })).toMatchObject({
      status: 422,
      json: { code: 'validation_failed' },
    })
  })
})

describe('writes', () => {
  test('with an Idempotency-Key run once, for each reader', async () => {
    const site = fetchSite(service)
    const path = `/comments${at(newId())}`
    const write = { body: { body: 'Once' }, headers: { 'idempotency-key': 'a-key' } }
    const [first, again] = [
      await site.ask('POST', path, { as: 'ann', ...write }),
      await site.ask('POST', path, { as: 'ann', ...write }),
    ]
    expect(first.status).toBe(201)
    expect(first.headers.get('idempotency-replayed')).toBeNull()
    expect(again.json).toEqual(first.json)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    const ofBob = await site.ask('POST', path, { as: 'bob', ...write })
    expect(ofBob).toMatchObject({ status: 201, json: { author: { externalId: 'bob' } } })
    expect(await site.ask('POST', path, { as: 'ann', ...write, body: { body: 'Twice' } })).toMatchObject({
      status: 409,
      json: { code: 'idempotency_conflict' },
    })
    // The publisher's own keys are separate.
    const own = await service.call('POST', `/discussions/by-external/${newId()}/comments`, {
      body: write.body,
      headers: { ...write.headers, ...(await service.as('ann')) },
    })
    expect(own).toMatchObject({ status: 201 })
  })

  test('that the service refuses keep its status and code', async () => {
    const site = fetchSite(service)
    const page = newId()
    const { id } = (await service.call('POST', '/discussions', { body: { externalId: page } })).json
    await service.call('POST', `/discussions/${id}/lock`)
    expect(await site.ask('POST', `/comments${at(page)}`, { as: 'ann', body: { body: 'Hello' } })).toMatchObject({
      status: 409,
      json: { code: 'discussion_locked' },
    })
    expect(await site.ask('GET', `/discussion${at(page)}`)).toMatchObject({ json: { state: 'locked' } })
    expect(
      await site.ask('POST', `/comments${at(newId())}`, { as: 'ann', body: { body: 'Hello', author: 'bob' } }),
    ).toMatchObject({ status: 422, json: { errors: [{ pointer: '/author', code: 'unknown_field' }] } })
  })

  test('by a reader with an unacceptable profile are still attributed to that reader', async () => {
    const posted = await fetchSite(service).ask('POST', `/comments${at(newId())}`, { as: 'long', body: { body: 'Hi' } })
    expect(posted).toMatchObject({ status: 201, json: { author: { name: 'n'.repeat(79) + '🙂', avatarUrl: null } } })
  })

  test('reach no service if isPage says that the page does not exist', async () => {
    const site = fetchSite(service, { isPage: (externalId) => externalId.startsWith('known-') })
    const [known, unknown] = [`known-${newId()}`, newId()]
    expect((await site.ask('POST', `/comments${at(known)}`, { as: 'ann', body: { body: 'Hi' } })).status).toBe(201)
    for (const [method, path] of [
      ['POST', '/comments'],
      ['GET', '/comments'],
      ['GET', '/discussion'],
      ['POST', '/ticket'],
    ] as const) {
      const refused = await site.ask(method, path + at(unknown), { as: 'ann' })
      expect(refused).toMatchObject({
        status: 404,
        json: { code: 'not_found', errors: [{ pointer: '/externalId', code: 'unknown_page' }] },
      })
    }
    expect((await service.call('GET', `/discussions/by-external/${unknown}`)).status).toBe(404)
  })

  test('and tickets create a discussion with the title and url from isPage; reading a page does not', async () => {
    const url = 'https://www.example.com/a'
    const site = fetchSite(service, { isPage: () => ({ title: 'An article', url }) })
    for (const path of ['/comments', '/ticket']) {
      const page = newId()
      const empty = { status: 200, json: { data: [], nextCursor: null, hasMore: false } }
      expect(await site.ask('GET', `/comments${at(page)}`)).toMatchObject(empty)
      expect((await site.ask('GET', `/comments${at(page)}&parentId=${newId()}`)).status).toBe(404)
      expect((await service.call('GET', `/discussions/by-external/${page}`)).status).toBe(404)
      const write = path === '/ticket' ? {} : { as: 'ann', body: { body: 'Hi' } }
      expect((await site.ask('POST', path + at(page), write)).status).toBe(201)
      expect((await service.call('GET', `/discussions/by-external/${page}`)).json).toMatchObject({
        title: 'An article',
        url,
      })
    }
  })

  test.each([
    [
      { title: 'x'.repeat(499) + '🙂', url: '/a' },
      { title: 'x'.repeat(499) + '🙂', url: null },
    ],
    [
      { title: ' \0', url: 'https://www.example.com/é' },
      { title: null, url: 'https://www.example.com/é' },
    ],
    [
      { title: null, url: 'javascript:alert(1)' },
      { title: null, url: null },
    ],
    [{}, { title: null, url: null }],
  ])('of the page %j are let through, with what the service takes of it', async (given, kept) => {
    const page = newId()
    const site = fetchSite(service, { isPage: () => given })
    expect((await site.ask('POST', `/comments${at(page)}`, { as: 'ann', body: { body: 'Hi' } })).status).toBe(201)
    expect((await service.call('GET', `/discussions/by-external/${page}`)).json).toMatchObject(kept)
  })

  test('of a reader whose session cannot be read answer 500 internal, and only the publisher gets the error', async () => {
    const onError = vi.fn<(error: unknown) => void>()
    const site = fetchSite(service, { onError })
    for (const as of ['broken', 'nameless']) {
      const { status, text, json } = await site.ask('GET', '/me', { as })
      expect({ status, code: json.code }).toEqual({ status: 500, code: 'internal' })
      expect(text).not.toMatch(/session store|reader's id/)
    }
    expect(onError.mock.calls.map(([error]) => String(error))).toEqual([
      'Error: the session store is down',
      expect.stringContaining('id must be a text'),
    ])
  })
})

describe('a ticket', () => {
  const clients: StreamClient[] = []
  afterEach(() => clients.splice(0).forEach((client) => client.close()))

  test("opens a stream, with the signed-in reader's notifications", async () => {
    const site = fetchSite(service)
    const page = newId()
    const follow = async (as?: string): Promise<StreamClient> => {
      const { status, json } = await site.ask('POST', `/ticket${at(page)}`, as === undefined ? {} : { as })
      expect({ status, json }).toMatchObject({ status: 201, json: { discussionState: 'open', lastEventId: '0' } })
      const client = await openStream(json.streamUrl)
      clients.push(client)
      return client
    }
    const [ofAnn, ofNobody] = [await follow('ann'), await follow()]
    const { id } = (await site.ask('POST', `/comments${at(page)}`, { as: 'ann', body: { body: 'Hello' } })).json
    await site.ask('POST', `/comments${at(page)}`, { as: 'bob', body: { body: 'Hello, Ann', parentId: id } })
    await site.ask('DELETE', `/comments/${id}`, { as: 'ann' })
    const typesOf = ({ events }: StreamClient) => events.map(({ event = '' }) => event).toSorted()
    const common = ['comment_created', 'comment_created', 'comment_deleted']
    await vi.waitFor(() => expect(typesOf(ofNobody)).toEqual(common))
    await vi.waitFor(() => expect(typesOf(ofAnn)).toEqual([...common, 'notification_reply']))
  })
})

describe('a ticket for several pages', () => {
  const several = (pages: readonly string[]): string => `?${pages.map((each) => `externalId=${each}`).join('&')}`
  const clients: StreamClient[] = []
  afterEach(() => clients.splice(0).forEach((client) => client.close()))

  test('opens one stream of those that exist, and begins their discussions with their details', async () => {
    const [first, second, unknown] = [newId(), newId(), `un${newId()}`]
    const isPage = (externalId: string) => !externalId.startsWith('un') && { title: `Of ${externalId}` }
    const site = fetchSite(service, { isPage })
    const { status, json } = await site.ask('POST', `/tickets${several([first, unknown, second, first])}`)
    expect(status).toBe(201)
    expect(json.discussions.map(({ externalId }: { externalId: string }) => externalId).toSorted()).toEqual(
      [first, second].toSorted(),
    )
    for (const page of [first, second])
      expect((await service.call('GET', `/discussions/by-external/${page}`)).json.title).toBe(`Of ${page}`)
    expect((await service.call('GET', `/discussions/by-external/${unknown}`)).status).toBe(404)
    const client = await openStream(json.streamUrl)
    clients.push(client)
    for (const page of [second, first])
      await site.ask('POST', `/comments${at(page)}`, { as: 'ann', body: { body: 'x' } })
    await vi.waitFor(() => expect(client.events).toHaveLength(2))
    expect((await site.ask('POST', `/tickets${several([unknown])}`)).json).toBe(null)
  })

  test('is refused before any page is asked for where there are too many', async () => {
    const isPage = vi.fn<(externalId: string) => boolean>(() => true)
    const site = fetchSite(service, { isPage })
    const refused = await site.ask('POST', `/tickets${several(Array.from({ length: 51 }, newId))}`)
    expect(refused).toMatchObject({ status: 422, json: { errors: [{ pointer: '/externalId', code: 'too_long' }] } })
    expect(isPage).not.toHaveBeenCalled()
    expect((await site.ask('POST', '/tickets')).status).toBe(422)
  })
})

test("a comment out of view is shown to its author, and is 404 to all others, whatever the backend's key may see", async () => {
  const held = await service.call('POST', '/discussions/by-external/held/comments', {
    body: { body: 'Look at it' },
    headers: await service.as('ann'),
  })
  // The key of these tests may do everything.
  const site = fetchSite(service)
  const get = (as = 'ben') => site.ask('GET', `/comments/${held.json.id}`, { as })
  expect((await get()).status).toBe(200)
  await service.call('POST', `/comments/${held.json.id}/reject`)
  expect((await service.call('GET', `/comments/${held.json.id}`)).json.body).toBe('Look at it')
  expect(await get()).toMatchObject({ status: 404, json: { code: 'not_found' } })
  expect(await site.ask('GET', `/comments/${held.json.id}`)).toMatchObject({ status: 404, json: { code: 'not_found' } })
  expect(await get('ann')).toMatchObject({ status: 200, json: { status: 'rejected', body: 'Look at it' } })
  // A tombstone without replies is in no view.
  await service.call('DELETE', `/comments/${held.json.id}`)
  expect((await service.call('GET', `/comments/${held.json.id}`)).status).toBe(200)
  expect([(await get()).status, (await get('ann')).status]).toEqual([404, 404])
})

test('a comment out of view is shown to its author after the author was merged into another reader', async () => {
  const site = fetchSite(service)
  const page = newId()
  const held = await site.ask('POST', `/comments${at(page)}`, { as: 'long', body: { body: 'Look at it' } })
  const { json: into } = await service.call('GET', '/readers/me', { headers: await service.as(newId()) })
  await service.call('POST', `/readers/${held.json.author.id}/merge`, { body: { into: into.id } })
  await service.call('POST', `/comments/${held.json.id}/reject`)
  const get = (as: string) => site.ask('GET', `/comments/${held.json.id}`, { as })
  await vi.waitFor(async () => expect((await get('long')).json.author).toMatchObject({ id: into.id }))
  expect(await get('long')).toMatchObject({ status: 200, json: { body: 'Look at it' } })
  expect((await get('bob')).status).toBe(404)
})

test("the history of a comment does not tell that it exists, whatever the backend's key may see", async () => {
  await service.call('PATCH', '/settings', { body: { showEditHistory: true } })
  const json = await service.ok(
    'POST',
    '/discussions/by-external/told/comments',
    { body: 'Look at it' },
    await service.as('ann'),
  )
  const keys = [service.apiKey]
  keys.push((await service.newKey()).key)
  for (const apiKey of keys) {
    const site = fetchSite(service, { apiKey })
    const get = (id: string, as?: string) => site.ask('GET', `/comments/${id}/history`, { ...(as && { as }) })
    await service.call('POST', `/comments/${json.id}/approve`)
    expect((await get(json.id)).json.data).toMatchObject([{ body: 'Look at it' }])
    await service.call('POST', `/comments/${json.id}/reject`)
    for (const as of [undefined, 'ben']) {
      const unknown = await get(newId(), as)
      expect(unknown).toMatchObject({ status: 200, json: { data: [], nextCursor: null, hasMore: false } })
      expect((await get(json.id, as)).json).toEqual(unknown.json)
    }
    expect((await get(json.id, 'ann')).json.data).toMatchObject([{ body: 'Look at it' }])
  }
  await service.call('PATCH', '/settings', { body: { showEditHistory: false } })
})

import { createHash } from 'node:crypto'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
  type Server,
  type ServerResponse,
} from 'node:http'
import { gunzipSync } from 'node:zlib'

import fc from 'fast-check'
import { decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import { createGraphqlClient } from '../../src/clients/graphql/client.ts'
import { createBackend, nodeHandler } from '../../src/clients/backend/backend.ts'
import { profileOf, signAssertion } from '../../src/clients/backend/readers.ts'
import { MAX_BODY_BYTES } from '../../src/clients/backend/requests.ts'
import { ROUTES } from '../../src/clients/backend/routes.ts'
import type { Tenant } from '../../src/core/caller.ts'
import { nameOrNull } from '../../src/core/input/texts.ts'
import { tenantSettings } from '../../src/core/settings/tenant.ts'
import { newId } from '../../src/core/ids.ts'
import { readClaims } from '../../src/domains/readers/claims.ts'
import { ROUTES as SERVICE_ROUTES } from '../../src/api/rest/routes.ts'
import { type BackendSite, fetchSite, open, shut, SITES } from '../harness/backends.ts'
import { effort } from '../harness/effort.ts'
import { kidOf } from '../harness/identity.ts'
import { startService, type TestService } from '../harness/service.ts'
import { openStream, type StreamClient } from '../harness/stream-client.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ worker: false })
})
afterAll(() => service.close())

const at = (externalId: string, query = ''): string => `?externalId=${encodeURIComponent(externalId)}${query}`

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
    expect(counts.json.data).toEqual([
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

const writesOf = (page: string, id: string): [method: string, path: string, body?: object][] => [
  ['POST', `/comments${at(page)}`, { body: 'Hello' }],
  ['PATCH', `/comments/${id}`, { body: 'Hello again' }],
  ['PUT', `/comments/${id}/reaction`, { type: 'like' }],
  ['POST', `/comments/${id}/report`, { reason: 'spam' }],
  ['DELETE', `/comments/${id}/reaction`],
  ['DELETE', `/comments/${id}`],
]

describe('mounted among other things', () => {
  test('under Express, leaves other paths to the site', async () => {
    const site = await SITES.express(service)
    expect(await (await fetch(`${site.url}/engagement-elsewhere`)).text()).toBe('the site')
    expect((await site.ask('GET', '/me')).headers.get('vary')).toBe('Origin, Cookie, Authorization, Accept-Encoding')
    await site.close()
  })

  test("under Fastify, keeps the site's own parsers and headers", async () => {
    const site = await SITES.fastify(service)
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${site.url}/elsewhere`, { method: 'POST', headers, body: '{"a":1}' })
    expect(await response.json()).toEqual({ a: 1 })
    expect((await site.ask('GET', '/me')).headers.get('vary')).toBe('Origin, Cookie, Authorization, Accept-Encoding')
    await site.close()
  })

  test.each(['node', 'express', 'fastify'] as const)(
    'by %s, no host and no form of an address leads elsewhere',
    async (name) => {
      const site = await SITES[name](service)
      const statusOf = (path: string, host: string): Promise<number | undefined> =>
        new Promise((resolve, reject) => {
          const options = { port: new URL(site.url).port, path, headers: { host }, agent: false }
          const request = httpRequest(options, (response) => resolve(response.resume().statusCode))
          request.on('error', reject).end()
        })
      expect(await statusOf('/engagement/me', 'www.example.com')).toBe(200)
      expect(await statusOf('/engagement/me', 'www.example.com:99999')).toBe(200)
      expect(await statusOf('/me', 'www.example.com/engagement')).toBe(404)
      expect(await statusOf('/x', 'www.example.com/engagement/me?')).toBe(404)
      expect(await statusOf('//engagement/me', 'www.example.com')).toBe(404)
      expect(await statusOf('//www.example.com/engagement/me', 'www.example.com')).toBe(404)
      await site.close()
    },
  )

  test.each(['node', 'fastify'] as const)('by %s, refuses an endless body at the bound', async (name) => {
    const site = await SITES[name](service)
    const answered = await new Promise<object>((resolve, reject) => {
      const headers = {
        cookie: 'reader=ann',
        'content-type': 'application/json',
        'x-requested-with': 'engagement',
      }
      const path = `${site.url}/engagement/comments${at(newId())}`
      const request = httpRequest(path, { method: 'POST', headers }, (response) => {
        resolve({ status: response.statusCode, connection: response.headers.connection })
        request.destroy()
      })
      request.on('error', reject)
      // Not more than the bound: during further writes, the end of the connection could arrive
      // before the answer.
      request.write('x'.repeat(MAX_BODY_BYTES + 1))
    })
    // The rest of the body would be parsed as the next request.
    expect(answered).toEqual({ status: 413, connection: 'close' })
    await site.close()
  })
})

describe('a page of another site', () => {
  const site = () => fetchSite(service, { origins: ['https://app.example.com'] })
  const write = async (headers: Record<string, string>) =>
    site().ask('POST', `/comments${at(newId())}`, { as: 'ann', body: { body: 'Hello' }, headers })

  test.each([
    ['without the header of writes', { 'x-requested-with': '' }],
    ['with another header of writes', { 'x-requested-with': 'XMLHttpRequest' }],
    ['by Sec-Fetch-Site: cross-site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['by Sec-Fetch-Site: same-site', { 'sec-fetch-site': 'same-site', origin: 'https://blog.example.com' }],
    [
      'by Sec-Fetch-Site, whatever its origin says',
      { 'sec-fetch-site': 'same-site', origin: 'https://www.example.com' },
    ],
    ['by its origin alone', { origin: 'https://evil.example' }],
    ['by another port', { origin: 'https://www.example.com:8443' }],
    ['by an opaque origin', { origin: 'null' }],
  ])('is refused with 403 origin_not_allowed %s', async (_how, headers) => {
    expect(await write(headers)).toMatchObject({ status: 403, json: { code: 'origin_not_allowed' } })
  })

  test.each([
    ["the site's own", { 'sec-fetch-site': 'same-origin', origin: 'https://www.example.com' }],
    ["the site's own in an older browser", { origin: 'https://www.example.com' }],
    ["the site's own behind a proxy that ends TLS", { origin: 'http://www.example.com' }],
    ['one that is named', { 'sec-fetch-site': 'same-site', origin: 'https://app.example.com' }],
    ['no browser', {}],
  ])('is not taken for %s', async (_whose, headers) => {
    expect((await write(headers)).status).toBe(201)
  })

  test('is refused for every write, and for a ticket', async () => {
    for (const [method, path, body] of [...writesOf(newId(), newId()), ['POST', `/ticket${at(newId())}`] as const]) {
      const refused = await site().ask(method, path, { as: 'ann', body, headers: { 'x-requested-with': '' } })
      expect(refused).toMatchObject({ status: 403, json: { code: 'origin_not_allowed' } })
    }
  })

  test('is granted no preflight', async () => {
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    const { status, headers: answered } = await site().ask('OPTIONS', '/comments', { headers })
    expect(status).toBe(405)
    expect([...answered.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })
})

describe('a hostile path', () => {
  const site = () => fetchSite(service)

  test.each([
    '/',
    '/settings/public',
    '/keys',
    '/moderation/queue',
    '/discussions/by-external/x',
    '/comments/bulk',
    `/comments/${newId()}/approve`,
    `/comments/${newId()}/revisions`,
    `/comments/${newId()}/`,
    `/comments/${newId().toUpperCase()}`,
    '/comments/..%2Fsettings',
    '/comments/%2e%2e/keys',
    '/comments/../../api/v1/settings',
    '//comments',
    '/me/',
    '/constructor',
  ])('GET %s answers 404 not_found', async (path) => {
    expect(await site().ask('GET', path, { as: 'ann' })).toMatchObject({ status: 404, json: { code: 'not_found' } })
  })

  test.each(['.', '..', '%2e%2e', '%2E.'])('the page %s answers 422, not another route', async (externalId) => {
    expect(await site().ask('GET', `/comments?externalId=${externalId}`)).toMatchObject({ status: 422 })
  })

  test.each(['../../settings', '..%2F..%2Fsettings', 'a/../b', 'a?limit=1', '$&', '\0', '%', 'é🙂'])(
    'the page %j is a page like others',
    async (externalId) => {
      const { status, json } = await site().ask('GET', `/comments${at(externalId)}`)
      if (status === 200) expect(json).toEqual({ data: [], nextCursor: null, hasMore: false })
      else expect([status, json.code]).toEqual([422, 'validation_failed'])
    },
  )

  test.each([
    ['/comments', { pointer: '/externalId', code: 'required' }],
    ['/comments?externalId=', { pointer: '/externalId', code: 'required' }],
    ['/comments?externalId=a&externalId=b', { pointer: '/externalId', code: 'wrong_type' }],
    ['/comments?externalId=a&limit=1&limit=2', { pointer: '/limit', code: 'wrong_type' }],
    ['/comments?externalId=a&token=b', { pointer: '/token', code: 'unknown_parameter' }],
    ['/me?externalId=a', { pointer: '/externalId', code: 'unknown_parameter' }],
    ['/counts?externalId=a&sort=top', { pointer: '/sort', code: 'unknown_parameter' }],
  ])('GET %s answers 422 with the place', async (path, error) => {
    expect(await site().ask('GET', path)).toMatchObject({
      status: 422,
      json: { code: 'validation_failed', errors: [error] },
    })
  })

  test('another method answers 405 with Allow', async () => {
    const { status, headers, json } = await site().ask('PUT', `/comments/${newId()}`, { as: 'ann', body: {} })
    expect({ status, allow: headers.get('allow'), code: json.code }).toEqual({
      status: 405,
      allow: 'GET, PATCH, DELETE',
      code: 'method_not_allowed',
    })
  })

  test("does not lead to another tenant's comment", async () => {
    const other = await service.addTenant('backend-other')
    const posted = await service.call('POST', '/discussions/by-external/theirs/comments', {
      body: { body: 'Theirs' },
      headers: { 'x-api-key': other.apiKey, ...(await other.as('zoe')) },
    })
    expect(posted.status).toBe(201)
    const { id } = posted.json
    expect(await site().ask('GET', `/comments/${id}`, { as: 'ann' })).toMatchObject({ status: 404 })
    const none = { status: 200, json: { data: [], hasMore: false } }
    expect(await site().ask('GET', `/comments${at('theirs')}`, { as: 'ann' })).toMatchObject(none)
    for (const [method, path, body] of writesOf(newId(), id).slice(1)) {
      expect(await site().ask(method, path, { as: 'ann', body })).toMatchObject({ status: 404 })
    }
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

describe('caching', () => {
  test('a page has an ETag for each reader, and answers 304 to a browser that has it', async () => {
    const site = fetchSite(service)
    const page = newId()
    await site.ask('POST', `/comments${at(page)}`, { as: 'ann', body: { body: 'Hello' } })
    const { headers } = await site.ask('GET', `/comments${at(page)}`, { as: 'ann' })
    expect(headers.get('cache-control')).toBe('private, no-cache')
    expect(headers.get('vary')).toBe('Cookie, Authorization, Accept-Encoding')
    const known = { 'if-none-match': headers.get('etag') ?? '' }
    expect(await site.ask('GET', `/comments${at(page)}`, { as: 'ann', headers: known })).toMatchObject({
      status: 304,
      text: '',
    })
    expect((await site.ask('GET', `/comments${at(page)}`, { as: 'bob', headers: known })).status).toBe(200)
    expect((await site.ask('GET', `/comments${at(page)}`, { headers: known })).status).toBe(200)
  })

  test('what may be cached by anyone has an ETag, and is 304 to a browser that has it', async () => {
    const site = fetchSite(service)
    for (const path of ['/settings', `/counts${at('some-page')}`]) {
      const { status, headers } = await site.ask('GET', path)
      expect([path, status, headers.get('etag')]).toEqual([path, 200, expect.stringMatching(/^W\/".{22}"$/)])
      const known = { 'if-none-match': `"other", ${headers.get('etag')}` }
      const again = await site.ask('GET', path, { headers: known })
      expect([path, again.status, again.text]).toEqual([path, 304, ''])
      expect(again.headers.get('cache-control')).toBe(headers.get('cache-control'))
    }
    expect((await site.ask('GET', '/me', { as: 'ann' })).headers.get('etag')).toBeNull()
  })

  test('the settings for pages may be cached by anyone for a minute', async () => {
    const site = fetchSite(service)
    const { status, json, headers } = await site.ask('GET', '/settings', { as: 'broken' })
    expect(status).toBe(200)
    expect(Object.keys(json).sort()).toEqual(['badges', 'editWindowSeconds', 'maxDepth', 'reactionTypes'])
    expect([headers.get('cache-control'), headers.get('vary')]).toEqual(['public, max-age=60', 'Accept-Encoding'])
  })

  test('counts may be cached for readers who are not signed in, their refusal for no one', async () => {
    const site = fetchSite(service)
    const counts = await site.ask('GET', `/counts${at('a')}`)
    expect(counts.headers.get('cache-control')).toBe('public, max-age=0, s-maxage=30')
    expect(counts.headers.get('vary')).toBe('Cookie, Authorization, Accept-Encoding')
    const own = await site.ask('GET', `/counts${at('a')}`, { as: 'ann' })
    expect(own.headers.get('cache-control')).toBe('private, no-store')
    const tooMany = await site.ask('GET', `/counts?${'externalId=a&'.repeat(201)}`)
    expect(tooMany.status).toBe(422)
    expect(tooMany.headers.get('cache-control')).not.toContain('public')
  })

  test('lists over many pages may be cached by anyone, unless isPage leaves pages out of them', async () => {
    const site = fetchSite(service)
    const [shown, left] = [`open-${newId()}`, `closed-${newId()}`]
    // Discussed more than the pages of the other tests.
    for (const externalId of [shown, left, shown, left]) {
      await site.ask('POST', `/comments${at(externalId)}`, { as: 'ann', body: { body: newId() } })
    }
    const choosing = fetchSite(service, { isPage: (externalId) => externalId.startsWith('open-') })
    for (const path of ['/latest-comments?limit=50', '/most-discussed?window=week&limit=50']) {
      const pagesOf = ({ json }: { json: { data: { discussion: { externalId: string } }[] } }): string[] =>
        json.data.map(({ discussion }) => discussion.externalId)
      const [all, own] = [await site.ask('GET', path), await choosing.ask('GET', path)]
      expect([all.headers.get('cache-control'), own.headers.get('cache-control')]).toEqual([
        'public, max-age=30',
        'private, no-store',
      ])
      expect([pagesOf(all).includes(shown), pagesOf(all).includes(left)]).toEqual([true, true])
      expect([pagesOf(own).includes(shown), pagesOf(own).includes(left)]).toEqual([true, false])
    }
    expect((await site.ask('GET', '/latest-comments?status=pending')).status).toBe(422)
  })

  test('lists are cut after isPage has left out pages', async () => {
    const site = fetchSite(service)
    const shown = `open-${newId()}`
    // As many as on no page of the other tests, of which the service lists 50.
    for (let n = 0; n < 8; n++) await site.ask('POST', `/comments${at(shown)}`, { as: 'ann', body: { body: newId() } })
    for (let n = 0; n < 3; n++)
      await site.ask('POST', `/comments${at(`closed-${newId()}`)}`, { as: 'ann', body: { body: newId() } })
    const choosing = fetchSite(service, { isPage: (externalId) => externalId === shown })
    for (const path of ['/latest-comments', '/most-discussed?window=week']) {
      const limited = `${path}${path.includes('?') ? '&' : '?'}limit=1`
      // The service keeps its lists for seconds.
      await vi.waitFor(async () =>
        expect((await choosing.ask('GET', limited)).json.data).toMatchObject([{ discussion: { externalId: shown } }]),
      )
    }
    const everything = fetchSite(service, { isPage: () => true })
    expect((await everything.ask('GET', '/latest-comments?limit=2')).json.data).toHaveLength(2)
    expect((await everything.ask('GET', '/latest-comments')).json.data.length).toBeLessThanOrEqual(10)
    for (const limit of ['0', '51', 'x', '1.5'])
      expect((await everything.ask('GET', `/latest-comments?limit=${limit}`)).status, limit).toBe(422)
  })

  test('notifications of pages that isPage leaves out are not listed, and the next page is still named', async () => {
    const site = fetchSite(service)
    const [shown, left] = [`open-${newId()}`, `closed-${newId()}`]
    for (const externalId of [shown, left]) {
      const root = (await site.ask('POST', `/comments${at(externalId)}`, { as: 'ann', body: { body: newId() } })).json
      const reply = { body: newId(), parentId: root.id }
      await site.ask('POST', `/comments${at(externalId)}`, { as: 'bob', body: reply })
    }
    const choosing = fetchSite(service, { isPage: (externalId) => externalId.startsWith('open-') })
    const list = '/me/notifications?limit=1'
    const { json } = await choosing.ask('GET', list, { as: 'ann' })
    expect(json).toMatchObject({ data: [], hasMore: true })
    const next = await choosing.ask('GET', `${list}&cursor=${encodeURIComponent(json.nextCursor)}`, { as: 'ann' })
    expect(next.json.data).toMatchObject([{ discussion: { externalId: shown } }])
  })
})

describe('an answer', () => {
  const page = newId()
  const path = `/engagement/comments${at(page, '&limit=100')}`
  let server: Server
  let url: string
  beforeAll(async () => {
    const site = await SITES.node(service)
    for (let n = 0; n < 20; n++)
      await site.ask('POST', `/comments${at(page)}`, { as: 'ann', body: { body: `The comment with the number ${n}` } })
    await site.close()
    const backend = createBackend<IncomingMessage>({
      url: service.url,
      apiKey: service.apiKey,
      tenant: service.tenant.slug,
      identitySecret: service.identitySecret.secret,
      reader: () => null,
    })
    server = createServer(nodeHandler(backend))
    url = await open(server)
  })
  afterAll(() => shut(server))

  const raw = (acceptEncoding?: string) =>
    new Promise<{ headers: IncomingHttpHeaders; bytes: Buffer }>((resolve, reject) => {
      const headers = acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding }
      const asked = httpRequest(`${url}${path}`, { headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => resolve({ headers: response.headers, bytes: Buffer.concat(chunks) }))
      })
      asked.on('error', reject).end()
    })

  test('is compressed for a browser, and plain for who refuses or does not name gzip', async () => {
    const plain = await raw()
    for (const accepted of ['gzip, deflate, br, zstd', 'deflate, GZIP;q=0.5', '*', 'br;q=1, *;q=0.1']) {
      const { headers, bytes } = await raw(accepted)
      expect([accepted, headers['content-encoding'], headers.vary]).toEqual([
        accepted,
        'gzip',
        'Cookie, Authorization, Accept-Encoding',
      ])
      expect(gunzipSync(bytes).equals(plain.bytes)).toBe(true)
      expect(bytes.length * 5).toBeLessThan(plain.bytes.length)
      expect(headers.etag).toBe(plain.headers.etag)
    }
    for (const accepted of ['br', 'gzip;q=0', 'gzip; q=0.000, *', 'identity', '', '*;q=0', 'xgzip', ';;,,;q=']) {
      const { headers, bytes } = await raw(accepted)
      expect([accepted, headers['content-encoding'], bytes.equals(plain.bytes)]).toEqual([accepted, undefined, true])
      expect(headers.vary).toContain('Accept-Encoding')
    }
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

/** A service that notes what it is asked and answers what the test says. */
interface Upstream {
  url: string
  asked: { method: string; url: string; headers: IncomingHttpHeaders; body: string }[]
  server: Server
}

async function startUpstream(
  answer: (response: ServerResponse) => unknown = (response) =>
    response.setHeader('content-type', 'application/json').end('{}'),
): Promise<Upstream> {
  const asked: Upstream['asked'] = []
  const server = createServer((request, response) => {
    void request.toArray().then((chunks) => {
      const { method = '', url = '', headers } = request
      asked.push({ method, url, headers, body: Buffer.concat(chunks as Buffer[]).toString() })
      return answer(response)
    })
  })
  upstreams.push(server)
  return { url: await open(server), asked, server }
}
const upstreams: Server[] = []
afterEach(async () => {
  await Promise.all(upstreams.splice(0).map(shut))
})

describe('the service gets', () => {
  test("a page's details once, even for concurrent requests, and again after a change or a failure", async () => {
    let status = 503
    const upstream = await startUpstream((response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    })
    let title = 'A'
    const onError = vi.fn<(error: unknown) => void>()
    const site = fetchSite(service, { url: upstream.url, onError, isPage: () => ({ title }) })
    const told = () => upstream.asked.filter(({ url }) => url.endsWith('/discussions')).map(({ body }) => body)
    const ask = () => site.ask('POST', `/ticket${at('a')}`)
    await ask()
    expect(onError).toHaveBeenCalledOnce()
    status = 200
    await Promise.all([ask(), ask(), ask()])
    await ask()
    const body = '{"externalId":"a","title":"A"}'
    expect(told()).toEqual([body, body])
    title = 'B'
    await ask()
    expect(told()).toEqual([body, body, '{"externalId":"a","title":"B"}'])
  })

  test("the key, the reader and nothing else of the browser's request", async () => {
    const upstream = await startUpstream()
    const site = fetchSite(service, { url: `${upstream.url}/`, headerPrefix: 'X-Acme-' })
    const headers = {
      authorization: 'Bearer a-session',
      'x-api-key': 'ek_other',
      'x-service-identity': 'forged',
      'x-acme-identity': 'forged',
      'x-forwarded-for': '10.0.0.1',
      'x-request-id': 'a-request',
      'if-none-match': '"a"',
      'proxy-authorization': 'Basic a',
      te: 'trailers',
    }
    await site.ask('POST', `/comments${at('a/b c')}`, { as: 'ann', body: { body: 'é' }, headers })
    const [{ method, url, body, headers: told }] = upstream.asked as [Upstream['asked'][number]]
    expect({ method, url, body }).toEqual({
      method: 'POST',
      url: '/api/v1/discussions/by-external/a%2Fb%20c/comments',
      body: '{"body":"é"}',
    })
    const own = [
      'accept',
      'accept-encoding',
      'accept-language',
      'connection',
      'content-length',
      'host',
      'sec-fetch-mode',
      'user-agent',
    ]
    expect(
      Object.keys(told)
        .filter((name) => !own.includes(name))
        .sort(),
    ).toEqual(['content-type', 'x-acme-identity', 'x-api-key', 'x-request-id'])
    expect(told).toMatchObject({ 'x-api-key': service.apiKey, 'x-request-id': 'a-request' })

    const assertion = String(told['x-acme-identity'])
    const { secret } = service.identitySecret
    const { payload } = await jwtVerify(assertion, new TextEncoder().encode(secret), { algorithms: ['HS256'] })
    expect(decodeProtectedHeader(assertion)).toEqual({ alg: 'HS256', typ: 'JWT', kid: kidOf(secret) })
    expect(payload).toEqual({
      sub: 'ann',
      aud: service.tenant.slug,
      iat: expect.any(Number),
      exp: Number(payload.iat) + 60,
      name: 'Ann',
      avatarUrl: 'https://www.example.com/ann.png',
      profileUrl: null,
      bodySha256: createHash('sha256').update('{"body":"é"}').digest('base64url'),
    })
  })

  test('no reader where the answer is the same for all', async () => {
    const upstream = await startUpstream()
    const site = fetchSite(service, { url: upstream.url })
    for (const path of ['/settings', '/latest-comments', '/most-discussed'])
      await site.ask('GET', path, { as: 'broken' })
    expect(upstream.asked.map(({ headers }) => headers['x-service-identity'])).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  test('no request that is refused here', async () => {
    const upstream = await startUpstream()
    const site = fetchSite(service, { url: upstream.url })
    for (const [method, path, body] of writesOf(newId(), newId())) await site.ask(method, path, { body })
    await site.ask('GET', '/keys', { as: 'ann' })
    await site.ask('GET', '/me')
    expect(upstream.asked).toEqual([])
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

describe('a service that', () => {
  const ask = async (url: string, timeoutMs = 10_000) => {
    const onError = vi.fn<(error: unknown) => void>()
    const answer = await fetchSite(service, { url, timeoutMs, onError }).ask('GET', `/comments${at('a')}`, {
      as: 'ann',
    })
    return { answer, onError }
  }
  const unavailable = {
    status: 503,
    json: {
      type: 'urn:engagement-service:error:unavailable',
      title: 'The service cannot answer now',
      status: 503,
      detail: expect.stringMatching(/^The service did not answer the backend/),
      code: 'unavailable',
      requestId: expect.any(String),
    },
  }

  test('is down answers 503 unavailable with Retry-After', async () => {
    const { url, server } = await startUpstream()
    await shut(server)
    const { answer, onError } = await ask(url)
    expect(answer).toMatchObject(unavailable)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(answer.headers.get('x-request-id')).toBe(answer.json.requestId)
    expect(onError).toHaveBeenCalledOnce()
  })

  test.each([
    ['says nothing', () => undefined],
    [
      'breaks off',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('{')
        setImmediate(() => response.destroy())
      },
    ],
    [
      'is a proxy with a page of its own',
      (response: ServerResponse) => {
        response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>')
      },
    ],
    [
      "does not take this backend's key",
      (response: ServerResponse) => {
        response.writeHead(401, { 'content-type': 'application/problem+json' }).end('{"code":"revoked_api_key"}')
      },
    ],
  ])('%s: 503 unavailable', async (_what, respond) => {
    const { url } = await startUpstream(respond)
    const { answer, onError } = await ask(url, respond.length === 0 ? 50 : 10_000)
    expect(answer).toMatchObject(unavailable)
    expect(onError).toHaveBeenCalledOnce()
  })

  test('does not know the identity secret tells the publisher which kid it misses', async () => {
    const onError = vi.fn<(error: unknown) => void>()
    const site = fetchSite(service, { identitySecret: 'a'.repeat(64), onError })
    expect(await site.ask('GET', `/comments${at('a')}`, { as: 'ann' })).toMatchObject(unavailable)
    expect(onError.mock.calls.map(([error]) => String(error))).toEqual([
      'Error: the service refuses this backend: X-Service-Identity: ' +
        'kid ffe054fe is no live identity secret of the tenant: is identitySecret right?',
    ])
  })

  test('redirects is not followed: 503 unavailable', async () => {
    const elsewhere = await startUpstream()
    const { url } = await startUpstream((response) => response.writeHead(307, { location: elsewhere.url }).end())
    const { answer, onError } = await ask(url)
    expect(answer).toMatchObject(unavailable)
    expect(onError).toHaveBeenCalledOnce()
    expect(elsewhere.asked).toEqual([])
  })

  test('refuses for a while is passed on, without its limits and cookies', async () => {
    const { url } = await startUpstream((response) => {
      const headers = {
        'content-type': 'application/problem+json',
        'retry-after': '7',
        'ratelimit-limit': '500',
        'set-cookie': 'a=b',
        server: 'one',
      }
      response.writeHead(429, headers).end('{"code":"rate_limited"}')
    })
    const { answer } = await ask(url)
    expect(answer).toMatchObject({ status: 429, json: { code: 'rate_limited' } })
    expect(Object.fromEntries(answer.headers)).toEqual({
      'cache-control': 'private, no-store',
      'content-type': 'application/problem+json',
      'retry-after': '7',
      vary: 'Cookie, Authorization, Accept-Encoding',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String),
    })
  })

  test.each(['node', 'express', 'fastify'] as const)(
    'is slow is left alone when the browser goes (%s)',
    async (name) => {
      let isLeft = false
      const upstream = await startUpstream((response) => response.on('close', () => (isLeft = true)))
      const onError = vi.fn<(error: unknown) => void>()
      const site = await SITES[name](service, { url: upstream.url, onError })
      const leave = new AbortController()
      const asked = fetch(`${site.url}/engagement/discussion${at('a')}`, { signal: leave.signal })
      await vi.waitFor(() => expect(upstream.asked).toHaveLength(1))
      leave.abort()
      await expect(asked).rejects.toThrow('aborted')
      await vi.waitFor(() => expect(isLeft).toBe(true))
      await site.close()
      expect(onError).not.toHaveBeenCalled()
    },
  )
})

describe('createBackend', () => {
  const options = {
    url: 'https://comments.example.com',
    apiKey: `ek_${'a'.repeat(64)}`,
    tenant: 'demo',
    identitySecret: 'a-secret',
    reader: () => null,
  }

  test.each([
    ['url', 'comments.example.com'],
    ['url', 'ftp://comments.example.com'],
    ['url', 'https://comments.example.com/api/v1/'],
    ['apiKey', 'ek_a'],
    ['tenant', ''],
    ['identitySecret', ''],
    ['basePath', 'engagement'],
    ['basePath', '/engagement/'],
    ['timeoutMs', 0],
  ])('refuses a wrong %s: %j', (name, value) => {
    expect(() => createBackend({ ...options, [name]: value })).toThrow(new RegExp(`createBackend: ${name} `))
  })

  test("says what a url with the API's path should be", () => {
    const url = 'https://www.example.com/comments'
    expect(() => createBackend({ ...options, url: `${url}/api/v1` })).toThrow(`url must be without /api/v1: ${url}`)
    expect(() => createBackend({ ...options, url })).not.toThrow()
  })

  test('mints a client token for who is signed in, for the pages that the caller names', async () => {
    const { apiKey, identitySecret, tenant, url } = service
    const given = { url, apiKey, tenant: tenant.slug, identitySecret: identitySecret.secret }
    const backend = createBackend<{ user: string | null }>({
      ...given,
      reader: ({ user }) => (user === null ? null : { id: user, name: 'Fay' }),
    })
    const page = newId()
    const minted = await backend.clientToken({ user: 'fay' }, { externalIds: [page], ttlSeconds: 60 })
    expect(minted).toEqual({
      token: expect.stringMatching(/^ct_/) as string,
      expiresAt: expect.any(String) as string,
      readerId: expect.any(String) as string,
    })
    expect(Date.parse(minted.expiresAt) - Date.now()).toBeLessThanOrEqual(60_000)
    const post = (externalId: string) =>
      service.graphql(
        'mutation ($input: CreateCommentInput!) { createComment(input: $input) { comment { author { name } } } }',
        { input: { discussion: { externalId }, body: 'Hi' } },
        { authorization: `Bearer ${minted.token}` },
      )
    expect((await post(page)).json.data.createComment.comment.author.name).toBe('Fay')
    expect((await post(newId())).json.errors[0].extensions.code).toBe('not_found')
    expect((await backend.clientToken({ user: null })).readerId).toBeNull()
    await expect(backend.clientToken({ user: null }, { ttlSeconds: 1 })).rejects.toThrow('gives no client token')
  })

  test('a client token makes the discussions of its pages, with the titles and addresses of isPage', async () => {
    const { apiKey, identitySecret, tenant, url } = service
    const [titled, plain, none] = [newId(), newId(), newId()]
    const details = { title: 'An article', url: 'https://www.example.com/article' }
    const backend = createBackend<{ user: string | null }>({
      url,
      apiKey,
      tenant: tenant.slug,
      identitySecret: identitySecret.secret,
      reader: ({ user }) => (user === null ? null : { id: user, name: 'Fay' }),
      isPage: (externalId) => (externalId === titled ? details : externalId !== none),
    })
    const { token } = await backend.clientToken({ user: null }, { externalIds: [titled, plain] })
    const headers = { authorization: `Bearer ${token}` }
    const query = `query ($externalId: String!) { discussion(by: { externalId: $externalId }) {
      id title url commentCount lastEventId comments { nodes { id } } } }`
    const shown = async (externalId: string) => (await service.graphql(query, { externalId }, headers)).json
    const empty = { id: expect.any(String) as string, commentCount: 0, lastEventId: '0', comments: { nodes: [] } }
    expect(await shown(titled)).toEqual({ data: { discussion: { ...empty, ...details } } })
    expect(await shown(plain)).toEqual({ data: { discussion: { ...empty, title: null, url: null } } })
    // The page is live from its first moment.
    const { id: discussionId } = (await shown(plain)).data.discussion
    const events = createGraphqlClient({ url: `${url}/graphql`, headers }).iterate({
      query: 'subscription ($id: ID!) { discussionEvents(discussionId: $id, lastEventId: "0") { seq type } }',
      variables: { id: discussionId, lastEventId: '0' },
    })
    const first = events.next()
    const path = `/discussions/by-external/${plain}/comments`
    await service.call('POST', path, { body: { body: 'First' }, headers: await service.as('ann') })
    expect((await first).value).toMatchObject({ data: { discussionEvents: { type: 'comment_created' } } })
    await events.return()
    // No token, and no discussion, for what is no page.
    await expect(backend.clientToken({ user: null }, { externalIds: [plain, none] })).rejects.toThrow('no comments')
    expect((await service.call('GET', `/discussions/by-external/${none}`)).status).toBe(404)
  })

  test('serves under another base path', async () => {
    const backend = createBackend({ ...options, basePath: '/a/b' })
    const ask = async (path: string) => (await backend.fetch(new Request(`https://www.example.com${path}`))).status
    expect(await ask('/a/b/me')).toBe(200)
    expect(await ask('/engagement/me')).toBe(404)
    expect(await ask('/a/bc/me')).toBe(404)
  })
})

test('a handler of fetch leaves compression to its server, and goes by the Host that the browser asked', async () => {
  const backend = createBackend({
    url: service.url,
    apiKey: service.apiKey,
    tenant: service.tenant.slug,
    identitySecret: service.identitySecret.secret,
    reader: () => null,
  })
  // As Next.js gives it: with the address that the server listens at.
  const ask = (path: string, origin: string, method = 'POST') =>
    backend.fetch(
      new Request(`http://localhost:3000/engagement${path}`, {
        method,
        headers: { host: 'www.example.com', origin, 'x-requested-with': 'engagement', 'accept-encoding': 'gzip' },
      }),
    )
  const ticket = await ask(`/ticket?externalId=${newId()}`, 'https://www.example.com')
  expect(ticket.status).toBe(201)
  expect(ticket.headers.get('content-encoding')).toBeNull()
  // An answer of this length is compressed elsewhere.
  expect((await ticket.text()).length).toBeGreaterThan(1024)
  expect((await ask(`/ticket?externalId=${newId()}`, 'http://localhost:3000')).status).toBe(403)
})

describe('in step with the service', () => {
  const plain = (path: string): string => path.replaceAll(/:\w+/g, ':')

  test('every served path leads to a route', () => {
    const known = new Set(SERVICE_ROUTES.map(({ method, path }) => `${method} ${plain(path)}`))
    const asked = ROUTES.flatMap(({ service: route }) => (route === null ? [] : [plain(route)]))
    expect(asked.filter((route) => !known.has(route))).toEqual([])
  })

  test('the service accepts the profile made from any row of a user table', () => {
    const text = fc.string({ unit: 'binary', maxLength: 100 })
    const url = fc.oneof(text, fc.webUrl(), fc.constantFrom('https://a b', 'https://\0', 'HTTPS://a.example', null))
    const signer = { tenant: 'demo', identitySecret: 'a-secret' }
    const badges = fc.option(fc.array(fc.oneof(text, fc.constantFrom('staff', 'author')), { maxLength: 40 }))
    const arbitrary = fc.record({ name: fc.option(text), avatarUrl: url, profileUrl: url, badges })
    const tenant = { slug: 'demo', settings: tenantSettings({ badges: [{ id: 'staff', label: 'Staff' }] }) } as Tenant
    const read = (token: string) =>
      readClaims(Buffer.from(token.split('.')[1] ?? '', 'base64url'), tenant, null, Date.now() / 1000)
    fc.assert(
      fc.property(arbitrary, (reader) => {
        const profile = profileOf({ id: 'ann', ...reader })
        const { id: externalId, badges: given = [], ...rest } = profile
        const { identity } = read(signAssertion(signer, profile, null))
        expect(identity).toMatchObject({ externalId, ...rest, name: nameOrNull(rest.name) })
        expect(identity.badges ?? []).toEqual(given.includes('staff') ? ['staff'] : [])
      }),
      { numRuns: effort(100, 30) },
    )
  })
})

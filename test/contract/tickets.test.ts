import { SignJWT } from 'jose'
import { beforeAll, describe, expect, test, vi } from 'vitest'

import { deriveKey } from '../../src/core/secrets/crypto.ts'
import { keyIdOf } from '../../src/core/secrets/seals.ts'
import { newId } from '../../src/core/ids.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import type { StreamClient } from '../harness/stream-client.ts'
import { expectProblem, useStreams } from '../harness/streams.ts'

const ORIGIN = 'https://www.example.com'

const service = useService()
const { open } = useStreams(service)

beforeAll(async () => {
  await service.call('PATCH', '/settings', { body: { allowedOrigins: [ORIGIN], ticket: { connectSeconds: 60 } } })
})

const mint = async (body: object, headers: Record<string, string> = {}) =>
  service.call('POST', '/stream/ticket', { body, headers })

const ticketFor = async (discussionId: string, headers: Record<string, string> = {}): Promise<string> =>
  (await mint({ discussionId }, headers)).json.ticket

const openBy = (discussionId: string, ticket: string, headers: Record<string, string> = {}) =>
  open(`${discussionId}?ticket=${ticket}`, headers)

/** A ticket as the service signs it, as old as one likes. */
const sign = (claims: { t: string; d: string; r?: string; iat: number }, header: object = {}): Promise<string> =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', typ: 'stream-ticket', kid: keyIdOf(encryptionKey()), ...header })
    .sign(deriveKey(encryptionKey(), 'stream-ticket'))

const encryptionKey = () => service.app.settings.ENCRYPTION_KEY

const secondsAgo = (seconds: number): number => Date.now() / 1000 - seconds

async function comment(discussionId: string, reader: string, more: object = {}): Promise<{ id: string }> {
  const body = { body: 'Hello', ...more }
  return service.ok('POST', `/discussions/${discussionId}/comments`, body, await service.as(reader))
}

describe('POST /stream/ticket', () => {
  test('answers 201 with everything that a browser needs', async () => {
    const { id: discussionId, externalId } = await service.ok('POST', '/discussions', { externalId: 'one' })
    const { status, json } = await mint({ discussionId })
    expect(status).toBe(201)
    expect(json).toEqual({
      ticket: expect.any(String),
      discussionId,
      discussions: [{ discussionId, externalId, discussionState: 'open', lastEventId: '0' }],
      expiresAt: expect.stringMatching(/^\d{4}-.*Z$/),
      discussionState: 'open',
      lastEventId: '0',
      streamUrl: `${service.url}/api/v1/stream/${discussionId}?ticket=${json.ticket}`,
      recipient: null,
    })
    const inSeconds = (Date.parse(json.expiresAt) - Date.now()) / 1000
    expect(inSeconds).toBeGreaterThan(50)
    expect(inSeconds).toBeLessThanOrEqual(60)
  })

  test('names the reader of the identity', async () => {
    const { json } = await mint({ externalId: newId() }, await service.as('ada'))
    const { data } = (await service.call('GET', '/readers?externalId=ada')).json
    expect(json.recipient).toEqual({ readerId: data[0].id, externalId: 'ada' })
  })

  test('by an external id creates the discussion', async () => {
    const { status, json } = await mint({ externalId: 'page/with a ticket' })
    expect(status).toBe(201)
    expect((await service.call('GET', `/discussions/${json.discussionId}`)).json).toMatchObject({
      externalId: 'page/with a ticket',
    })
    expect((await mint({ externalId: 'page/with a ticket' })).json.discussionId).toBe(json.discussionId)
  })

  test.each([{}, { discussionId: newId(), externalId: 'both' }, { externalId: '' }, { discussion: 'x' }])(
    'with %j answers 422 validation_failed',
    async (body) => {
      expect(await mint(body)).toMatchObject({ status: 422, json: { code: 'validation_failed' } })
    },
  )

  test("for an unknown discussion, and another tenant's, answers 404 not_found", async () => {
    const other = await service.addTenant('tickets-other')
    const discussionId = await service.newDiscussion()
    expect(await mint({ discussionId: newId() })).toMatchObject({ status: 404, json: { code: 'not_found' } })
    expect(await mint({ discussionId: 'not-an-id' })).toMatchObject({ status: 404 })
    expect(await mint({ discussionId }, { 'x-api-key': other.apiKey })).toMatchObject({ status: 404 })
  })

  test('needs no capability', async () => {
    const { key } = await service.newKey()
    expect((await mint({ discussionId: await service.newDiscussion() }, { 'x-api-key': key })).status).toBe(201)
  })

  test('without credentials answers 401 missing_credentials', async () => {
    const response = await mint({ discussionId: newId() }, { 'x-api-key': '' })
    expect(response).toMatchObject({ status: 401, json: { code: 'missing_credentials' } })
  })
})

describe('a stream by ticket', () => {
  test('opens, without deprecation', async () => {
    const discussionId = await service.newDiscussion()
    const stream = await openBy(discussionId, await ticketFor(discussionId))
    expect(stream.status).toBe(200)
    expect(stream.headers.deprecation).toBeUndefined()
    await comment(discussionId, 'ada')
    await vi.waitFor(() => expect(stream.seqs).toEqual([1]))
  })

  test('shows public events, and notifications only to their recipient', async () => {
    const discussionId = await service.newDiscussion()
    const root = await comment(discussionId, 'ada')
    const ofAda = await openBy(discussionId, await ticketFor(discussionId, await service.as('ada')))
    const ofBob = await openBy(discussionId, await ticketFor(discussionId, await service.as('bob')))
    const ofNobody = await openBy(discussionId, await ticketFor(discussionId))
    const ofBackend = await open(discussionId)
    await comment(discussionId, 'bob', { parentId: root.id })
    await comment(discussionId, 'carl')
    const typesOf = ({ events }: StreamClient) => events.map(({ event }) => event)
    await vi.waitFor(() => expect(ofBackend.events).toHaveLength(3))
    expect(typesOf(ofBackend)).toContain('notification_reply')
    await vi.waitFor(() => expect(typesOf(ofAda)).toEqual(typesOf(ofBackend)))
    await vi.waitFor(() => expect(typesOf(ofBob)).toEqual(['comment_created', 'comment_created']))
    await vi.waitFor(() => expect(typesOf(ofNobody)).toEqual(['comment_created', 'comment_created']))
  })

  test('never shows content that is not public, live or replayed', async () => {
    await service.call('PATCH', '/settings', { body: { moderationMode: 'pre' } })
    const discussionId = await service.newDiscussion()
    const live = await openBy(discussionId, await ticketFor(discussionId))
    const ofBackend = await open(discussionId)
    await comment(discussionId, 'ada')
    await service.call('PATCH', '/settings', { body: { moderationMode: 'none' } })
    await comment(discussionId, 'ada')
    await vi.waitFor(() => expect(ofBackend.seqs).toEqual([1, 2]))
    const replayed = await openBy(discussionId, `${await ticketFor(discussionId)}&lastEventId=0`)
    await vi.waitFor(() => expect(live.seqs).toEqual([2]))
    await vi.waitFor(() => expect(replayed.seqs).toEqual([2]))
    expect(replayed.connected?.data).toEqual({ lastEventId: '0', replayed: 1, complete: true })
  })

  test('first opened after connectSeconds: 401 expired_ticket, unless it carries Last-Event-ID', async () => {
    const discussionId = await service.newDiscussion()
    const ticket = await sign({ t: service.tenant.id, d: discussionId, iat: secondsAgo(61) })
    await expectProblem(await openBy(discussionId, ticket), 401, 'expired_ticket')
    await expectProblem(await openBy(discussionId, `${ticket}&lastEventId=0`), 401, 'expired_ticket')
    expect((await openBy(discussionId, ticket, { 'last-event-id': '0' })).status).toBe(200)
    const old = await sign({ t: service.tenant.id, d: discussionId, iat: secondsAgo(3601) })
    await expectProblem(await openBy(discussionId, old, { 'last-event-id': '0' }), 401, 'expired_ticket')
  })

  test('for another discussion, tampered with, or signed otherwise: 401 invalid_ticket', async () => {
    const discussionId = await service.newDiscussion()
    const ticket = await ticketFor(discussionId)
    await expectProblem(await openBy(await service.newDiscussion(), ticket), 401, 'invalid_ticket')
    await expectProblem(await openBy(discussionId, `${ticket.slice(0, -4)}AAAA`), 401, 'invalid_ticket')
    await expectProblem(await openBy(discussionId, 'nonsense'), 401, 'invalid_ticket')
    // The same bytes in other letters.
    const last = String.fromCodePoint((ticket.codePointAt(ticket.length - 1) ?? 0) + 1)
    for (const other of [`${ticket}=`, ticket.slice(0, -1) + last])
      await expectProblem(await openBy(discussionId, other), 401, 'invalid_ticket')
    const claims = { t: service.tenant.id, d: discussionId, iat: secondsAgo(1) }
    await expectProblem(await openBy(discussionId, await sign(claims, { typ: 'JWT' })), 401, 'invalid_ticket')
    const unsigned = [{ alg: 'none', typ: 'stream-ticket' }, claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    )
    await expectProblem(await openBy(discussionId, `${unsigned.join('.')}.`), 401, 'invalid_ticket')
  })

  test('answers an allowed origin with CORS, and refuses others with 403 origin_not_allowed', async () => {
    const discussionId = await service.newDiscussion()
    const allowed = await openBy(discussionId, await ticketFor(discussionId), { origin: ORIGIN })
    expect(allowed.status).toBe(200)
    expect(allowed.headers).toMatchObject({ 'access-control-allow-origin': ORIGIN, vary: 'Origin' })
    const refused = await openBy(discussionId, await ticketFor(discussionId), { origin: 'https://evil.example' })
    await expectProblem(refused, 403, 'origin_not_allowed')
    expect(refused.headers['access-control-allow-origin']).toBeUndefined()
  })

  test('logs an unknown proxy once', async () => {
    const warn = vi.spyOn(service.app.log, 'warn')
    const discussionId = await service.newDiscussion()
    for (const headers of [{}, { 'x-forwarded-for': '192.0.2.1' }, { 'x-forwarded-for': '192.0.2.2' }]) {
      expect((await openBy(discussionId, await ticketFor(discussionId), headers)).status).toBe(200)
    }
    expect(warn.mock.calls.map(([, text]) => text)).toEqual([expect.stringContaining('TRUSTED_PROXIES')])
    warn.mockRestore()
  })

  test('while the database is down gets 200, a time to reconnect, and is closed; a key gets 503', async () => {
    const discussionId = await service.newDiscussion()
    const ticket = await ticketFor(discussionId)
    const away = Object.assign(new Error('the connection is refused'), { code: 'ECONNREFUSED' })
    vi.spyOn(service.app.db, 'query').mockRejectedValue(away)
    vi.spyOn(service.app.db, 'transaction').mockRejectedValue(away)
    try {
      const client = await openBy(discussionId, ticket, { origin: ORIGIN, 'last-event-id': '7' })
      await vi.waitFor(() => expect(client.closed).toBe(true))
      expect(client.status).toBe(200)
      expect(client.headers).toMatchObject({ 'access-control-allow-origin': ORIGIN, vary: 'Origin' })
      expect(client.all).toEqual([
        { retry: expect.any(Number), event: 'connection-timeout', data: { lastEventId: '7' } },
      ])
      expect(client.all[0]?.retry).toBeGreaterThanOrEqual(2000)
      expect(client.all[0]?.retry).toBeLessThanOrEqual(5000)
      await expectProblem(await open(discussionId), 503, 'unavailable')
    } finally {
      vi.restoreAllMocks()
    }
  })

  test('over the cap of its reader gets 200, a time to wait, and is closed', async () => {
    await service.call('PATCH', '/settings', { body: { stream: { maxStreamsPerReader: 2 } } })
    const discussionId = await service.newDiscussion()
    const tickets = await Promise.all([1, 2, 3].map(async () => ticketFor(discussionId, await service.as('dora'))))
    const [first = '', second = '', third = ''] = tickets
    const streams = [await openBy(discussionId, first), await openBy(discussionId, second)]
    expect(streams.map(({ closed }) => closed)).toEqual([false, false])
    const refused = await openBy(discussionId, third)
    await vi.waitFor(() => expect(refused.closed).toBe(true))
    expect(refused.status).toBe(200)
    expect(refused.headers['content-type']).toContain('text/event-stream')
    expect(refused.all).toEqual([{ retry: 30_000, event: 'connection-timeout', data: { lastEventId: null } }])
    // A place that is given up is free again.
    streams[0]?.close()
    await vi.waitFor(async () => expect((await openBy(discussionId, third)).connected).toBeDefined())
  })
})

describe('a ticket and the key that minted it', () => {
  const mintedBy = (key: string, discussionId: string) => ticketFor(discussionId, { 'x-api-key': key })

  test('its open streams end with the key, and it opens no other one', async () => {
    const discussionId = await service.newDiscussion()
    const { id, key } = await service.newKey()
    const ticket = await mintedBy(key, discussionId)
    const other = await openBy(discussionId, await ticketFor(discussionId))
    const streams = [await openBy(discussionId, ticket), await openBy(discussionId, ticket)]
    await vi.waitFor(() => expect([...streams, other].every(({ connected }) => connected !== undefined)).toBe(true))
    await service.call('DELETE', `/keys/${id}`)
    await vi.waitFor(() => expect(streams.map(({ closed }) => closed)).toEqual([true, true]))
    for (const { goodbye } of streams) expect(goodbye).toBeDefined()
    await expectProblem(await openBy(discussionId, ticket), 401, 'invalid_ticket')
    await expectProblem(await openBy(discussionId, ticket, { 'last-event-id': '0' }), 401, 'invalid_ticket')
    expect(other.closed).toBe(false)
  })

  test('without the bus its streams end at the next comparison with the database', async () => {
    const discussionId = await service.newDiscussion()
    const { id, key } = await service.newKey()
    const stream = await openBy(discussionId, await mintedBy(key, discussionId))
    await vi.waitFor(() => expect(stream.connected).toBeDefined())
    await service.app.db.query(REVOKE, [id])
    await vi.waitFor(() => expect(stream.closed).toBe(true))
  })

  test('one of a release that named no key is taken', async () => {
    const discussionId = await service.newDiscussion()
    const ticket = await sign({ t: service.tenant.id, d: discussionId, iat: secondsAgo(1) })
    const stream = await openBy(discussionId, ticket)
    await vi.waitFor(() => expect(stream.connected).toBeDefined())
  })

  test('a member who mints one ends it by signing out', async () => {
    const discussionId = await service.newDiscussion()
    const { token } = await service.ok('POST', '/admin/auth/login', service.admin, { 'x-api-key': '' })
    const ticket = await ticketFor(discussionId, { 'x-api-key': '', authorization: `Bearer ${token}` })
    const stream = await openBy(discussionId, ticket)
    await vi.waitFor(() => expect(stream.connected).toBeDefined())
    await service.app.db.query(END_SIGN_INS, [service.tenant.id])
    await vi.waitFor(() => expect(stream.closed).toBe(true))
    await expectProblem(await openBy(discussionId, ticket), 401, 'invalid_ticket')
  })
})

const REVOKE = unnamed('UPDATE api_keys SET revoked_at = now() WHERE id = $1')
const END_SIGN_INS = unnamed('DELETE FROM sign_ins WHERE tenant_id = $1')

import { describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { createAdmin } from '../../src/domains/bootstrap/bootstrap.ts'
import { changeMember, operatorOf, removeMember } from '../../src/domains/staff/membership.ts'
import { setPassword } from '../../src/domains/staff/operators.ts'
import { startOwn, useService } from '../harness/service.ts'
import { openStream } from '../harness/stream-client.ts'
import { unnamed } from '../harness/sql.ts'
import { expectProblem, useStreams } from '../harness/streams.ts'

const service = useService({ env: { STREAM_HEARTBEAT_SECONDS: '0.3' } })
const { open } = useStreams(service)

async function comment(
  discussionId: string,
  body = 'Hello',
  more: object = {},
  reader = 'ada',
): Promise<{ id: string }> {
  return service.ok('POST', `/discussions/${discussionId}/comments`, { body, ...more }, await service.as(reader))
}

const patchSettings = async (settings: object): Promise<void> => {
  await service.ok('PATCH', '/settings', settings)
}

describe('GET /stream/{discussionId}', () => {
  test('answers 200 with the headers of an event stream', async () => {
    const stream = await open(await service.newDiscussion(), { 'x-api-key': service.apiKey, 'x-request-id': 'abc' })
    expect(stream.status).toBe(200)
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-request-id': 'abc',
    })
    expect(stream.headers.deprecation).toBeUndefined()
  })

  test('begins with retry and connected, which have no id', async () => {
    const stream = await open(await service.newDiscussion())
    await vi.waitFor(() => expect(stream.connected).toBeDefined())
    const [first] = stream.all
    expect(first).toEqual({
      event: 'connected',
      retry: expect.any(Number),
      data: { lastEventId: '0', replayed: 0, complete: true },
    })
    expect(first?.retry).toBeGreaterThanOrEqual(2000)
    expect(first?.retry).toBeLessThanOrEqual(5000)
  })

  test('sends each event with its seq as id, its type as name and its JSON as data', async () => {
    const discussionId = await service.newDiscussion()
    const stream = await open(discussionId)
    const created = await comment(discussionId, 'First')
    await service.ok('POST', `/comments/${created.id}/reactions`, { type: 'like' }, await service.as('bob'))
    await vi.waitFor(() => expect(stream.seqs).toEqual([1, 2]))
    const [first, second] = stream.events
    expect(first).toMatchObject({ id: '1', event: 'comment_created' })
    expect(first?.data).toMatchObject({
      type: 'comment_created',
      discussionId,
      seq: 1,
      actor: { kind: 'reader', externalId: 'ada' },
      data: { comment: { id: created.id, body: 'First', status: 'approved' } },
    })
    expect(second).toMatchObject({ id: '2', event: 'reaction_toggled', data: { seq: 2, data: { type: 'like' } } })
  })

  test('resumes strictly after Last-Event-ID, which wins over ?lastEventId=', async () => {
    const discussionId = await service.newDiscussion()
    for (let n = 0; n < 4; n++) await comment(discussionId)
    const byQuery = await open(`${discussionId}?lastEventId=1`)
    const byHeader = await open(`${discussionId}?lastEventId=1`, { 'x-api-key': service.apiKey, 'last-event-id': '3' })
    await vi.waitFor(() => expect(byQuery.seqs).toEqual([2, 3, 4]))
    await vi.waitFor(() => expect(byHeader.seqs).toEqual([4]))
    expect(byQuery.connected?.data).toEqual({ lastEventId: '1', replayed: 3, complete: true })
    expect(byHeader.connected?.data).toEqual({ lastEventId: '3', replayed: 1, complete: true })
    await comment(discussionId)
    await vi.waitFor(() => expect(byQuery.seqs).toEqual([2, 3, 4, 5]))
    await vi.waitFor(() => expect(byHeader.seqs).toEqual([4, 5]))
  })

  test('of several Last-Event-IDs the latest counts, as a number', async () => {
    const discussionId = await service.newDiscussion()
    for (let n = 0; n < 12; n++) await comment(discussionId)
    // "9" comes after "10" as a text.
    for (const given of ['9, 10', '10,9', '10, 10', '2,  10, 1', '010, 9']) {
      const stream = await open(discussionId, { 'x-api-key': service.apiKey, 'last-event-id': given })
      await vi.waitFor(() => expect(stream.seqs).toEqual([11, 12]))
      expect(stream.connected?.data).toEqual({ lastEventId: '10', replayed: 2, complete: true })
    }
  })

  test.each(['99', 'x', '-1', '1.5'])('with the unknown id %s is incomplete, and continues live', async (id) => {
    const discussionId = await service.newDiscussion()
    await comment(discussionId)
    const stream = await open(`${discussionId}?lastEventId=${id}`)
    await vi.waitFor(() => expect(stream.connected?.data).toEqual({ lastEventId: '1', replayed: 0, complete: false }))
    await comment(discussionId)
    await vi.waitFor(() => expect(stream.seqs).toEqual([2]))
  })

  test('with an id older than the replay window in hours is incomplete', async () => {
    const discussionId = await service.newDiscussion()
    for (let n = 0; n < 3; n++) await comment(discussionId)
    const age = unnamed(
      `UPDATE events SET occurred_at = now() - interval '25 hours' WHERE discussion_id = $1 AND seq <= 2`,
    )
    await service.app.db.query(age, [discussionId])
    const tooOld = await open(`${discussionId}?lastEventId=1`)
    const within = await open(`${discussionId}?lastEventId=2`)
    await vi.waitFor(() => expect(tooOld.connected?.data).toEqual({ lastEventId: '3', replayed: 0, complete: false }))
    await vi.waitFor(() => expect(within.seqs).toEqual([3]))
  })

  test('an old event that a page does not get makes no position of that page too old', async () => {
    const discussionId = await service.newDiscussion()
    const { id } = await comment(discussionId)
    await service.call('POST', `/comments/${id}/reject`)
    await service.call('DELETE', `/comments/${id}`)
    const age = unnamed(`UPDATE events SET occurred_at = now() - interval '25 hours' WHERE discussion_id = $1`)
    await service.app.db.query(age, [discussionId])
    const back = async () => {
      const { streamUrl } = (await service.call('POST', '/stream/ticket', { body: { discussionId } })).json
      const [, query] = String(streamUrl).split('?')
      const page = await open(`${discussionId}?${query}&lastEventId=2`, {})
      const backend = await open(`${discussionId}?lastEventId=2`)
      await vi.waitFor(() => expect([page.connected, backend.connected]).not.toContain(undefined))
      expect(backend.connected?.data).toMatchObject({ replayed: 0, complete: false })
      return page
    }
    expect((await back()).connected?.data).toEqual({ lastEventId: '2', replayed: 0, complete: true })
    await comment(discussionId)
    const page = await back()
    expect(page.connected?.data).toEqual({ lastEventId: '2', replayed: 1, complete: true })
    await vi.waitFor(() => expect(page.seqs).toEqual([4]))
  })

  test('with an id before an event that is no longer stored is incomplete', async () => {
    const discussionId = await service.newDiscussion()
    for (let n = 0; n < 4; n++) await comment(discussionId)
    await service.app.db.query(unnamed('DELETE FROM events WHERE discussion_id = $1 AND seq = 3'), [discussionId])
    const [before, after] = [await open(`${discussionId}?lastEventId=1`), await open(`${discussionId}?lastEventId=3`)]
    await vi.waitFor(() => expect(before.connected?.data).toMatchObject({ replayed: 0, complete: false }))
    await vi.waitFor(() => expect(after.seqs).toEqual([4]))
  })

  test('delivers 10 000 missed events on one connection', async () => {
    const discussionId = await service.newDiscussion()
    await insertEvents(discussionId, 10_000)
    const stream = await open(`${discussionId}?lastEventId=0`)
    await vi.waitFor(() => expect(stream.events).toHaveLength(10_000))
    expect(stream.seqs).toEqual(Array.from({ length: 10_000 }, (_, index) => index + 1))
    expect(stream.connected?.data).toMatchObject({ replayed: 10_000, complete: true })
  })

  test('sends a comment line during silence', async () => {
    const stream = await open(await service.newDiscussion())
    await vi.waitFor(() => expect(stream.comments).toBeGreaterThanOrEqual(2))
  })

  test('ends after its lifetime with connection-timeout, which has the position', async () => {
    const discussionId = await service.newDiscussion()
    await comment(discussionId)
    await patchSettings({ stream: { maxDurationSeconds: 1 } })
    const stream = await open(`${discussionId}?lastEventId=0`)
    await vi.waitFor(() => expect(stream.closed).toBe(true))
    expect(stream.seqs).toEqual([1])
    expect(stream.all.at(-1)).toEqual({ event: 'connection-timeout', data: { lastEventId: '1' } })
    await patchSettings({ stream: { maxDurationSeconds: 900 } })
  })
})

const operator = () => operatorOf(service.tenant.id)

/** What ends the streams of a member who... */
const MEMBER_ENDS: [who: string, end: (email: string) => Promise<unknown>][] = [
  ['is gone', (email) => removeMember(service.app, operator(), { email })],
  ['has another password', (email) => setPassword(service.app, service.tenant.id, email)],
  ['is disabled', (email) => changeMember(service.app, operator(), { email }, { state: 'disabled' })],
  ['has another role', (email) => changeMember(service.app, operator(), { email }, { role: 'analyst' })],
]

describe('credentials of a stream', () => {
  test('none: 401 missing_credentials', async () => {
    const stream = await open(await service.newDiscussion(), {})
    await expectProblem(stream, 401, 'missing_credentials')
    expect(stream.headers['www-authenticate']).toBeDefined()
  })

  test('an unknown key: 401 invalid_api_key', async () => {
    await expectProblem(
      await open(await service.newDiscussion(), { 'x-api-key': `ek_${'0'.repeat(64)}` }),
      401,
      'invalid_api_key',
    )
  })

  test('?token= accepts a raw API key, with Deprecation and Sunset', async () => {
    const stream = await open(`${await service.newDiscussion()}?token=${service.apiKey}`, {})
    expect(stream.status).toBe(200)
    expect(stream.headers).toMatchObject({ deprecation: 'true', sunset: 'Wed, 30 Jun 2027 00:00:00 GMT' })
  })

  test('?token= that is switched off: 401 missing_credentials', async () => {
    const own = await startOwn({ env: { STREAM_TOKEN_ENABLED: 'false' } })
    const refused = await openStream(`${own.url}/api/v1/stream/${newId()}?token=${own.apiKey}`)
    await expectProblem(refused, 401, 'missing_credentials')
    expect(refused.headers.deprecation).toBeUndefined()
  })

  test('?token= and Authorization accept an admin token', async () => {
    const { email, password } = service.admin
    const { token } = (await service.call('POST', '/admin/auth/login', { body: { email, password } })).json
    const discussionId = await service.newDiscussion()
    expect((await open(`${discussionId}?token=${token}`, {})).status).toBe(200)
    const byHeader = await open(discussionId, { authorization: `Bearer ${token}` })
    expect(byHeader.status).toBe(200)
    expect(byHeader.headers.deprecation).toBeUndefined()
  })

  test.each(['ticket', 'token'])('a key beside ?%s=: 400 ambiguous_credentials', async (name) => {
    await expectProblem(await open(`${await service.newDiscussion()}?${name}=x`), 400, 'ambiguous_credentials')
  })

  test('an unknown discussion and a malformed id: 404 not_found', async () => {
    await expectProblem(await open(newId()), 404, 'not_found')
    await expectProblem(await open('not-an-id'), 404, 'not_found')
  })

  test('an unknown parameter, or one given twice: 422 validation_failed', async () => {
    const discussionId = await service.newDiscussion()
    await expectProblem(await open(`${discussionId}?since=1`), 422, 'validation_failed')
    await expectProblem(await open(`${discussionId}?lastEventId=1&lastEventId=2`), 422, 'validation_failed')
  })

  test.each(MEMBER_ENDS)('a stream ends when its member %s, and the others stay', async (_how, end) => {
    const discussionId = await service.newDiscussion()
    const admin = await createAdmin(service.app, service.tenant.id, `leaver-${newId()}@example.com`)
    const { token } = (await service.call('POST', '/admin/auth/login', { body: admin, headers: { 'x-api-key': '' } }))
      .json
    const headers = { authorization: `Bearer ${token}` }
    const [theirs, other] = [await open(discussionId, headers), await open(discussionId)]
    await vi.waitFor(() => expect(theirs.connected).toBeDefined())
    await end(admin.email)
    await vi.waitFor(() => expect(theirs.closed).toBe(true))
    expect(other.closed).toBe(false)
    await vi.waitFor(async () => expectProblem(await open(discussionId, headers), 401, 'invalid_admin_token'))
  })

  test('a stream ends when its key is revoked, and the others stay', async () => {
    const { id, key } = await service.newKey()
    const discussionId = await service.newDiscussion()
    const stream = await open(discussionId, { 'x-api-key': key })
    const other = await open(discussionId)
    expect(stream.status).toBe(200)
    expect((await service.call('DELETE', `/keys/${id}`)).status).toBe(204)
    await vi.waitFor(() => expect(stream.closed).toBe(true))
    expect(other.closed).toBe(false)
    await expectProblem(await open(discussionId, { 'x-api-key': key }), 401, 'revoked_api_key')
  })

  test('over the cap of the tenant: 429 too_many_streams with Retry-After', async () => {
    const discussionId = await service.newDiscussion()
    await open(discussionId)
    await patchSettings({ stream: { maxStreams: 1 } })
    const refused = await open(discussionId)
    await expectProblem(refused, 429, 'too_many_streams')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    await patchSettings({ stream: { maxStreams: 5000 } })
  })
})

test('other methods on a stream: 405 with Allow', async () => {
  const response = await service.call('PUT', `/stream/${await service.newDiscussion()}`)
  expect(response.status).toBe(405)
  expect(response.headers.get('allow')).toContain('GET')
})

/** Events as the log would hold them, faster than by comments. */
async function insertEvents(discussionId: string, count: number): Promise<void> {
  const insert =
    unnamed(`INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, occurred_at, actor, data)
     SELECT tenant_id, id, n, gen_random_uuid(), 'comment_created', 'public', now(), '{"kind":"system"}', '{"comment":{"body":"x"}}'
     FROM discussions, generate_series(1, $2::int) AS n WHERE id = $1`)
  await service.app.db.query(insert, [discussionId, count])
  const move = unnamed('UPDATE discussions SET seq = $2 WHERE id = $1')
  await service.app.db.query(move, [discussionId, count])
}

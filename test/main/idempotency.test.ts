import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import type { Ctx } from '../../src/core/context.ts'
import { ServiceError } from '../../src/core/errors.ts'
import { newId } from '../../src/core/ids.ts'
import type { Param } from '../../src/core/database/statements.ts'
import { unnamed } from '../harness/sql.ts'
import { createComment } from '../../src/domains/comments/create.ts'
import {
  type OutgoingResponse,
  deleteExpiredRecords,
  forgetInAnswers,
  runOnce,
} from '../../src/domains/idempotency/idempotency.ts'
import { OUTCOMES } from '../../src/api/http/idempotency.ts'
import { createDiscussion } from '../../src/domains/discussions/discussions.ts'
import { findCallerByKey } from '../../src/domains/api-keys/keys.ts'
import { onServer } from '../harness/database.ts'
import { refusalIn } from '../harness/refusal.ts'
import { type TestResponse, useService } from '../harness/service.ts'
import { openStream } from '../harness/stream-client.ts'

const service = useService()

const keyed = (key: string, headers: Record<string, string> = {}) => ({ 'idempotency-key': key, ...headers })
const isReplay = ({ headers }: TestResponse) => headers.get('idempotency-replayed') === 'true'

/** Posts a comment on a page with a key. */
async function comment(key: string, page: string, body: unknown = { body: 'Once' }, reader = 'reader') {
  const headers = keyed(key, await service.as(reader))
  return service.call('POST', `/discussions/by-external/${page}/comments`, { body, headers })
}

async function count(text: string, params: readonly Param[] = []): Promise<number> {
  const rows = await service.app.db.query<{ n: number }>(unnamed(`SELECT count(*) AS n ${text}`), params)
  return rows[0]?.n ?? -1
}

const PAGE = 'd WHERE d.tenant_id = $1 AND d.external_id = $2'
const onPage = (table: string, page: string) =>
  count(`FROM ${table} x JOIN discussions d ON d.id = x.discussion_id WHERE d.tenant_id = $1 AND d.external_id = $2`, [
    service.tenant.id,
    page,
  ])
const records = () => count('FROM idempotency_records')

function expectReplay(again: TestResponse, first: TestResponse): void {
  expect(isReplay(first)).toBe(false)
  expect(isReplay(again)).toBe(true)
  expect(again.text).toBe(first.text)
  expect(again.status).toBe(first.status)
  expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
}

describe('the first outcome', () => {
  test('201 is replayed byte for byte, and nothing runs a second time', async () => {
    const first = await comment('replay', 'replay')
    const again = await comment('replay', 'replay')
    expect(first.status).toBe(201)
    expectReplay(again, first)
    expect(await onPage('comments', 'replay')).toBe(1)
    expect(await onPage('events', 'replay')).toBe(1)
    // Each request has its own.
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
  })

  test('204 is replayed without a body', async () => {
    const { json } = await comment('to-delete', 'to-delete')
    const headers = keyed('delete', await service.as('reader'))
    const remove = () => service.call('DELETE', `/comments/${json.id}`, { headers })
    const first = await remove()
    expect(first.status).toBe(204)
    expectReplay(await remove(), first)
  })

  test('a repeated toggle does not toggle again', async () => {
    const { json } = await comment('to-like', 'to-like')
    const headers = keyed('like', await service.as('reader'))
    const toggle = () => service.call('POST', `/comments/${json.id}/reactions`, { body: { type: 'like' }, headers })
    const first = await toggle()
    expectReplay(await toggle(), first)
    expect(first.json).toMatchObject({ type: 'like', reactionCounts: { like: 1 } })
    expect((await service.call('GET', `/comments/${json.id}`)).json.reactionCounts).toEqual({ like: 1 })
  })

  test.each([
    ['404', () => ({ path: `/discussions/${newId()}/lock`, body: {} }), 404],
    ['422', () => ({ path: '/discussions', body: { externalId: '' } }), 422],
    ['403', () => ({ path: '/discussions/by-external/no-identity/comments', body: { body: 'Hello' } }), 403],
  ])('a refusal (%s) is stored as well', async (name, request, status) => {
    const { path, body } = request()
    const send = () => service.call('POST', path, { body, headers: keyed(`refused-${name}`) })
    const first = await send()
    expect(first.status).toBe(status)
    expect(first.headers.get('content-type')).toBe('application/problem+json')
    expectReplay(await send(), first)
  })

  test('a refusal is replayed, even if the request could succeed now', async () => {
    const post = async () => comment('locked', 'locked')
    const { json } = await service.call('POST', '/discussions', { body: { externalId: 'locked' } })
    await service.call('POST', `/discussions/${json.id}/lock`)
    const first = await post()
    expect(first.json).toMatchObject({ status: 409, code: 'discussion_locked' })
    await service.call('POST', `/discussions/${json.id}/unlock`)
    expectReplay(await post(), first)
    expect(await onPage('comments', 'locked')).toBe(0)
  })

  describe('of an answer over 64 KiB', () => {
    const PAGE_OF = 'discussion { comments(first: 20) { nodes { id body bodyHtml } } }'
    /** Posts on a page with long comments, and answers the whole page. */
    async function postOn(page: string, key: string, others = ''): Promise<TestResponse> {
      const document = `mutation ($input: CreateCommentInput!) {
        createComment(input: $input) { comment { id } ${PAGE_OF} } ${others}
      }`
      const input = { discussion: { externalId: page }, body: 'The last one' }
      return service.graphql(document, { input }, keyed(key, await service.as('reader')))
    }
    async function addLongPage(page: string): Promise<void> {
      for (let n = 0; n < 5; n++) await comment(`${page}-${n}`, page, { body: `${page} ${n} ${'long '.repeat(1600)}` })
    }
    const bodies = ({ json }: TestResponse): string[] =>
      json.data.createComment.discussion.comments.nodes.map(({ body }: { body: string }) => body.slice(0, 12))

    test('the ids are stored, and the replay reads the page as it is then', async () => {
      await addLongPage('long')
      const first = await postOn('long', 'long')
      expect(first.text.length).toBeGreaterThan(65_536)
      const kept = await count('FROM idempotency_records WHERE octet_length(body) > 65536')
      expect(kept).toBe(0)
      await comment('later', 'long', { body: 'Later' })
      const again = await postOn('long', 'long')
      expect([isReplay(first), isReplay(again)]).toEqual([false, true])
      expect(again.json.data.createComment.comment).toEqual(first.json.data.createComment.comment)
      expect(bodies(again)).toEqual(['Later', ...bodies(first)])
      expect(await onPage('comments', 'long')).toBe(7)
    })

    test('a refused field stays refused, and a secret is null', async () => {
      await addLongPage('long-and-more')
      const others = `
        refused: approveComment(input: { commentId: "${newId()}" }) { comment { id } }
        made: createApiKey(input: { label: "Made once", capabilities: [] }) { key apiKey { id label } }`
      const first = await postOn('long-and-more', 'long-and-more', others)
      expect(first.json.data.made.key).toMatch(/^ek_/)
      const again = await postOn('long-and-more', 'long-and-more', others)
      expect(isReplay(again)).toBe(true)
      expect(again.json.data).toEqual({ ...first.json.data, made: { ...first.json.data.made, key: null } })
      expect(again.json.errors[0].message).toBe(first.json.errors[0].message)
      expect(again.json.errors[0].extensions.code).toBe('not_found')
    })

    test('what is gone by then is an error of its field, and nothing runs again', async () => {
      await addLongPage('long-gone')
      const { json } = await comment('noted', 'long-gone', { body: 'To be noted' })
      const others = `noted: createNote(input: { on: { commentId: "${json.id}" }, text: "A note" }) { note { id } }`
      const first = await postOn('long-gone', 'long-gone', others)
      expect(first.text.length).toBeGreaterThan(65_536)
      expect((await service.call('DELETE', `/notes/${first.json.data.noted.note.id}`)).status).toBe(204)
      const again = await postOn('long-gone', 'long-gone', others)
      expect(isReplay(again)).toBe(true)
      expect(again.json.data).toEqual({ ...first.json.data, noted: null })
      expect(again.json.errors).toMatchObject([{ path: ['noted', 'note'], extensions: { code: 'not_found' } }])
      expect(await count('FROM notes')).toBe(0)
    })

    test('of REST is stored in the same way', async () => {
      const body = '😀'.repeat(10_000)
      const first = await comment('long-rest', 'long-rest', { body })
      expect(Buffer.byteLength(first.text)).toBeGreaterThan(65_536)
      expectReplay(await comment('long-rest', 'long-rest', { body }), first)
      expect(await onPage('comments', 'long-rest')).toBe(1)
      expect(await count('FROM idempotency_records WHERE octet_length(body) > 65536')).toBe(0)
    })
  })

  test('500 is no outcome: nothing of it stays, and a retry with the same key runs', async () => {
    const constrain = unnamed(`ALTER TABLE comments ADD CONSTRAINT test_boom CHECK (body <> 'Boom') NOT VALID`)
    await service.app.db.query(constrain)
    const post = () => comment('boom', 'boom', { body: 'Boom' }, 'reader-of-boom')
    const before = await records()
    const failed = await post()
    expect(failed.json).toMatchObject({ status: 500, code: 'internal' })
    expect(await records()).toBe(before)
    expect(await count(`FROM discussions ${PAGE}`, [service.tenant.id, 'boom'])).toBe(0)
    expect(await count(`FROM readers WHERE external_id = 'reader-of-boom'`)).toBe(0)
    await service.app.db.query(unnamed('ALTER TABLE comments DROP CONSTRAINT test_boom'))
    const done = await post()
    expect(done.status).toBe(201)
    expectReplay(await post(), done)
    expect(await onPage('comments', 'boom')).toBe(1)
  })

  test('it is kept for 24 h; then the key is free', async () => {
    const first = await comment('day', 'day')
    const age = (span: string) =>
      service.app.db.query(unnamed(`UPDATE idempotency_records SET expires_at = expires_at - interval '${span}'`))
    await age('23 hours 59 minutes')
    expectReplay(await comment('day', 'day'), first)
    await age('1 minute')
    const next = await comment('day', 'day')
    expect(next.status).toBe(201)
    expect(isReplay(next)).toBe(false)
    expect(next.json.id).not.toBe(first.json.id)
    expectReplay(await comment('day', 'day'), next)
    // All others of this file are over.
    expect(await deleteExpiredRecords(service.app)).toBe(false)
    expect(await records()).toBe(1)
  })
})

describe('a ticket', () => {
  /** From now on clocks show a time when no ticket of before admits a first connection. */
  const waitForEnd = () => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 })
  afterEach(() => void vi.useRealTimers())

  test('is replayed while it admits a first connection, then minted again; its key stays taken', async () => {
    const [discussionId, other] = [await service.newDiscussion(), await service.newDiscussion()]
    const mint = (id: string) =>
      service.call('POST', '/stream/ticket', { body: { discussionId: id }, headers: keyed('ticket') })
    const first = await mint(discussionId)
    expectReplay(await mint(discussionId), first)
    waitForEnd()
    const again = await mint(discussionId)
    expect([again.status, isReplay(again)]).toEqual([201, true])
    const opened = await openStream(`${service.url}/api/v1/stream/${discussionId}?ticket=${again.json.ticket}`)
    expect(opened.status).toBe(200)
    opened.close()
    expect((await mint(other)).json.code).toBe('idempotency_conflict')
  })

  test('of a deleted discussion is not minted again, and creates none', async () => {
    const mint = () =>
      service.call('POST', '/stream/ticket', { body: { externalId: 'deleted' }, headers: keyed('deleted') })
    const { discussionId } = (await mint()).json
    expect((await service.call('DELETE', `/discussions/${discussionId}`)).status).toBe(202)
    waitForEnd()
    expect((await mint()).json.code).toBe('not_found')
    expect((await service.call('GET', '/discussions/by-external/deleted')).status).toBe(404)
  })

  test('of a page is minted again for the same discussions', async () => {
    const mint = () =>
      service.call('POST', '/stream/ticket', { body: { externalIds: ['b', 'a'] }, headers: keyed('pages') })
    const first = await mint()
    waitForEnd()
    const again = await mint()
    expect(again.json.ticket).not.toBe(first.json.ticket)
    expect(again.json.discussions).toEqual(first.json.discussions)
  })

  test('is minted again alone: the other mutations of its document are replayed', async () => {
    const discussionId = await service.newDiscussion()
    const document = `mutation ($id: ID!) {
      createStreamTicket(input: { discussionId: $id }) { streamTicket { ticket expiresAt } }
      createComment(input: { discussion: { id: $id }, body: "Once" }) { comment { id body } }
      refused: createComment(input: { discussion: { id: $id }, body: "" }) { comment { id } }
    }`
    const headers = keyed('ticket-and-comment', await service.as('reader'))
    const post = () => service.graphql(document, { id: discussionId }, headers)
    const first = await post()
    const { id } = first.json.data.createComment.comment
    const edit = { body: { body: 'Edited' }, headers: await service.as('reader') }
    expect((await service.call('PATCH', `/comments/${id}`, edit)).status).toBe(200)
    expectReplay(await post(), first)
    waitForEnd()
    const { data, errors } = (await post()).json
    expect(data.createStreamTicket.streamTicket.ticket).not.toBe(first.json.data.createStreamTicket.streamTicket.ticket)
    expect(data.createComment.comment).toEqual({ id, body: 'Once' })
    expect([data.refused, errors]).toEqual([null, first.json.errors])
    expect((await service.call('DELETE', `/comments/${id}`)).status).toBe(204)
    expect((await post()).json.data.createComment.comment).toEqual({ id, body: 'Once' })
  })
})

describe('the key', () => {
  test.each([
    ['255 characters', 'k'.repeat(255), 201],
    ['every visible sign', '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~', 201],
    ['256 characters', 'k'.repeat(256), 422],
    ['nothing', '', 422],
    ['a space', 'two words', 422],
    ['beyond ASCII', 'schl\u00fcssel', 422],
  ])('%s: status %s', async (name, key, status) => {
    const before = await records()
    const answer = await comment(key, 'keys', { body: name })
    expect(answer.status, answer.text).toBe(status)
    if (status === 422) expect(answer.json.errors).toMatchObject([{ pointer: '/Idempotency-Key', code: 'invalid' }])
    expect(await records()).toBe(before + (status === 201 ? 1 : 0))
  })

  test('without a key nothing is stored', async () => {
    const before = await records()
    const headers = await service.as('reader')
    const post = () => service.call('POST', '/discussions/by-external/plain/comments', { body: { body: 'A' }, headers })
    expect([(await post()).status, (await post()).status]).toEqual([201, 201])
    expect(await onPage('comments', 'plain')).toBe(2)
    expect(await records()).toBe(before)
  })

  test('reads and logins ignore it', async () => {
    const before = await records()
    const get = () => service.call('GET', '/discussions', { headers: keyed('a read') })
    expect([(await get()).status, isReplay(await get())]).toEqual([200, false])
    for (const apiKey of ['', service.apiKey]) {
      const headers = keyed('login', { 'x-api-key': apiKey })
      const login = () => service.call('POST', '/admin/auth/login', { headers, body: service.admin })
      expect([(await login()).status, isReplay(await login())]).toEqual([200, false])
    }
    expect(await records()).toBe(before)
  })

  test("belongs to the tenant: another tenant's same key is a different one", async () => {
    const other = await service.addTenant('other')
    const post = (apiKey: string) =>
      service.call('POST', '/discussions', {
        body: { externalId: 'both' },
        headers: keyed('both', { 'x-api-key': apiKey }),
      })
    const [ours, theirs] = [await post(service.apiKey), await post(other.apiKey)]
    expect([ours.status, theirs.status]).toEqual([201, 201])
    expect(theirs.json.id).not.toBe(ours.json.id)
    expectReplay(await post(service.apiKey), ours)
    expectReplay(await post(other.apiKey), theirs)
  })
})

describe('409 idempotency_conflict: the same key with', () => {
  const path = '/discussions/by-external/conflict/comments'
  const raw = '{"body":"Once"}'
  const send = async (
    change: { method?: string; path?: string; body?: string; headers?: Record<string, string> } = {},
  ) =>
    service.call(change.method ?? 'POST', change.path ?? path, {
      body: change.body ?? raw,
      headers: keyed('conflict', { ...(await service.as('reader')), ...change.headers }),
    })

  beforeAll(async () => {
    expect((await send()).status).toBe(201)
  })

  const weaker = async () => (await service.newKey()).headers

  test.each([
    ['another body', () => ({ body: '{"body":"Twice"}' })],
    ['the same JSON in other bytes', () => ({ body: '{ "body": "Once" }' })],
    ['another path', () => ({ path: '/discussions/by-external/conflicts/comments' })],
    ['a query', () => ({ path: `${path}?limit=1` })],
    ['another method', () => ({ method: 'PATCH', path: '/settings' })],
    ['another reader', async () => ({ headers: await service.as('another-reader') })],
    ['another API key', async () => ({ headers: await weaker() })],
  ])('%s', async (_name, change) => {
    const answer = await send(await change())
    expect(answer.json).toMatchObject({ status: 409, code: 'idempotency_conflict' })
    expect(isReplay(answer)).toBe(false)
    expect(isReplay(await send())).toBe(true)
    expect(await onPage('comments', 'conflict')).toBe(1)
  })

  test('a new assertion for the same reader is the same request', async () => {
    const answer = await send({ headers: await service.as('reader', { iat: Math.floor(Date.now() / 1000) - 30 }) })
    expect([answer.status, isReplay(answer)]).toEqual([201, true])
  })

  test("a key without capabilities cannot get another key's secrets", async () => {
    const mint = (headers: Record<string, string> = {}) =>
      service.call('POST', '/keys', { body: { label: 'mine', capabilities: [] }, headers: keyed('mine', headers) })
    const { json } = await mint()
    const answer = await mint(await weaker())
    expect(answer.json).toMatchObject({ code: 'idempotency_conflict' })
    expect(answer.text).not.toContain(json.key)
  })
})

describe('requests at once', () => {
  test('fifty with one key create one comment; each answers it, or says to retry', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => comment('fifty', 'fifty')))
    const first = answers.filter((answer) => answer.status === 201 && !isReplay(answer))
    expect(first).toHaveLength(1)
    for (const answer of answers) {
      if (answer.status === 201) expect(answer.text).toBe(first[0]!.text)
      else {
        expect(answer.json).toMatchObject({ status: 409, code: 'idempotency_in_progress' })
        expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
      }
    }
    expectReplay(await comment('fifty', 'fifty'), first[0]!)
    expect(await onPage('comments', 'fifty')).toBe(1)
    expect(await onPage('events', 'fifty')).toBe(1)
  })

  test('fifty with a key each, of one new reader on one new page, create fifty comments', async () => {
    const post = (n: number) => comment(`each-${n}`, 'each', { body: `${n}` }, 'reader-of-each')
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => post(n)))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 201))
    expect(new Set(answers.map(({ json }) => json.author.id)).size).toBe(1)
    expect(await onPage('comments', 'each')).toBe(50)
    const { json } = await service.call('GET', '/discussions/by-external/each')
    expect(json).toMatchObject({ commentCount: 50, lastEventId: '50' })
  })

  test('with a key and without, on one page: the counters and numbers are exact', async () => {
    const headers = await service.as('reader-of-both')
    const plain = (n: number) =>
      service.call('POST', '/discussions/by-external/mixed/comments', { body: { body: `plain ${n}` }, headers })
    const posts = Array.from({ length: 30 }, (_, n) => [
      plain(n),
      comment(`mixed-${n}`, 'mixed', { body: `keyed ${n}` }, 'reader-of-both'),
    ])
    const answers = await Promise.all(posts.flat())
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
    const { json } = await service.call('GET', '/discussions/by-external/mixed')
    expect(json).toMatchObject({ commentCount: 60, lastEventId: '60' })
  })

  test('bulk actions over the same comments in opposite orders do not deadlock', async () => {
    const pages = Array.from({ length: 8 }, (_, n) => `bulk-${n}`)
    const ids = await Promise.all(pages.map(async (page) => (await comment(page, page)).json.id as string))
    const act = (action: string, n: number) =>
      service.call('POST', '/comments/bulk', {
        body: { ids: n % 2 === 0 ? ids : ids.toReversed(), action },
        headers: keyed(`bulk-${action}-${n}`),
      })
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => act(n % 3 === 0 ? 'unpin' : 'pin', n)))
    for (const { status, json, text } of answers) {
      expect(status, text).toBe(200)
      // On a busy machine half a second may not be enough; the rest gets that code.
      const codes = json.data.map(({ code }: { code: string | null }) => code)
      for (const code of codes) expect([null, 'unavailable']).toContain(code)
      expect(codes[0], text).toBeNull()
    }
  })
})

/** Runs operations as a keyed request does. */
describe('one transaction', () => {
  let ctx: Ctx
  const DONE: OutgoingResponse = { status: 200, contentType: 'application/json', body: '{}' }
  const run = (key: string, work: (ctx: Ctx) => Promise<OutgoingResponse>) =>
    runOnce(ctx, { key, method: 'POST', url: '/test', rawBody: Buffer.alloc(0) }, work, OUTCOMES)

  beforeAll(async () => {
    const { app } = service
    const identity = {
      externalId: 'inner',
      issuedAt: new Date(),
      name: 'Inner',
      avatarUrl: null,
      profileUrl: null,
      badges: null,
    }
    const caller = { ...(await findCallerByKey(app, service.apiKey)), identity }
    ctx = { app, requestId: 'test', address: null, caller }
  })

  test('an event is announced once, and only after the commit', async () => {
    const { json: discussion } = await service.call('POST', '/discussions', { body: { externalId: 'told' } })
    const stream = await openStream(`${service.url}/api/v1/stream/${discussion.id}`, { 'x-api-key': service.apiKey })
    await vi.waitFor(() => expect(stream.connected).toBeDefined())
    const publish = vi.spyOn(service.app.bus, 'publish')
    try {
      await run('told', async (scoped) => {
        await createComment(scoped, { discussion: { externalId: 'told' }, body: 'Soon' })
        expect(publish).not.toHaveBeenCalled()
        return DONE
      })
      expect(publish).toHaveBeenCalledOnce()
      await vi.waitFor(() => expect(stream.seqs).toEqual([1]))
    } finally {
      publish.mockRestore()
      stream.close()
    }
  })

  test.each([
    ['429', () => new ServiceError('rate_limited', { retryAfterSeconds: 1 })],
    ['503', () => new ServiceError('unavailable')],
    ['what is no ServiceError', () => new Error('boom')],
  ])('%s is no outcome: it leaves no rows, no messages and nothing in a cache', async (name, error) => {
    const page = `gone-by-${name.replaceAll(' ', '-')}`
    const before = await records()
    const publish = vi.spyOn(service.app.bus, 'publish')
    const inner = { ...ctx, caller: { ...ctx.caller!, identity: { ...ctx.caller!.identity!, externalId: page } } }
    const failing = runOnce(
      inner,
      { key: page, method: 'POST', url: '/', rawBody: Buffer.alloc(0) },
      async (scoped) => {
        await createComment(scoped, { discussion: { externalId: page }, body: 'Gone' })
        // For the second one, reader and discussion are cached.
        await createComment(scoped, { discussion: { externalId: page }, body: 'Gone too' })
        throw error()
      },
      OUTCOMES,
    )
    await expect(failing).rejects.toThrow(error().message)
    expect(publish).not.toHaveBeenCalled()
    publish.mockRestore()
    expect(await records()).toBe(before)
    expect(await onPage('comments', page)).toBe(0)
    // Cached ids of the rolled-back reader or discussion would make these fail.
    const headers = await service.as(page)
    const plain = { body: { body: 'Stays' }, headers }
    const answer = await service.call('POST', `/discussions/by-external/${page}/comments`, plain)
    expect(answer.status, answer.text).toBe(201)
    expect((await comment(page, page, { body: 'Stays too' }, page)).status).toBe(201)
  })

  test("a refusal undoes the request's earlier writes, and is stored", async () => {
    const work = async (scoped: Ctx): Promise<OutgoingResponse> => {
      await createComment(scoped, { discussion: { externalId: 'undone' }, body: 'Undone' })
      throw new ServiceError('invalid_transition')
    }
    expect(await run('undone', work)).toMatchObject({ status: 409, replayed: false })
    expect(await run('undone', work)).toMatchObject({ status: 409, replayed: true })
    expect(await onPage('comments', 'undone')).toBe(0)
  })

  test('a statement after the end is refused, because the connection may serve another request', async () => {
    let escaped: Ctx | undefined
    await run('escaped', async (scoped) => {
      escaped = scoped
      return DONE
    })
    await expect(createComment(escaped!, { discussion: { externalId: 'escaped' }, body: 'Late' })).rejects.toThrow(
      /is over/,
    )
  })

  test('a statement that is not awaited belongs to it', async () => {
    const made: Promise<unknown>[] = []
    await run('unawaited', async (scoped) => {
      made.push(createDiscussion(scoped, { externalId: 'unawaited' }))
      return DONE
    })
    await Promise.all(made)
    expect(await count(`FROM discussions ${PAGE}`, [service.tenant.id, 'unawaited'])).toBe(1)
  })

  test.runIf(onServer)('more requests than connections wait in line, and all end (server form only)', async () => {
    const post = (n: number) => comment(`pool-${n}`, `pool-${n}`, { body: 'Hello' }, `pool-${n % 3}`)
    const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => post(n)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
  })
})

describe('POST /graphql', () => {
  const CREATE = `mutation ($input: CreateCommentInput!) { createComment(input: $input) { comment { id author { name } } } }`
  const create = async (key: string, page: string) =>
    service.graphql(
      CREATE,
      { input: { discussion: { externalId: page }, body: 'Once' } },
      keyed(key, await service.as('reader')),
    )

  test('a mutation is replayed byte for byte', async () => {
    const first = await create('graph', 'graph')
    expect(first.json.data.createComment.comment.author.name).toBe('Reader reader')
    expectReplay(await create('graph', 'graph'), first)
    expect(await onPage('comments', 'graph')).toBe(1)
    expect(await onPage('events', 'graph')).toBe(1)
  })

  test('fifty at once create one', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => create('graphs', 'graphs')))
    expect(answers.filter((answer) => answer.status === 200 && !isReplay(answer))).toHaveLength(1)
    expect(await onPage('comments', 'graphs')).toBe(1)
  })

  test('a refused mutation is replayed', async () => {
    const lock = () =>
      service.graphql(
        `mutation { lockDiscussion(input: { discussionId: "${'0'.repeat(8)}-0000-7000-8000-${'0'.repeat(12)}" }) { discussion { id } } }`,
        {},
        keyed('graph-404'),
      )
    const first = await lock()
    expect(first.json.errors).toMatchObject([{ extensions: { code: 'not_found', status: 404 } }])
    expectReplay(await lock(), first)
  })

  test('as events it is refused, and not done', async () => {
    const headers = keyed('events', { accept: 'text/event-stream', ...(await service.as('reader')) })
    const answer = await service.graphql(
      CREATE,
      { input: { discussion: { externalId: 'as-events' }, body: 'Once' } },
      headers,
    )
    expect(answer.json.errors).toMatchObject([{ extensions: { code: 'not_acceptable' } }])
    expect(await onPage('comments', 'as-events')).toBe(0)
  })

  test.each(['application/json', 'application/graphql-response+json'])(
    'answered as %s it is replayed as that',
    async (accept) => {
      const page = `as-${accept.replaceAll(/\W/g, '-')}`
      const send = async () => {
        const headers = keyed(page, { accept, ...(await service.as('reader')) })
        return service.graphql(CREATE, { input: { discussion: { externalId: page }, body: 'Once' } }, headers)
      }
      const first = await send()
      expect(first.text).toContain('Reader reader')
      expect(first.headers.get('content-type')).toContain(accept)
      expectReplay(await send(), first)
      expect(await onPage('comments', page)).toBe(1)
    },
  )

  test('another document is a conflict', async () => {
    await create('graph-conflict', 'graph-conflict')
    const answer = await create('graph-conflict', 'elsewhere')
    expect(answer.json.errors).toMatchObject([{ extensions: { status: 409, code: 'idempotency_conflict' } }])
  })

  test('queries are not stored', async () => {
    const before = await records()
    const answer = await service.graphql('{ discussions(first: 1) { edges { node { id } } } }', {}, keyed('query'))
    expect(answer.status).toBe(200)
    expect(await records()).toBe(before)
  })

  test('if one of several mutations fails, all are undone, and the answer shows no data', async () => {
    await service.app.db.query(
      unnamed(`ALTER TABLE api_keys ADD CONSTRAINT test_label CHECK (label <> 'boom') NOT VALID`),
    )
    const both = () =>
      service.graphql(
        `mutation {
          createDiscussion(input: { externalId: "half" }) { discussion { id } }
          createApiKey(input: { label: "boom", capabilities: [] }) { apiKey { id } }
        }`,
        {},
        keyed('half'),
      )
    const failed = await both()
    expect(failed.json).toMatchObject({ data: null, errors: [{ extensions: { code: 'internal', status: 500 } }] })
    expect(await count(`FROM discussions ${PAGE}`, [service.tenant.id, 'half'])).toBe(0)
    await service.app.db.query(unnamed('ALTER TABLE api_keys DROP CONSTRAINT test_label'))
    const done = await both()
    expect(done.json.data.createDiscussion.discussion.id).toBeDefined()
    expectReplay(await both(), done)
  })
})

describe('erasure', () => {
  const forget = (ids: string[]) => service.app.db.transaction((sql) => forgetInAnswers(sql, service.tenant.id, ids))

  async function expectErased(again: () => Promise<TestResponse>): Promise<void> {
    const answer = await again()
    expect(refusalIn(answer.json)).toMatchObject({ status: 404, code: 'not_found' })
    expect(answer.text).toContain('erased')
  }

  test('empties every answer that mentions the reader or their comments; the request does not run again', async () => {
    const post = () => comment('to-erase', 'mine', { body: 'Personal' }, 'to-erase')
    const { json } = await post()
    const report = async () =>
      service.call('POST', `/comments/${other.json.id}/report`, {
        body: { reason: 'other', note: 'Personal' },
        headers: keyed('report', await service.as('to-erase')),
      })
    const other = await comment('not-mine', 'mine', { body: 'Of another' }, 'another')
    // Its answer does not name the reader who reports.
    const reported = await report()
    expect(reported.status).toBe(201)
    expect(reported.text).not.toContain(json.author.id)
    const approve = () => service.call('POST', `/comments/${json.id}/pin`, { headers: keyed('pin') })
    await approve()

    await forget([json.author.id])
    for (const again of [post, report, approve]) await expectErased(again)
    expect(await onPage('comments', 'mine')).toBe(2)
    expectReplay(await comment('not-mine', 'mine', { body: 'Of another' }, 'another'), other)
    await forget([other.json.id])
    await expectErased(() => comment('not-mine', 'mine', { body: 'Of another' }, 'another'))
  })

  test('an answer with too many ids to list is emptied by any erasure', async () => {
    const newIds = (length: number) => Array.from({ length }, () => newId())
    const mentioned = newIds(500).map((id) => `# ${id}`)
    const doc =
      'mutation ($input: ModerateCommentsInput!) { moderateComments(input: $input) { outcomes { commentId ok } } }'
    const variables = { input: { ids: newIds(2), action: 'pin' } }
    const text = [doc, ...mentioned].join('\n')
    const send = () => service.graphql(text, variables, keyed('many'))
    const first = await send()
    expect(first.json.data.moderateComments.outcomes, first.text).toHaveLength(2)
    expectReplay(await send(), first)
    await forget([newId()])
    await expectErased(send)
  })

  describe('of a mutation that selects more than it changes', () => {
    const NAMES = ['named', 'unnamed', 'aliased', 'maybe', 'spread', 'parent', 'answered', 'reaction'] as const
    const SELECTIONS: Record<(typeof NAMES)[number], string> = {
      named: 'discussion { comments { nodes { id body author { name } } } }',
      unnamed: 'discussion { comments { nodes { body author { name } } } }',
      aliased: 'discussion { comments { nodes { id: body author { name } } } }',
      maybe: 'discussion { comments { nodes { id @skip(if: true) body author { name } } } }',
      spread: 'discussion { ...Page }',
      parent: 'comment { parent { body author { name } } }',
      answered: 'parent { body author { name } }',
      reaction: 'comment { reactions { nodes { reader { name } } } }',
    }
    const FRAGMENTS = `fragment Page on Discussion { comments { nodes { ...Text } } }
      fragment Text on Comment { body author { name } }`

    test.each(NAMES)('%s: no replay shows the reader', async (name) => {
      const [theirs, bobs] = [`theirs-${name}`, `bobs-${name}`]
      const { json } = await comment(theirs, theirs, { body: 'Personal' }, `erased-${name}`)
      const { discussionId, id: parentId, author } = json
      const reply = await comment(bobs, theirs, { body: 'A reply', parentId }, 'bob')
      const reader = await service.as(`erased-${name}`)
      await service.ok('PUT', `/comments/${reply.json.id}/reaction`, { type: 'like' }, reader)
      const field = ['parent', 'answered', 'reaction'].includes(name) ? 'pinComment' : 'lockDiscussion'
      const input = field === 'pinComment' ? `commentId: "${reply.json.id}"` : `discussionId: "${discussionId}"`
      const document = `mutation { done: ${field}(input: { ${input} }) { ${SELECTIONS[name]} } }
        ${name === 'spread' ? FRAGMENTS : ''}`
      const send = () => service.graphql(document, {}, keyed(`selects-${name}`))
      expect((await send()).text).toContain(`Reader erased-${name}`)
      await service.call('DELETE', `/readers/${author.id}`)
      const again = await send()
      expect(again.text).not.toContain(`Reader erased-${name}`)
      expect(again.text).not.toContain('Personal')
      if (name === 'named') expect(refusalIn(again.json).code).toBe('not_found')
      else expect([isReplay(again), again.json.errors]).toEqual([true, undefined])
    })
  })

  test('leaves those of another tenant', async () => {
    const post = () => comment('of-this', 'of-this')
    const first = await post()
    await service.app.db.transaction((sql) => forgetInAnswers(sql, newId(), [first.json.author.id]))
    expectReplay(await post(), first)
  })
})

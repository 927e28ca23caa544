import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { isStuck, ofTenant } from '../../src/core/queues/patience.ts'
import { createComment } from '../../src/domains/comments/create.ts'
import { OUTCOMES } from '../../src/api/http/idempotency.ts'
import { runOnce } from '../../src/domains/idempotency/idempotency.ts'
import { findCallerByKey } from '../../src/domains/api-keys/keys.ts'
import { lockDiscussion } from '../../src/domains/moderation/discussions.ts'
import { onServer } from '../harness/database.ts'
import { figuresOf } from '../harness/figures.ts'
import { refusalIn } from '../harness/refusal.ts'
import { startService, type TestResponse, type TestService, type TestTenant } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

let service: TestService
/** The tenant whose rows are locked, and the one beside it. */
let locked: Caller
let neighbour: Caller
let outside: pg.Client

interface Caller {
  tenantId: string
  reader: Record<string, string>
  call: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<TestResponse>
}

async function callerOf(tenant: TestTenant): Promise<Caller> {
  const reader = await tenant.as('ann')
  return {
    tenantId: tenant.tenant.id,
    reader,
    call: (method, path, body, headers = {}) =>
      service.call(method, path, { body, headers: { 'x-api-key': tenant.apiKey, ...headers } }),
  }
}

const DATABASE = unnamed('SELECT current_database() AS name')

beforeAll(async () => {
  if (!onServer) return
  service = await startService({ worker: false, env: { DATABASE_LOCK_PATIENCE_SECONDS: '4' } })
  locked = await callerOf(service)
  neighbour = await callerOf(await service.addTenant('neighbour'))
  const [{ name } = { name: '' }] = await service.app.db.query<{ name: string }>(DATABASE)
  const url = new URL(process.env.DATABASE_URL ?? '')
  url.pathname = `/${name}`
  outside = new pg.Client({ connectionString: url.href })
  await outside.connect()
})
afterAll(async () => {
  if (!onServer) return
  await outside.end()
  await service.close()
})

const post = ({ call, reader }: Caller, page: string, body: object = {}) =>
  call('POST', `/discussions/by-external/${page}/comments`, { body: `A comment ${newId()}`, ...body }, reader)

/** Holds locks as a long transaction of someone else does, while `work` runs. */
async function whileLocked<T>(text: string, params: unknown[], work: () => Promise<T>): Promise<T> {
  await outside.query('BEGIN')
  try {
    expect((await outside.query(text, params)).rowCount).toBe(1)
    return await work()
  } finally {
    await outside.query('ROLLBACK')
  }
}

const LOCK_WAITS = unnamed(
  `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
)
const lockWaits = async (): Promise<number> => (await service.app.db.query<{ n: number }>(LOCK_WAITS))[0]?.n ?? 0

/** A neighbour's usual requests: each must be answered as if nothing were locked. */
async function neighbourWorks(rounds: number): Promise<void> {
  const page = newId()
  for (let n = 0; n < rounds; n++) {
    const { status, json } = await post(neighbour, page)
    expect(status).toBe(201)
    const { reader, call } = neighbour
    expect((await call('POST', `/comments/${json.id}/reactions`, { type: 'like' }, reader)).status).toBe(200)
    expect((await call('GET', `/discussions/by-external/${page}/comments`)).status).toBe(200)
  }
}

describe.skipIf(!onServer)(`a locked row${onServer ? '' : ' (skipped: needs DATABASE_URL)'}`, () => {
  test('of a discussion delays no write or read of another tenant, however many requests wait for it', async () => {
    const { call, reader } = locked
    const page = newId()
    const comments = await Promise.all(Array.from({ length: 10 }, async () => (await post(locked, page)).json))
    const [{ discussionId } = { discussionId: '' }] = comments
    const writes = (n: number): Promise<TestResponse>[] => {
      const { id } = comments[n % comments.length]
      const keyed = { ...reader, 'idempotency-key': newId() }
      return [
        post(locked, page),
        post(locked, page, { parentId: id }),
        call('POST', `/comments/${id}/reactions`, { type: 'like' }, reader),
        call('POST', `/comments/${id}/reactions`, { type: 'like' }, keyed),
        call('PATCH', `/comments/${id}`, { body: `Edited ${n}` }, reader),
        call('DELETE', `/comments/${id}`),
        call('POST', `/comments/${id}/reject`),
        call('POST', `/comments/${id}/report`, { reason: 'spam' }, reader),
        call('POST', '/comments/bulk', { ids: [id], action: 'pin' }),
        call('POST', `/discussions/${discussionId}/lock`),
      ]
    }
    await whileLocked('SELECT 1 FROM discussions WHERE id = $1 FOR UPDATE', [discussionId], async () => {
      const waiting = Array.from({ length: 20 }, (_, n) => writes(n)).flat()
      await vi.waitFor(async () => expect(await lockWaits()).toBeGreaterThan(0))
      // The lock is held until these are answered.
      await neighbourWorks(10)
      // The same tenant writes in its other discussions.
      expect((await post(locked, newId())).status).toBe(201)
      expect(await lockWaits()).toBeLessThanOrEqual(service.app.db.connections / 2)
      const lanes = await figuresOf(service.app)
      expect(lanes['write_lanes{of="comments"}']).toBe(1)
      expect(lanes['write_lanes{of="reactions"}']).toBeGreaterThan(0)
      const answers = await Promise.all(waiting)
      expect(answers.filter(({ status }) => status === 500).map(({ text }) => text)).toEqual([])
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]))
      for (const { status, json, headers } of answers) {
        // A bulk action answers for each of its comments.
        if (status === 200) expect(json.data).toMatchObject([{ ok: false, code: 'unavailable' }])
        else expect([json.code, headers.get('retry-after')]).toEqual(['unavailable', '1'])
      }
    })
    expect((await post(locked, page)).status).toBe(201)
    const { 'write_lane_rows_total{of="comments"}': rows, ...figures } = await figuresOf(service.app)
    expect(figures).toMatchObject({ 'write_lanes{of="comments"}': 0, 'write_lanes{of="reactions"}': 0 })
    expect(rows).toBeGreaterThanOrEqual(40)
    expect(figures['write_batch_rows_count{of="comments_in_lane"}']).toBeGreaterThan(0)
    expect(figures['write_batch_rows_count{of="reactions_in_lane"}']).toBeGreaterThan(0)
  })

  test.each([
    ['reader', 'SELECT 1 FROM readers WHERE tenant_id = $1 AND external_id = $2 FOR UPDATE', 'ann'],
    ['page', 'SELECT 1 FROM discussions WHERE tenant_id = $1 AND external_id = $2 FOR UPDATE', 'known-page'],
    ['tenant', "SELECT 1 FROM tenants WHERE id = $1 AND $2 = '' FOR UPDATE", ''],
  ])('of a %s delays no comment of another tenant, and its own are written afterwards', async (_what, text, key) => {
    await post(locked, 'known-page')
    const { waiting } = await whileLocked(text, [locked.tenantId, key], async () => {
      const writes = Array.from({ length: 50 }, () => post(locked, 'known-page'))
      // The lock is held until these are answered.
      await neighbourWorks(5)
      return { waiting: Promise.all(writes) }
    })
    expect(new Set((await waiting).map(({ status }) => status))).toEqual(new Set([201]))
  })

  test('lets comments of one discussion be written in order of arrival', async () => {
    const page = newId()
    const { discussionId } = (await post(locked, page)).json
    const { app, apiKey } = service
    const caller = await findCallerByKey(app, apiKey)
    const identity = {
      externalId: 'ann',
      issuedAt: new Date(),
      name: null,
      avatarUrl: null,
      profileUrl: null,
      badges: null,
    }
    const ctx = {
      app: ofTenant(app, locked.tenantId),
      requestId: 'test',
      address: null,
      caller: { ...caller, identity },
    }
    const bodies = Array.from({ length: 300 }, (_, n) => `Comment ${n} in line`)
    const { waiting } = await whileLocked(
      'SELECT 1 FROM discussions WHERE id = $1 FOR UPDATE',
      [discussionId],
      async () => {
        const writes = bodies.map((body) => createComment(ctx, { discussion: { id: discussionId }, body }))
        await vi.waitFor(() => expect(isStuck(app, locked.tenantId)).toBe(true))
        return { waiting: Promise.all(writes) }
      },
    )
    await waiting
    const ORDER = unnamed(
      "SELECT data->'comment'->>'body' AS body FROM events WHERE discussion_id = $1 ORDER BY seq OFFSET 1",
    )
    const rows = await app.db.query<{ body: string }>(ORDER, [discussionId])
    expect(rows.map(({ body }) => body)).toEqual(bodies)
  })
})

describe.skipIf(!onServer)(
  `a request with an Idempotency-Key${onServer ? '' : ' (skipped: needs DATABASE_URL)'}`,
  () => {
    const newPages = async (): Promise<[Page, Page]> => [await newPage(), await newPage()]
    const newPage = async (): Promise<Page> => {
      const { id, discussionId } = (await post(locked, newId())).json
      return { commentId: id, discussionId }
    }
    interface Page {
      commentId: string
      discussionId: string
    }
    const like = (pages: readonly Page[], key: string): Promise<TestResponse> => {
      const fields = pages.map(
        ({ commentId }, n) =>
          `f${n}: setReaction(input: { commentId: "${commentId}", type: "like" }) { reaction { type } }`,
      )
      return service.graphql(`mutation { ${fields.join(' ')} }`, {}, { ...locked.reader, 'idempotency-key': key })
    }
    const LOCK = 'SELECT 1 FROM discussions WHERE id = $1 FOR UPDATE'
    const LOCK_IN_TIME = unnamed(LOCK)

    test('releases its locks while it waits for another one, and runs completely or not at all', async () => {
      const [free, taken] = await newPages()
      const key = newId()
      const refused = await whileLocked(LOCK, [taken.discussionId], async () => {
        let answer: TestResponse | undefined
        void like([free, taken], key).then((given) => (answer = given))
        let seen = 0
        while (answer === undefined) {
          // Others get the free one all the time, in far less than a second.
          await service.app.db.transaction((sql) => sql(LOCK_IN_TIME, [free.discussionId]), 900)
          seen++
        }
        expect(seen).toBeGreaterThan(1)
        return answer
      })
      expect([refused.status, refusalIn(refused.json).code]).toEqual([503, 'unavailable'])
      expect((await locked.call('GET', `/comments/${free.commentId}`)).json.reactionCounts).toEqual({})
      const done = await like([free, taken], key)
      expect(done.json).toEqual({ data: { f0: { reaction: { type: 'like' } }, f1: { reaction: { type: 'like' } } } })
      expect((await like([free, taken], key)).headers.get('idempotency-replayed')).toBe('true')
    })

    test('completes once the lock is free, and its answer shows nothing of the earlier tries', async () => {
      const [free, taken] = await newPages()
      const { answer } = await whileLocked(LOCK, [taken.discussionId], async () => {
        const answering = like([free, taken], newId())
        await vi.waitFor(() => expect(isStuck(service.app, locked.tenantId)).toBe(true))
        return { answer: answering }
      })
      expect((await answer).json).toEqual({
        data: { f0: { reaction: { type: 'like' } }, f1: { reaction: { type: 'like' } } },
      })
    })

    test('never deadlocks with one that takes the locks in the opposite order', async () => {
      const pages = await newPages()
      const answers = await Promise.all(
        Array.from({ length: 16 }, (_, n) => like(n % 2 === 0 ? pages : pages.toReversed(), newId())),
      )
      for (const { json } of answers) expect(json.errors).toBeUndefined()
    })

    test('that holds its locks too long is rolled back and unavailable', async () => {
      const [first, second] = await newPages()
      const { app } = service
      const caller = await findCallerByKey(app, service.apiKey)
      const ctx = {
        app: ofTenant(app, locked.tenantId),
        requestId: 'test',
        address: null,
        caller: { ...caller, identity: null },
      }
      const request = { key: newId(), method: 'POST', url: '/test', rawBody: Buffer.alloc(0) }
      const slow = runOnce(
        ctx,
        request,
        async (inside) => {
          await lockDiscussion(inside, { discussionId: first.discussionId })
          await new Promise((resolve) => setTimeout(resolve, 850))
          await lockDiscussion(inside, { discussionId: second.discussionId }).catch(() => undefined)
          return { status: 200, contentType: null, body: '' }
        },
        OUTCOMES,
      )
      await expect(slow).rejects.toMatchObject({ code: 'unavailable' })
      expect((await locked.call('GET', `/discussions/${first.discussionId}`)).json.state).toBe('open')
    })
  },
)

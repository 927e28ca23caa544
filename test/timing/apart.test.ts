import { beforeAll, expect, test } from 'vitest'

import type { App } from '../../src/core/app.ts'
import type { Ctx } from '../../src/core/context.ts'
import { newId } from '../../src/core/ids.ts'
import { ofTenant } from '../../src/core/queues/patience.ts'
import type { Sql } from '../../src/core/database/database.ts'
import { createComment } from '../../src/domains/comments/create.ts'
import { findCallerByKey } from '../../src/domains/api-keys/keys.ts'
import { setReaction } from '../../src/domains/reactions/reactions.ts'
import { onServer } from '../harness/database.ts'
import { effort } from '../harness/effort.ts'
import { figuresOf } from '../harness/figures.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
let neighbour: TestTenant
/** The app of a separate process, and the tenants of each statement of its writers. */
let app: App
let statements: Set<string>[] = []
/** The most of the neighbour's statements that began while one waited. */
let mostWaits = 0
/** Comments of the tenant and of its neighbour, from before it had endpoints. */
let theirs: string[] = []
let own: string[] = []

beforeAll(async () => {
  neighbour = await service.addTenant('neighbour')
  const query = (async (asked, params = []) => {
    const isCreate = /^create_comments?$/.test(asked.name) && params[0] === false
    if (!isCreate && !asked.name.startsWith('write_unlocked_')) return service.app.db.query(asked, params)
    const given = JSON.stringify(params)
    const tenants = new Set([service, neighbour].map(({ tenant }) => tenant.id).filter((id) => given.includes(id)))
    const since = statements.push(tenants)
    const rows = await service.app.db.query(asked, params)
    if (tenants.has(neighbour.tenant.id)) mostWaits = Math.max(mostWaits, begunBy(service, since).length)
    return rows
  }) as Sql
  app = { ...service.app, db: { ...service.app.db, query } }
  theirs = await commentsOf(service, 80)
  own = await commentsOf(neighbour, 20)
  await service.app.db.query(ENDPOINTS, [service.tenant.id, MANY])
})

/** Each event of the tenant has as many deliveries. */
const MANY = effort(600, 300)
const ENDPOINTS = unnamed(
  `INSERT INTO webhook_endpoints (tenant_id, id, url, event_types, state)
   SELECT $1, gen_random_uuid(), 'https://hooks.example/' || n, '{*}', 'verified' FROM generate_series(1, $2::int) n`,
)

/** The comments of a page by their numbers, and how many deliveries each has. */
const WRITTEN = unnamed(
  `SELECT e.data->'comment'->>'body' AS body,
     (SELECT count(*)::int FROM deliveries d WHERE d.tenant_id = e.tenant_id AND d.event_id = e.id) AS deliveries
   FROM events e WHERE e.discussion_id = $1 ORDER BY e.seq`,
)

async function contextOf({ tenant, apiKey }: TestTenant): Promise<Ctx> {
  const caller = await findCallerByKey(service.app, apiKey)
  const identity = {
    externalId: 'ann',
    issuedAt: new Date(),
    name: null,
    avatarUrl: null,
    profileUrl: null,
    badges: null,
  }
  return { app: ofTenant(app, tenant.id), requestId: 'test', address: null, caller: { ...caller, identity } }
}

const newPage = async ({ apiKey }: TestTenant): Promise<string> => {
  const options = { body: { externalId: newId() }, headers: { 'x-api-key': apiKey } }
  return (await service.call('POST', '/discussions', options)).json.id
}

/** Written by another process, so that the writers of `app` do not learn their cost. */
async function commentsOf(tenant: TestTenant, count: number): Promise<string[]> {
  const ctx = { ...(await contextOf(tenant)), app: ofTenant(service.app, tenant.tenant.id) }
  const discussionId = await newPage(tenant)
  const bodies = Array.from({ length: count }, (_, n) => `Comment ${n} to react to`)
  const made = await Promise.all(bodies.map((body) => createComment(ctx, { discussion: { id: discussionId }, body })))
  return made.map(({ id }) => id)
}

/** A tenant's statements that the shared writer has begun since. */
const begunBy = ({ tenant }: TestTenant, since = 0): Set<string>[] =>
  statements.slice(since).filter((tenants) => tenants.has(tenant.id))

/** Four writers, each of which writes again with each answer. */
async function neighbourWrites(write: (n: number) => Promise<unknown>): Promise<void> {
  const writer = async (first: number): Promise<void> => {
    for (let n = first; n < first + 5; n++) await write(n)
  }
  await Promise.all([0, 5, 10, 15].map(writer))
}

/**
 * On the embedded database's one connection, a statement that waits for other reads may once be
 * taken for a slow one.
 */
const MOST_MIXED = onServer ? 0 : 1

const mixed = (): Set<string>[] => statements.filter(({ size }) => size > 1)

test('comments to many endpoints share no statement with those of another tenant, who waits for at most two statements', async () => {
  const [heavy, light] = [await contextOf(service), await contextOf(neighbour)]
  const [page, other] = [await newPage(service), await newPage(neighbour)]
  const bodies = Array.from({ length: 80 }, (_, n) => `Comment ${n} that goes to many endpoints`)
  const post = (body: string): Promise<unknown> => createComment(heavy, { discussion: { id: page }, body })
  const neighbourPost = (n: number): Promise<unknown> =>
    createComment(light, { discussion: { id: other }, body: `Comment ${n} of a neighbour ${newId()}` })
  // Two waves of the same tenant, of which the first shows the cost of its rows. The neighbour's
  // cost is known before.
  await neighbourWrites(neighbourPost)
  await Promise.all(bodies.slice(0, 30).map(post))
  statements = []
  const posted = Promise.all(bodies.slice(30).map(post))
  await neighbourWrites(neighbourPost)
  await posted
  expect(mixed().length).toBeLessThanOrEqual(MOST_MIXED)
  expect(mostWaits).toBeLessThanOrEqual(2)
  expect(begunBy(service).length).toBeGreaterThan(1)
  // The order of its comments is that of the calls.
  const rows = await service.app.db.query<{ body: string; deliveries: number }>(WRITTEN, [page])
  expect(rows.map(({ body }) => body)).toEqual(bodies)
  expect(new Set(rows.map(({ deliveries }) => deliveries))).toEqual(new Set([MANY]))
  const figures = await figuresOf(app)
  expect(figures['write_batch_rows_count{of="comments_apart"}']).toBeGreaterThan(1)
})

test('reactions neither', async () => {
  const [heavy, light] = [await contextOf(service), await contextOf(neighbour)]
  const react = (ctx: Ctx, commentId = ''): Promise<unknown> => setReaction(ctx, { commentId, type: 'like' })
  await neighbourWrites((n) => react(light, own[n]))
  await Promise.all(theirs.slice(0, 30).map((id) => react(heavy, id)))
  statements = []
  const reacted = Promise.all(theirs.slice(30).map((id) => react(heavy, id)))
  await neighbourWrites((n) => react(light, own[n]))
  await reacted
  expect(mixed().length).toBeLessThanOrEqual(MOST_MIXED)
  expect(mostWaits).toBeLessThanOrEqual(2)
  const figures = await figuresOf(app)
  expect(figures['write_batch_rows_count{of="reactions_apart"}']).toBeGreaterThan(1)
})

test('equal texts that a reader posts at once are still recognised as repetitions, and held', async () => {
  const heavy = await contextOf(service)
  const page = await newPage(service)
  await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      createComment(heavy, { discussion: { id: page }, body: `Before the others ${n}` }),
    ),
  )
  const equal = Array.from({ length: 10 }, () =>
    createComment(heavy, { discussion: { id: page }, body: 'A text of more than twenty characters' }),
  )
  const statuses = (await Promise.all(equal)).map(({ status }) => status)
  expect(statuses).toEqual(['approved', ...Array.from({ length: 9 }, () => 'pending')])
})

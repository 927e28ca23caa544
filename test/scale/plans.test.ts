import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, onTestFinished, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import type { Statement } from '../../src/core/database/statements.ts'
import { renewStatistics } from '../../src/core/statistics.ts'
import { importFile } from '../../src/transfer/import/import.ts'
import { insertImport } from '../../src/transfer/store/imports-sql.ts'
import { lockReadersOfItems } from '../../src/transfer/store/sql.ts'
import { selectFacts } from '../../src/transfer/store/threads-sql.ts'
import { discussionsOf, removeReaders } from '../../src/transfer/undo/undo-sql.ts'
import { explaining, type PlanMode } from '../harness/costs.ts'
import { loadStatements } from '../../src/build/statements.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { comment, page, reader as readerItem, writeItems } from '../harness/transfer.ts'

// A new database has no statistics. If two plans look alike, PostgreSQL may choose the one whose
// cost grows with the discussion, and keep it as long as the statement is prepared.

const service = useService()

const post = async (reader: string, body: object) => {
  const path = '/discussions/by-external/large/comments'
  return service.ok('POST', path, body, await service.as(reader))
}

const GROW = unnamed(`INSERT INTO comments (tenant_id, id, discussion_id, body, body_html, status)
   SELECT tenant_id, new_id(), id, 'x', 'x', 'approved' FROM discussions, generate_series(1, 5000) n
   WHERE external_id = 'large'`)

interface Costs {
  /** Blocks that it reads. */
  now: number
  /** The same once the discussion has grown. */
  grown: number
  plan: string
}

/** What each of these statements costs by one plan, when `work` first runs it. */
async function costsOf(
  names: readonly string[],
  work: () => Promise<unknown>,
  grow = GROW,
  mode: PlanMode = 'generic',
): Promise<Map<string, Costs>> {
  const { db } = service.app
  const costs = new Map<string, Costs>()
  const query = db.query.bind(db)
  const spy = vi.spyOn(db, 'query').mockImplementation(async (ran, params) => {
    if (names.includes(ran.name) && !costs.has(ran.name)) {
      costs.set(ran.name, await costsOfStatement(ran, params ?? [], grow, mode))
    }
    return query(ran, params)
  })
  try {
    await work()
  } finally {
    spy.mockRestore()
  }
  return costs
}

async function costsOfStatement(
  asked: Statement,
  params: readonly unknown[],
  grow: Statement,
  mode: PlanMode = 'generic',
): Promise<Costs> {
  const costs = { now: NaN, grown: NaN, plan: '' }
  await explaining(service.app.db, asked, mode, async ({ explain, sql }) => {
    costs.now = (await explain(params)).blocks
    await sql(grow)
    const { blocks, plan: planned } = await explain(params)
    Object.assign(costs, { grown: blocks, plan: planned })
  })
  return costs
}

const WRITES = ['create_comment', 'create_comments', 'write_unlocked_reactions'] as const

const WHOLE_TABLE = /Seq Scan on (comments|discussions|readers|reactions)/

test('no write reads a whole table, or costs more in a discussion that has grown since it was planned', async () => {
  const readers = Array.from({ length: 6 }, (_, n) => `reader-${n}`)
  const { id: parentId } = await post('ann', { body: 'The first' })
  for (const reader of readers) await post(reader, { body: `The first of ${reader}` })
  // Comments that come while the first statement is explained are written together.
  const postAll = (place: object) =>
    Promise.all(readers.map((reader) => post(reader, { body: `${newId()} of ${reader}`, ...place })))
  const costs = await costsOf(WRITES, async () => {
    await postAll({})
    await postAll({ parentId })
    const headers = await service.as('ann')
    await service.call('POST', `/comments/${parentId}/reactions`, { body: { type: 'like' }, headers })
  })
  expect([...costs.keys()].toSorted()).toEqual(WRITES.toSorted())
  for (const [name, { now, grown, plan }] of costs) {
    expect(grown, name).toBeLessThan(now + 60)
    expect(plan, name).not.toMatch(WHOLE_TABLE)
  }
})

/**
 * Of a page, grown: up to 1 500 hold what earlier statements have grown and rolled back. A plan
 * that reads a level of 5 000 comments and sorts it takes 10 000.
 */
const MAX_BLOCKS = 2500

/** Of a page that has few comments to show, however many others its level has. */
const MAX_OF_SHOWN = 60

const READS = ['newest', 'oldest', 'top'].flatMap((sort) => {
  const start = sort === 'newest' ? 'newest_start' : `${sort}_pinned_first`
  return [`roots_${start}`, `replies_${start}`, `repliesOfEach_${start}_measured`]
})

/**
 * Comments that no page shows, before and behind all others in each order: 5 000 at the top level,
 * and as many replies to the comment of `$1`.
 */
const HIDE = unnamed(`INSERT INTO comments
    (tenant_id, id, discussion_id, parent_id, depth, body, body_html, status, deleted_at, reaction_counts)
  SELECT tenant_id, CASE WHEN n % 2 = 0 THEN new_id() ELSE overlay(new_id()::text PLACING '00000000' FROM 1)::uuid END,
    discussion_id, parent_id, depth, 'x', 'x', status, CASE status WHEN 'deleted' THEN now() END,
    CASE WHEN n % 4 < 2 THEN '{"like": 9}'::jsonb ELSE '{}' END
  FROM (
    SELECT c.tenant_id, c.discussion_id, place.*, n,
      (ARRAY['pending', 'rejected', 'deleted']::comment_status[])[1 + n % 3] AS status
    FROM comments c, generate_series(1, 5000) n, LATERAL (VALUES (NULL::uuid, 0), (c.id, 1)) place (parent_id, depth)
    WHERE c.id = $1
  ) hidden`)

test('no page reads a whole level that has grown since it was planned, or what it does not show', async () => {
  const { apiKey, as } = await service.addTenant('pages')
  const path = '/discussions/by-external/shown/comments'
  const call = async (method: string, address: string, body?: object) => {
    const headers = { 'x-api-key': apiKey, ...(body && (await as('ann'))) }
    const { status, json, text } = await service.call(method, address, { headers, ...(body && { body }) })
    expect(status, text).toBeLessThan(300)
    return json
  }
  const { id, discussionId } = await call('POST', path, { body: 'The first' })
  await call('POST', path, { body: 'An answer', parentId: id })
  await service.app.db.query(HIDE, [id])
  // By roots, and by replies to this comment.
  const grow = unnamed(`INSERT INTO comments (tenant_id, id, discussion_id, parent_id, depth, body, body_html, status)
    SELECT d.tenant_id, new_id(), d.id, p.id, p.depth, 'x', 'x', 'approved'
    FROM discussions d, (VALUES (NULL::uuid, 0), ('${id}'::uuid, 1)) AS p (id, depth), generate_series(1, 5000) n
    WHERE d.id = '${discussionId}'`)
  const read = 'edges { node { id } }'
  // Each page is read once: the service keeps it.
  const readPages = async (limit: number): Promise<void> => {
    for (const sort of ['newest', 'oldest', 'top']) {
      const sorted = `${path}?limit=${limit}&sort=${sort}`
      await call('GET', sorted)
      await call('GET', `${sorted}&parentId=${id}`)
      const query = `{ discussion(by: { externalId: "shown" }) { comments(sort: ${sort}) { edges { node { replies(sort: ${sort}) { ${read} } } } } } }`
      const { json } = await service.graphql(query, {}, { 'x-api-key': apiKey })
      expect(json.errors).toBeUndefined()
    }
  }
  const expectCosts = async (limit: number, then: typeof grow, max: number): Promise<void> => {
    const costs = await costsOf(READS, () => readPages(limit), then)
    expect([...costs.keys()].toSorted()).toEqual(READS.toSorted())
    for (const [name, { grown, plan }] of costs) expect(grown, `${name}\n${plan}`).toBeLessThan(max)
  }
  await expectCosts(20, unnamed('SELECT'), MAX_OF_SHOWN)
  await expectCosts(21, grow, MAX_BLOCKS)
})

/** Hours of a year in which each reader has done something. */
const act = (year: number): Statement =>
  unnamed(`INSERT INTO analytics_activity (tenant_id, interval, at, reader_id, actions, comments_approved)
   SELECT tenant_id, 'hour', '${year}-01-01T00:00:00Z'::timestamptz + n * interval '1 hour', id, 1, 1
   FROM readers, generate_series(1, 3000) n WHERE external_id NOT LIKE 'of-many-%'`)

// A tenant with many rows, known to the statistics, while later tenants are not.
const CROWDED = unnamed(`WITH crowd AS (
     INSERT INTO readers (tenant_id, id, external_id, profile_issued_at)
     SELECT $1, new_id(), 'of-many-' || n, now() FROM generate_series(1, 5000) n RETURNING tenant_id, id
   ),
   items AS (
     INSERT INTO import_items (tenant_id, import_id, key, kind, item_id, made)
     SELECT tenant_id, $2, new_id(), 'reader', id, false FROM crowd
   )
   INSERT INTO analytics_activity (tenant_id, interval, at, reader_id, actions, comments_approved)
   SELECT tenant_id, 'hour', '2018-01-01T00:00:00Z'::timestamptz + n * interval '1 hour', id, 1, 1
   FROM crowd, generate_series(1, 4) n`)
const COUNT = unnamed('ANALYZE readers, import_items, analytics_activity, analytics_deltas, comments, discussions')

/** A tenant that the statistics do not know. */
async function addNewcomer(slug: string): Promise<TestTenant> {
  const { tenant } = await service.addTenant(`before-${slug}`)
  const { db } = service.app
  const importId = newId()
  await insertImport(db.query, tenant.id, { id: importId, source: 'x', fileName: 'x', startedAt: new Date() })
  await db.query(CROWDED, [tenant.id, importId])
  await db.query(COUNT)
  return service.addTenant(slug)
}

const AT_THE_BEGINNING = 'in a database that has just begun'
// PostgreSQL would expect one row of such a tenant, and any plan would look cheap.
const AFTER_COUNTING = 'for a tenant who was not there when PostgreSQL counted'

test.each<[string, PlanMode, number, () => Promise<TestTenant>]>([
  [AT_THE_BEGINNING, 'generic', 2019, async () => service],
  [AFTER_COUNTING, 'custom', 2021, async () => addNewcomer('newcomer-of-folds')],
])("a reader's earlier activity does not slow the fold of later one, %s", async (_when, mode, year, tenantOf) => {
  const { tenant, apiKey, as } = await tenantOf()
  const headers = { 'x-api-key': apiKey, ...(await as('ann')) }
  const path = '/discussions/by-external/large/comments'
  expect((await service.call('POST', path, { body: { body: 'Once more' }, headers })).status).toBe(201)
  await service.app.db.query(act(year))
  const fold = (await loadStatements()).find(({ name }) => name === 'analytics_fold')
  if (fold === undefined) throw new Error('there is no such statement')
  const { now, grown, plan } = await costsOfStatement(fold, [tenant.id, 2000], act(year + 1), mode)
  expect(grown, plan).toBeLessThan(now + 60)
})

// For the tenant whose import began last.
const GROW_IMPORT = unnamed(`WITH newest AS (SELECT tenant_id, id FROM imports ORDER BY started_at DESC LIMIT 1),
   grown AS (
     INSERT INTO readers (tenant_id, id, external_id, profile_issued_at)
     SELECT tenant_id, new_id(), new_id()::text, now() FROM newest, generate_series(1, 3000) n RETURNING tenant_id, id
   )
   INSERT INTO import_items (tenant_id, import_id, key, kind, item_id, made)
   SELECT tenant_id, i.id, new_id(), 'reader', g.id, false FROM grown g JOIN newest i USING (tenant_id)`)

test.each<[string, PlanMode, () => Promise<TestTenant>]>([
  [AT_THE_BEGINNING, 'generic', async () => service],
  [AFTER_COUNTING, 'custom', async () => addNewcomer('newcomer-of-imports')],
])('an import and its undo look rows up by key, however much the tenant has, %s', async (_when, mode, tenantOf) => {
  const folder = mkdtempSync(join(tmpdir(), 'engagement-plans-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'items.jsonl')
  const ids = Array.from({ length: 20 }, (_, n) => `${n}`)
  writeItems(path, [
    page('p'),
    ...ids.map((id) => readerItem(id)),
    ...ids.map((id) => comment(id, 1, { authorId: id })),
  ])
  const { db } = service.app
  const tenantId = (await tenantOf()).tenant.id
  await importFile(service.app, tenantId, { source: 'jsonl', path })
  // With few rows, PostgreSQL uses any index.
  await db.query(GROW_IMPORT)
  const items = await db.query<{ key: string; kind: string; id: string }>(
    unnamed('SELECT key, kind, item_id AS id FROM import_items WHERE tenant_id = $1 ORDER BY made DESC LIMIT 41'),
    [tenantId],
  )
  const of = (kind: string) => items.filter((item) => item.kind === kind)
  const keysOf = (kind: string) => of(kind).map(({ key }) => key)
  const work = async (): Promise<void> => {
    await lockReadersOfItems(db.query, tenantId, keysOf('reader'))
    await selectFacts(
      db.query,
      tenantId,
      of('comment').map(({ id }) => id),
    )
    await discussionsOf(db.query, tenantId, keysOf('comment'))
    await removeReaders(db.query, tenantId, keysOf('reader'), new Date())
  }
  const names = [
    'lock_import_readers',
    'import_comment_facts',
    'discussions_of_made_comments',
    'lock_imported_readers',
    'remove_imported_readers',
  ]
  const costs = await costsOf(names, work, GROW_IMPORT, mode)
  expect([...costs.keys()]).toEqual(names)
  for (const [name, { now, grown, plan }] of costs) expect(grown, `${name}\n${plan}`).toBeLessThan(now + 60)
})

const CROWD = unnamed(`WITH crowd AS (
     INSERT INTO readers (tenant_id, id, external_id, profile_issued_at, erasing_at)
     SELECT $1, new_id(), 'crowd-' || n, now(), CASE WHEN n % 2 = 0 THEN 'infinity'::timestamptz END
     FROM generate_series(1, 5000) n RETURNING id, erasing_at
   )
   INSERT INTO reader_merges (tenant_id, reader_id, into_id, alias_id)
   SELECT $1, new_id(), (SELECT id FROM crowd WHERE erasing_at IS NULL LIMIT 1), id
   FROM crowd WHERE erasing_at IS NOT NULL`)

test('a reader is found by a former external id through three indexes, however many were merged', async () => {
  const { tenant } = await service.addTenant('crowd')
  await service.app.db.query(CROWD, [tenant.id])
  await service.app.db.query(unnamed('ANALYZE readers, reader_merges'))
  const find = (await loadStatements()).find(({ name }) => name === 'find_reader_called')
  if (find === undefined) throw new Error('there is no such statement')
  const { now, plan } = await costsOfStatement(find, [tenant.id, 'crowd-2'], unnamed('SELECT'))
  for (const index of ['readers_tenant_id_external_id_key', 'reader_merges_tenant_id_alias_id_key', 'readers_pkey']) {
    expect(plan).toContain(`Index Scan using ${index}`)
  }
  expect(plan).not.toContain('Seq Scan')
  expect(plan).not.toContain('Rows Removed by Filter')
  // Of three indexes of two or three levels, and of their tables.
  expect(now, plan).toBeLessThan(30)
})

test('statistics follow a table that has outgrown them', async () => {
  await service.app.db.query(GROW)
  await vi.waitFor(async () => {
    await service.app.db.query(unnamed('SELECT pg_stat_force_next_flush()'))
    await renewStatistics(service.app.db, 0)
    const known = unnamed(`SELECT reltuples FROM pg_class WHERE oid = 'comments'::regclass`)
    const [{ reltuples } = { reltuples: 0 }] = await service.app.db.query<{ reltuples: number }>(known)
    expect(reltuples).toBeGreaterThanOrEqual(5000)
  })
})

import { describe, expect, test, vi } from 'vitest'

import type { App } from '../../src/core/app.ts'
import { newId } from '../../src/core/ids.ts'
import { Pairs } from '../../src/transfer/csv.ts'
import type { ImportReport } from '../../src/transfer/import/import.ts'
import type { Item } from '../../src/transfer/item.ts'
import { keyOfAddress } from '../../src/transfer/pages.ts'
import { BATCH_ITEMS } from '../../src/transfer/import/read-batches.ts'
import { undoImport } from '../../src/transfer/undo/undo.ts'
import { onServer } from '../harness/database.ts'
import { effort } from '../harness/effort.ts'
import { useImports } from '../harness/imports.ts'
import type { TestTenant } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { at, comment, findWrongCounts } from '../harness/transfer.ts'

const imports = useImports('undos')
const { addTenant, fileOf, importInto, importPath, stopImport } = imports

const MANY = effort(2500, 300)
/** Lines that are soon read, where there are fewer items than are stored together. */
const PADDING = Array.from({ length: effort(0, BATCH_ITEMS) }, () => 'no item')

const undo = ({ tenant }: TestTenant, { id }: ImportReport, app = imports.service.app) =>
  undoImport(app, tenant.id, id!)

/** The texts of the comments that are left, and how often each was reported. */
const left = async ({ tenant }: TestTenant): Promise<string[]> =>
  (
    await imports.service.app.db.query<{ body: string; reports: number }>(
      unnamed('SELECT body, report_count AS reports FROM comments WHERE tenant_id = $1 ORDER BY body'),
      [tenant.id],
    )
  ).map(({ body, reports }) => (reports === 0 ? body : `${body}, ${reports} reports`))

const HEADER: Item = { kind: 'header', form: 'engagement-service', version: 1, tenant: 'other', exportedAt: at(59) }
const READERS: Item[] = ['ann', 'ben'].map((id) => ({ kind: 'reader', id, createdAt: at(0) }))
const PAGE: Item = { kind: 'discussion', id: 'p', externalId: 'p', createdAt: at(0) }
const reaction = (commentId: string, createdAt = at(9)): Item => ({
  kind: 'reaction',
  commentId,
  readerId: 'ben',
  type: 'like',
  createdAt,
})
const report = (commentId: string, createdAt = at(9)): Item => ({
  kind: 'report',
  commentId,
  readerId: 'ben',
  reason: 'spam',
  createdAt,
})

describe('a comment stays when a later import has added to it', () => {
  const FIRST: Item[] = [...READERS, PAGE, comment('1', 1), comment('2', 2), comment('3', 3), comment('4', 4)]
  const LATER: Item[] = [reaction('1'), report('2'), comment('5', 5, { parentId: '3' })]

  test('from a longer file of the same source', async () => {
    const acme = await addTenant()
    const first = await importInto(acme, FIRST)
    const later = await importInto(acme, [...FIRST, ...LATER])
    expect(await undo(acme, first)).toMatchObject({
      removed: { readers: 0, comments: 1 },
      stays: { readers: 2, comments: 3 },
    })
    expect(await left(acme)).toEqual(['Comment 1', 'Comment 2, 1 reports', 'Comment 3', 'Comment 5'])
    // The reply goes with its import; the reaction and the report are on comments of another one.
    expect(await undo(acme, later)).toMatchObject({ removed: { comments: 1 }, stays: { comments: 0 } })
    expect(await undo(acme, first)).toMatchObject({ removed: { comments: 2 }, stays: { comments: 2 } })
    expect(await left(acme)).toEqual(['Comment 1', 'Comment 2, 1 reports'])
    expect(await findWrongCounts(imports.service.app.db, acme.tenant.id)).toEqual([])
  })

  test('from an export under another name', async () => {
    const acme = await addTenant()
    const ids = new Map<string, string>()
    const kept = (items: readonly Item[]): Item[] =>
      JSON.parse(
        JSON.stringify(items).replace(/"(id|commentId|parentId)":"(\d)"/g, (_, field: string, id: string) => {
          ids.set(id, ids.get(id) ?? `01a2077a-164d-77c2-b649-6092fa40e0d${id}`)
          return `"${field}":"${ids.get(id)}"`
        }),
      )
    const first = await importInto(acme, [HEADER, ...kept(FIRST)])
    await importInto(acme, [HEADER, ...kept([...FIRST, ...LATER])], { as: 'again' })
    expect(await undo(acme, first)).toMatchObject({ removed: { comments: 1 }, stays: { comments: 3 } })
    expect(await left(acme)).toEqual(['Comment 1', 'Comment 2, 1 reports', 'Comment 3', 'Comment 5'])
  })

  test('but not when only the same import has, before or after an interruption', async () => {
    const acme = await addTenant()
    const many = Array.from({ length: MANY }, (_, n) => comment(`many-${n}`, n % 60))
    const likes = many.map((_, n) => reaction(`many-${n}`))
    const half = MANY / 2
    const whole = [...READERS, PAGE, ...many, ...likes.slice(0, half), ...PADDING, ...likes.slice(half)]
    const path = fileOf(whole)
    await stopImport(acme, path, (items) => items > MANY + 100)
    const done = await importPath(acme, path)
    expect(done.counts).toMatchObject({ comments: MANY, reactions: MANY })
    expect(await undo(acme, done)).toMatchObject({
      removed: { readers: 2, comments: MANY },
      stays: { readers: 0, comments: 0 },
    })
  })
})

test("times after the start of an import are its own, and a person's edit after them is not", async () => {
  const acme = await addTenant()
  const soon = new Date(Date.now() + 400).toISOString()
  const ahead = { createdAt: soon, pinnedAt: soon, editedAt: soon }
  const done = await importInto(acme, [
    ...READERS,
    PAGE,
    comment('1', 1, ahead),
    comment('2', 2, ahead),
    reaction('1', soon),
    report('1', soon),
  ])
  await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(Date.parse(soon) + 2))
  const [second] = await imports.service.app.db.query<{ id: string }>(
    unnamed("SELECT id FROM comments WHERE tenant_id = $1 AND body = 'Comment 2'"),
    [acme.tenant.id],
  )
  const headers = { 'x-api-key': acme.apiKey }
  await imports.service.ok('POST', `/comments/${second?.id}/unpin`, {}, headers)
  expect(await undo(acme, done)).toMatchObject({ removed: { comments: 1 }, stays: { comments: 1 } })
  expect(await left(acme)).toEqual(['Comment 2'])
})

test('a discussion is sorted by its last remaining comment', async () => {
  const acme = await addTenant()
  const on = (discussionId: string, id: string, minute: number): Item =>
    comment(id, 0, { discussionId, createdAt: new Date(Date.UTC(2015, 2, 1, 10, minute)).toISOString() })
  const pages: Item[] = ['p', 'q'].map((id) => ({ kind: 'discussion', id, externalId: id, createdAt: at(0) }))
  await importInto(acme, [...READERS, ...pages, on('p', '1', 1), on('q', '2', 2)])
  const later = await importInto(acme, [...READERS, ...pages, on('p', '3', 3)])
  const active = async (): Promise<string[]> =>
    (
      await imports.service.call('GET', '/discussions?sort=active', { headers: { 'x-api-key': acme.apiKey } })
    ).json.data.map(({ externalId, lastCommentedAt }: { externalId: string; lastCommentedAt: string }) =>
      [externalId, lastCommentedAt].join(' '),
    )
  expect(await active()).toEqual(['p 2015-03-01T10:03:00.000Z', 'q 2015-03-01T10:02:00.000Z'])
  await undo(acme, later)
  expect(await active()).toEqual(['q 2015-03-01T10:02:00.000Z', 'p 2015-03-01T10:01:00.000Z'])
})

test('an undo that was killed and run again reports the whole', async () => {
  const acme = await addTenant()
  const comments = Array.from({ length: 1300 }, (_, n) => comment(`${n}`, n % 60))
  const done = await importInto(acme, [...READERS, PAGE, ...comments])
  let transactions = 0
  const { db } = imports.service.app
  const dying: App = {
    ...imports.service.app,
    db: Object.assign(Object.create(db) as typeof db, {
      transaction: <T>(run: Parameters<typeof db.transaction<T>>[0]) => {
        // On a server the first one has the lock.
        if (++transactions > (db.connections === 1 ? 2 : 3)) throw new Error('killed')
        return db.transaction(run)
      },
    }),
  }
  await expect(undo(acme, done, dying)).rejects.toThrow('killed')
  expect(await left(acme)).toHaveLength(300)
  const whole = { removed: { readers: 2, comments: 1300 }, stays: { readers: 0, comments: 0 } }
  expect(await undo(acme, done)).toMatchObject(whole)
  const { json } = await imports.service.call('GET', '/audit-log?action=import.undo', {
    headers: { 'x-api-key': acme.apiKey },
  })
  expect(json.data).toMatchObject([{ targetId: done.id, after: whole }])
})

test('an erased reader is forgotten under all ids, so that a later file brings them again', async () => {
  const acme = await addTenant()
  const authors = new Pairs([
    ['ann', 'user-1'],
    ['other-ann', 'user-1'],
  ])
  const first = await importInto(acme, [...READERS], { authors })
  await importInto(acme, [{ kind: 'reader', id: 'other-ann' }], { authors })
  await undo(acme, first)
  const again = [{ kind: 'reader', id: 'other-ann' } as Item, PAGE, comment('1', 1, { authorId: 'other-ann' })]
  expect((await importInto(acme, again, { authors })).counts).toMatchObject({ readers: 1, comments: 1 })
})

test('a file that was undone can come again on other pages, and comments that stayed keep their page', async () => {
  const acme = await addTenant()
  const page: Item = { kind: 'discussion', id: 'p', url: 'https://old.example/a', createdAt: at(0) }
  const items = [...READERS, page, comment('1', 1), comment('2', 2)]
  const first = await importInto(acme, items)
  const headers = { 'x-api-key': acme.apiKey }
  const find = unnamed("SELECT id FROM comments WHERE tenant_id = $1 AND body = 'Comment 1'")
  const [touched] = await imports.service.app.db.query<{ id: string }>(find, [acme.tenant.id])
  expect((await imports.service.call('POST', `/comments/${touched?.id}/pin`, { headers })).status).toBe(200)
  await undo(acme, first)
  const addresses = new Pairs([[keyOfAddress('https://old.example/a'), 'https://new.example/a']])
  const again = await importInto(acme, items, { addresses })
  expect(again.counts).toEqual({ discussions: 1, comments: 1, readers: 1 })
  const pages = await imports.service.call('GET', '/discussions', { headers })
  expect(pages.json.data).toMatchObject([
    { externalId: 'https://old.example/a', commentCount: 1 },
    { externalId: 'https://new.example/a', commentCount: 1 },
  ])
})

const WRITE = unnamed(`INSERT INTO comments (tenant_id, id, discussion_id, author_id, body, body_html, status)
   SELECT r.tenant_id, $2, d.id, r.id, 'Mine', 'Mine', 'approved' FROM readers r JOIN discussions d ON d.tenant_id = r.tenant_id
   WHERE r.tenant_id = $1 AND r.external_id = 'jsonl:ann'`)
const WAITING = unnamed(
  `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
)

test.runIf(onServer)('a reader who writes while an import is undone stays (server form only)', async () => {
  const acme = await addTenant()
  const made = await importInto(acme, [...READERS, PAGE])
  const { db } = imports.service.app
  const undoing = await db.transaction(async (sql) => {
    await sql(WRITE, [acme.tenant.id, newId()])
    const under = undo(acme, made)
    await vi.waitFor(async () => expect((await db.query<{ n: number }>(WAITING))[0]?.n).toBe(1))
    return { under }
  })
  expect(await undoing.under).toMatchObject({ removed: { readers: 1 }, stays: { readers: 1 } })
  expect(await left(acme)).toEqual(['Mine'])
})

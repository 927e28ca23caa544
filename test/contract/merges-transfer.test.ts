import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { mergeReaderOf } from '../../src/domains/merges/merge.ts'
import { exportTenant } from '../../src/domains/transfer/export.ts'
import { importFile, type ImportReport } from '../../src/domains/transfer/import.ts'
import type { Item } from '../../src/domains/transfer/item.ts'
import { undoImport } from '../../src/domains/transfer/undo.ts'
import { startService, type TestService, type TestTenant } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { at, comment, findWrongCounts, page, reader, writeItems } from '../harness/transfer.ts'

let service: TestService
let folder: string

beforeAll(async () => {
  service = await startService({ worker: false })
  folder = mkdtempSync(join(tmpdir(), 'engagement-merges-'))
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await service.close()
})

const addTenant = (): Promise<TestTenant> => service.addTenant(`merges-${newId()}`)

function importInto({ tenant }: TestTenant, items: readonly Item[]): Promise<ImportReport> {
  const path = join(folder, `${newId()}.jsonl`)
  writeItems(path, items)
  return importFile(service.app, tenant.id, { source: 'jsonl', path })
}

/** The tenant's own reader, as their backend vouches for them. */
async function ownReader(tenant: TestTenant, externalId: string): Promise<string> {
  const headers = { 'x-api-key': tenant.apiKey, ...(await tenant.as(externalId)) }
  return (await service.call('GET', '/readers/me', { headers })).json.id
}

const AUTHORS = unnamed('SELECT DISTINCT author_id AS id FROM comments WHERE tenant_id = $1')
const authorsOf = async ({ tenant }: TestTenant) =>
  (await service.app.db.query<{ id: string }>(AUTHORS, [tenant.id])).map(({ id }) => id)

const THREAD = [
  reader('ann'),
  reader('ben'),
  page('p'),
  comment('1', 1),
  comment('2', 2),
  { kind: 'reaction', commentId: '1', readerId: 'ben', type: 'like', createdAt: at(3) },
] satisfies Item[]

async function mergedTenant() {
  const tenant = await addTenant()
  const { id: importId } = await importInto(tenant, THREAD)
  const own = await ownReader(tenant, 'user-1')
  await mergeReaderOf(service.app, tenant.tenant.id, 'jsonl:ann', 'user-1')
  return { tenant, own, importId }
}

test('the same file brings nothing again, and a longer one hangs what is new on the reader who stays', async () => {
  const { tenant, own } = await mergedTenant()
  expect(await importInto(tenant, THREAD)).toMatchObject({ already: THREAD.length, refused: { total: 0 } })
  const longer = [...THREAD, comment('3', 4)]
  expect(await importInto(tenant, longer)).toMatchObject({ counts: { comments: 1 }, refused: { total: 0 } })
  expect(await authorsOf(tenant)).toEqual([own])
})

test('another source that knows the reader by the former id finds the one who stays', async () => {
  const { tenant, own } = await mergedTenant()
  const other = [
    reader('x', { externalId: 'jsonl:ann' }),
    page('q'),
    comment('9', 9, { authorId: 'x', discussionId: 'q' }),
  ]
  expect(await importInto(tenant, other)).toMatchObject({ counts: { comments: 1 }, refused: { total: 0 } })
  expect(await authorsOf(tenant)).toEqual([own])
})

test('an undo takes the comments, not the reader who stays; the file brings them again for that reader', async () => {
  const { tenant, own, importId } = await mergedTenant()
  expect(await undoImport(service.app, tenant.tenant.id, importId)).toMatchObject({
    removed: { readers: 1, comments: 2 },
    stays: { readers: 0, comments: 0 },
  })
  const found = await service.call('GET', `/readers/${own}`, { headers: { 'x-api-key': tenant.apiKey } })
  expect(found.status).toBe(200)
  expect(await importInto(tenant, THREAD)).toMatchObject({ counts: { comments: 2, readers: 1 }, refused: { total: 0 } })
  expect(await authorsOf(tenant)).toEqual([own])
  expect(await findWrongCounts(service.app.db, tenant.tenant.id)).toEqual([])
})

test('an undo leaves an imported reader into whom another one was merged', async () => {
  const tenant = await addTenant()
  const { id: importId } = await importInto(tenant, THREAD)
  await ownReader(tenant, 'user-1')
  await mergeReaderOf(service.app, tenant.tenant.id, 'user-1', 'jsonl:ben')
  expect(await undoImport(service.app, tenant.tenant.id, importId)).toMatchObject({
    removed: { readers: 1, comments: 2 },
    stays: { readers: 1, comments: 0 },
  })
})

const HIDE = unnamed("UPDATE readers SET erasing_at = 'infinity' WHERE id = $1")
const BEGIN = unnamed(
  `INSERT INTO reader_merges (tenant_id, reader_id, into_id, alias_id, merging_at)
   SELECT $1, id, $2, id, now() FROM readers WHERE tenant_id = $1 AND external_id = 'jsonl:ann' RETURNING reader_id AS id`,
)

test('the export of a tenant has a reader whose merge is under way as they are, and no former ones', async () => {
  const tenant = await addTenant()
  await importInto(tenant, [
    ...THREAD,
    { kind: 'report', commentId: '1', readerId: 'ann', reason: 'spam', createdAt: at(5) },
  ])
  const own = await ownReader(tenant, 'user-1')
  const [ann] = await service.app.db.query<{ id: string }>(BEGIN, [tenant.tenant.id, own])
  await service.app.db.query(HIDE, [ann?.id ?? ''])
  const exported = async () => {
    let text = ''
    await exportTenant(service.app, tenant.tenant.id, async (lines) => void (text += lines))
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  }
  const midway = await exported()
  const readersIn = (items: { kind: string; externalId: string }[]): string[] =>
    items.flatMap(({ kind, externalId }) => (kind === 'reader' ? [externalId] : [])).sort()
  expect(readersIn(midway)).toEqual(['jsonl:ann', 'jsonl:ben', 'user-1'])
  expect(midway.filter(({ kind }) => kind === 'comment')).toMatchObject([{ authorId: ann?.id }, { authorId: ann?.id }])
  expect(midway.filter(({ kind }) => kind === 'report')).toMatchObject([{ readerId: ann?.id }])
  await mergeReaderOf(service.app, tenant.tenant.id, 'jsonl:ann', 'user-1')
  const after = await exported()
  expect(readersIn(after)).toEqual(['jsonl:ben', 'user-1'])
  expect(after.filter(({ kind }) => kind === 'comment')).toMatchObject([{ authorId: own }, { authorId: own }])
  expect(after.filter(({ kind }) => kind === 'report')).toMatchObject([{ readerId: own }])
})

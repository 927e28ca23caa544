import { describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { mergeReaderOf } from '../../src/domains/merges/merge.ts'
import type { ImportReport } from '../../src/transfer/import/import.ts'
import type { Item } from '../../src/transfer/item.ts'
import { rehearseImport } from '../../src/transfer/rehearsal/rehearse.ts'
import { undoImport } from '../../src/transfer/undo/undo.ts'
import { exportText } from '../harness/exports.ts'
import { useImports } from '../harness/imports.ts'
import type { TestTenant } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { at, comment, dumpImported, findWrongCounts, page, reader } from '../harness/transfer.ts'

const imports = useImports('merges')
const { addTenant, fileOf, importInto, importPath } = imports

/** The tenant's own reader, as their backend vouches for them. */
async function ownReader(tenant: TestTenant, externalId: string): Promise<string> {
  const headers = { 'x-api-key': tenant.apiKey, ...(await tenant.as(externalId)) }
  return (await imports.service.call('GET', '/readers/me', { headers })).json.id
}

const AUTHORS = unnamed('SELECT DISTINCT author_id AS id FROM comments WHERE tenant_id = $1')
const authorsOf = async ({ tenant }: TestTenant) =>
  (await imports.service.app.db.query<{ id: string }>(AUTHORS, [tenant.id])).map(({ id }) => id)

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
  await mergeReaderOf(imports.service.app, tenant.tenant.id, 'jsonl:ann', 'user-1')
  return { tenant, own, importId }
}

test('the same file brings nothing again, and a longer one adds its new items to the reader who stays', async () => {
  const { tenant, own } = await mergedTenant()
  expect(await importInto(tenant, THREAD)).toMatchObject({ already: THREAD.length, refused: { total: 0 } })
  const longer = [...THREAD, comment('3', 4)]
  expect(await importInto(tenant, longer)).toMatchObject({ counts: { comments: 1 }, refused: { total: 0 } })
  expect(await authorsOf(tenant)).toEqual([own])
})

test('another source with the former id finds the reader who stays', async () => {
  const { tenant, own } = await mergedTenant()
  const other = [
    reader('x', { externalId: 'jsonl:ann' }),
    page('q'),
    comment('9', 9, { authorId: 'x', discussionId: 'q' }),
  ]
  expect(await importInto(tenant, other)).toMatchObject({ counts: { comments: 1 }, refused: { total: 0 } })
  expect(await authorsOf(tenant)).toEqual([own])
})

test('an undo removes the comments, not the reader who stays; the file brings them again for that reader', async () => {
  const { tenant, own, importId } = await mergedTenant()
  expect(await undoImport(imports.service.app, tenant.tenant.id, importId!)).toMatchObject({
    removed: { readers: 1, comments: 2 },
    stays: { readers: 0, comments: 0 },
  })
  await imports.service.ok('GET', `/readers/${own}`, undefined, { 'x-api-key': tenant.apiKey })
  expect(await importInto(tenant, THREAD)).toMatchObject({ counts: { comments: 2, readers: 1 }, refused: { total: 0 } })
  expect(await authorsOf(tenant)).toEqual([own])
  expect(await findWrongCounts(imports.service.app.db, tenant.tenant.id)).toEqual([])
})

test('an undo leaves an imported reader into whom another one was merged', async () => {
  const tenant = await addTenant()
  const { id: importId } = await importInto(tenant, THREAD)
  await ownReader(tenant, 'user-1')
  await mergeReaderOf(imports.service.app, tenant.tenant.id, 'user-1', 'jsonl:ben')
  expect(await undoImport(imports.service.app, tenant.tenant.id, importId!)).toMatchObject({
    removed: { readers: 1, comments: 2 },
    stays: { readers: 1, comments: 0 },
  })
})

async function exported(tenant: TestTenant) {
  const text = await exportText(imports.service.app, tenant)
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
}

const formerlyIn = (items: readonly { formerly?: object[] }[]) => items.flatMap(({ formerly = [] }) => formerly)

const HIDE = unnamed("UPDATE readers SET erasing_at = 'infinity' WHERE id = $1")
const BEGIN = unnamed(
  `INSERT INTO reader_merges (tenant_id, reader_id, into_id, alias_id, merging_at)
   SELECT $1, id, $2, id, now() FROM readers WHERE tenant_id = $1 AND external_id = 'jsonl:ann' RETURNING reader_id AS id`,
)

test('the export of a tenant has a reader whose merge is under way as a reader, and then as a former one', async () => {
  const tenant = await addTenant()
  await importInto(tenant, [
    ...THREAD,
    comment('3', 4, { authorId: 'ben' }),
    { kind: 'report', commentId: '3', readerId: 'ann', reason: 'spam', createdAt: at(5) },
  ])
  const own = await ownReader(tenant, 'user-1')
  const [ann] = await imports.service.app.db.query<{ id: string }>(BEGIN, [tenant.tenant.id, own])
  await imports.service.app.db.query(HIDE, [ann?.id ?? ''])
  const midway = await exported(tenant)
  const readersIn = (items: { kind: string; externalId: string }[]): string[] =>
    items.flatMap(({ kind, externalId }) => (kind === 'reader' ? [externalId] : [])).sort()
  expect(formerlyIn(midway)).toEqual([])
  expect(readersIn(midway)).toEqual(['jsonl:ann', 'jsonl:ben', 'user-1'])
  expect(midway.filter(({ kind }) => kind === 'comment')).toMatchObject([
    { authorId: ann?.id },
    { authorId: ann?.id },
    {},
  ])
  expect(midway.filter(({ kind }) => kind === 'report')).toMatchObject([{ readerId: ann?.id }])
  await mergeReaderOf(imports.service.app, tenant.tenant.id, 'jsonl:ann', 'user-1')
  const after = await exported(tenant)
  expect(readersIn(after)).toEqual(['jsonl:ben', 'user-1'])
  expect(formerlyIn(after)).toMatchObject([{ id: ann?.id, externalId: 'jsonl:ann' }])
  expect(after.filter(({ kind }) => kind === 'comment')).toMatchObject([{ authorId: own }, { authorId: own }, {}])
  expect(after.filter(({ kind }) => kind === 'report')).toMatchObject([{ readerId: own }])
})

describe('the former readers of an export', () => {
  const WITHOUT = 'formerly: leaves out a reader whom the tenant or the file has otherwise'
  const ids = {
    ann: '01a2077a-164d-77c2-b649-6092fa40e0d1',
    ben: '01a2077a-164d-77c2-b649-6092fa40e0d2',
    old: '01a2077a-164d-77c2-b649-6092fa40e0d3',
    older: '01a2077a-164d-77c2-b649-6092fa40e0d4',
  }
  const header = { kind: 'header', form: 'engagement-service', version: 1, tenant: 'x', exportedAt: at(60) } as const
  const former = (id: string, externalId: string, second = 10) => ({ id, externalId, mergedAt: at(second) })
  const ANN = reader(ids.ann, {
    externalId: 'ann',
    profileIssuedAt: at(1),
    formerly: [former(ids.older, 'older'), former(ids.old, 'old', 11)],
  })
  const EXPORT: Item[] = [header, ANN, page('p'), comment('1', 1, { authorId: ids.ann })]
  const ALIASES = unnamed('SELECT id FROM readers WHERE tenant_id = $1 AND erasing_at IS NOT NULL')
  const countAliases = async ({ tenant }: TestTenant) =>
    (await imports.service.app.db.query(ALIASES, [tenant.id])).length
  const erase = ({ apiKey }: TestTenant, id: string) =>
    imports.service.call('DELETE', `/readers/${id}`, { headers: { 'x-api-key': apiKey } })

  /** Rehearses an import and runs it: both say the same. */
  async function rehearseAndImport(tenant: TestTenant, items: readonly Item[], as?: string): Promise<ImportReport> {
    const path = fileOf(items)
    const rehearsed = await rehearseImport(imports.service.app, tenant.tenant.id, { source: 'jsonl', path, as })
    const report = await importPath(tenant, path, { as })
    const said = ({ counts, already, changed, refused }: Omit<ImportReport, 'id' | 'file'>) => ({
      counts,
      already,
      found: [...changed.first, ...refused.first].map(({ place, reason }) => `${place} ${reason}`).sort(),
    })
    expect(said(rehearsed)).toEqual(said(report))
    return report
  }

  test('lead to the reader who stays, once, and are exported again', async () => {
    const tenant = await addTenant()
    expect(await rehearseAndImport(tenant, EXPORT)).toMatchObject({
      counts: { readers: 1, discussions: 1, comments: 1 },
      changed: { total: 0 },
      refused: { total: 0 },
    })
    const rows = await dumpImported(imports.service.app.db, tenant.tenant.id)
    expect(await importInto(tenant, EXPORT)).toMatchObject({ counts: {}, changed: { total: 0 } })
    expect(await dumpImported(imports.service.app.db, tenant.tenant.id)).toEqual(rows)
    expect(formerlyIn(await exported(tenant))).toEqual([former(ids.older, 'older'), former(ids.old, 'old', 11)])
    for (const name of ['ann', 'old', 'older']) expect(await ownReader(tenant, name)).toBe(ids.ann)
  })

  test('become the reader who stays in a file from before the merge', async () => {
    const tenant = await addTenant()
    await importInto(tenant, EXPORT)
    const before = [
      header,
      reader(ids.old, { externalId: 'old' }),
      page('q'),
      comment('2', 2, { authorId: ids.old, discussionId: 'q' }),
    ]
    expect(await rehearseAndImport(tenant, before)).toMatchObject({ counts: { discussions: 1, comments: 1 } })
    expect(await authorsOf(tenant)).toEqual([ids.ann])
  })

  test('report and react as the reader who stays, in a file and in the tenant', async () => {
    const tenant = await addTenant()
    const first: Item[] = [
      header,
      ANN,
      reader(ids.ben, { externalId: 'ben' }),
      page('p'),
      comment('1', 1, { authorId: ids.ann }),
      comment('2', 2, { authorId: ids.ben }),
      comment('3', 3, { authorId: ids.old }),
    ]
    const of = (readerId: string, second: number): Item[] => [
      ...['1', '2', '3'].map((id) => {
        return { kind: 'report', commentId: id, readerId, reason: 'spam', createdAt: at(second) } as const
      }),
      { kind: 'reaction', commentId: '2', readerId, type: 'like', createdAt: at(second) },
    ]
    const byAll = [ids.ann, ids.older, ids.old].flatMap((id, n) => of(id, 20 + n))
    const inFile = await rehearseAndImport(tenant, [...first, ...byAll])
    expect(inFile).toMatchObject({ counts: { comments: 3, reports: 1, reactions: 1 }, already: 4 })
    expect(inFile.refused.total).toBe(6)
    const byName = [
      reader('x', { externalId: 'old' }),
      reader('y', { externalId: 'ann' }),
      page('p'),
      comment('4', 4, { authorId: 'x' }),
      { kind: 'report', commentId: '4', readerId: 'y', reason: 'spam', createdAt: at(30) },
    ] satisfies Item[]
    expect(await rehearseAndImport(tenant, byName, 'other')).toMatchObject({ refused: { total: 1 } })
  })

  test('and former external ids of pages lead to the same comments in a rehearsal and an import', async () => {
    const tenant = await addTenant()
    const [pageId, above] = [newId(), newId()]
    const before = [header, ANN, page(pageId), comment(above, 1, { authorId: ids.ann, discussionId: pageId })]
    await importInto(tenant, before)
    const headers = { 'x-api-key': tenant.apiKey }
    await imports.service.ok('PATCH', `/discussions/${pageId}`, { externalId: 'now' }, headers)
    const reply = comment(newId(), 2, { authorId: ids.ann, discussionId: pageId, parentId: above })
    const { changed, counts } = await rehearseAndImport(tenant, [...before, reply], 'other')
    expect([changed.total, counts]).toEqual([0, { comments: 1 }])
  })

  test('are left out, with their place, if the tenant has their id or external id', async () => {
    const tenant = await addTenant()
    await importInto(tenant, [header, reader(ids.old, { externalId: 'another' })])
    const older = await ownReader(tenant, 'older')
    const { changed, counts } = await rehearseAndImport(tenant, EXPORT)
    expect(counts).toMatchObject({ readers: 1, comments: 1 })
    expect(changed.first).toEqual([{ place: 'line 2', reason: WITHOUT }])
    expect(await ownReader(tenant, 'older')).toBe(older)
    expect(await countAliases(tenant)).toBe(0)
  })

  test('if several have one external id, the first one gets it', async () => {
    const tenant = await addTenant()
    const names = Array.from({ length: 50 }, (_, n) => `reader-${50 - n}`)
    const readers = names.map((name, n) =>
      reader(newId(), { externalId: name, formerly: [former(newId(), `z${n % 7}-${n}`), former(newId(), 'old')] }),
    )
    const { changed } = await rehearseAndImport(tenant, [header, ...readers])
    expect(changed.total).toBe(49)
    expect(await ownReader(tenant, 'old')).toBe((readers[0] as { id: string }).id)
  })

  test('are left out if the file has them as other readers', async () => {
    const tenant = await addTenant()
    const { changed, refused, counts } = await rehearseAndImport(tenant, [
      header,
      reader(ids.older, { externalId: 'another' }),
      ANN,
      reader(ids.old, { externalId: 'a-third' }),
      reader(ids.ben, { externalId: 'ben', formerly: [former(newId(), 'ben'), former(newId(), 'ann')] }),
    ])
    expect(counts).toEqual({ readers: 3 })
    expect(new Set(changed.first.map(({ place, reason }) => `${place} ${reason}`))).toEqual(
      new Set([`line 3 ${WITHOUT}`, `line 5 ${WITHOUT}`]),
    )
    expect(refused.first).toEqual([{ place: 'line 4', reason: 'has the id of a reader further up, which counts' }])
    expect(await countAliases(tenant)).toBe(1)
  })

  test('are accepted only under our header, and with valid ids and external ids', async () => {
    const tenant = await addTenant()
    const { changed } = await rehearseAndImport(tenant, [ANN])
    expect(changed.first.map(({ reason }) => reason)).toContain(
      'formerly: is only taken from an export of this service, which begins with a header',
    )
    const of = (more: object) => reader(ids.ben, { formerly: [{ ...former(ids.old, 'old'), ...more }] })
    for (const wrong of [of({ id: 'old' }), of({ externalId: '' }), of({ mergedAt: 'yesterday' })]) {
      const { refused } = await rehearseAndImport(tenant, [header, wrong])
      expect(refused.first[0]?.reason).toMatch(/^(formerly|externalId)/)
    }
    expect(await countAliases(tenant)).toBe(0)
  })

  test('are removed with the reader who stays by an undo, unless another one was merged since', async () => {
    const tenant = await addTenant()
    const first = await importInto(tenant, EXPORT)
    expect(await undoImport(imports.service.app, tenant.tenant.id, first.id!)).toMatchObject({
      removed: { readers: 1, comments: 1 },
      stays: { readers: 0 },
    })
    expect(await countAliases(tenant)).toBe(0)
    const second = await importInto(tenant, EXPORT)
    expect(second.counts).toMatchObject({ readers: 1, comments: 1 })
    expect(await countAliases(tenant)).toBe(2)
    await ownReader(tenant, 'user-1')
    await mergeReaderOf(imports.service.app, tenant.tenant.id, 'user-1', 'ann')
    expect(await undoImport(imports.service.app, tenant.tenant.id, second.id!)).toMatchObject({ stays: { readers: 1 } })
    expect(await ownReader(tenant, 'older')).toBe(ids.ann)
  })

  test('are free again when the reader who stays is erased, and no file brings them', async () => {
    const tenant = await addTenant()
    await importInto(tenant, EXPORT)
    expect((await erase(tenant, ids.ann)).status).toBe(204)
    expect(await countAliases(tenant)).toBe(0)
    const { counts, refused, changed } = await importInto(tenant, [
      header,
      reader(ids.old, { externalId: 'old' }),
      reader(ids.ben, { formerly: [former(ids.older, 'o')] }),
      page('q'),
      comment('2', 2, { authorId: ids.old, discussionId: 'q' }),
    ])
    expect(counts).toEqual({ readers: 1, discussions: 1 })
    const reason = 'is of a reader who was erased'
    expect(refused.first).toEqual(['line 2', 'line 5'].map((place) => ({ place, reason })))
    expect(changed.first).toEqual([{ place: 'line 3', reason: WITHOUT }])
    expect(await ownReader(tenant, 'old')).not.toBe(ids.ann)
  })
})

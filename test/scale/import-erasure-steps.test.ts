import { describe, expect, test, vi } from 'vitest'

import { WITHOUT_FORMER } from '../../src/transfer/store/former.ts'
import { importFile } from '../../src/transfer/import/import.ts'
import { deleteWaiting } from '../../src/transfer/store/imports-sql.ts'
import type { Item } from '../../src/transfer/item.ts'
import { BATCH_ITEMS } from '../../src/transfer/import/read-batches.ts'
import { undoImport } from '../../src/transfer/undo/undo.ts'
import { onServer } from '../harness/database.ts'
import { effort } from '../harness/effort.ts'
import { useImports } from '../harness/imports.ts'
import type { TestTenant } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { at, comment, dumpImported, findWrongCounts, page, reader } from '../harness/transfer.ts'

const imports = useImports('erasures')
const { addTenant, erase, fileOf, importPath, stopImport } = imports

const FIND = unnamed('SELECT id FROM readers WHERE tenant_id = $1 AND external_id = $2')

/** Nothing of Ann is there, all of Ben is, and the counters are right. */
async function expectWithoutAnn(acme: TestTenant): Promise<void> {
  const { tenant } = acme
  const { db } = imports.service.app
  const lines = await dumpImported(db, tenant.id)
  expect(lines.filter((line) => /Ann|user-1/.test(line))).toEqual([])
  expect(lines.filter((line) => line.includes('Ben writes'))).toHaveLength(3)
  expect(await imports.unowned(acme)).toEqual([])
  expect(await findWrongCounts(db, tenant.id)).toEqual([])
}

// As long as a batch, and soon read.
const PADDING = Array.from({ length: BATCH_ITEMS }, () => 'no item')

const ann = (id: string, more: object = {}): Item => comment(id, Number(id), { body: `Ann writes ${id}`, ...more })
const ben = (id: string, more: object = {}): Item =>
  comment(id, Number(id), { body: `Ben writes ${id}`, authorId: 'ben', ...more })
const onComment = (commentId: string): Item[] => [
  { kind: 'reaction', commentId, readerId: 'ann', type: 'like' },
  { kind: 'report', commentId, readerId: 'ann', reason: 'spam', note: 'Ann says so' },
]

// Items of Ann come before her, beside her and long after her.
const ITEMS = [
  reader('ben'),
  page('p'),
  ben('1'),
  ann('2'),
  ...onComment('1'),
  ...PADDING,
  reader('ann', { name: 'Ann', externalId: 'user-1' }),
  ann('3', { parentId: '1' }),
  ben('4', { parentId: '3' }),
  ...onComment('4'),
  ...PADDING,
  ann('5', { parentId: '4' }),
  ann('6', { parentId: '7' }),
  ben('8', { parentId: '5' }),
  ...onComment('8'),
  ann('7', { revisions: [{ body: 'Ann wrote', createdAt: at(7) }] }),
]

describe('a reader who is erased', () => {
  test.each([
    ['made by the import', 0],
    ['of the tenant already', effort(0, 2)],
  ])('before any transaction of an import, %s: nothing of them arrives from then on', async (which, first) => {
    const path = fileOf(ITEMS)
    let passed = first
    // On the embedded defaults before some of them.
    for (; ; passed += effort(1, 4)) {
      const acme = await addTenant()
      if (which !== 'made by the import') {
        const headers = { 'x-api-key': acme.apiKey, ...(await acme.as('user-1', { name: 'Ann' })) }
        expect((await imports.service.call('GET', '/readers/me', { headers })).status).toBe(200)
      }
      const { db } = imports.service.app
      let left = passed
      let isErased = false
      const transaction: typeof db.transaction = async (work, lockWaitMs) => {
        const [found] = await db.query(FIND, [acme.tenant.id, 'user-1'])
        const [begun] = await db.query(unnamed('SELECT id FROM imports WHERE tenant_id = $1'), [acme.tenant.id])
        if (found !== undefined && begun !== undefined && left-- === 0) isErased = await erase(acme, 'user-1')
        return db.transaction(work, lockWaitMs)
      }
      const report = await importPath(acme, path, { app: { ...imports.service.app, db: { ...db, transaction } } })
      if (!isErased) break
      await expectWithoutAnn(acme)
      // A reader whom the tenant has is no item that was taken.
      const taken = ['readers', 'discussions', 'comments', 'reactions', 'reports'] as const
      const told = taken.reduce((sum, kind) => sum + (report.counts[kind] ?? 0), report.refused.total + report.already)
      expect([0, 1]).toContain(ITEMS.length - told)
      const places = report.refused.first.map(({ place, reason }) => `${place} ${reason}`)
      const again = await importPath(acme, path)
      expect([again.counts, places.length > 0]).toEqual([{}, true])
      await expectWithoutAnn(acme)
    }
    expect(passed).toBeGreaterThan(5)
  })

  test('between an interrupted run and its continuation: nothing of theirs arrives, and everything that belongs to them is refused', async () => {
    const acme = await addTenant()
    const path = fileOf(ITEMS)
    let batches = 0
    await stopImport(acme, path, () => ++batches === 2)
    expect(await erase(acme, 'user-1')).toBe(true)
    const refused: string[] = []
    await importFile(
      imports.service.app,
      acme.tenant.id,
      { source: 'jsonl', path },
      {
        onFinding: (kind, { place, reason }) => {
          if (kind === 'refused' && /erased/.test(reason)) refused.push(`${place} ${reason}`)
        },
      },
    )
    await expectWithoutAnn(acme)
    const lines = ITEMS.flatMap((item, n) =>
      typeof item === 'object' && JSON.stringify(item).includes('"ann"') ? [n + 1] : [],
    )
    // Her earlier items are blank, and are not imported again.
    const came = [ITEMS.findIndex((item) => typeof item === 'object' && 'id' in item && item.id === '3') + 1]
    expect(refused.sort()).toEqual(
      lines
        .filter((line) => !came.includes(line))
        .map((line) => `line ${line} is of a reader who was erased`)
        .sort(),
    )
  })

  test('stays erased when the import is undone and started again', async () => {
    const acme = await addTenant()
    const path = fileOf(ITEMS)
    const { id } = await importPath(acme, path)
    expect(await erase(acme, 'user-1')).toBe(true)
    await undoImport(imports.service.app, acme.tenant.id, id!)
    await importPath(acme, path)
    await expectWithoutAnn(acme)
  })

  test('is not brought back by a second item that is the same reader of the tenant', async () => {
    const acme = await addTenant()
    const path = fileOf([
      ...ITEMS,
      ...PADDING,
      reader('ann-2', { name: 'Ann', externalId: 'user-1' }),
      ann('9', { authorId: 'ann-2' }),
    ])
    let batches = 0
    await stopImport(acme, path, () => ++batches === 2)
    expect(await erase(acme, 'user-1')).toBe(true)
    await importPath(acme, path)
    await expectWithoutAnn(acme)
    // Once the import is over, the external id is not kept in any form.
    const rows = await imports.service.app.db.query(unnamed("SELECT key FROM import_items WHERE kind = 'name'"))
    expect(rows).toEqual([])
  })

  test('is not brought back under the external id of a reader who was merged into them', async () => {
    const acme = await addTenant()
    const headers = { 'x-api-key': acme.apiKey }
    const me = async (name: string): Promise<string> =>
      (await imports.service.call('GET', '/readers/me', { headers: { ...headers, ...(await acme.as(name)) } })).json.id
    const [into, former] = [await me('user-1'), await me('user-2')]
    await imports.service.ok('POST', `/readers/${former}/merge`, { into }, headers)
    const path = fileOf([...ITEMS, ...PADDING, reader('a', { externalId: 'user-2' }), ann('9', { authorId: 'a' })])
    await stopImport(acme, path)
    expect(await erase(acme, 'user-1')).toBe(true)
    await importPath(acme, path)
    await expectWithoutAnn(acme)
  })

  test('is not brought back as a former reader of another one', async () => {
    const acme = await addTenant()
    const headers = { 'x-api-key': acme.apiKey, ...(await acme.as('user-1')) }
    expect((await imports.service.call('GET', '/readers/me', { headers })).status).toBe(200)
    const formerly = [
      { id: '01a2077a-164d-77c2-b649-6092fa40e0d1', externalId: 'user-1', mergedAt: at(1) },
      { id: '01a2077a-164d-77c2-b649-6092fa40e0d2', externalId: 'user-2', mergedAt: at(1) },
    ]
    const header: Item = { kind: 'header', form: 'engagement-service', version: 1, tenant: 'x', exportedAt: at(9) }
    const path = fileOf([header, reader('ann'), ...PADDING, reader('ben', { externalId: 'ben', formerly })])
    await stopImport(acme, path)
    expect(await erase(acme, 'user-1')).toBe(true)
    const { changed } = await importPath(acme, path)
    expect(changed.first.map(({ reason }) => reason)).toEqual([WITHOUT_FORMER])
    const lines = await dumpImported(imports.service.app.db, acme.tenant.id)
    expect(lines.filter((line) => line.includes('user-1'))).toEqual([])
    expect(lines.filter((line) => line.includes('user-2'))).toHaveLength(1)
    expect(lines.filter((line) => line.startsWith('reader_merges'))).toHaveLength(1)
  })

  test('is removed from later audit entries about them; entries about others stay complete', async () => {
    const acme = await addTenant()
    const id = (n: number): string => `01a2077a-164d-77c2-b649-6092fa40e0d${n}`
    const entry = (n: number, targetId: string): Item => ({
      kind: 'audit',
      id: id(n),
      actorKind: 'system',
      action: 'reader.ban',
      targetType: 'reader',
      targetId,
      after: { reason: `reason ${n}` },
      at: at(1),
    })
    const header: Item = { kind: 'header', form: 'engagement-service', version: 1, tenant: 'x', exportedAt: at(0) }
    const ofFirstBatch = [header, reader(id(0), { externalId: 'user-1' }), entry(1, id(9))]
    // The reader of the last one is not in the file: one who was merged, as an export has it.
    const path = fileOf([...ofFirstBatch, ...PADDING, entry(2, id(0)), entry(3, id(9))])
    await stopImport(acme, path)
    expect(await erase(acme, 'user-1')).toBe(true)
    await importPath(acme, path)
    const rows = await imports.service.app.db.query<{ reason: string | null }>(
      unnamed(
        "SELECT after->>'reason' AS reason FROM audit_log WHERE tenant_id = $1 AND action = 'reader.ban' ORDER BY id",
      ),
      [acme.tenant.id],
    )
    expect(rows.map(({ reason }) => reason)).toEqual(['reason 1', null, 'reason 3'])
  })
})

test.runIf(onServer)('an item that an erasure is changing waits no longer once it is taken', async () => {
  const acme = await addTenant()
  const { tenant } = acme
  const path = fileOf([reader('ann'), page('p'), ann('2', { parentId: '9' }), ...PADDING])
  await stopImport(acme, path)
  const { db } = imports.service.app
  const waiting = () =>
    db.query<{ id: string; key: string }>(
      unnamed('SELECT import_id AS id, key FROM import_waiting WHERE tenant_id = $1'),
      [tenant.id],
    )
  const [item] = await waiting()
  let taking: Promise<void> | undefined
  await db.transaction(async (erasing) => {
    await erasing(unnamed("UPDATE import_waiting SET item = 'null' WHERE tenant_id = $1"), [tenant.id])
    taking = db.transaction((tx) => deleteWaiting(tx, tenant.id, item!.id, [item!.key]), 10_000)
    const blocked = unnamed(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
         AND query LIKE '%DELETE FROM import_waiting%'`,
    )
    await vi.waitFor(async () => expect(await db.query(blocked)).toHaveLength(1))
  })
  await taking
  expect(await waiting()).toEqual([])
})

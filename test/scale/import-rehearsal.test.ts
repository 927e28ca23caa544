import { statSync } from 'node:fs'

import fc from 'fast-check'
import { expect, test } from 'vitest'

import { Pairs } from '../../src/transfer/csv.ts'
import { exportTenant } from '../../src/transfer/export/export.ts'
import { type ImportFile, importFile, type ImportReport } from '../../src/transfer/import/import.ts'
import type { Item } from '../../src/transfer/item.ts'
import { BATCH_ITEMS } from '../../src/transfer/import/read-batches.ts'
import { rehearseImport, type Rehearsal } from '../../src/transfer/rehearsal/rehearse.ts'
import { effort } from '../harness/effort.ts'
import { useImports } from '../harness/imports.ts'
import type { TestTenant } from '../harness/service.ts'
import { fixture, makeIssoDatabase } from '../harness/sources.ts'
import { at } from '../harness/transfer.ts'

const imports = useImports('rehearsals')
const { addTenant, fileOf, pathOf } = imports

/** The parts that both report. An import reports waiting items later. */
const said = ({ counts, already, refused, changed }: Rehearsal | ImportReport) => ({
  counts,
  already,
  refused: { total: refused.total, first: refused.first.map(({ place, reason }) => `${place} ${reason}`).sort() },
  changed: { total: changed.total, first: changed.first.map(({ place, reason }) => `${place} ${reason}`).sort() },
})

/** Rehearses an import, then runs it: both must report the same. */
async function expectBoth({ tenant }: TestTenant, file: ImportFile): Promise<void> {
  const rehearsed = await rehearseImport(imports.service.app, tenant.id, file)
  expect(said(rehearsed)).toEqual(said(await importFile(imports.service.app, tenant.id, file)))
}

const id = fc.integer({ min: 0, max: 6 }).map(String)
const maybeId = fc.option(id, { nil: undefined })

const anyItem: fc.Arbitrary<Item> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('reader' as const), id, name: fc.constantFrom('Ann', 'Ben') }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('discussion' as const),
      id: fc.integer({ min: 0, max: 3 }).map(String),
      // Two of them may be one page.
      url: fc.constantFrom('https://a.example/1', 'https://a.example/2', 'not an address', ''),
    }),
  },
  {
    weight: 8,
    arbitrary: fc
      .record({
        n: fc.integer({ min: 0, max: 20 }),
        page: fc.integer({ min: 0, max: 3 }),
        parent: fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined }),
        authorId: maybeId,
        body: fc.constantFrom('Text', '', 'x'.repeat(10_001)),
        hasRevision: fc.boolean(),
      })
      .map(({ n, page, parent, authorId, body, hasRevision }): Item => ({
        kind: 'comment',
        id: `c${n}`,
        discussionId: String(page),
        parentId: parent === undefined ? null : `c${parent}`,
        authorId: authorId ?? null,
        body: n % 5 === 0 ? body : 'Text',
        createdAt: at(n),
        ...(hasRevision && { revisions: [{ body: 'Before', createdAt: at(n) }] }),
      })),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('reaction' as const),
      commentId: fc.integer({ min: 0, max: 20 }).map((n) => `c${n}`),
      readerId: id,
      type: fc.constantFrom('like', 'like', 'unheard-of'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      commentId: fc.integer({ min: 0, max: 20 }).map((n) => `c${n}`),
      readerId: id,
      reason: fc.constant('spam'),
    }),
  },
)

test('a rehearsal reports what the import then does, for any file, in any tenant', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(anyItem, { minLength: 5, maxLength: 50 }), { minLength: 2, maxLength: 3 }),
      fc.integer({ min: 1, max: 4 }),
      async (files, maxDepth) => {
        const acme = await addTenant()
        await imports.service.call('PATCH', '/settings', { headers: { 'x-api-key': acme.apiKey }, body: { maxDepth } })
        const authors = new Pairs([
          ['1', 'user-1'],
          ['2', 'user-1'],
        ])
        for (const items of files) await expectBoth(acme, { source: 'jsonl', path: fileOf(items), authors })
      },
    ),
    { numRuns: Number(process.env.REHEARSAL_RUNS ?? effort(25, 4)) },
  )
})

test.each(['disqus', 'wordpress', 'coral', 'remark42', 'commento', 'isso', 'artrans'] as const)(
  'a rehearsal of %s says what the import then says, once and again',
  async (source) => {
    const suffix = {
      disqus: '.xml',
      wordpress: '.xml',
      coral: '',
      remark42: '.jsonl',
      commento: '.json',
      artrans: '.json',
    }
    const path = source === 'isso' ? makeIssoDatabase(pathOf('isso.db')) : fixture(source + suffix[source])
    const acme = await addTenant()
    await expectBoth(acme, { source, path })
    await expectBoth(acme, { source, path })
    await expectBoth(acme, { source, path, as: 'another' })
  },
)

test('a rehearsal of an export reports what the import then does, and sets nothing', async () => {
  const [acme, other] = [await addTenant(), await addTenant()]
  const call = (method: string, path: string, body: object, as = {}) =>
    imports.service.call(method, path, { headers: { 'x-api-key': acme.apiKey, ...as }, body })
  await call('PATCH', '/settings', { maxDepth: 2 })
  await call('POST', '/webhooks', { url: 'https://127.0.0.1:9/' })
  const identity = await acme.as('ann')
  let parentId: string | null = null
  for (let n = 0; n < 4; n++) {
    const { json } = await call('POST', '/discussions/by-external/page/comments', { body: 'Text', parentId }, identity)
    parentId = json.id
  }
  let text = ''
  await exportTenant(imports.service.app, acme.tenant.id, async (lines) => void (text += lines))
  const path = fileOf(text.trimEnd().split('\n'))
  const file = { source: 'jsonl', path } as const
  const before = await imports.service.call('GET', '/settings', { headers: { 'x-api-key': other.apiKey } })
  const rehearsed = await rehearseImport(imports.service.app, other.tenant.id, file)
  expect(rehearsed.counts).toMatchObject({ settings: 1, endpoints: 1, comments: 3, auditEntries: 2 })
  const after = await imports.service.call('GET', '/settings', { headers: { 'x-api-key': other.apiKey } })
  expect(after.json).toEqual(before.json)
  for (const tenant of [other, other, acme]) await expectBoth(tenant, file)
  await expectBoth(acme, { ...file, as: 'another' })
})

test('the progress of both only increases, up to the whole file', async () => {
  const { tenant } = await addTenant()
  // Most of them are soon read.
  const items = Array.from({ length: 2 * BATCH_ITEMS + 1 }, (_, n) =>
    n % 20 === 0 ? ({ kind: 'reader', id: `${n}` } as const) : 'no item',
  )
  const file = { source: 'jsonl', path: fileOf(items) } as const
  for (const run of [rehearseImport, importFile]) {
    const steps: { bytes: number; items: number }[] = []
    await run(imports.service.app, tenant.id, file, {
      onProgress: ({ bytes, items: done }) => steps.push({ bytes, items: done }),
    })
    for (const name of ['bytes', 'items'] as const) {
      const values = steps.map((step) => step[name])
      expect(values).toEqual(values.toSorted((a, b) => a - b))
    }
    expect(steps.length).toBeGreaterThan(2)
    expect(steps.at(-1)).toEqual({ bytes: statSync(file.path).size, items: items.length })
  }
})

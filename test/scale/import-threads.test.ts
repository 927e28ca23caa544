import { expect, test } from 'vitest'

import type { Item } from '../../src/transfer/item.ts'
import { BATCH_ITEMS, BATCH_LENGTH } from '../../src/transfer/import/read-batches.ts'
import { effort } from '../harness/effort.ts'
import { useImports } from '../harness/imports.ts'
import type { TestTenant } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { at, comment, findWrongCounts, page, reader } from '../harness/transfer.ts'

const imports = useImports('threads')
const { addTenant, importInto } = imports

const TRANSACTIONS = unnamed(
  'SELECT count(DISTINCT xmin::text)::int AS transactions FROM comments WHERE tenant_id = $1 AND depth = 1',
)
const WAITING = unnamed('SELECT key FROM import_waiting WHERE tenant_id = $1')

async function expectSound({ tenant }: TestTenant): Promise<void> {
  expect(await imports.service.app.db.query(WAITING, [tenant.id])).toEqual([])
  expect(await findWrongCounts(imports.service.app.db, tenant.id)).toEqual([])
}

/** More than are stored together. */
const MANY = effort(7000, BATCH_ITEMS + 200)
const CIRCLES = effort(300)
const LENGTH = Number(process.env.IMPORT_CHAIN ?? effort(12_000, BATCH_ITEMS + 200))

/** A chain of replies, the last one first. */
const chain = (length: number, more: object = {}): Item[] =>
  Array.from({ length }, (_, n) => length - 1 - n).map((n) =>
    comment(`${n}`, n % 60, { ...(n > 0 && { parentId: `${n - 1}` }), ...more }),
  )

// When a level, or a circle, cost a scan of all waiting items, each of these exceeded every
// deadline.
test.each([
  ['whose authors and page come last', [...chain(LENGTH), reader('ann'), page('p')], [LENGTH - 11, /deeper/]],
  ['whose authors never come', [page('p'), ...chain(LENGTH, { authorId: 'gone' })], [LENGTH, /no author|deeper/]],
  [
    'whose first comment never comes',
    [reader('ann'), page('p'), ...chain(LENGTH).slice(0, -1)],
    [LENGTH - 11, /top level|deeper/],
  ],
] as const)('a long chain that stands newest first, %s, is taken as a whole', async (_, items, [fewest, reason]) => {
  const acme = await addTenant()
  const began = performance.now()
  const { counts, refused, changed } = await importInto(acme, items)
  console.log(`${items.length} items in ${Math.round(performance.now() - began)} ms`)
  expect([counts.comments, refused.total]).toEqual([items.filter(({ kind }) => kind === 'comment').length, 0])
  expect(changed.total).toBeGreaterThanOrEqual(fewest)
  expect(changed.first.filter((finding) => !reason.test(finding.reason))).toEqual([])
  await expectSound(acme)
})

test('many replies to one comment that comes last are imported with it', async () => {
  const acme = await addTenant()
  const replies = Array.from({ length: MANY }, (_, n) => comment(`r${n}`, 5, { parentId: 'root' }))
  const reactions = Array.from({ length: MANY / 2 }, (_, n): Item => ({
    kind: 'reaction',
    commentId: `r${n}`,
    readerId: 'ann',
    type: 'like',
  }))
  const { counts, changed } = await importInto(acme, [
    ...reactions,
    ...replies,
    reader('ann'),
    page('p'),
    comment('root', 1),
  ])
  expect([counts, changed.total]).toEqual([{ readers: 1, discussions: 1, comments: MANY + 1, reactions: MANY / 2 }, 0])
  await expectSound(acme)
})

test('long replies to one comment that comes last are stored in batches as small as those of a file', async () => {
  const acme = await addTenant()
  const body = 'long '.repeat(1900).trim()
  const length = Math.ceil((2.5 * BATCH_LENGTH) / body.length)
  const replies = Array.from({ length }, (_, n) => comment(`r${n}`, 5, { parentId: 'root', body }))
  const { counts } = await importInto(acme, [...replies, reader('ann'), page('p'), comment('root', 1)])
  expect(counts).toEqual({ readers: 1, discussions: 1, comments: length + 1 })
  const stored = await imports.service.app.db.query<{ transactions: number }>(TRANSACTIONS, [acme.tenant.id])
  expect(stored[0]?.transactions).toBeGreaterThanOrEqual(3)
  await expectSound(acme)
})

test('circles, short and long, are broken once each, with everything below them', async () => {
  const acme = await addTenant()
  const circle = (name: string, length: number): Item[] =>
    Array.from({ length }, (_, n) => comment(`${name}-${n}`, n % 60, { parentId: `${name}-${(n + 1) % length}` }))
  const items = [
    ...circle('long', effort(5000, 2200)),
    ...Array.from({ length: CIRCLES }, (_, n) => circle(`short-${n}`, 2)).flat(),
    // A path that leads into a circle, whose end is no part of it.
    ...Array.from({ length: effort(3000, 300) }, (_, n) =>
      comment(`path-${n}`, n % 60, { parentId: n === 0 ? 'long-0' : `path-${n - 1}` }),
    ),
  ]
  const report = await importInto(acme, [reader('ann'), page('p'), ...items])
  expect([report.counts.comments, report.refused.total]).toEqual([items.length, 0])
  const roots = await imports.service.app.db.query(
    unnamed('SELECT id FROM comments WHERE tenant_id = $1 AND parent_id IS NULL'),
    [acme.tenant.id],
  )
  expect(roots).toHaveLength(CIRCLES + 1)
  await expectSound(acme)
})

test('a reply to a comment that is refused in the end goes to the top level', async () => {
  const acme = await addTenant()
  const { counts, refused, changed } = await importInto(acme, [
    comment('3', 3, { parentId: '2' }),
    comment('2', 2, { parentId: '1', discussionId: 'nowhere' }),
    { kind: 'reaction', commentId: '2', readerId: 'ann', type: 'like' },
    { kind: 'reaction', commentId: '3', readerId: 'ann', type: 'like' },
    reader('ann'),
    page('p'),
    comment('1', 1),
  ])
  expect(counts).toEqual({ readers: 1, discussions: 1, comments: 2, reactions: 1 })
  expect(new Map(refused.first.map(({ place, reason }) => [place, reason]))).toEqual(
    new Map([
      ['line 2', 'is of a page that was not taken'],
      ['line 3', 'is on a comment that was not taken'],
    ]),
  )
  expect(changed.first).toEqual([{ place: 'line 1', reason: expect.stringMatching(/top level/) }])
  await expectSound(acme)
})

test('an export brings threads that are deeper than the tenant allows now', async () => {
  const acme = await addTenant()
  const id = (n: number): string => `01a2077a-164d-77c2-b649-6092fa40e0d${n}`
  const deep = [0, 1, 2, 3].map((n) =>
    comment(id(n), n, { authorId: null, discussionId: id(9), ...(n > 0 && { parentId: id(n - 1) }) }),
  )
  const { counts, changed } = await importInto(acme, [
    { kind: 'header', form: 'engagement-service', version: 1, tenant: 'x', exportedAt: at(0) },
    { kind: 'settings', settings: { maxDepth: 1 } },
    page(id(9)),
    ...deep,
  ])
  expect([counts.comments, changed.first]).toEqual([4, []])
  const rows = await imports.service.app.db.query<{ depth: number }>(
    unnamed('SELECT depth FROM comments WHERE tenant_id = $1 ORDER BY depth'),
    [acme.tenant.id],
  )
  expect(rows.map(({ depth }) => depth)).toEqual([0, 1, 2, 3])
  await expectSound(acme)
})

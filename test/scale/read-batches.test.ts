import { expect, test } from 'vitest'

import { tenantSettings } from '../../src/core/settings/tenant.ts'
import type { Found, Item } from '../../src/transfer/item.ts'
import { BATCH_ITEMS, BATCH_LENGTH, readBatches } from '../../src/transfer/import/read-batches.ts'
import { effort } from '../harness/effort.ts'
import { comment } from '../harness/transfer.ts'

const RULES = {
  source: 'jsonl',
  setsStaff: true,
  settings: tenantSettings({}),
  authors: new Map<string, string>(),
  page: null,
  addresses: new Map<string, string>(),
  keepsQuery: false,
  now: new Date(),
}

interface Options {
  keepsIds?: boolean
  sized?: (most: number) => number
  rest?: (workedMs: number) => Promise<void>
  /** Is told how many items were read. */
  onRead?: (items: number) => void
}

/** The batches of these items, each of as many bytes as it has as JSON. */
async function* batchesOf(items: Iterable<Item>, { keepsIds = false, onRead, ...pace }: Options = {}) {
  const file = { bytes: 0 }
  async function* found(): AsyncGenerator<Found> {
    let n = 0
    for (const item of items) {
      file.bytes += JSON.stringify(item).length
      onRead?.(++n)
      yield { place: `${n}`, item }
    }
  }
  const whole = { sized: (most: number) => most, rest: async () => undefined, ...pace }
  yield* readBatches(found(), { ...RULES, keepsIds }, 'jsonl', whole, file)
}

const many = (n: number, itemOf: (n: number) => Item = (each) => comment(`${each}`, 1)): Item[] =>
  Array.from({ length: n }, (_, each) => itemOf(each))

test('a file is read at the pace of its storage', async () => {
  const rests: number[] = []
  const pace = { sized: (most: number) => most / 16, rest: async (workedMs: number) => void rests.push(workedMs) }
  const sizes: number[] = []
  for await (const { items } of batchesOf(many(BATCH_ITEMS + 1), pace)) sizes.push(items)
  expect(sizes).toEqual([...Array.from({ length: 16 }, () => BATCH_ITEMS / 16), 1])
  expect(rests).toHaveLength(16)
  expect(rests.every((workedMs) => workedMs > 0)).toBe(true)
})

test('each batch has the size of the pace at that instant', async () => {
  let size = BATCH_ITEMS
  const sizes: number[] = []
  for await (const { items } of batchesOf(many(BATCH_ITEMS * 2), { sized: () => size })) {
    sizes.push(items)
    size = BATCH_ITEMS / 4
  }
  expect(sizes).toEqual([BATCH_ITEMS, ...Array.from({ length: 4 }, () => BATCH_ITEMS / 4)])
})

test('a file sorted by time is yielded page by page, parents before replies', async () => {
  const [PAGES, ITEMS] = [1000, BATCH_ITEMS * 8]
  // A reply stands before the comment that it replies to.
  const items = many(ITEMS, (n) => ({
    ...comment(`${n}`, n % 60),
    discussionId: `p${n % PAGES}`,
    ...(n + PAGES < ITEMS && { parentId: `${n + PAGES}` }),
  }))
  const seen = new Set<string>()
  const twice: string[] = []
  const pages: number[] = []
  let replies = 0
  for await (const { rows } of batchesOf(items)) {
    const comments = rows.filter((row) => row.kind === 'comment')
    pages.push(new Set(comments.map(({ discussionKey }) => discussionKey)).size)
    for (const { key, parentKey } of comments) {
      if (seen.has(key)) twice.push(key)
      if (parentKey !== null && seen.has(parentKey)) replies++
      seen.add(key)
    }
  }
  expect(twice).toEqual([])
  expect(seen.size).toBe(ITEMS)
  // The first ones are read in shorter parts, so that something is stored soon.
  expect(pages.slice(0, 2)).toEqual([PAGES, PAGES])
  expect(Math.max(...pages.slice(4))).toBeLessThanOrEqual(PAGES / 4 + 1)
  expect(replies).toBeGreaterThan(ITEMS * 0.7)
})

const reaction = (n: number): Item => ({ kind: 'reaction', commentId: `${n}`, readerId: 'ann', type: 'like' })
const entry: Item = {
  kind: 'audit',
  id: '01a2077a-164d-77c2-b649-6092fa40e0d1',
  actorKind: 'system',
  action: 'tenant.update',
  targetType: 'tenant',
  at: '2020-01-01T00:00:00Z',
}

test('reactions and reports on earlier comments come after those of their page, and audit entries last', async () => {
  const items: Item[] = [
    reaction(0),
    entry,
    ...many(BATCH_ITEMS, (n) => ({ ...comment(`${n}`, 1), discussionId: `p${n % 2}` })),
    { kind: 'discussion', id: 'p0', externalId: 'p0' },
    { kind: 'reader', id: 'ann' },
  ]
  for (const sized of [(most: number) => most, () => 100, () => 1]) {
    const kinds: string[] = []
    for await (const { rows, own, refused } of batchesOf(items, { keepsIds: true, sized })) {
      kinds.push(...rows.map(({ kind }) => kind), ...own.map(({ row }) => row.kind), ...refused.map(() => 'refused'))
    }
    expect(kinds.filter((kind, n) => kind !== kinds[n - 1])).toEqual([
      // What was read first …
      'comment',
      'reaction',
      'comment',
      'audit',
      // … and the rest.
      'discussion',
      'reader',
      'comment',
    ])
  }
})

test('batches of all kinds of items follow the pace', async () => {
  const sizes: number[] = []
  const items = [...many(BATCH_ITEMS * effort(3, 1)), ...many(BATCH_ITEMS * effort(3, 1), () => entry)]
  for await (const { rows, own, items: size } of batchesOf(items, { keepsIds: true, sized: () => 500 })) {
    expect(rows.length + own.length).toBe(size)
    sizes.push(size)
  }
  expect(new Set(sizes)).toEqual(new Set([500]))
})

test('bytes grow with the stored items, up to those of the file', async () => {
  const some = effort(BATCH_ITEMS)
  const items = [
    ...many(some * 2, (n) => comment(`${n}`, 1, { body: 'x'.repeat(500) })),
    ...many(some * 3, reaction),
    ...many(some, (n) => ({ ...comment(`${n}`, 1), body: '' })),
  ]
  const bytes: number[] = []
  let stored = 0
  for await (const batch of batchesOf(items, { sized: () => 1000 })) {
    bytes.push(batch.bytes)
    stored += batch.items
  }
  expect(stored).toBe(items.length)
  expect(bytes).toEqual(bytes.toSorted((a, b) => a - b))
  expect(bytes.at(-1)).toBe(items.reduce((sum, item) => sum + JSON.stringify(item).length, 0))
})

test.each([
  ['long', 'x'.repeat(10_000)],
  // As HTML it is six times as long.
  ['quoted', '"'.repeat(2000)],
])('%s texts are few in a batch', async (_, body) => {
  const COUNT = effort(2000)
  const texts: number[] = []
  for await (const { rows } of batchesOf(many(COUNT, (n) => comment(`${n}`, 1, { body })))) {
    const lengths = rows.map((row) => (row.kind === 'comment' ? (row.bodyHtml?.length ?? 0) : 0))
    texts.push(lengths.reduce((sum, length) => sum + length, 0))
  }
  expect(texts.reduce((sum, length) => sum + length, 0)).toBeGreaterThan(COUNT * body.length)
  expect(Math.max(...texts)).toBeLessThan(BATCH_LENGTH + 20_000)
})

test('a consumer that stops taking batches waits for no more items', async () => {
  let read = 0
  for await (const batch of batchesOf(many(BATCH_ITEMS * 20), { onRead: (items) => (read = items) })) {
    expect(batch.items).toBe(BATCH_ITEMS)
    break
  }
  expect(read).toBeLessThan(BATCH_ITEMS + 100)
})

import { expect, test } from 'vitest'

import { tenantSettings } from '../../src/core/tenant-settings.ts'
import type { Found, Item } from '../../src/domains/transfer/item.ts'
import { BATCH_ITEMS, BATCH_LENGTH, type ReadBatch, readBatches } from '../../src/domains/transfer/read-batches.ts'
import { comment } from '../harness/transfer.ts'

const RULES = {
  source: 'jsonl',
  settings: tenantSettings({}),
  authors: new Map<string, string>(),
  page: null,
  addresses: new Map<string, string>(),
  now: new Date(),
}

interface TestPace {
  sized?: (most: number) => number
  rest?: (workedMs: number) => Promise<void>
}

async function* batchesOf(
  items: Iterable<Item>,
  { keepsIds = false, ...pace }: TestPace & { keepsIds?: boolean } = {},
): AsyncGenerator<ReadBatch> {
  async function* found(): AsyncGenerator<Found> {
    let n = 0
    for (const item of items) yield { place: `${++n}`, item }
  }
  const whole = { sized: (most: number) => most, rest: async () => undefined, ...pace }
  yield* readBatches(found(), { ...RULES, keepsIds }, 'jsonl', whole)
}

const many = (n: number, itemOf: (n: number) => Item = (each) => comment(`${each}`, 1)): Item[] =>
  Array.from({ length: n }, (_, each) => itemOf(each))

test('a file is read in the pace of what is stored of it', async () => {
  const rests: number[] = []
  const pace = { sized: (most: number) => most / 16, rest: async (workedMs: number) => void rests.push(workedMs) }
  const sizes: number[] = []
  for await (const { items } of batchesOf(many(BATCH_ITEMS + 1), pace)) sizes.push(items)
  expect(sizes).toEqual([...Array.from({ length: 16 }, () => BATCH_ITEMS / 16), 1])
  expect(rests).toHaveLength(16)
  expect(rests.every((workedMs) => workedMs > 0)).toBe(true)
})

test('what was read is stored in the pace of that instant', async () => {
  let size = BATCH_ITEMS
  const sizes: number[] = []
  for await (const { items } of batchesOf(many(BATCH_ITEMS * 2), { sized: () => size })) {
    sizes.push(items)
    size = BATCH_ITEMS / 4
  }
  expect(sizes).toEqual([BATCH_ITEMS, ...Array.from({ length: 4 }, () => BATCH_ITEMS / 4)])
})

test('a file in the order of time comes page by page, parents before replies', async () => {
  const [PAGES, ITEMS] = [1000, BATCH_ITEMS * 8]
  // A reply stands before the comment that it replies to.
  const items = many(ITEMS, (n) => ({
    ...comment(`${n}`, n % 60),
    discussionId: `p${n % PAGES}`,
    ...(n + PAGES < ITEMS && { parentId: `${n + PAGES}` }),
  }))
  const seen = new Set<string>()
  const pages: number[] = []
  let replies = 0
  for await (const { rows } of batchesOf(items)) {
    const comments = rows.filter((row) => row.kind === 'comment')
    pages.push(new Set(comments.map(({ discussionKey }) => discussionKey)).size)
    for (const { key, parentKey } of comments) {
      expect(seen.has(key)).toBe(false)
      if (parentKey !== null && seen.has(parentKey)) replies++
      seen.add(key)
    }
  }
  expect(seen.size).toBe(ITEMS)
  // The first ones are read in shorter parts, so that something is stored soon.
  expect(pages.slice(0, 2)).toEqual([PAGES, PAGES])
  expect(Math.max(...pages.slice(4))).toBeLessThanOrEqual(PAGES / 4 + 1)
  expect(replies).toBeGreaterThan(ITEMS * 0.7)
})

test('what hangs on comments comes after them, and entries of the audit log come last', async () => {
  const reaction = (n: number): Item => ({ kind: 'reaction', commentId: `${n}`, readerId: 'ann', type: 'like' })
  const entry: Item = {
    kind: 'audit',
    id: '01a2077a-164d-77c2-b649-6092fa40e0d1',
    actorKind: 'system',
    action: 'tenant.update',
    targetType: 'tenant',
    at: '2020-01-01T00:00:00Z',
  }
  const items = [
    reaction(1),
    entry,
    ...many(BATCH_ITEMS, (n) => ({ ...comment(`${n}`, 1), discussionId: `p${n % 2}` })),
    { kind: 'discussion', id: 'p0', externalId: 'p0' } as const,
    { kind: 'reader', id: 'ann' } as const,
  ]
  const kinds: string[] = []
  for await (const { rows, own, refused } of batchesOf(items, { keepsIds: true, sized: () => 100 })) {
    kinds.push(
      ...rows.map(({ kind }) => kind),
      ...own.map(({ row }) => row.kind),
      ...refused.map(({ reason }) => reason),
    )
  }
  expect(kinds.filter((kind, n) => kind !== kinds[n - 1])).toEqual([
    'comment',
    'reaction',
    'audit',
    'discussion',
    'reader',
    'comment',
  ])
})

test('long texts are few in a batch, and what is read is never less than what is stored', async () => {
  const body = 'x'.repeat(10_000)
  let stored = 0
  const texts: number[] = []
  for await (const { rows, items, read } of batchesOf(many(2000, (n) => comment(`${n}`, 1, { body })))) {
    stored += items
    expect(read).toBeGreaterThanOrEqual(stored)
    texts.push(rows.length * body.length)
  }
  expect(stored).toBe(2000)
  expect(Math.max(...texts)).toBeLessThan(BATCH_LENGTH + body.length)
})

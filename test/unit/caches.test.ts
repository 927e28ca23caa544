import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { bytesOfValue } from '../../src/core/cache.ts'
import { ROOT } from '../../src/core/process/root.ts'

test('an estimate grows with what a value holds', () => {
  const texts = Array.from({ length: 50 }, (_, n) => `${n}`.repeat(500))
  const least = texts.join('').length
  for (const value of [
    texts,
    { texts },
    new Set(texts),
    new Map(texts.map((each) => [each, null])),
    { a: { b: texts } },
  ])
    expect(bytesOfValue(value)).toBeGreaterThan(least)
  expect(bytesOfValue(Buffer.alloc(5000))).toBeGreaterThan(5000)
})

test('an estimate ends in a value that contains itself', () => {
  const value: Record<string, unknown> = {}
  value.self = value
  expect(bytesOfValue(value)).toBeLessThan(5000)
})

// Others must not hold texts of callers, unless they bound their bytes.
test('caches outside of the common room are few, and each is bounded by other means', () => {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  const own = files.filter((file) => /new LRUCache\b/.test(readFileSync(join(ROOT, 'src', file), 'utf8'))).sort()
  expect(own).toEqual([
    'api/execution/jit.ts', // Forms of a document that is kept.
    'api/http/pages/page-cache.ts', // PAGE_CACHE_MB
    'core/cache.ts',
    'core/queues/patience.ts', // Ids of tenants.
    'core/queues/row-costs.ts', // Ids of tenants.
    'core/uses.ts', // Ids of keys.
    'data/limits/memory.ts', // Ids and addresses.
    'domains/comments/text/words.ts', // Word lists, by their characters.
    'domains/reactions/writer.ts', // Ids of comments.
    'domains/readers/key-sets.ts', // Ids of tenants.
    'transfer/sources/people.ts', // Of an import, which runs on its own.
  ])
})

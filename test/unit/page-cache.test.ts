import { Registry } from 'prom-client'
import { expect, test } from 'vitest'

import { PageCache } from '../../src/api/http/page-cache.ts'

const page = (bytes: number) => () => Promise.resolve({ bytes: Buffer.from('x'.repeat(bytes)), slots: [] })

test('what is kept holds no memory beside its own', async () => {
  const cache = new PageCache(2 ** 20, new Registry())
  await cache.get('page', '1', page(2000))
  const kept = await cache.get('page', '1', page(1))
  expect([kept.bytes.length, kept.bytes.buffer.byteLength]).toEqual([2000, 2000])
  const gzipped = await cache.gzipped('page', '1')
  expect(gzipped?.buffer.byteLength).toBe(gzipped?.length)
})

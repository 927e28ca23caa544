import { gunzipSync, gzipSync } from 'node:zlib'

import { Registry } from 'prom-client'
import { expect, test } from 'vitest'

import { PageCache } from '../../src/api/http/pages/page-cache.ts'

const page = (bytes: number) => () => Promise.resolve({ bytes: Buffer.from('x'.repeat(bytes)), slots: [] })

test('an entry keeps no memory beside its own', async () => {
  const cache = new PageCache(2 ** 20, new Registry())
  await cache.get('page', '1', page(2000))
  const kept = await cache.get('page', '1', page(1))
  expect([kept.bytes.length, kept.bytes.buffer.byteLength]).toEqual([2000, 2000])
  const gzipped = await cache.gzipped('page', '1')
  expect(gzipped?.buffer.byteLength).toBe(gzipped?.length)
})

test('a failed compression is not kept: the next client gets the page compressed again', async () => {
  const failing = [new Error('no memory'), new Error('no thread')]
  const cache = new PageCache(2 ** 20, new Registry(), (bytes) => {
    const error = failing.shift()
    return error === undefined ? Promise.resolve(gzipSync(bytes)) : Promise.reject(error)
  })
  await cache.get('page', '1', page(2000))
  // Those who come at the same time share it.
  const both = await Promise.allSettled([cache.gzipped('page', '1'), cache.gzipped('page', '1')])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await expect(cache.gzipped('page', '1')).rejects.toThrow('no thread')
  expect(gunzipSync((await cache.gzipped('page', '1')) ?? '').length).toBe(2000)
})

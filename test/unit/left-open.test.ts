import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:net'

import pg from 'pg'
import { expect, test, vi } from 'vitest'

import { faults } from '../harness/faults.ts'
import { watchOpen } from '../harness/left-open.ts'

test('a server that listens is told until it is closed', async () => {
  const leftOpen = watchOpen()
  const server = createServer().listen(0)
  await once(server, 'listening')
  expect(await leftOpen(0)).toEqual(['TCPServerWrap'])
  server.close()
  expect(await leftOpen()).toEqual([])
})

test('a pool is told until it is ended', async () => {
  const leftOpen = watchOpen()
  // Nothing listens on this port.
  const pool = new pg.Pool({ host: '127.0.0.1', port: 1 })
  await expect(pool.query('SELECT 1')).rejects.toThrow('ECONNREFUSED')
  expect(await leftOpen(0)).toContain('pg.Pool')
  await pool.end()
  expect(await leftOpen()).toEqual([])
})

test('an interval is told with its place until it is cleared, also one that lets the process end', async () => {
  const leftOpen = watchOpen()
  const timer = setInterval(() => undefined, 60_000).unref()
  expect(await leftOpen(0)).toEqual([expect.stringMatching(/^setInterval at .*left-open\.test\.ts/)])
  clearInterval(timer)
  expect(await leftOpen()).toEqual([])
})

test('too many listeners are a fault', async () => {
  const emitter = new EventEmitter()
  for (let n = 0; n < 11; n++) emitter.on('error', () => undefined)
  await vi.waitFor(() => expect(faults.splice(0)).toEqual([expect.stringMatching(/11 error listeners/)]))
})

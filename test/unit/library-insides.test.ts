import { EventEmitter } from 'node:events'
import { createServer } from 'node:http'
import { connect, Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

import { PrismaPg } from '@prisma/adapter-pg'
import { Cluster, Redis } from 'ioredis'
import pg from 'pg'
import { expect, test } from 'vitest'

import { guardData } from '../../src/data/redis/guard.ts'

// One test for each line of docs/decisions/0035-what-we-rely-on-inside-libraries.md.

test('ioredis sends each command by the sendCommand of the prototype', () => {
  const client = new Redis({ lazyConnect: true })
  expect(Object.hasOwn(Redis.prototype, 'sendCommand')).toBe(true)
  expect(client.sendCommand).toBe(Redis.prototype.sendCommand)
  client.disconnect()
})

test('ioredis redirects by the handleError of the prototype of Cluster', () => {
  const { handleError } = Cluster.prototype as unknown as { handleError: (...args: unknown[]) => void }
  let isLeft = false
  // Neither MOVED, nor ASK, nor a connection that was lost.
  handleError.call({ options: {}, delayQueue: {} }, new Error('ERR unknown'), {}, { defaults: () => (isLeft = true) })
  expect(isLeft).toBe(true)
})

test('ioredis gives up a connection by its disconnect', () => {
  const client = new Redis({ lazyConnect: true })
  expect(Object.hasOwn(Redis.prototype, 'disconnect')).toBe(true)
  expect(Object.hasOwn(client, 'disconnect')).toBe(false)
  client.disconnect()
})

test('ioredis has the slots and the sharded subscribers of a cluster, and what a connection has subscribed to', async () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true, shardedSubscribers: true })
  const inside = cluster as unknown as { slots: unknown; shardedSubscribers: { shardedSubscribers: unknown } }
  expect(inside.slots).toEqual([])
  expect(inside.shardedSubscribers.shardedSubscribers).toBeInstanceOf(Map)
  const client = new Redis(1, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null })
  client.on('error', () => undefined)
  const connecting = client.connect()
  expect((client as unknown as { condition: unknown }).condition).toMatchObject({ subscriber: false })
  await expect(connecting).rejects.toThrow('Connection is closed')
})

test('a socket tells of data by its emit', async () => {
  const server = createServer((_request, response) => void response.end('an answer')).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  const socket = connect(port, '127.0.0.1')
  try {
    guardData(socket)
    socket.on('data', () => {
      throw new Error('of no known form')
    })
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    const error = await new Promise<Error>((resolve) => void socket.once('error', resolve))
    expect(error.message).toBe('of no known form')
  } finally {
    socket.destroy()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

test('pg makes its first message by getStartupConf, and tells of messages on its connection', () => {
  const client = new pg.Client({ user: 'ada' })
  const inside = client as unknown as { getStartupConf(): Record<string, string>; connection: unknown }
  expect(Object.hasOwn(client, 'getStartupConf')).toBe(false)
  expect(inside.getStartupConf()).toMatchObject({ user: 'ada' })
  expect(inside.connection).toBeInstanceOf(EventEmitter)
})

test("pg's pool takes a connection by its own connect, and runs a statement by the client's query", async () => {
  const asked: string[] = []
  const client = Object.assign(new EventEmitter(), {
    query: (text: string, _values: unknown, done: (error: null, result: object) => void) => {
      asked.push(text)
      done(null, { rows: [] })
    },
    release: () => asked.push('release'),
  })
  const pool = new pg.Pool()
  pool.connect = ((done: (error: null, client: unknown, release: () => void) => void) =>
    done(null, client, () => asked.push('released'))) as unknown as typeof pool.connect
  await pool.query('SELECT 1')
  expect(asked[0]).toBe('SELECT 1')
  expect(asked).toHaveLength(2)
  await pool.end()
})

test("Prisma's adapter sends its queries by its client", async () => {
  const pool = new pg.Pool()
  const adapter = (await new PrismaPg(pool).connect()) as unknown as { client: unknown; dispose(): Promise<void> }
  expect(adapter.client).toBe(pool)
  await adapter.dispose()
  await pool.end()
})

test("the schema engine's glue takes its module by __wbg_set_wasm", async () => {
  const glue = (await import('@prisma/schema-engine-wasm/schema_engine_bg')) as object
  expect(glue).toMatchObject({ __wbg_set_wasm: expect.any(Function), SchemaEngine: expect.any(Function) })
})

test("Node's socket has the answer under way, and a TLS socket the one below it", async () => {
  const seen: boolean[] = []
  const server = createServer((request, response) => {
    seen.push((request.socket as Socket & { _httpMessage?: unknown })._httpMessage === response)
    response.end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await (await fetch(`http://127.0.0.1:${port}/`)).text()
  expect(seen).toEqual([true])
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))

  const below = new Socket()
  const above = new TLSSocket(below) as TLSSocket & { _parent?: Socket | null }
  expect(above._parent).toBe(below)
  above.destroy()
})

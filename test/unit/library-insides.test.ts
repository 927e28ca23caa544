import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import { connect, createServer as createTcpServer, Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

import { PrismaPg } from '@prisma/adapter-pg'
import { Redis } from 'ioredis'
import pg from 'pg'
import { expect, test } from 'vitest'

import { guardData } from '../../src/data/server/guard.ts'

// One test for each line of docs/decisions/0035-what-we-rely-on-inside-libraries.md.

test('ioredis sends each command by the sendCommand of the prototype', () => {
  const client = new Redis({ lazyConnect: true })
  expect(Object.hasOwn(Redis.prototype, 'sendCommand')).toBe(true)
  expect(client.sendCommand).toBe(Redis.prototype.sendCommand)
  client.disconnect()
})

/** What ioredis says of a connection whose SUBSCRIBE or SSUBSCRIBE gets this answer. */
async function subscribeAnswered(answer: string, seen: (client: Redis) => Promise<unknown>): Promise<unknown> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => void socket.write(chunk.includes('subscribe') ? answer : '+OK\r\n'.repeat(2)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const client = new Redis({ port, protocol: 2, enableReadyCheck: false, retryStrategy: () => null })
  try {
    await once(client, 'ready')
    const saw = seen(client)
    client.ssubscribe('news').catch(() => undefined)
    return await saw
  } finally {
    client.disconnect()
    await new Promise((resolve) => server.close(resolve))
  }
}

test('ioredis handles each answer by the dispatch of its DataHandler', async () => {
  await import('../../src/data/redis/client.ts')
  // Without the patch the error ends the process, and the connection stays.
  const errors = await subscribeAnswered('*0\r\n', (client) => once(client, 'error'))
  expect(errors).toMatchObject([{ message: expect.stringContaining('reading') }])
})

test('ioredis says of a subscription that a node ends by itself', async () => {
  const list = (kind: string, count: number) => `*3\r\n$${kind.length}\r\n${kind}\r\n$4\r\nnews\r\n:${count}\r\n`
  const answer = list('ssubscribe', 1) + list('sunsubscribe', 0)
  expect(await subscribeAnswered(answer, (client) => once(client, 'moved'))).toEqual([])
  expect(await subscribeAnswered('-MOVED 1 127.0.0.1:1\r\n', (client) => once(client, 'moved'))).toEqual([])
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

test("Node's answer tells by the event socket when its turn comes", async () => {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(`${request.url} ${response.socket === null ? 'waits' : 'has its turn'}`)
    response.once('socket', () => seen.push(`${request.url} has its turn`))
    setImmediate(() => response.end())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  await once(socket.resume(), 'close')
  expect(seen).toEqual(['/1 has its turn', '/2 waits', '/2 has its turn'])
  await new Promise((resolve) => server.close(resolve))
})

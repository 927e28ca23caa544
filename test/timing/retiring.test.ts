import { once } from 'node:events'
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'

import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { afterEach, describe, expect, test, vi } from 'vitest'

import { type Connections, watchConnections } from '../../src/api/http/sockets/connections.ts'
import { tlsOptions } from '../../src/api/http/server.ts'
import { makeTlsSettings } from '../harness/certificates.ts'

const IDLE_MS = 600
const LATE_MS = 5000
const ASK = 'GET /now HTTP/1.1\r\nHost: x\r\n\r\n'

let server: FastifyInstance
let connections: Connections
let held: FastifyReply[] = []
const cleanUps: (() => void)[] = []

afterEach(async () => {
  cleanUps.splice(0).forEach((cleanUp) => cleanUp())
  await server.close()
  held = []
})

async function serve(options: object = {}): Promise<number> {
  server = Fastify({
    ...options,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
  } as object)
  connections = watchConnections(server.server)
  server.get('/now', () => 'now')
  server.get('/later', (_request, reply) => void held.push(reply))
  await server.listen({ port: 0, host: '127.0.0.1' })
  const address = server.server.address()
  if (typeof address !== 'object' || address === null) throw new Error('it does not listen')
  return address.port
}

async function serveTls() {
  const { ca, env, remove } = makeTlsSettings()
  cleanUps.push(remove)
  const times = { HEADERS_TIMEOUT_SECONDS: 10, REQUEST_TIMEOUT_SECONDS: 10, RESPONSE_TIMEOUT_SECONDS: 10 }
  const port = await serve(tlsOptions({ settings: { ...env, ...times } } as never))
  return { port, ca }
}

interface Peer {
  socket: Socket
  text: string
  /** How it ended; null while it is open. */
  end: 'closed' | 'reset' | null
}

async function follow(socket: Socket, ready: string): Promise<Peer> {
  const peer: Peer = { socket, text: '', end: null }
  socket.setEncoding('utf8').on('data', (chunk: string) => (peer.text += chunk))
  socket.on('error', () => (peer.end = 'reset')).on('close', () => (peer.end ??= 'closed'))
  cleanUps.push(() => socket.destroy())
  await once(socket, ready)
  return peer
}

const open = (port: number) => follow(connect(port, '127.0.0.1'), 'connect')

async function ask(peer: Peer, request = ASK): Promise<void> {
  const { length } = peer.text
  peer.socket.write(request)
  await vi.waitFor(() => expect(peer.text.length).toBeGreaterThan(length))
}

const stop = () => connections.drain(server.close(), { idleMs: IDLE_MS, withinMs: LATE_MS })

describe('a server that retires', () => {
  test('ends each connection with its next answer, also with one that had begun before', async () => {
    const port = await serve()
    const [idle, busy] = [await open(port), await open(port)]
    await ask(idle)
    expect(idle.text).toContain('Connection: keep-alive')
    busy.socket.write(ASK.replace('now', 'later'))
    await vi.waitFor(() => expect(held).toHaveLength(1))
    connections.retire()
    held[0]?.send('at last')
    await vi.waitFor(() => expect(busy.end).toBe('closed'))
    expect(busy.text).toMatch(/Connection: close[\s\S]*at last$/)
    expect(idle.end).toBeNull()
    await ask(idle)
    await vi.waitFor(() => expect(idle.end).toBe('closed'))
    expect(idle.text).toContain('Connection: close')
  })

  test('keeps a connection that may still be used, and answers on it', async () => {
    const port = await serve()
    const [used, unused] = [await open(port), await open(port)]
    await ask(used)
    const stopped = stop()
    await pause(IDLE_MS / 2)
    expect([used.end, unused.end]).toEqual([null, null])
    await ask(used)
    await ask(unused)
    expect(used.text + unused.text).toMatch(/now[\s\S]*Connection: close[\s\S]*now[\s\S]*Connection: close[\s\S]*now/)
    await stopped
    expect([used.end, unused.end]).toEqual(['closed', 'closed'])
  })

  test('closes a connection without a reset once it has been idle for long', async () => {
    const port = await serve()
    const peer = await open(port)
    await ask(peer)
    const begun = performance.now()
    await stop()
    expect(performance.now() - begun).toBeGreaterThan(IDLE_MS / 2)
    await vi.waitFor(() => expect(peer.end).toBe('closed'))
  })

  test('waits for a request that has begun to arrive', async () => {
    const port = await serve()
    const peer = await open(port)
    await ask(peer)
    const stopped = stop()
    peer.socket.write(ASK.slice(0, 20))
    await pause(IDLE_MS * 2)
    expect(peer.end).toBeNull()
    await ask(peer, ASK.slice(20))
    expect(peer.text).toMatch(/Connection: close[\s\S]*now$/)
    await stopped
  })

  test('ends what is left when the time is over', async () => {
    const port = await serve()
    const peer = await open(port)
    peer.socket.write(ASK.replace('now', 'later'))
    await vi.waitFor(() => expect(held).toHaveLength(1))
    const begun = performance.now()
    await connections.drain(server.close(), { idleMs: 0, withinMs: 400 })
    expect(performance.now() - begun).toBeGreaterThan(350)
    await vi.waitFor(() => expect(peer.end).not.toBeNull())
  })

  test('does the same over TLS', async () => {
    const { port, ca } = await serveTls()
    const peer = await follow(connectTls({ port, host: '127.0.0.1', ca, ALPNProtocols: ['http/1.1'] }), 'secureConnect')
    await ask(peer)
    const stopped = stop()
    await pause(IDLE_MS / 2)
    expect(peer.end).toBeNull()
    await ask(peer)
    expect(peer.text).toContain('Connection: close')
    await stopped
  })
})

describe('over HTTP/2', () => {
  const begin = (session: ClientHttp2Session, path: string) => {
    const stream = session.request({ ':path': path })
    const answer = { status: 0, text: '', failed: false }
    stream.on('response', (headers) => (answer.status = Number(headers[':status'])))
    stream.setEncoding('utf8').on('data', (chunk: string) => (answer.text += chunk))
    stream.on('error', () => (answer.failed = true)).end()
    return answer
  }
  const openSession = (port: number, ca: string) => {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca })
    const seen = { goaway: false, isClosed: false }
    session
      .on('goaway', () => (seen.goaway = true))
      .on('close', () => (seen.isClosed = true))
      .on('error', () => undefined)
    cleanUps.push(() => session.destroy())
    return { session, seen }
  }

  test('a session is told to go away, and its requests under way are answered', async () => {
    const { port, ca } = await serveTls()
    const { session, seen } = openSession(port, ca)
    const now = begin(session, '/now')
    await vi.waitFor(() => expect(now.text).toBe('now'))
    const later = begin(session, '/later')
    await vi.waitFor(() => expect(held).toHaveLength(1))
    connections.retire()
    await vi.waitFor(() => expect(seen.goaway).toBe(true))
    // As before the stop is over, a new session takes what comes with it.
    const other = openSession(port, ca)
    const again = begin(other.session, '/now')
    await vi.waitFor(() => expect(again.text).toBe('now'))
    await vi.waitFor(() => expect(other.seen.isClosed).toBe(true))
    const stopped = stop()
    // Longer than an unused connection stays.
    await pause(1500)
    held[0]?.send('at last')
    await vi.waitFor(() => expect(later).toEqual({ status: 200, text: 'at last', failed: false }))
    await stopped
    await vi.waitFor(() => expect(seen.isClosed).toBe(true))
  })
})

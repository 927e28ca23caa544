import { connect, type Socket } from 'node:net'

import { afterEach, expect, test, vi } from 'vitest'

import { startService, type TestService } from '../harness/service.ts'
import { openStream, type StreamClient } from '../harness/stream-client.ts'

let service: TestService
const sockets: Socket[] = []
const streams: StreamClient[] = []

afterEach(async () => {
  sockets.splice(0).forEach((socket) => socket.destroy())
  streams.splice(0).forEach((stream) => stream.close())
  await service.close()
})

const start = async (env: Record<string, string>): Promise<void> =>
  void (service = await startService({ worker: false, env }))

/** A connection that sends nothing; whether the service keeps it. */
async function isKept(): Promise<boolean> {
  const socket = connect(service.app.settings.PORT, '127.0.0.1')
  sockets.push(socket)
  let isClosed = false
  socket.on('close', () => (isClosed = true)).on('error', () => undefined)
  // A refused connection gets no answer to its request.
  const answered = new Promise<boolean>((resolve) => {
    socket.once('data', () => resolve(true)).once('close', () => resolve(false))
  })
  socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')
  return (await answered) && !isClosed
}

async function kept(count: number): Promise<number> {
  let sum = 0
  for (let n = 0; n < count; n++) if (await isKept()) sum++
  return sum
}

test.each([
  ['a process', { MAX_CONNECTIONS: '10' }],
  ['an address', { MAX_CONNECTIONS_PER_ADDRESS: '10' }],
])(
  '%s keeps as many connections as its limit allows, closes further ones at once, and has room when one ends',
  async (_of, env) => {
    await start(env)
    const warn = vi.spyOn(service.app.log, 'warn')
    expect(await kept(15)).toBe(10)
    // However many were refused.
    expect(warn).toHaveBeenCalledTimes(1)
    sockets[0]?.destroy()
    await vi.waitFor(() => expect(service.peers().size).toBe(9))
    expect(await kept(2)).toBe(1)
  },
)

test('a trusted proxy does not count as one address', async () => {
  await start({ MAX_CONNECTIONS_PER_ADDRESS: '3', TRUSTED_PROXIES: '10.0.0.0/8,127.0.0.0/8' })
  expect(await kept(6)).toBe(6)
})

test('a connection does not count while it has a stream', async () => {
  await start({ MAX_CONNECTIONS_PER_ADDRESS: '5', MAX_CONNECTIONS: '5' })
  const { id } = (await service.call('POST', '/discussions', { body: { externalId: 'a' } })).json
  for (let n = 0; n < 8; n++) {
    const stream = await openStream(`${service.url}/api/v1/stream/${id}`, { 'x-api-key': service.apiKey })
    streams.push(stream)
    expect(stream.status).toBe(200)
  }
  // Those that fetch keeps.
  const others = service.peers().size - streams.length
  expect(await kept(8)).toBe(5 - others)
})

import { EventEmitter } from 'node:events'
import type { Server, ServerResponse } from 'node:http'

import { expect, onTestFinished, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { limitTimes, noteTenant } from '../../src/api/http/sockets/timeouts.ts'

const MIB = 1024 * 1024

class Client extends EventEmitter {
  writableLength = 0
  destroy = vi.fn<() => void>(() => void this.emit('close'))
}

/** A server that ends slow answers, on a clock that stands still. */
function useServer(): { server: EventEmitter; exempt: (stream: ServerResponse) => void } {
  vi.useFakeTimers({ toFake: ['setInterval', 'performance'] })
  const server = new EventEmitter()
  const times = { headersMs: 15_000, requestMs: 30_000, responseMs: 300_000 }
  onTestFinished(() => {
    server.emit('close')
    vi.useRealTimers()
  })
  return { server, exempt: limitTimes(server as Server, times) }
}

const isEnded = ({ destroy }: Client): boolean => destroy.mock.calls.length > 0

test('over 256 MiB of unread answers the connections end that have had some for longest, streams excepted', () => {
  const { server, exempt } = useServer()
  const clients = Array.from({ length: 4 }, () => new Client())
  const [stream, first, second, third] = clients as [Client, Client, Client, Client]
  for (const client of clients) server.emit('connection', client)
  const response = Object.assign(new EventEmitter(), { socket: stream })
  exempt(response as unknown as ServerResponse)
  for (const client of [stream, first, second, third]) {
    client.writableLength = 100 * MIB
    vi.advanceTimersByTime(2000)
  }
  expect(clients.map(isEnded)).toEqual([false, true, false, false])
  response.emit('close')
  vi.advanceTimersByTime(2000)
  expect(clients.map(isEnded)).toEqual([true, true, false, false])
})

test('those of the tenant end that has the most unread', () => {
  const { server } = useServer()
  const [other, own] = [newId(), newId()]
  const clients = [other, own, own, own].map((tenantId) => {
    const client = Object.assign(new Client(), { writableLength: 70 * MIB })
    server.emit('connection', client)
    noteTenant({ socket: client }, tenantId)
    vi.advanceTimersByTime(2000)
    return client
  })
  expect(clients.map(isEnded)).toEqual([false, true, false, false])
})

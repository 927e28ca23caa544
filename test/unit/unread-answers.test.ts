import { EventEmitter } from 'node:events'
import type { Server, ServerResponse } from 'node:http'

import { expect, test, vi } from 'vitest'

import { limitTimes } from '../../src/api/http/sockets/timeouts.ts'

const MIB = 1024 * 1024

class Client extends EventEmitter {
  writableLength = 0
  destroy = vi.fn<() => void>(() => void this.emit('close'))
}

test('over 256 MiB of unread answers the connections end that have had some for longest, streams excepted', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'performance'] })
  try {
    const server = new EventEmitter()
    const exempt = limitTimes(server as Server, { headersMs: 15_000, requestMs: 30_000, responseMs: 300_000 })
    const clients = Array.from({ length: 4 }, () => new Client())
    const [stream, first, second, third] = clients as [Client, Client, Client, Client]
    for (const client of clients) server.emit('connection', client)
    const response = Object.assign(new EventEmitter(), { socket: stream })
    exempt(response as unknown as ServerResponse)
    const ended = (): boolean[] => clients.map(({ destroy }) => destroy.mock.calls.length > 0)
    for (const client of [stream, first, second, third]) {
      client.writableLength = 100 * MIB
      vi.advanceTimersByTime(2000)
    }
    expect(ended()).toEqual([false, true, false, false])
    response.emit('close')
    vi.advanceTimersByTime(2000)
    expect(ended()).toEqual([true, true, false, false])
    server.emit('close')
  } finally {
    vi.useRealTimers()
  }
})

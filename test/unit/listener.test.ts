import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

import { afterEach, expect, test } from 'vitest'

import { Listener } from '../../src/processes/listener.ts'
import { freePort } from '../harness/ports.ts'

const sockets: Socket[] = []
afterEach(() => sockets.splice(0).forEach((socket) => socket.destroy()))

test('a closing listener gives away each connection that it has accepted', async () => {
  const listener = new Listener({ maxWaiting: 100, patienceMs: 10_000 })
  const port = await freePort()
  await listener.listen('127.0.0.1', port)
  const ends: string[] = []
  for (let n = 0; n < 20; n++) {
    const socket = connect(port, '127.0.0.1')
    for (const end of ['end', 'error', 'close']) socket.on(end, () => ends.push(end))
    sockets.push(socket)
    await once(socket, 'connect')
  }
  const taken: Socket[] = []
  const taker = {
    take: (socket: Socket) => {
      // As the process that gets it: its end of the connection outlives the listener's.
      taken.push(socket)
      setTimeout(() => listener.confirm(taker), 5)
    },
  }
  const closed = listener.close()
  listener.join(taker)
  await closed
  expect(taken).toHaveLength(20)
  expect(ends.filter((end) => end === 'error')).toEqual([])
  const [error] = (await once(connect(port, '127.0.0.1'), 'error')) as [Error]
  expect(error).toMatchObject({ code: 'ECONNREFUSED' })
})

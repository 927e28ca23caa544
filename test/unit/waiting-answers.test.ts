import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { afterEach, expect, test, vi } from 'vitest'

import { watchConnections } from '../../src/api/http/sockets/connections.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

let server: Server
afterEach(() => new Promise((resolve) => server.close(resolve)))

test('answers that wait behind another one are forgotten with their connection', async () => {
  const answers: WeakRef<ServerResponse>[] = []
  server = createServer((_request, response) => void answers.push(new WeakRef(response)))
  const connections = watchConnections(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5))
  await vi.waitFor(() => expect(answers).toHaveLength(5))
  socket.destroy()
  await vi.waitFor(() => {
    collectGarbage()
    expect(answers.filter((answer) => answer.deref() !== undefined)).toEqual([])
  })
  connections.retire()
})

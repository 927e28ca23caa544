import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { ROOT } from '../../src/core/process/root.ts'

/** The exit status of a health check of a service that answers so, and then closes. */
async function statusFor(answer: string): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(answer))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const env = { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: String(port) }
  try {
    return await new Promise((resolve) => {
      execFile(process.execPath, [join(ROOT, 'dist/cli/health.js')], { env }, (error) =>
        resolve(error === null ? 0 : Number(error.code)),
      )
    })
  } finally {
    server.close()
  }
}

test.each([
  [0, 'a whole answer', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'],
  [1, 'another status', 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n{}'],
  [1, 'an answer that breaks off', 'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{'],
  [1, 'a chunk that breaks off', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{'],
  [1, 'no answer', ''],
  [1, 'another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
])('a health check ends with %i for %s', async (status, _what, answer) => {
  expect(await statusFor(answer)).toBe(status)
})

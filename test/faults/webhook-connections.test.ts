import { connect, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'

import { expect, test } from 'vitest'

import { openOutbound } from '../../src/outbound/outbound.ts'

// Stops taking connections until it is told to go on: once its queue is full, the kernel drops the
// packets of further ones, and sends them again after 1 s.
const RECEIVER = `
  const { parentPort, workerData } = require('node:worker_threads')
  const server = require('node:http').createServer((request, response) => request.resume() && response.end('taken'))
  server.listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => {
    parentPort.postMessage(server.address().port)
    setTimeout(() => Atomics.wait(workerData, 0, 0), 50)
  })`

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

test('a receiver with two addresses is reached although its connection takes a second', async () => {
  const gate = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(RECEIVER, { eval: true, workerData: gate })
  const port = await new Promise<number>((found) => worker.once('message', found))
  await sleep(200)
  const queued = Array.from({ length: 4 }, (): Socket => connect(port, '127.0.0.1').on('error', () => undefined))
  await sleep(300)
  setTimeout(() => {
    Atomics.store(gate, 0, 1)
    Atomics.notify(gate, 0)
  }, 400)
  const addresses = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]
  const settings = { WEBHOOK_ALLOWED_CIDRS: ['127.0.0.0/8', '::1/128'], WEBHOOK_ALLOW_HTTP: true } as const
  const outbound = openOutbound(
    {
      ...settings,
      WEBHOOK_ALLOWED_CIDRS: [...settings.WEBHOOK_ALLOWED_CIDRS],
      WEBHOOK_ALLOWED_PORTS: [[1024, 65_535]],
      WEBHOOK_CA_FILE: undefined,
    },
    () => Promise.resolve(addresses),
  )
  const { signal } = new AbortController()
  const url = `http://far.example:${port}/`
  const answer = await outbound.post({ url, headers: {}, body: '{}', timeoutMs: 20_000, signal })
  for (const socket of queued) socket.destroy()
  outbound.close()
  await worker.terminate()
  expect(answer).toMatchObject({ statusCode: 200, error: null })
  // Otherwise the queue was not full, and the test shows nothing.
  expect(answer.durationMs).toBeGreaterThan(300)
})

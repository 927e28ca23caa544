import { once } from 'node:events'
import { connect } from 'node:net'
import { Worker } from 'node:worker_threads'

import { expect, onTestFinished, test, vi } from 'vitest'

import { openOutbound } from '../../src/outbound/outbound.ts'
import { addDelivery } from '../harness/outbox.ts'
import { startReceiver } from '../harness/receiver.ts'
import { startService } from '../harness/service.ts'

const WAIT = { timeout: 20_000, interval: 20 }

test('connections of deliveries are kept alive and shared', async () => {
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  const service = await startService({ env: { WEBHOOK_CA_FILE: receiver.caFile, WEBHOOK_POLL_SECONDS: '0.05' } })
  onTestFinished(() => service.close())
  const { id } = (await service.call('POST', '/webhooks', { body: { url: `${receiver.url}/hook` } })).json
  const read = async (path: string) => (await service.call('GET', `/webhooks/${id}${path}`)).json
  await vi.waitFor(async () => expect((await read('')).state).toBe('verified'), WAIT)
  for (let n = 1; n <= 3; n++) {
    const { deliveryId } = await addDelivery(service.app, service.tenant.id, id)
    // Recorded, and so the answer is read to its end: only then is the connection free for the
    // next.
    await vi.waitFor(async () => expect((await read(`/deliveries/${deliveryId}`)).status).toBe('delivered'), WAIT)
    expect(receiver.deliveries('/hook')).toHaveLength(n)
  }
  // Connections that are idle for 4 s end: a machine that is very slow may lose one in between.
  // One each would be three.
  expect(new Set(receiver.deliveries('/hook').map(({ port }) => port)).size).toBeLessThan(3)
})

// Takes no connections until it is told to: once its queue is full, the kernel drops the packets of
// further ones, and sends them again after 1 s.
const RECEIVER = `
  const { parentPort, workerData } = require('node:worker_threads')
  const server = require('node:http').createServer((request, response) => request.resume() && response.end('taken'))
  server.listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => {
    parentPort.postMessage(server.address().port)
    Atomics.wait(workerData, 0, 0)
  })`
/** Of connections: one more than its backlog. */
const QUEUE = 2

test('a receiver with two addresses is reached although its connection takes a second', async () => {
  const gate = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(RECEIVER, { eval: true, workerData: gate })
  onTestFinished(() => void worker.terminate())
  const [port] = (await once(worker, 'message')) as [number]
  for (let n = 0; n < QUEUE; n++) {
    const queued = connect(port, '127.0.0.1').on('error', () => undefined)
    onTestFinished(() => void queued.destroy())
    await once(queued, 'connect')
  }
  const addresses = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]
  const outbound = openOutbound(
    {
      WEBHOOK_ALLOWED_CIDRS: ['127.0.0.0/8', '::1/128'],
      WEBHOOK_ALLOWED_PORTS: [[1024, 65_535]],
      WEBHOOK_ALLOW_HTTP: true,
      WEBHOOK_CA_FILE: undefined,
    },
    () => Promise.resolve(addresses),
  )
  onTestFinished(() => outbound.close())
  const { signal } = new AbortController()
  const url = `http://far.example:${port}/`
  const answered = outbound.post({ url, headers: {}, body: '{}', timeoutMs: 20_000, signal })
  setTimeout(() => {
    Atomics.store(gate, 0, 1)
    Atomics.notify(gate, 0)
  }, 400)
  const answer = await answered
  expect(answer).toMatchObject({ statusCode: 200, error: null })
  // Otherwise the queue was not full, and the test shows nothing.
  expect(answer.durationMs).toBeGreaterThan(300)
})

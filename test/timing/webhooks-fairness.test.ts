import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { startWorker } from '../../src/worker/worker.ts'
import { hang, type Receiver, startReceiver } from '../harness/receiver.ts'
import { startService, type TestService, type TestTenant } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

let receiver: Receiver
let service: TestService
let worker: { stop(): Promise<void> } | undefined

const WAIT = { timeout: 10_000, interval: 50 }
/** Hundreds of connections are opened; hanging ones are dropped after 30 s. */
const MANY = { timeout: 25_000, interval: 50 }
/** Less than a poll. */
const WOKEN = { timeout: 50_000, interval: 50 }

// The worker polls only every 60 s, so only wake-ups count.
beforeEach(async () => {
  receiver = await startReceiver()
  const env = { WEBHOOK_CA_FILE: receiver.caFile, WEBHOOK_POLL_SECONDS: '60', SHUTDOWN_GRACE_SECONDS: '1' }
  service = await startService({ env, worker: false })
  await service.call('PATCH', '/settings', { body: { webhookEndpoints: 1000 } })
})

afterEach(async () => {
  await worker?.stop()
  worker = undefined
  await service.close()
  await receiver.close()
})

async function register(path: string, { apiKey }: TestTenant = service): Promise<string> {
  const body = { url: receiver.url + path, policy: { timeoutMs: 30_000 } }
  return (await service.ok('POST', '/webhooks', body, { 'x-api-key': apiKey })).id
}

/** Registers endpoints at `/<name>-1`, `/<name>-2`, …, and has them verified. */
async function endpoints(name: string, count: number): Promise<string[]> {
  const paths = Array.from({ length: count }, (_, n) => `/${name}-${n + 1}`)
  // Registrations of one tenant wait for each other: not all at once.
  for (let n = 0; n < count; n += 10) await Promise.all(paths.slice(n, n + 10).map((path) => register(path)))
  const verify = `UPDATE webhook_endpoints SET state = 'verified', challenge = NULL, verification_due_at = NULL`
  await service.app.db.query(unnamed(verify))
  return paths
}

async function comment(): Promise<void> {
  const headers = await service.as('reader-1')
  const path = '/discussions/by-external/page/comments'
  expect((await service.call('POST', path, { body: { body: 'Hello' }, headers })).status).toBe(201)
}

test('one comment reaches hundreds of endpoints of a tenant at once', async () => {
  const paths = await endpoints('hook', 200)
  worker = await startWorker(service.app)
  await comment()
  const reached = () => new Set(receiver.deliveries().map(({ path }) => path))
  await vi.waitFor(() => expect(reached()).toEqual(new Set(paths)), WOKEN)
})

test("hanging endpoints, more than their tenant's share holds, do not delay its healthy one", async () => {
  const [healthy = ''] = await endpoints('healthy', 1)
  for (const path of await endpoints('hanging', 100)) receiver.on(path, hang)
  worker = await startWorker(service.app)
  for (let n = 0; n < 8; n++) await comment()
  const stuck = () => receiver.deliveries().length - receiver.deliveries(healthy).length
  await vi.waitFor(() => expect(stuck()).toBeGreaterThanOrEqual(512), MANY)
  const before = receiver.deliveries(healthy).length
  for (let n = 1; n <= 5; n++) {
    await comment()
    await vi.waitFor(() => expect(receiver.deliveries(healthy).length).toBeGreaterThanOrEqual(before + n), WAIT)
  }
})

test("hanging handshakes do not delay another tenant's", async () => {
  const other = await service.addTenant('other')
  worker = await startWorker(service.app)
  for (let n = 1; n <= 130; n++) {
    receiver.on(`/hanging-${n}`, hang)
    await register(`/hanging-${n}`)
  }
  await vi.waitFor(() => expect(receiver.handshakes().length).toBeGreaterThanOrEqual(64), MANY)
  const id = await register('/other', other)
  const headers = { 'x-api-key': other.apiKey }
  await vi.waitFor(async () => {
    expect((await service.call('GET', `/webhooks/${id}`, { headers })).json.state).toBe('verified')
  }, WAIT)
})

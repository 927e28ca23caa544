import { expect, onTestFinished, test, vi } from 'vitest'

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

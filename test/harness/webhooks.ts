import { afterAll, beforeAll, expect, vi } from 'vitest'

import { type Receiver, startReceiver } from './receiver.ts'
import { startService, type TestService } from './service.ts'

/**
 * The service of a file, with a worker by default, and a receiver of its webhooks. Its tenant may
 * have an endpoint for each test.
 */
export function useReceiver({ env = {}, worker = true }: { env?: Record<string, string>; worker?: boolean } = {}) {
  const receiver = {} as Receiver
  const service = {} as TestService
  beforeAll(async () => {
    Object.assign(receiver, await startReceiver())
    const trusting = { WEBHOOK_CA_FILE: receiver.caFile, WEBHOOK_POLL_SECONDS: '0.05' }
    Object.assign(service, await startService({ env: { ...trusting, ...env }, worker }))
    await service.call('PATCH', '/settings', { body: { webhookEndpoints: 1000 } })
  })
  afterAll(async () => {
    await service.close()
    await receiver.close()
  })
  /** Waits until the handshake with an endpoint has succeeded. */
  const whenVerified = (id: string): Promise<void> =>
    vi.waitFor(async () => expect((await service.call('GET', `/webhooks/${id}`)).json.state).toBe('verified'), {
      timeout: 25_000,
      interval: 20,
    })
  return { receiver, service, whenVerified }
}

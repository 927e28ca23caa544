import { expect, test, vi } from 'vitest'

import { first } from '../harness/processes.ts'
import { hang } from '../harness/receiver.ts'
import { useReceiverOfProcesses } from '../harness/service-processes.ts'

const WAIT = { timeout: 60_000, interval: 50 }

const { receiver, service } = useReceiverOfProcesses()

test('kill -9 of the worker within a delivery: every event is delivered within 30 s, under the same delivery id', async () => {
  const { id } = (await service.call('POST', '/webhooks', { body: { url: `${receiver.url}/hook` } })).json
  const read = async () => (await service.call('GET', `/webhooks/${id}`)).json
  await vi.waitFor(async () => expect((await read()).state).toBe('verified'), WAIT)
  receiver.on('/hook', hang)
  for (let n = 0; n < 5; n++) {
    const headers = await service.as('reader-1')
    const path = '/discussions/by-external/page/comments'
    expect((await service.call('POST', path, { body: { body: `comment ${n}` }, headers })).status).toBe(201)
  }
  await vi.waitFor(() => expect(receiver.deliveries()).toHaveLength(5), WAIT)
  const begun = receiver.deliveries().map(({ headers }) => String(headers['x-service-delivery-id']))

  const worker = first(service.workers)
  await worker.kill()
  receiver.on('/hook', null)
  await worker.start()

  // From here on: a start takes as long as the machine is busy.
  await vi.waitFor(() => expect(receiver.deliveries()).toHaveLength(10), { timeout: 30_000, interval: 100 })
  const again = receiver.deliveries().slice(5)
  expect(again.map(({ headers }) => String(headers['x-service-delivery-id'])).toSorted()).toEqual(begun.toSorted())
  await vi.waitFor(async () => {
    const { data } = (await service.call('GET', `/webhooks/${id}/deliveries?status=delivered`)).json
    expect(data.map(({ attempts }: { attempts: unknown[] }) => attempts.length)).toEqual([1, 1, 1, 1, 1])
  }, WAIT)
})

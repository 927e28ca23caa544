import { expect, test, vi } from 'vitest'

import { onServer } from '../harness/database.ts'
import { last } from '../harness/processes.ts'
import { useProcesses } from '../harness/service-processes.ts'
import { listen } from '../harness/sse.ts'

const WAIT = { timeout: 60_000, interval: 20 }

const service = useProcesses({ api: 2, worker: 0 })

async function createDiscussion(externalId: string): Promise<string> {
  return (await service.ok('POST', '/discussions', { externalId, title: 'A page' })).id as string
}

test('an EventSource whose connection is cut resumes by itself, without loss', async () => {
  const discussionId = await createDiscussion('page-3')
  const path = `/discussions/${discussionId}/comments`
  const post = async (body: string) => service.call('POST', path, { body: { body }, headers: await service.as('ann') })
  const ticket = await service.call('POST', '/stream/ticket', { body: { discussionId } })
  const api = last(service.apis)
  const stream = await listen(
    `${api.url}${new URL(ticket.json.streamUrl as string).pathname}?ticket=${ticket.json.ticket}`,
  )
  await post('before')
  await vi.waitFor(() => expect(stream.received).toHaveLength(1), WAIT)
  await api.stop()
  await vi.waitFor(() => expect(stream.losses).toBeGreaterThan(0), WAIT)
  expect(stream.framing.map(({ type }) => type)).toEqual(['connected', 'connection-timeout'])
  expect(JSON.parse(last(stream.framing).data)).toEqual({ lastEventId: '1' })
  // On the server form others go on meanwhile.
  if (onServer) await post('meanwhile')
  await api.start()
  await post('after')
  const expected = onServer ? ['1', '2', '3'] : ['1', '2']
  await vi.waitFor(() => {
    const { received, framing, refusal } = stream
    // The outcome, for the message if it did not come back.
    const told = JSON.stringify({ framing, refusal })
    expect(
      received.map(({ id }) => id),
      told,
    ).toEqual(expected)
  }, WAIT)
})

import { type Client, createClient, type ExecutionResult } from 'graphql-sse'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'

import { queueWatchOf } from '../../src/domains/moderation/queue-watch.ts'
import { hubOf } from '../../src/live/hub.ts'
import { startService, type TestService } from '../harness/service.ts'

interface Counts {
  pending: number
  reported: number
}

const QUERY = 'subscription { moderationQueueChanged { pending reported } }'

let service: TestService
const clients: Client<boolean>[] = []

beforeAll(async () => {
  service = await startService({ env: { STREAM_REPAIR_SECONDS: '1' }, worker: false })
  await ok('PATCH', '/settings', { suspectWords: ['hold'] })
})
afterAll(() => service.close())
afterEach(async () => {
  clients.splice(0).forEach((client) => client.dispose())
  vi.restoreAllMocks()
  await vi.waitFor(() => expect(hubOf(service.app).sessions.size).toBe(0), { timeout: 5000 })
  expect(queueWatchOf(service.app).size).toBe(0)
  for (const status of ['pending', 'reported']) {
    const { data } = await ok('GET', `/moderation/queue?status=${status}&limit=100`)
    const ids = data.map(({ comment }: { comment: { id: string } }) => comment.id)
    if (ids.length > 0) await ok('POST', '/comments/bulk', { ids, action: 'delete' })
  }
})

async function ok(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
  const answer = await service.call(method, path, { headers, ...(body === undefined ? {} : { body }) })
  expect(answer.status, answer.text).toBeLessThan(300)
  return answer.json
}

const post = async (body: string, reader = 'ada'): Promise<{ id: string; author: { id: string } }> =>
  ok('POST', '/discussions/by-external/page/comments', { body }, await service.as(reader))

interface Subscription {
  counts: Counts[]
  errors: { extensions?: { code?: string } }[]
  failure: unknown
  done: boolean
}

function subscribe(single: boolean, apiKey = service.apiKey): Subscription {
  const client = createClient({
    url: `${service.url}/graphql/stream`,
    singleConnection: single,
    headers: { 'x-api-key': apiKey },
    retryAttempts: 0,
  })
  clients.push(client)
  const seen: Subscription = { counts: [], errors: [], failure: undefined, done: false }
  client.subscribe<{ moderationQueueChanged: Counts }>(
    { query: QUERY },
    {
      next: ({ data, errors }: ExecutionResult<{ moderationQueueChanged: Counts }>) => {
        if (data?.moderationQueueChanged != null) seen.counts.push(data.moderationQueueChanged)
        if (errors !== undefined) seen.errors.push(...(errors as unknown as Subscription['errors']))
      },
      error: (error) => (seen.failure = error),
      complete: () => (seen.done = true),
    },
  )
  return seen
}

async function begin(single = false): Promise<Subscription> {
  const seen = subscribe(single)
  await vi.waitFor(() => expect(seen.counts).toHaveLength(1))
  return seen
}

test('a burst leads to few messages, of which the last is right', async () => {
  const seen = await begin()
  const begun = performance.now()
  await Promise.all(Array.from({ length: 20 }, (_, n) => post(`hold ${n}`, `reader-${n}`)))
  await vi.waitFor(() => expect(seen.counts.at(-1)).toEqual({ pending: 20, reported: 0 }))
  const took = performance.now() - begun
  // One for the pace, one for each repair: without a pace it would be 20.
  expect(seen.counts.length).toBeLessThanOrEqual(1 + Math.ceil(took / 250) + 1 + Math.ceil(took / 1000))
  expect(seen.counts.length).toBeLessThan(20)
})

test('followers who join and leave in a burst cause no extra messages; each gets the present state at once', async () => {
  const seen = await begin()
  const begun = performance.now()
  let posted = 0
  const join = async (): Promise<void> => {
    while (posted < 60) {
      const [least, other] = [posted, subscribe(false)]
      await vi.waitFor(() => expect(other.counts).not.toEqual([]))
      expect(other.counts[0]?.pending).toBeGreaterThanOrEqual(least)
      clients.pop()?.dispose()
    }
  }
  const write = async (): Promise<void> => {
    while (posted < 60) {
      await post(`hold ${Math.random()}`, `reader-${posted}`)
      posted++
    }
  }
  await Promise.all([write(), write(), join()])
  await vi.waitFor(() => expect(seen.counts.at(-1)?.pending).toBeGreaterThanOrEqual(60))
  const took = performance.now() - begun
  expect(seen.counts.length).toBeLessThanOrEqual(1 + Math.ceil(took / 250) + 1 + Math.ceil(took / 1000))
})

test('without the bus a change is sent within 5 s', async () => {
  const seen = await begin()
  vi.spyOn(service.app.bus, 'publish').mockImplementation(() => undefined)
  await post('hold this')
  await vi.waitFor(() => expect(seen.counts.at(-1)).toEqual({ pending: 1, reported: 0 }), { timeout: 5000 })
})

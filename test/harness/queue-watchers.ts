import { type Client, createClient, type ExecutionResult } from 'graphql-sse'
import { afterEach, beforeEach, expect, vi } from 'vitest'

import { queueWatchOf } from '../../src/domains/moderation/queue-watch.ts'
import { hubOf } from '../../src/live/hub.ts'
import { callsTo } from './calls.ts'
import { useService } from './service.ts'

export interface Counts {
  pending: number
  reported: number
}

/** What a subscription to the moderation queue got. */
export interface Watcher {
  counts: Counts[]
  errors: { extensions?: { code?: string } }[]
  failure: unknown
  done: boolean
  close(): void
}

/**
 * A service whose queue is watched, from `beforeAll` to `afterAll`. Each test begins and ends with
 * an empty queue that nobody watches.
 */
export function useQueueWatchers(env: Record<string, string> = {}) {
  const service = useService({ env })
  const { ok } = callsTo(() => service)
  const clients: Client<boolean>[] = []

  beforeEach(async () => {
    const settings = { suspectWords: ['hold'], moderationMode: 'none', reportThreshold: 5, classifier: null }
    await ok('PATCH', '/settings', settings)
  })
  afterEach(async () => {
    clients.splice(0).forEach((client) => client.dispose())
    vi.restoreAllMocks()
    await vi.waitFor(() => expect(hubOf(service.app).sessions.size).toBe(0), { timeout: 60_000 })
    expect(queueWatchOf(service.app).size).toBe(0)
    for (const status of ['pending', 'reported']) {
      const { data } = await ok('GET', `/moderation/queue?status=${status}&limit=100`)
      const ids = data.map(({ comment }: { comment: { id: string } }) => comment.id)
      if (ids.length > 0) await ok('POST', '/comments/bulk', { ids, action: 'delete' })
    }
  })

  function subscribe(single: boolean, apiKey = service.apiKey): Watcher {
    const client = createClient({
      url: `${service.url}/graphql/stream`,
      singleConnection: single,
      headers: { 'x-api-key': apiKey },
      retryAttempts: 0,
    })
    clients.push(client)
    const close = (): void => client.dispose()
    const seen: Watcher = { counts: [], errors: [], failure: undefined, done: false, close }
    client.subscribe<{ moderationQueueChanged: Counts }>(
      { query: 'subscription { moderationQueueChanged { pending reported } }' },
      {
        next: ({ data, errors }: ExecutionResult<{ moderationQueueChanged: Counts }>) => {
          if (data?.moderationQueueChanged != null) seen.counts.push(data.moderationQueueChanged)
          if (errors !== undefined) seen.errors.push(...(errors as unknown as Watcher['errors']))
        },
        error: (error) => (seen.failure = error),
        complete: () => (seen.done = true),
      },
    )
    return seen
  }

  return {
    service,
    ok,
    post: async (body: string, reader = 'ada'): Promise<{ id: string; author: { id: string } }> =>
      ok('POST', '/discussions/by-external/page/comments', { body }, await service.as(reader)),
    subscribe,
    /** One that has got the counts as they are. */
    async begin(single = false): Promise<Watcher> {
      const seen = subscribe(single)
      await vi.waitFor(() => expect(seen.counts).toHaveLength(1), { timeout: 60_000 })
      return seen
    },
  }
}

import { setTimeout as pause } from 'node:timers/promises'

import { createClient, NetworkError, type ExecutionResult } from 'graphql-sse'
import { expect, test, vi } from 'vitest'

import { useService } from '../harness/service.ts'

const service = useService()

const query = `subscription ($discussionId: ID!) {
  discussionEvents(discussionId: $discussionId, lastEventId: "0") { seq }
}`

test.each([
  ['distinct connections at /graphql/stream', '/graphql/stream', false],
  ['a single connection', '/graphql/stream', true],
  ['distinct connections at /graphql', '/graphql', false],
])('a subscription by %s whose key expires fails with 401 once it has tried again', async (_name, path, single) => {
  const discussionId = await service.newDiscussion()
  const expiresAt = new Date(Date.now() + 1500).toISOString()
  const body = { label: 'ends', capabilities: [], expiresAt }
  const { key } = (await service.call('POST', '/keys', { body })).json
  const client = createClient<boolean>({
    url: service.url + path,
    singleConnection: single,
    headers: { 'x-api-key': key as string },
    retryAttempts: 1,
    retry: () => pause(50),
  })
  const seen = { seqs: [] as (number | undefined)[], failure: undefined as unknown, isDone: false }
  try {
    client.subscribe<{ discussionEvents: { seq: number } }>(
      { query, variables: { discussionId } },
      {
        next: ({ data }: ExecutionResult<{ discussionEvents: { seq: number } }>) =>
          seen.seqs.push(data?.discussionEvents.seq),
        error: (error) => (seen.failure = error),
        complete: () => (seen.isDone = true),
      },
    )
    const headers = await service.as('ada')
    await service.call('POST', `/discussions/${discussionId}/comments`, { body: { body: 'Hello' }, headers })
    await vi.waitFor(() => expect(seen.seqs).toEqual([1]))
    await vi.waitFor(() => expect(seen.failure).toBeInstanceOf(NetworkError))
    expect((seen.failure as NetworkError<Response>).response?.status).toBe(401)
    expect(seen.isDone).toBe(false)
  } finally {
    client.dispose()
  }
})

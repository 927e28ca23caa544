import { createClient } from 'graphql-sse'

import type { Headers, TestService } from './service.ts'

/** What a subscription has brought so far. */
export interface Followed {
  seqs: number[]
  failures: unknown[]
  completed: boolean
  close(): void
}

/** Follows a discussion with a request's headers, without trying again. */
export function followBy(
  { url }: TestService,
  headers: Headers,
  { discussionId, single = false, lastEventId = '0' }: { discussionId: string; single?: boolean; lastEventId?: string },
): Followed {
  const client = createClient<boolean>({
    url: `${url}/graphql/stream`,
    // A copy: the client writes the token of its connection into it.
    headers: { ...headers },
    singleConnection: single,
    retryAttempts: 0,
  })
  const followed: Followed = { seqs: [], failures: [], completed: false, close: () => client.dispose() }
  const query = `subscription ($discussionId: ID!, $lastEventId: String) {
    discussionEvents(discussionId: $discussionId, lastEventId: $lastEventId) { seq type }
  }`
  client.subscribe<{ discussionEvents: { seq: number } }>(
    { query, variables: { discussionId, lastEventId } },
    {
      next: ({ data, errors }) => {
        if (data?.discussionEvents == null) followed.failures.push(errors)
        else followed.seqs.push(data.discussionEvents.seq)
      },
      error: (error) => void followed.failures.push(error),
      complete: () => (followed.completed = true),
    },
  )
  return followed
}

import { createClient } from 'graphql-sse'
import { useEffect, useRef } from 'react'

import {
  DiscussionEventsDocument,
  type DiscussionEventsSubscription,
  ModerationQueueChangedDocument,
} from '../../generated/console.ts'
import { calmRefresh } from './queries.ts'
import { type Document, FROM_CONSOLE } from './request.ts'
import { expire, may, validSession } from './session.ts'

type DiscussionEvent = DiscussionEventsSubscription['discussionEvents']

/** The sign-in of the present connection. */
let stamp = ''

/** Called each time that the connection is lost. */
const lossListeners = new Set<() => void>()

// One connection for all subscriptions of a tab: over HTTP/1.1 browsers open six to a site, and
// further ones would wait.
const client = createClient({
  singleConnection: true,
  url: new URL('../graphql/stream', document.baseURI).href,
  headers: async () => {
    stamp = await validSession()
    return FROM_CONSOLE
  },
  // A tab in the background sends nothing else: once refused, it waits for the sign-in, and does
  // not retry all night.
  fetchFn: async (...request: Parameters<typeof fetch>) => {
    const response = await fetch(...request)
    if (response.status === 401) expire(stamp)
    return response
  },
  retryAttempts: Infinity,
  retry: async (retries) => {
    for (const listener of lossListeners) listener()
    const longestMs = Math.min(1_000 * 2 ** retries, 30_000)
    await new Promise((resolve) => setTimeout(resolve, longestMs * (0.5 + Math.random() / 2)))
  },
})

/**
 * Follows the events of some discussions while the component is mounted, each from its last seen
 * position.
 */
export function useDiscussionEvents(discussionIds: readonly string[], onEvent: (event: DiscussionEvent) => void): void {
  const listener = useRef(onEvent)
  useEffect(() => {
    listener.current = onEvent
  })
  const ids = [...new Set(discussionIds)].sort().join()
  useEffect(() => {
    const ends = ids
      .split(',')
      .filter((id) => id !== '')
      .map((id) => followDiscussion(id, (event) => listener.current(event)))
    return () => {
      for (const end of ends) end()
    }
  }, [ids])
}

/**
 * Runs the named queries again whenever the moderation queues change, while the component is
 * mounted; also when the connection is lost, so that they show what is wrong. Only moderators hear
 * of the queues.
 */
export function useQueueChanges(outdated: readonly Document<unknown, never>[]): void {
  useEffect(() => {
    if (!may('moderate_content')) return
    const refresh = calmRefresh(outdated)
    lossListeners.add(refresh)
    const end = follow(ModerationQueueChangedDocument, () => ({}), refresh)
    return () => {
      lossListeners.delete(refresh)
      end()
    }
  }, [outdated])
}

function followDiscussion(discussionId: string, onEvent: (event: DiscussionEvent) => void): () => void {
  let lastEventId: string | null = null
  const variables = () => ({ discussionId, lastEventId })
  return follow(DiscussionEventsDocument, variables, ({ discussionEvents }) => {
    lastEventId = String(discussionEvents.seq)
    onEvent(discussionEvents)
  })
}

/** Subscribes, and again after every end, until the returned function is called. */
function follow<Result, Variables extends Record<string, unknown>>(
  operation: Document<Result, Variables>,
  variables: () => Variables,
  onData: (data: Result) => void,
): () => void {
  let isOver = false
  let stop = (): void => undefined
  const begin = (): void => {
    const again = (): void => {
      if (!isOver) setTimeout(() => isOver || begin(), 2_000 + Math.random() * 2_000)
    }
    stop = client.subscribe<Result>(
      { query: operation.toString(), variables: variables() },
      {
        next: ({ data }) => {
          if (data != null) onData(data)
        },
        error: again,
        complete: again,
      },
    )
  }
  begin()
  return () => {
    isOver = true
    stop()
  }
}

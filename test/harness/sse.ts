import { EventSource } from 'eventsource'
import { createClient } from 'graphql-sse'

import { EVENT_TYPES } from '../../src/core/events.ts'

/** A server-sent event as a client that is not ours read it. `data` is the text to the byte. */
export interface Message {
  id: string
  type: string
  data: string
}

export interface Listener<T> {
  received: T[]
  close(): void
}

export interface SourceListener extends Listener<Message> {
  /** The framing events, by their names. */
  framing: Message[]
  /** How often the connection was lost. */
  losses: number
  /** Why it gave up for good; null while it comes back by itself. */
  refusal: string | null
}

const FRAMING = ['connected', 'connection-timeout']

/**
 * The `eventsource` package, which reconnects by itself; resolves when the stream has said
 * `connected`.
 */
export function listen(url: string, headers: Record<string, string> = {}): Promise<SourceListener> {
  const source = new EventSource(url, {
    fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, ...headers } }),
  })
  const listener: SourceListener = { received: [], framing: [], losses: 0, refusal: null, close: () => source.close() }
  const read = ({ type, data, lastEventId }: MessageEvent<string>): Message => ({ id: lastEventId, type, data })
  for (const name of EVENT_TYPES) source.addEventListener(name, (event) => listener.received.push(read(event)))
  for (const name of FRAMING) source.addEventListener(name, (event) => listener.framing.push(read(event)))
  return new Promise((resolve, reject) => {
    source.addEventListener('connected', () => resolve(listener))
    source.addEventListener('error', ({ code, message }) => {
      listener.losses++
      if (source.readyState !== source.CLOSED) return
      listener.refusal = `${code} ${message}`
      reject(new Error(`the stream is refused: ${listener.refusal}`))
    })
  })
}

/** Everything that an event has, under the names of its JSON. */
export const SUBSCRIPTION = `
  subscription ($discussionId: ID!, $lastEventId: String) {
    discussionEvents(discussionId: $discussionId, lastEventId: $lastEventId) {
      id type discussionId seq occurredAt
      actor { kind readerId externalId }
      data {
        ... on CommentEventData { comment { ...C } }
        ... on ReactionEventData { commentId type previousType reactionCounts reader { ...R } }
        ... on ReplyNotificationData { comment { ...C } parentCommentId recipient { readerId externalId } }
      }
    }
  }
  fragment R on Reader { id externalId name avatarUrl profileUrl badges }
  fragment C on Comment {
    id discussionId parentId depth author { ...R } body bodyHtml status pinnedAt editedAt deletedAt revision replyCount decision { action }
    reactionCounts viewerReaction authorMuted createdAt
  }`

export interface StreamVariables {
  discussionId: string
  lastEventId?: string
}

/** An event as GraphQL gives it: an object, and its place for order. */
export interface GraphQLEvent {
  seq: number
  [name: string]: unknown
}

export interface GraphQLListener extends Listener<GraphQLEvent> {
  /** Why it ended or yields nothing; null while nothing is wrong. */
  failure: unknown
}

interface Target {
  url: string
  headers: Record<string, string>
  variables: StreamVariables
}

/**
 * The client of graphql-sse at `/graphql/stream`, by default with a connection for each
 * subscription.
 */
export function subscribe({ url, headers, variables }: Target, singleConnection = false): GraphQLListener {
  const client = createClient<boolean>({
    url: `${url}/graphql/stream`,
    // A copy: the client writes the token of its connection into what it is given.
    headers: { ...headers },
    singleConnection,
    retryAttempts: 0,
  })
  const received: GraphQLEvent[] = []
  const listener: GraphQLListener = { received, failure: null, close: () => client.dispose() }
  client.subscribe<{ discussionEvents: GraphQLEvent }>(
    { query: SUBSCRIPTION, variables: { ...variables } },
    {
      next: ({ data, errors }) => {
        if (data == null) listener.failure = errors
        else received.push(data.discussionEvents)
      },
      error: (error) => (listener.failure = error),
      complete: () => undefined,
    },
  )
  return listener
}

/** Server-sent events at `/graphql`, read by the `eventsource` package. */
export function subscribeByPost({ url, headers, variables }: Target): GraphQLListener {
  const received: GraphQLEvent[] = []
  const listener: GraphQLListener = { received, failure: null, close: () => source.close() }
  const source = new EventSource(`${url}/graphql`, {
    fetch: (input, init) =>
      fetch(input, {
        ...init,
        method: 'POST',
        headers: { ...init.headers, ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ query: SUBSCRIPTION, variables }),
      }),
  })
  source.addEventListener('next', ({ data }: MessageEvent<string>) => {
    const result = JSON.parse(data) as { data?: { discussionEvents: GraphQLEvent }; errors?: unknown }
    if (result.data == null) listener.failure = result.errors
    else received.push(result.data.discussionEvents)
  })
  source.addEventListener('error', ({ code, message }) => (listener.failure = { code, message }))
  return listener
}

/** In GraphQL the comment of an event is as it is now: others may have replied or reacted since. */
export function withoutCounts(event: object): object {
  return JSON.parse(JSON.stringify(event), (name, value: unknown) =>
    name === 'comment' ? { ...(value as object), replyCount: null, reactionCounts: null } : value,
  ) as object
}

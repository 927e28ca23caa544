import { EventSource } from 'eventsource'
import { z } from 'zod'

const readerSchema = z.object({ name: z.string().nullable() }).nullable()

const commentSchema = z.object({
  id: z.string(),
  parentId: z.string().nullable(),
  author: readerSchema,
  body: z.string().nullable(),
})

const common = { id: z.string(), seq: z.int() }

/** An event: the same JSON on a stream and in a webhook. Only what the demo makes happen. */
export const eventSchema = z.discriminatedUnion('type', [
  z.object({ ...common, type: z.literal('comment_created'), data: z.object({ comment: commentSchema }) }),
  z.object({
    ...common,
    type: z.literal('reaction_toggled'),
    data: z.object({
      type: z.string().nullable(),
      reader: readerSchema,
      reactionCounts: z.record(z.string(), z.int()),
    }),
  }),
  z.object({
    ...common,
    type: z.literal('notification_reply'),
    data: z.object({ comment: commentSchema, recipient: z.object({ externalId: z.string() }) }),
  }),
])

export type Event = z.infer<typeof eventSchema>

export interface Stream {
  events: readonly Event[]
  /** Of each connection, in order. */
  connections: readonly { lastEventId: string; replayed: number; complete: boolean }[]
  close(): void
}

const connectedSchema = z.object({ lastEventId: z.string(), replayed: z.int(), complete: z.boolean() })

/**
 * Listens as a browser does: by an EventSource that reconnects by itself. An API key turns it into
 * the listener of a backend, which may send headers.
 */
export function listen(url: string, onEvent: (event: Event) => void, apiKey?: string): Stream {
  const source = new EventSource(
    url,
    apiKey === undefined
      ? {}
      : { fetch: (to, init) => fetch(to, { ...init, headers: { ...init.headers, 'X-API-Key': apiKey } }) },
  )
  const events: Event[] = []
  const connections: z.infer<typeof connectedSchema>[] = []
  for (const type of eventSchema.options.map((option) => option.shape.type.value)) {
    source.addEventListener(type, ({ data, lastEventId }) => {
      const event = eventSchema.parse(JSON.parse(String(data)))
      if (String(event.seq) !== lastEventId) throw new Error(`event ${event.seq} came with the id ${lastEventId}`)
      events.push(event)
      onEvent(event)
    })
  }
  source.addEventListener('connected', ({ data }) => {
    connections.push(connectedSchema.parse(JSON.parse(String(data))))
  })
  return { events, connections, close: () => source.close() }
}

/** One line for a person. */
export function describe(event: Event): string {
  const number = `#${event.seq}`.padEnd(4)
  switch (event.type) {
    case 'comment_created': {
      const { author, body, parentId } = event.data.comment
      return `${number}${author?.name} ${parentId === null ? 'says' : 'replies'}: ${body}`
    }
    case 'reaction_toggled': {
      const counts = Object.entries(event.data.reactionCounts).map(([type, n]) => `${n} ${type}`)
      return `${number}${event.data.reader?.name} reacts: ${event.data.type} (now ${counts.join(', ')})`
    }
    case 'notification_reply':
      return `${number}for ${event.data.recipient.externalId} alone: ${event.data.comment.author?.name} has replied to you`
  }
}

import type { Id } from './ids.ts'

/** Every event type: whether webhooks can subscribe to it, and the GraphQL type of its data. */
export const EVENTS = {
  comment_created: { webhook: true, data: 'CommentEventData' },
  comment_edited: { webhook: true, data: 'CommentEventData' },
  comment_deleted: { webhook: true, data: 'CommentEventData' },
  comment_approved: { webhook: true, data: 'CommentEventData' },
  comment_rejected: { webhook: true, data: 'CommentEventData' },
  comment_pinned: { webhook: true, data: 'CommentEventData' },
  comment_unpinned: { webhook: true, data: 'CommentEventData' },
  reaction_toggled: { webhook: true, data: 'ReactionEventData' },
  discussion_locked: { webhook: true, data: 'DiscussionEventData' },
  discussion_unlocked: { webhook: true, data: 'DiscussionEventData' },
  discussion_archived: { webhook: true, data: 'DiscussionEventData' },
  notification_reply: { webhook: false, data: 'ReplyNotificationData' },
} as const satisfies Record<string, { webhook: boolean; data: string }>

export type EventType = keyof typeof EVENTS

export const EVENT_TYPES = Object.keys(EVENTS) as EventType[]

/** The eleven event types that a webhook endpoint can subscribe to; `*` subscribes to all. */
export const WEBHOOK_EVENT_TYPES = EVENT_TYPES.filter((type) => EVENTS[type].webhook)

/**
 * Who may see an event on a stream. `public`: every stream. `tenant`: API-key streams. `recipient`:
 * API-key streams and those whose ticket names the recipient.
 */
export type Audience = 'public' | 'tenant' | 'recipient'

/** Who made the change. After the reader's erasure, the log keeps only the kind. */
export type EventActor =
  | { kind: 'reader'; readerId: Id; externalId: string }
  | { kind: 'moderator' }
  | { kind: 'system' }

/** An event as stored in the log. `actor` and `data` are JSON text, kept byte for byte. */
export interface StoredEvent {
  tenantId: Id
  discussionId: Id
  /** 1, 2, 3, … per discussion, without a hole, in commit order. */
  seq: number
  id: Id
  type: EventType
  audience: Audience
  recipientId: Id | null
  occurredAt: Date
  actor: string
  data: string
}

/**
 * The JSON of an event: the same bytes on every stream and in every webhook. Replays leave out
 * withdrawn texts.
 */
export const encodeEvent = (event: Omit<StoredEvent, 'tenantId' | 'audience' | 'recipientId'>): string =>
  `{"id":"${event.id}","type":"${event.type}","discussionId":"${event.discussionId}","seq":${event.seq},` +
  `"occurredAt":"${event.occurredAt.toISOString()}","actor":${event.actor},"data":${event.data}}`

/** The part of an event that streams need: its position, its audience, and its JSON. */
export interface News {
  seq: number
  type: EventType
  audience: Audience
  recipientId: Id | null
  json: string
}

export const newsOf = (event: Omit<StoredEvent, 'tenantId'>): News => ({
  seq: event.seq,
  type: event.type,
  audience: event.audience,
  recipientId: event.recipientId,
  json: encodeEvent(event),
})

/**
 * The bus message for events of one discussion that were committed together, one line each: JSON
 * text contains no line break.
 */
export const encodeNews = (events: readonly News[]): string =>
  events
    .map(({ seq, type, audience, recipientId, json }) => `${seq} ${type} ${audience} ${recipientId ?? '-'} ${json}`)
    .join('\n')

// `s`: JSON text may contain U+2028 and U+2029, which a dot alone does not match.
const LINE = /^(\d+) (\w+) (\w+) (\S+) (\{.*\})$/s

/** Reads a bus message. Malformed lines are dropped: the events then come from the database. */
export function decodeNews(message: string): News[] {
  return message.split('\n').flatMap((line) => {
    const match = LINE.exec(line)
    if (match === null) return []
    const [, seq, type, audience, recipient, json] = match as unknown as [
      string,
      string,
      EventType,
      Audience,
      string,
      string,
    ]
    return [{ seq: Number(seq), type, audience, recipientId: recipient === '-' ? null : recipient, json }]
  })
}

import type { Id } from './ids.ts'

type EventRow = { data: string; help: string } & ({ webhook: true; label: string } | { webhook: false })

/**
 * Every event type: whether webhooks can subscribe to it, the GraphQL type of its data, when it is
 * written (in the reference and in GraphQL), and the console's label of those for webhooks.
 */
export const EVENTS = {
  comment_created: {
    webhook: true,
    data: 'CommentEventData',
    help: 'A comment was posted. `data.comment.status` says whether it waits for a moderator.',
    label: 'A comment is posted',
  },
  comment_edited: {
    webhook: true,
    data: 'CommentEventData',
    help: 'The author has changed the text. If the actor is the system and there is no body, reports or a ban of its author have hidden the comment.',
    label: 'Its author changes it',
  },
  comment_deleted: {
    webhook: true,
    data: 'CommentEventData',
    help: 'The author, a moderator or an erasure has deleted the comment.',
    label: 'By its author, a moderator or an erasure',
  },
  comment_approved: {
    webhook: true,
    data: 'CommentEventData',
    help: "A moderator or the tenant's classifier has approved the comment.",
    label: 'It is public now',
  },
  comment_rejected: {
    webhook: true,
    data: 'CommentEventData',
    help: "A moderator or the tenant's classifier has rejected the comment.",
    label: 'It is no longer public',
  },
  comment_pinned: {
    webhook: true,
    data: 'CommentEventData',
    help: 'A moderator has pinned the comment.',
    label: 'It is pinned',
  },
  comment_unpinned: {
    webhook: true,
    data: 'CommentEventData',
    help: 'A moderator has removed the pin.',
    label: 'It is no longer pinned',
  },
  reaction_toggled: {
    webhook: true,
    data: 'ReactionEventData',
    help: 'A reader has set, changed or removed a reaction.',
    label: 'Set, replaced or removed',
  },
  discussion_locked: {
    webhook: true,
    data: 'DiscussionEventData',
    help: 'The discussion takes no more comments of readers.',
    label: 'Readers can no longer write',
  },
  discussion_unlocked: {
    webhook: true,
    data: 'DiscussionEventData',
    help: 'The discussion takes comments of readers again.',
    label: 'Readers can write again',
  },
  discussion_archived: {
    webhook: true,
    data: 'DiscussionEventData',
    help: 'The discussion is archived, which is final.',
    label: 'Archived, which is final',
  },
  notification_reply: {
    webhook: false,
    data: 'ReplyNotificationData',
    help: "A reader's comment was answered. Only this reader's tickets and API keys get the event.",
  },
} as const satisfies Record<string, EventRow>

export type EventType = keyof typeof EVENTS

export const EVENT_TYPES = Object.keys(EVENTS) as EventType[]

/** The event types that a webhook endpoint can subscribe to; `*` subscribes to all. */
export const WEBHOOK_EVENT_TYPES = EVENT_TYPES.filter((type) => EVENTS[type].webhook)

/**
 * Who may see an event on a stream. `public`: every stream, but those whose ticket names the
 * recipient, if there is one. `tenant`: API-key streams. `recipient`: API-key streams and those
 * whose ticket names the recipient. `own`: the latter alone, and no webhook.
 */
export type Audience = 'public' | 'tenant' | 'recipient' | 'own'

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

// A line break would be the end of a line of the stream.
const LINE = /^(\d{1,15}) (\w+) (\w+) (-|[0-9a-f-]{36}) (\{[^\r\n]*\})$/

const AUDIENCES: ReadonlySet<string> = new Set(['public', 'tenant', 'recipient', 'own'] satisfies Audience[])

/**
 * Reads a bus message. Malformed lines are dropped: the events then come from the database. Any
 * program that reaches the bus can send any text.
 */
export function decodeNews(message: string): News[] {
  return message.split('\n').flatMap((line) => {
    const [, seq, type = '', audience = '', recipient = '', json = ''] = LINE.exec(line) ?? []
    if (!isType(type) || !isAudience(audience) || !isEvent(json, Number(seq))) return []
    return [{ seq: Number(seq), type, audience, recipientId: recipient === '-' ? null : recipient, json }]
  })
}

/** Costs some 3 µs for 1 KB. What cannot be parsed would fail in each subscription, and later. */
function isEvent(json: string, seq: number): boolean {
  try {
    const event = JSON.parse(json) as { seq?: unknown; data?: unknown }
    return event.seq === seq && typeof event.data === 'object' && event.data !== null
  } catch {
    return false
  }
}

const isType = (text: string): text is EventType => Object.hasOwn(EVENTS, text)
const isAudience = (text: string): text is Audience => AUDIENCES.has(text)

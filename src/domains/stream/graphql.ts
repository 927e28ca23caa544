import { EVENT_TYPES, type EventActor } from '../../core/events.ts'
import { builder } from '../../schema/builder.ts'
import { shapedBy } from '../../schema/shape.ts'
import { type Comment, reactionCountsSchema } from '../comments/comments.ts'
import { CommentRef } from '../comments/graphql.ts'
import type { Discussion } from '../discussions/discussions.ts'
import { DiscussionRef, DiscussionStateEnum } from '../discussions/graphql.ts'
import { ReaderRef } from '../readers/graphql.ts'
import type { Reader } from '../readers/readers.ts'
import { eventOf, type StreamEvent } from '../../live/stream-event.ts'
import type { Frame } from '../../live/frames.ts'
import { getPresence, type Presence } from './presence.ts'
import { followDiscussion } from '../../live/source.ts'
import * as stream from './stream.ts'

const StreamTicketRef = builder.objectRef<stream.StreamTicket>('StreamTicket').implement({
  description: "A short-lived credential for a browser's stream of one discussion.",
  fields: (t) => ({
    ticket: t.exposeString('ticket', { description: 'The credential, for the query parameter `ticket`.' }),
    discussionId: t.exposeID('discussionId', { description: 'The discussion that it opens.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'By when the first connection must be made.' }),
    discussionState: t.expose('discussionState', {
      type: DiscussionStateEnum,
      description: 'Who may write in the discussion.',
    }),
    lastEventId: t.exposeString('lastEventId', {
      description: 'The position of the discussion when the ticket was minted.',
    }),
    streamUrl: t.exposeString('streamUrl', { description: 'The whole address to open with an EventSource.' }),
  }),
})

builder.relayMutationField(
  'createStreamTicket',
  {
    extensions: shapedBy(stream.ticketInput),
    inputFields: (t) => ({
      discussionId: t.id({ description: 'The discussion; this or externalId.' }),
      externalId: t.string({ description: 'The page, whose discussion comes into being where there is none.' }),
    }),
  },
  {
    access: 'key',
    description: "Mints a ticket for a browser's stream. With an identity it lets that reader's notifications through.",
    resolve: async (_root, { input }, ctx) => ({ streamTicket: await stream.createStreamTicket(ctx, input) }),
  },
  {
    outputFields: (t) => ({
      streamTicket: t.expose('streamTicket', { type: StreamTicketRef, description: 'The ticket.' }),
    }),
  },
)

const PresenceRef = builder.objectRef<Presence>('Presence').implement({
  description: 'Who follows a discussion live.',
  fields: (t) => ({
    streams: t.exposeInt('streams', {
      description: 'How many streams and subscriptions are open on it, over all processes.',
    }),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'How old the number may be: at most 5 s.' }),
  }),
})

builder.objectField(DiscussionRef, 'presence', (t) =>
  t.field({
    type: PresenceRef,
    description: 'Who follows it live.',
    resolve: ({ id }, _args, ctx) => getPresence(ctx, id),
  }),
)

const EventTypeEnum = builder.enumType('EventType', { description: 'What has happened.', values: EVENT_TYPES })

const ActorKindEnum = builder.enumType('EventActorKind', {
  description: 'Who makes changes.',
  values: {
    reader: { description: 'A reader, by an assertion.' },
    moderator: { description: 'A person or a backend that may moderate.' },
    system: { description: 'The service itself.' },
  },
})

const EventActorRef = builder.objectRef<EventActor>('EventActor').implement({
  description: 'Who made a change.',
  fields: (t) => ({
    kind: t.expose('kind', { type: ActorKindEnum, description: 'What they are.' }),
    readerId: t.id({
      nullable: true,
      description: 'The reader; null after their erasure.',
      resolve: (actor) => (actor.kind === 'reader' ? actor.readerId : null),
    }),
    externalId: t.string({
      nullable: true,
      description: "The reader's id at the tenant.",
      resolve: (actor) => (actor.kind === 'reader' ? actor.externalId : null),
    }),
  }),
})

const CommentEventDataRef = builder.objectRef<{ comment: Comment }>('CommentEventData').implement({
  description: 'What the events of a comment carry.',
  fields: (t) => ({
    comment: t.expose('comment', { type: CommentRef, description: 'The comment as the event left it.' }),
  }),
})

interface ReactionEventData {
  commentId: string
  type: string | null
  previousType: string | null
  reactionCounts: unknown
  reader: Reader | null
}

const ReactionEventDataRef = builder.objectRef<ReactionEventData>('ReactionEventData').implement({
  description: 'What `reaction_toggled` carries.',
  fields: (t) => ({
    commentId: t.exposeID('commentId', { description: 'The comment.' }),
    type: t.exposeString('type', { nullable: true, description: 'What the reader holds now; null for nothing.' }),
    previousType: t.exposeString('previousType', { nullable: true, description: 'What the reader held before.' }),
    reactionCounts: t.expose('reactionCounts', {
      type: 'JSON',
      description: 'How often each type is held by all readers.',
      extensions: shapedBy(reactionCountsSchema),
    }),
    reader: t.expose('reader', { type: ReaderRef, nullable: true, description: 'Who reacted; null after an erasure.' }),
  }),
})

const DiscussionEventDataRef = builder.objectRef<{ discussion: Discussion }>('DiscussionEventData').implement({
  description: 'What the events of a discussion carry.',
  fields: (t) => ({
    discussion: t.expose('discussion', { type: DiscussionRef, description: 'The discussion as the event left it.' }),
  }),
})

interface Recipient {
  readerId: string
  externalId: string
}

const RecipientRef = builder.objectRef<Recipient>('EventRecipient').implement({
  description: 'The reader whom a notification is for.',
  fields: (t) => ({
    readerId: t.exposeID('readerId', { description: 'The id of the reader in this service.' }),
    externalId: t.exposeString('externalId', { description: "The reader's id at the tenant." }),
  }),
})

interface ReplyNotificationData {
  comment: Comment
  parentCommentId: string
  recipient: Recipient | null
}

const ReplyNotificationDataRef = builder.objectRef<ReplyNotificationData>('ReplyNotificationData').implement({
  description: 'What `notification_reply` carries.',
  fields: (t) => ({
    comment: t.expose('comment', { type: CommentRef, description: 'The reply.' }),
    parentCommentId: t.exposeID('parentCommentId', { description: 'The comment of the recipient that it replies to.' }),
    recipient: t.expose('recipient', {
      type: RecipientRef,
      nullable: true,
      description: 'Whom it is for; null after the erasure of the reader.',
    }),
  }),
})

const EventDataUnion = builder.unionType('EventData', {
  description: 'What an event carries, by its type.',
  types: [CommentEventDataRef, ReactionEventDataRef, DiscussionEventDataRef, ReplyNotificationDataRef],
  resolveType: (data) => {
    if ('recipient' in data) return ReplyNotificationDataRef
    if ('comment' in data) return CommentEventDataRef
    return 'discussion' in data ? DiscussionEventDataRef : ReactionEventDataRef
  },
})

const DiscussionEventRef = builder.objectRef<StreamEvent>('DiscussionEvent').implement({
  description: 'A change in a discussion, the same as on its SSE stream.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the event.' }),
    type: t.expose('type', { type: EventTypeEnum, description: 'What has happened.' }),
    discussionId: t.exposeID('discussionId', { description: 'Where it happened.' }),
    seq: t.exposeInt('seq', {
      description: '1, 2, 3, … per discussion, in commit order; resume with it as lastEventId.',
    }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime', description: 'When it happened.' }),
    actor: t.expose('actor', { type: EventActorRef, description: 'Who did it.' }),
    data: t.field({ type: EventDataUnion, description: 'What it carries.', resolve: ({ data }) => data as never }),
  }),
})

builder.subscriptionField('discussionEvents', (t) =>
  t.field({
    type: DiscussionEventRef,
    access: 'key',
    description: 'The events of a discussion: after lastEventId those that were missed, then what comes, in order.',
    args: {
      discussionId: t.arg.id({ required: true, description: 'The discussion.' }),
      lastEventId: t.arg.string({ description: 'Resume strictly after this position.' }),
    },
    subscribe: (_root, args, ctx) => followDiscussion(ctx, args),
    resolve: (frame: Frame) => eventOf(frame),
  }),
)

import type { Ctx } from '../../core/context.ts'
import { EVENT_TYPES, type EventActor, EVENTS } from '../../core/events.ts'
import { builder } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { ONLY_WHERE_NAMED } from '../../graphql/in-rest.ts'
import { answerEnds } from '../../graphql/outcome.ts'
import { asksOnlyFor } from '../../graphql/plan.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { ofDiscussion } from '../discussions/scope.ts'
import { type Comment, NULLS, publicForm } from '../comments/comment.ts'
import { reactionCountsSchema, readPresent } from '../comments/comments.ts'
import { CommentRef } from '../comments/graphql.ts'
import { loadDiscussion } from '../discussions/discussions.ts'
import type { Discussion } from '../discussions/fields.ts'
import { DiscussionRef, DiscussionStateEnum } from '../discussions/graphql.ts'
import { ReaderRef } from '../readers/graphql.ts'
import type { Reader } from '../readers/fields.ts'
import { eventOf, type StreamEvent } from '../../live/streams/stream-event.ts'
import type { Frame } from '../../live/streams/frames.ts'
import { getPresence, type Presence } from './presence.ts'
import { followDiscussion } from '../../live/source-stream.ts'
import * as stream from './stream.ts'

const TicketDiscussionRef = builder.objectRef<stream.TicketDiscussion>('TicketDiscussion').implement({
  description: 'A discussion that a ticket opens, when the ticket was created.',
  fields: (t) => ({
    discussionId: t.exposeID('discussionId', { description: 'The id of the discussion.' }),
    externalId: t.exposeString('externalId', {
      description: "The tenant's own key for the page, as the request has named it.",
    }),
    discussionState: t.expose('discussionState', {
      type: DiscussionStateEnum,
      description: 'Who may write in the discussion.',
    }),
    lastEventId: t.exposeString('lastEventId', { description: 'The stream position of the discussion.' }),
  }),
})

const StreamTicketRef = builder.objectRef<stream.StreamTicket>('StreamTicket').implement({
  description: "A short-lived credential for a browser's stream of one discussion, or of several.",
  fields: (t) => ({
    ticket: t.exposeString('ticket', { description: 'The credential, for the query parameter `ticket`.' }),
    discussionId: t.exposeID('discussionId', {
      description: 'The discussion that it opens; of several the first of `discussions`.',
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'The deadline for the first connection.' }),
    discussionState: t.expose('discussionState', {
      type: DiscussionStateEnum,
      description: 'Who may write in that discussion.',
    }),
    discussions: t.expose('discussions', {
      type: [TicketDiscussionRef],
      description: 'The discussions that it opens, in the order of the positions in a cursor.',
    }),
    lastEventId: t.exposeString('lastEventId', {
      description: 'The stream position when the ticket was created; of several discussions a cursor.',
    }),
    streamUrl: t.exposeString('streamUrl', { description: 'The whole address to open with an EventSource.' }),
    recipient: t.expose('recipient', {
      type: RecipientRef,
      nullable: true,
      description: 'The reader whose notifications the stream includes. Null without an identity.',
    }),
  }),
})

addMutation('createStreamTicket', {
  isOneOf: true,
  shape: stream.ticketInput,
  input: (t) => ({
    discussionId: t.id({ description: 'The discussion.' }),
    externalId: t.string({
      description: "The tenant's own key for the page. A page without a discussion gets one.",
    }),
    discussionIds: t.idList({ description: 'Several discussions, 1 to 50, for one stream of all of them.' }),
    externalIds: t.stringList({ description: "The same by the tenant's own keys for the pages." }),
  }),
  access: 'key',
  description:
    "Creates a ticket for a browser's stream. With an identity, the stream includes that reader's notifications.",
  extensions: answerEnds(({ streamTicket }: { streamTicket: stream.StreamTicket }) => streamTicket.expiresAt),
  resolve: async (input, ctx) => {
    const earlier = ctx.earlier as { streamTicket: stream.StreamTicket } | undefined
    return { streamTicket: await stream.createStreamTicket(ctx, input, earlier?.streamTicket.discussions) }
  },
  output: (t) => ({
    streamTicket: t.expose('streamTicket', { type: StreamTicketRef, description: 'The ticket.' }),
  }),
})

const PresenceRef = builder.objectRef<Presence>('Presence').implement({
  description: 'The open streams of a discussion.',
  fields: (t) => ({
    streams: t.exposeInt('streams', {
      description: 'The number of open streams and subscriptions, over all processes.',
    }),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'When the number was counted, at most 5 s ago.' }),
  }),
})

builder.objectField(DiscussionRef, 'presence', (t) =>
  t.field({
    type: PresenceRef,
    description: 'The open streams of the discussion.',
    extensions: ONLY_WHERE_NAMED,
    resolve: ({ id }, _args, ctx) => getPresence(ctx, id),
  }),
)

const EventTypeEnum = builder.enumType('EventType', {
  description: 'The type of an event.',
  values: Object.fromEntries(EVENT_TYPES.map((value) => [value, { value, description: EVENTS[value].help }])),
})

const ActorKindEnum = addEnum('EventActorKind', 'Who makes changes.', {
  reader: 'A reader, by an identity assertion.',
  moderator: 'An admin, or a key with moderate_content.',
  system: 'The service itself.',
})

const EventActorRef = builder.objectRef<EventActor>('EventActor').implement({
  description: 'Who made a change.',
  fields: (t) => ({
    kind: t.expose('kind', { type: ActorKindEnum, description: 'The kind of actor.' }),
    readerId: t.id({
      nullable: true,
      description: 'The id of the reader. Null after their erasure.',
      resolve: (actor) => (actor.kind === 'reader' ? actor.readerId : null),
    }),
    externalId: t.string({
      nullable: true,
      description: "The reader's id at the tenant.",
      resolve: (actor) => (actor.kind === 'reader' ? actor.externalId : null),
    }),
  }),
})

/** Fields of a comment that never change. */
const FIXED: ReadonlySet<string> = new Set(['__typename', 'id', 'discussionId', 'parentId', 'depth', 'createdAt'])

/**
 * The comment of an event as its subscriber may read it now, not as it was at the event: a client
 * that keeps comments by their ids is right after each event, and a replay brings nothing older
 * than it has. One that is gone is as the event has it, without its text.
 */
async function presentComment(ctx: Ctx, comment: Comment): Promise<Comment> {
  const gone = (): Comment => publicForm({ ...comment, status: 'deleted', replyCount: 0 })
  return (await readPresent(ctx, comment.id)) ?? gone()
}

const commentOfEvent = (
  { comment }: { comment: Comment },
  _args: object,
  ctx: Ctx,
  info: Parameters<typeof asksOnlyFor>[0],
): Promise<Comment> | Comment => (asksOnlyFor(info, FIXED) ? comment : presentComment(ctx, comment))

const CommentEventDataRef = builder
  .objectRef<{ comment: Comment; tombstones?: Comment[]; wasApproved?: true }>('CommentEventData')
  .implement({
    description: 'The data of events about a comment.',
    fields: (t) => ({
      comment: t.field({
        type: CommentRef,
        description: 'The comment after the event; in GraphQL as its subscriber may read it now.',
        resolve: commentOfEvent,
      }),
      tombstones: t.field({
        type: [CommentRef],
        description:
          'Tombstones that come into view, leave it (`replyCount` 0) or change with the comment, the nearest first. None of them was approved before.',
        resolve: ({ tombstones = [] }, _args, ctx, info) =>
          asksOnlyFor(info, FIXED) ? tombstones : Promise.all(tombstones.map((each) => presentComment(ctx, each))),
      }),
      wasApproved: t.boolean({
        description:
          'Of `comment_approved`: the comment was approved before, and counts already. A moderator has told its author something, and nobody else gets the event.',
        resolve: ({ wasApproved = false }) => wasApproved,
      }),
    }),
  })

interface ReactionEventData {
  commentId: string
  discussionId: string
  occurredAt: string
  type: string | null
  previousType: string | null
  reactionCounts: unknown
  reader: Reader | null
}

/** What is left to tell of a comment that was removed at the erasure of its author. */
const erased = ({ commentId, discussionId, occurredAt }: ReactionEventData): Comment => ({
  ...NULLS,
  id: commentId,
  discussionId,
  depth: 0,
  author: null,
  status: 'deleted',
  revision: 1,
  replyCount: 0,
  reactionCounts: {},
  createdAt: occurredAt,
})

const ReactionEventDataRef = builder.objectRef<ReactionEventData>('ReactionEventData').implement({
  description: 'The data of `reaction_toggled`.',
  fields: (t) => ({
    commentId: t.exposeID('commentId', { description: 'The comment.' }),
    comment: t.field({
      type: CommentRef,
      description: 'The comment as its subscriber may read it now, with its reactionGroups.',
      resolve: async (data, _args, ctx) => (await readPresent(ctx, data.commentId)) ?? erased(data),
    }),
    type: t.exposeString('type', {
      nullable: true,
      description: "The reader's present reaction. Null if they removed it.",
    }),
    previousType: t.exposeString('previousType', { nullable: true, description: "The reader's previous reaction." }),
    reactionCounts: t.expose('reactionCounts', {
      type: 'JSON',
      description: 'The number of reactions of all readers by type.',
      extensions: shapedBy(reactionCountsSchema),
    }),
    reader: t.expose('reader', {
      type: ReaderRef,
      nullable: true,
      description: 'The reader who reacted. Null after their erasure.',
    }),
  }),
})

const DiscussionEventDataRef = builder.objectRef<{ discussion: Discussion }>('DiscussionEventData').implement({
  description: 'The data of events about a discussion.',
  fields: (t) => ({
    discussion: t.field({
      type: DiscussionRef,
      description: 'The discussion after the event; in GraphQL as it is now.',
      resolve: ({ discussion }, _args, ctx) => loadDiscussion(ctx, discussion.id),
    }),
  }),
})

interface Recipient {
  readerId: string
  externalId: string
}

const RecipientRef = builder.objectRef<Recipient>('EventRecipient').implement({
  description: 'The reader that notifications are for.',
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
  description: 'The data of `notification_reply`.',
  fields: (t) => ({
    comment: t.field({
      type: CommentRef,
      description: 'The reply; in GraphQL as its subscriber may read it now.',
      resolve: commentOfEvent,
    }),
    parentCommentId: t.exposeID('parentCommentId', {
      description: "The id of the recipient's comment that was answered.",
    }),
    recipient: t.expose('recipient', {
      type: RecipientRef,
      nullable: true,
      description: 'The recipient. Null after the erasure of the reader.',
    }),
  }),
})

const EventDataUnion = builder.unionType('EventData', {
  description: 'The data of an event, by its type.',
  types: [CommentEventDataRef, ReactionEventDataRef, DiscussionEventDataRef, ReplyNotificationDataRef],
  resolveType: (data) => {
    if ('recipient' in data) return ReplyNotificationDataRef
    if ('comment' in data) return CommentEventDataRef
    return 'discussion' in data ? DiscussionEventDataRef : ReactionEventDataRef
  },
})

const DiscussionEventRef = builder.objectRef<StreamEvent>('DiscussionEvent').implement({
  description: 'A change in a discussion, as on its SSE stream.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the event.' }),
    type: t.expose('type', { type: EventTypeEnum, description: 'The type of the event.' }),
    discussionId: t.exposeID('discussionId', { description: 'The discussion of the event.' }),
    seq: t.exposeInt('seq', {
      description: 'The position: 1, 2, 3, … per discussion, in commit order. Send it as lastEventId to resume.',
    }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime', description: 'When it happened.' }),
    actor: t.expose('actor', { type: EventActorRef, description: 'Who did it.' }),
    data: t.field({
      type: EventDataUnion,
      description: 'The data of the event.',
      resolve: ({ data, discussionId, occurredAt }) =>
        ('commentId' in data ? { ...data, discussionId, occurredAt } : data) as never,
    }),
  }),
})

builder.subscriptionField('discussionEvents', (t) =>
  t.field({
    type: DiscussionEventRef,
    access: 'key',
    client: ofDiscussion,
    description:
      'Subscribes to the events of a discussion in order: first the events after lastEventId, then new ones.',
    args: {
      discussionId: t.arg.id({ required: true, description: 'The discussion.' }),
      lastEventId: t.arg.string({ description: 'Resume strictly after this position.' }),
    },
    subscribe: (_root, args, ctx) => followDiscussion(ctx, args),
    resolve: (frame: Frame) => eventOf(frame),
  }),
)

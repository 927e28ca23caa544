import type { NotificationKind } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { NodeRef } from '../../graphql/node.ts'
import { ONLY_WHERE_NAMED } from '../../graphql/in-rest.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { readPresent } from '../comments/comments.ts'
import { CommentRef } from '../comments/graphql.ts'
import { findDiscussion } from '../discussions/discussions.ts'
import { DiscussionRef } from '../discussions/graphql.ts'
import { ReaderRef } from '../readers/graphql.ts'
import { findReader } from '../readers/records.ts'
import {
  COUNTED_UNREAD,
  countUnread,
  listNotifications,
  markNotificationsRead,
  readInput,
  type UnreadCount,
} from './notifications.ts'
import {
  handedOutInput,
  listPending,
  markHandedOut,
  type PendingInbox,
  pendingInput,
  SEARCHED_PENDING,
} from './pending.ts'
import { type Choice, type Preferences, preferencesInput, preferencesOf, updatePreferences } from './preferences.ts'
import type { Notification } from './visible.ts'

export const NotificationKindEnum = addEnum<NotificationKind>('NotificationKind', 'What a reader is told.', {
  reply: 'Somebody has replied to their comment.',
  mention: 'Somebody has named them in a comment.',
  decision: 'A moderator, or a rule, has decided on their comment.',
})

const NotificationRef = builder.objectRef<Notification>('Notification').implement({
  description: 'What a reader is told of a comment. It is shown while they can see the comment.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the notification. The list is sorted by it.' }),
    kind: t.expose('kind', { type: NotificationKindEnum, description: 'What the reader is told.' }),
    comment: t.field({
      type: CommentRef,
      nullable: true,
      description: 'The reply, the comment that names them, or their own. Null if it was removed meanwhile.',
      resolve: ({ commentId }, _args, ctx) => readPresent(ctx, commentId),
    }),
    actor: t.field({
      type: ReaderRef,
      nullable: true,
      description: 'The author of the comment. Null for a decision, which names no moderator.',
      resolve: ({ kind, comment: { authorId } }, _args, ctx) =>
        kind === 'decision' || authorId === null ? null : findReader(ctx, authorId),
    }),
    discussion: t.field({
      type: DiscussionRef,
      nullable: true,
      description: 'The discussion of the comment. Null if it was deleted meanwhile.',
      resolve: ({ comment }, _args, ctx) => findDiscussion(ctx, comment.discussionId),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
    readAt: t.expose('readAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the reader marked it as read. Null before.',
    }),
  }),
})

const UnreadRef = builder.objectRef<UnreadCount>('UnreadNotifications').implement({
  description: 'How many notifications a reader has not read.',
  fields: (t) => ({
    count: t.exposeInt('count', { description: `Their number, counted up to ${COUNTED_UNREAD}.` }),
    hasMore: t.exposeBoolean('hasMore', { description: 'Whether there are more than were counted.' }),
  }),
})

const NotificationChoiceEnum = addEnum<Choice>('NotificationChoice', 'Which notifications of a kind a reader gets.', {
  all: 'All of them.',
  none: 'None of them.',
})

const KINDS = {
  reply: 'Of replies to their comments.',
  mention: 'Of comments that name them.',
  decision: 'Of decisions on their comments.',
} satisfies Record<NotificationKind, string>

export const NotificationPreferencesRef = builder.objectRef<Preferences>('NotificationPreferences').implement({
  description: 'Which notifications a reader gets.',
  fields: (t) => ({
    reply: t.expose('reply', { type: NotificationChoiceEnum, description: KINDS.reply }),
    mention: t.expose('mention', { type: NotificationChoiceEnum, description: KINDS.mention }),
    decision: t.expose('decision', { type: NotificationChoiceEnum, description: KINDS.decision }),
  }),
})

builder.objectFields(ReaderRef, (t) => ({
  notifications: t.connection({
    type: NotificationRef,
    nullable: true,
    description:
      'What the reader is told of comments that they can see, newest first. Null for all but the asserted reader.',
    args: { unread: t.arg.boolean({ description: 'Whether to leave out what they have read.' }) },
    resolve: (reader, args, ctx) => listNotifications(ctx, reader, args),
  }),
  unreadNotifications: t.field({
    type: UnreadRef,
    nullable: true,
    description: 'How many of these they have not read. Null for all but the asserted reader.',
    extensions: ONLY_WHERE_NAMED,
    resolve: (reader, _args, ctx) => countUnread(ctx, reader),
  }),
  notificationPreferences: t.field({
    type: NotificationPreferencesRef,
    nullable: true,
    description: 'Which notifications the reader gets. Null for all but the asserted reader.',
    extensions: ONLY_WHERE_NAMED,
    resolve: (reader, _args, ctx) => preferencesOf(ctx, reader),
  }),
}))

const WhichInput = builder.inputType('NotificationsToRead', {
  isOneOf: true,
  description: 'Which notifications to mark as read.',
  extensions: shapedBy(readInput),
  fields: (t) => ({
    ids: t.idList({ description: 'These, 1 to 100. Those that the reader does not see stay as they are.' }),
    before: t.field({ type: 'DateTime', description: 'All that came before this time.' }),
  }),
})

addMutation('markNotificationsRead', {
  input: (t) => ({
    which: t.field({ type: WhichInput, required: true, description: 'The notifications.' }),
  }),
  access: 'reader',
  client: true,
  description: 'Marks notifications of the asserted reader as read. Safe to repeat.',
  resolve: async (input, ctx) => ({ viewer: await markNotificationsRead(ctx, input) }),
  output: (t) => ({
    viewer: t.expose('viewer', { type: ReaderRef, description: 'The reader, with what is left to read.' }),
  }),
})

addMutation('updateNotificationPreferences', {
  takes: 'The preferences to change. Omitted ones stay as they are.',
  shape: preferencesInput,
  input: (t) => ({
    reply: t.field({ type: NotificationChoiceEnum, description: KINDS.reply }),
    mention: t.field({ type: NotificationChoiceEnum, description: KINDS.mention }),
    decision: t.field({ type: NotificationChoiceEnum, description: KINDS.decision }),
  }),
  access: 'reader',
  client: true,
  description: 'Changes which notifications the asserted reader gets from now on. Safe to repeat.',
  resolve: async (input, ctx) => ({ viewer: await updatePreferences(ctx, input) }),
  output: (t) => ({
    viewer: t.expose('viewer', { type: ReaderRef, description: 'The reader, with their preferences.' }),
  }),
})

const PendingInboxRef = builder.objectRef<PendingInbox>('PendingInbox').implement({
  description: "A reader's notifications that they have not read, and that were not handed out.",
  fields: (t) => ({
    reader: t.expose('reader', { type: ReaderRef, description: 'Who is told.' }),
    notifications: t.expose('notifications', {
      type: [NotificationRef],
      description: 'What they are told, oldest first. Comments are as the caller may see them.',
    }),
  }),
})

builder.queryField('pendingNotifications', (t) =>
  t.connection({
    type: PendingInboxRef,
    access: 'key',
    description:
      'Returns readers with notifications that they have not read and that were not handed out, the longest waiting ' +
      `first. A page looks through ${SEARCHED_PENDING} notifications: it may have fewer readers than asked for, or ` +
      'none, while hasNextPage is true, and a reader may be on the next one again.',
    args: {
      olderThanSeconds: t.arg.int({
        description: 'Only notifications that are so old: 0 to 7 776 000. The default is 0.',
        extensions: shapedBy(pendingInput.shape.olderThanSeconds),
      }),
    },
    resolve: (_root, args, ctx) => listPending(ctx, args),
  }),
)

addMutation('markNotificationsHandedOut', {
  shape: handedOutInput,
  input: (t) => ({
    ids: t.idList({ required: true, description: 'The notifications, 1 to 100. Unknown ones are ignored.' }),
  }),
  access: 'key',
  description:
    'Notes that the caller takes these notifications, for example to send a mail. Of several callers at once, one gets each.',
  resolve: async (input, ctx) => ({ handedOutIds: await markHandedOut(ctx, input) }),
  output: (t) => ({
    handedOutIds: t.exposeIDList('handedOutIds', {
      description: "Those that nobody had taken before: they are the caller's to send.",
    }),
  }),
})

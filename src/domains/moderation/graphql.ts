import { z } from 'zod'

import { COUNT_LIMIT } from '../../core/sql.ts'
import { builder } from '../../schema/builder.ts'
import { shapedBy } from '../../schema/shape.ts'
import { CommentRef, CommentStatusEnum } from '../comments/graphql.ts'
import type { HoldReason } from '../comments/rules.ts'
import { DiscussionRef } from '../discussions/graphql.ts'
import { ReaderRef } from '../readers/graphql.ts'
import { BULK_ACTIONS, type BulkOutcome, bulkInput, moderateComments } from './bulk.ts'
import * as comments from './comments.ts'
import * as discussions from './discussions.ts'
import { listModerationQueue, type QueueCounts, type QueueItem } from './queue.ts'
import type { QueueFrame } from './queue-topic.ts'
import { followModerationQueue } from './queue-watch.ts'
import { listReportsById, listReportsOf, type ReceivedReport } from './received-reports.ts'
import { type Report, REPORT_REASONS, reportComment, reportInput } from './reports.ts'

const ReportReasonEnum = builder.enumType('ReportReason', {
  description: 'What is wrong with a comment.',
  values: REPORT_REASONS,
})

const ReportRef = builder.objectRef<Report>('Report').implement({
  description: 'What a reader has told the moderators of a comment.',
  fields: (t) => ({
    commentId: t.exposeID('commentId', { description: 'The comment.' }),
    reason: t.expose('reason', { type: ReportReasonEnum, description: 'What is wrong with it.' }),
    note: t.exposeString('note', { nullable: true, description: 'More about it.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was reported.' }),
  }),
})

const ReceivedReportRef = builder.objectRef<ReceivedReport>('ReceivedReport').implement({
  description: 'A report of a comment, as moderators see it.',
  fields: (t) => ({
    reason: t.expose('reason', { type: ReportReasonEnum, description: 'What is wrong with the comment.' }),
    note: t.exposeString('note', { nullable: true, description: 'More about it.' }),
    reader: t.expose('reader', { type: ReaderRef, description: 'Who reported it.' }),
    counted: t.exposeBoolean('counted', {
      description: 'Whether it counts; one of a reader who was banned in shadow does not.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was reported.' }),
  }),
})

builder.objectField(CommentRef, 'reports', (t) =>
  t.connection({
    type: ReceivedReportRef,
    nullable: true,
    description: 'The reports of it, newest first. Null without moderate_content.',
    resolve: ({ id }, args, ctx) => listReportsOf(ctx, id, args),
  }),
)

builder.queryField('commentReports', (t) =>
  t.connection({
    type: ReceivedReportRef,
    access: 'moderate_content',
    description: 'The reports of a comment, newest first.',
    args: { id: t.arg.id({ required: true, description: 'The id of the comment.' }) },
    resolve: (_root, { id, ...args }, ctx) => listReportsById(ctx, id, args),
  }),
)

const QueueStatusEnum = builder.enumType('ModerationQueueStatus', {
  description: 'Which comments moderators are to look at.',
  values: {
    pending: { description: 'Wait for a moderator, out of view.' },
    reported: { description: "In view or waiting, with reports or a rule's objection that no moderator has answered." },
    rejected: { description: 'Refused by a moderator.' },
  },
})

const HoldReasonEnum = builder.enumType('HoldReason', {
  description: 'Why a comment waits for a moderator, or was put before one after it appeared.',
  values: {
    pre_moderation: { description: 'Every comment waits.' },
    suspect_word: { description: 'It has one of the suspect words.' },
    too_many_links: { description: 'It has more links than maxLinks.' },
    repeated_text: { description: 'Its author has posted the same text within 24 hours.' },
    first_comments: { description: 'Its author has fewer approved comments than holdFirstComments.' },
    shadow_ban: { description: 'Its author is banned in shadow.' },
    classifier: { description: "The tenant's classifier is being asked, wants a moderator to decide, or refused it." },
    reports: { description: 'Readers have reported it as often as reportThreshold says.' },
  } satisfies Record<HoldReason, { description: string }>,
})

const QueueItemRef = builder.objectRef<QueueItem>('ModerationQueueItem').implement({
  description: 'A comment that moderators are to look at.',
  fields: (t) => ({
    comment: t.expose('comment', { type: CommentRef, description: 'The comment.' }),
    reportCount: t.exposeInt('reportCount', { description: 'How many readers have reported it.' }),
    openReportCount: t.exposeInt('openReportCount', {
      description: 'How many of these reports no moderator has answered, by approving or rejecting it.',
    }),
    reason: t.expose('reason', {
      type: HoldReasonEnum,
      nullable: true,
      description:
        'Why it waits, or was put before moderators; null where one has judged it, or reports alone brought it.',
    }),
  }),
})

const ModerationActionEnum = builder.enumType('ModerationAction', {
  description: 'What to do to comments.',
  values: BULK_ACTIONS,
})

const BulkOutcomeRef = builder.objectRef<BulkOutcome>('ModerationOutcome').implement({
  description: 'What became of one comment.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The comment, as it was asked for.', extensions: shapedBy(z.string()) }),
    ok: t.exposeBoolean('ok', { description: 'Whether it was done, or was so already.' }),
    status: t.expose('status', {
      type: CommentStatusEnum,
      nullable: true,
      description: 'Its state now; null where refused.',
    }),
    code: t.exposeString('code', { nullable: true, description: 'The error code where it was refused.' }),
    detail: t.exposeString('detail', { nullable: true, description: 'The refusal in words.' }),
  }),
})

const discussionMutation = (
  name: 'lockDiscussion' | 'unlockDiscussion' | 'archiveDiscussion',
  description: string,
): void =>
  void builder.relayMutationField(
    name,
    { inputFields: (t) => ({ discussionId: t.id({ required: true, description: 'The discussion.' }) }) },
    {
      access: 'moderate_content',
      throws: ['invalid_transition', 'discussion_archived'],
      description,
      resolve: async (_root, { input }, ctx) => ({ discussion: await discussions[name](ctx, input) }),
    },
    {
      outputFields: (t) => ({
        discussion: t.expose('discussion', { type: DiscussionRef, description: 'The discussion as it is now.' }),
      }),
    },
  )

discussionMutation('lockDiscussion', 'Keeps readers from writing in a discussion, until it is unlocked.')
discussionMutation('unlockDiscussion', 'Lets readers write in a locked discussion again.')
discussionMutation('archiveDiscussion', 'Closes a discussion for good: nothing in it changes any more.')

const commentMutation = (
  name: 'approveComment' | 'rejectComment' | 'pinComment' | 'unpinComment',
  description: string,
): void =>
  void builder.relayMutationField(
    name,
    {
      ...(name === 'approveComment' && { extensions: shapedBy(comments.approveInput) }),
      inputFields: (t) => ({
        commentId: t.id({ required: true, description: 'The comment.' }),
        ...(name === 'approveComment' && {
          revision: t.int({
            description:
              'The text that was judged: a comment that was edited since is refused, with invalid_transition.',
          }),
        }),
      }),
    },
    {
      access: 'moderate_content',
      throws: ['invalid_transition', 'discussion_archived'],
      description,
      resolve: async (_root, { input }, ctx) => ({ comment: await comments[name](ctx, input) }),
    },
    {
      outputFields: (t) => ({
        comment: t.expose('comment', { type: CommentRef, description: 'The comment as it is now.' }),
      }),
    },
  )

commentMutation('approveComment', 'Puts a pending or rejected comment in view, and answers the reports on a comment.')
commentMutation('rejectComment', 'Takes a comment out of view, or keeps a pending one out of it.')
commentMutation('pinComment', 'Puts an approved comment before all others of its level.')
commentMutation('unpinComment', 'Puts a pinned comment back in its place.')

builder.relayMutationField(
  'moderateComments',
  {
    extensions: shapedBy(bulkInput),
    inputFields: (t) => ({
      ids: t.idList({ required: true, description: 'The comments, 1 to 100.' }),
      action: t.field({
        type: ModerationActionEnum,
        required: true,
        description: 'What to do to each of them.',
      }),
      revisions: t.intList({
        description: 'With approve: the texts that were judged, one for each of the ids; one edited since is refused.',
      }),
    }),
  },
  {
    access: 'moderate_content',
    description: 'Does the same to many comments, each by itself: one that is refused keeps none of the others.',
    resolve: async (_root, { input }, ctx) => ({ outcomes: await moderateComments(ctx, input) }),
  },
  {
    outputFields: (t) => ({
      outcomes: t.expose('outcomes', {
        type: [BulkOutcomeRef],
        description: 'An outcome for each, in the order given.',
      }),
    }),
  },
)

builder.relayMutationField(
  'reportComment',
  {
    extensions: shapedBy(reportInput),
    inputFields: (t) => ({
      commentId: t.id({ required: true, description: 'The comment.' }),
      reason: t.field({ type: ReportReasonEnum, required: true, description: 'What is wrong with it.' }),
      note: t.string({ description: 'More about it, at most 1 000 characters.' }),
    }),
  },
  {
    access: 'reader',
    throws: ['reader_banned', 'discussion_archived', 'already_reported'],
    description: 'Reports a comment in view for the asserted reader, once.',
    resolve: async (_root, { input }, ctx) => ({ report: await reportComment(ctx, input) }),
  },
  { outputFields: (t) => ({ report: t.expose('report', { type: ReportRef, description: 'The report.' }) }) },
)

builder.queryField('moderationQueue', (t) =>
  t.connection({
    type: QueueItemRef,
    access: 'moderate_content',
    description: 'Comments that moderators are to look at: what has waited longest first; rejected ones newest first.',
    args: {
      status: t.arg({ type: QueueStatusEnum, defaultValue: 'pending', description: 'Which of them.' }),
      discussionId: t.arg.id({ description: 'Only those of this discussion.' }),
    },
    resolve: (_root, args, ctx) => listModerationQueue(ctx, args),
  }),
)

export const BOUNDED = `Counted up to ${COUNT_LIMIT.toLocaleString('en').replace(',', ' ')}: that number means as many or more.`

const QueueCountsRef = builder.objectRef<QueueCounts>('ModerationQueueCounts').implement({
  description: 'How many comments wait for a moderator.',
  fields: (t) => ({
    pending: t.exposeInt('pending', { description: `Those in the queue \`pending\`. ${BOUNDED}` }),
    reported: t.exposeInt('reported', { description: `Those in the queue \`reported\`. ${BOUNDED}` }),
  }),
})

builder.subscriptionField('moderationQueueChanged', (t) =>
  t.field({
    type: QueueCountsRef,
    access: 'moderate_content',
    description:
      'How much waits for moderators: at once, and again whenever a comment has come into one of the queues, has left it or is another one in it, four times a second at most. Which, moderationQueue tells.',
    subscribe: (_root, _args, ctx) => followModerationQueue(ctx),
    resolve: ({ counts }: QueueFrame) => counts,
  }),
)

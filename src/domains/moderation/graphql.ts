import { z } from 'zod'

import { invalid } from '../../core/errors.ts'
import { upToBudget } from '../../graphql/budget.ts'
import { builder } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { namedInRest, ONLY_WHERE_NAMED } from '../../graphql/in-rest.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { ofComment } from '../discussions/scope.ts'
import { findComment } from '../comments/comments.ts'
import { explanationSchema } from '../comments/decision.ts'
import { besideComment, CommentRef, CommentStatusEnum, DecisionRef, explanationFields } from '../comments/graphql.ts'
import { loadToldDecision } from '../comments/viewers-decision.ts'
import { DiscussionRef } from '../discussions/graphql.ts'
import { ReaderRef } from '../readers/graphql.ts'
import { type BulkOutcome, bulkInput, moderateComments } from './bulk.ts'
import * as comments from './comments.ts'
import * as discussions from './discussions.ts'
import { listReportsById, listReportsOf, type ReceivedReport } from './received-reports.ts'
import { type Report, reportComment, reportInput } from './reports.ts'

const ReportReasonEnum = addEnum('ReportReason', 'The reason of a report.', {
  spam: 'It is spam.',
  abuse: 'It insults or threatens.',
  off_topic: 'It does not belong to the page.',
  other: 'Another reason, which the note may tell.',
})

const ReportRef = builder.objectRef<Report>('Report').implement({
  description: 'A report of a comment by a reader.',
  fields: (t) => ({
    commentId: t.exposeID('commentId', { description: 'The comment.' }),
    reason: t.expose('reason', { type: ReportReasonEnum, description: 'The reason of the report.' }),
    note: t.exposeString('note', { nullable: true, description: "The reader's note." }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was reported.' }),
  }),
})

export const ReceivedReportRef = builder.objectRef<ReceivedReport>('ReceivedReport').implement({
  description: 'A report of a comment, as moderators see it.',
  fields: (t) => ({
    reason: t.expose('reason', { type: ReportReasonEnum, description: 'The reason of the report.' }),
    note: t.exposeString('note', { nullable: true, description: "The reader's note." }),
    reader: t.expose('reader', { type: ReaderRef, description: 'Who reported it.' }),
    counted: t.exposeBoolean('counted', {
      description:
        'Whether the report counts. A report by a reader with a shadow ban does not, nor one by a guest whose comments still wait for a first approval.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was reported.' }),
  }),
})

builder.objectField(CommentRef, 'reports', (t) =>
  t.connection({
    type: ReceivedReportRef,
    nullable: true,
    description: 'The reports of the comment, newest first. Null without moderate_content.',
    resolve: ({ id }, args, ctx) => listReportsOf(ctx, id, args),
  }),
)

builder.queryField('commentReports', (t) =>
  t.connection({
    type: ReceivedReportRef,
    access: 'moderate_content',
    description: 'Returns the reports of a comment, newest first.',
    args: { id: t.arg.id({ required: true, description: 'The id of the comment.' }) },
    resolve: (_root, { id, ...args }, ctx) => listReportsById(ctx, id, args),
  }),
)

const ModerationActionEnum = addEnum('ModerationAction', 'An action on comments.', {
  approve: 'Shows a comment that waits, or was rejected.',
  reject: 'Hides the comment.',
  delete: 'Deletes the comment. This is final.',
  pin: 'Pins the comment, so that it comes first.',
  unpin: 'Removes the pin.',
  review: 'Marks an approved comment as reviewed.',
})

const BulkOutcomeRef = builder.objectRef<BulkOutcome>('ModerationOutcome').implement({
  description: 'The outcome for one comment.',
  fields: (t) => ({
    commentId: t.exposeID('id', {
      description: 'The id of the comment, as sent.',
      extensions: { ...shapedBy(z.string()), ...namedInRest('id') },
    }),
    ok: t.exposeBoolean('ok', { description: 'Whether the action was done, or had been done before.' }),
    status: t.expose('status', {
      type: CommentStatusEnum,
      nullable: true,
      description: 'The state after the action. Null if it was refused.',
    }),
    comment: t.field({
      type: CommentRef,
      nullable: true,
      description: 'The comment after the action. Null if it was refused.',
      extensions: ONLY_WHERE_NAMED,
      resolve: async ({ id, ok }, _args, ctx, info) => {
        const comment = ok ? await findComment(ctx, id) : null
        if (comment !== null && (await upToBudget(ctx, info, 'Comment', [comment])).length === 0)
          throw invalid('/ids', 'too_long', 'have more texts than an answer may have: ask for the outcomes alone')
        return comment
      },
    }),
    decision: t.field({
      type: DecisionRef,
      nullable: true,
      description:
        'What the author is told of the last decision on the present text. Null if they are told nothing, as with a shadow ban, and if the action was refused.',
      extensions: ONLY_WHERE_NAMED,
      resolve: ({ id, ok }, _args, ctx) => (ok ? loadToldDecision(ctx, id) : null),
    }),
    code: t.exposeString('code', { nullable: true, description: 'The error code if the action was refused.' }),
    detail: t.exposeString('detail', { nullable: true, description: 'The reason of a refusal.' }),
  }),
})

const discussionMutation = (
  name: 'lockDiscussion' | 'unlockDiscussion' | 'archiveDiscussion',
  description: string,
): void =>
  addMutation(name, {
    input: (t) => ({ discussionId: t.id({ required: true, description: 'The discussion.' }) }),
    access: 'moderate_content',
    throws: ['invalid_transition', 'discussion_archived'],
    description,
    resolve: async (input, ctx) => ({ discussion: await discussions[name](ctx, input) }),
    output: (t) => ({
      discussion: t.expose('discussion', { type: DiscussionRef, description: 'The discussion after the change.' }),
    }),
  })

discussionMutation('lockDiscussion', 'Locks a discussion. Readers cannot write in it until it is unlocked.')
discussionMutation('unlockDiscussion', 'Lets readers write in a locked discussion again.')
discussionMutation(
  'archiveDiscussion',
  'Archives a discussion. Nothing in it can be changed afterwards. This is final.',
)

const revisionField = (
  t: PothosSchemaTypes.InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>,
) => ({
  revision: t.int({
    description:
      'The revision that was reviewed. If the comment was edited since, the request fails with invalid_transition.',
  }),
})

const commentMutation = (
  name: 'approveComment' | 'rejectComment' | 'pinComment' | 'unpinComment' | 'reviewComment',
  description: string,
): void =>
  addMutation(name, {
    ...(name === 'approveComment' && { shape: comments.approveInput }),
    ...(name === 'reviewComment' && { shape: comments.reviewInput }),
    ...(name === 'rejectComment' && { shape: explanationSchema }),
    input: (t) => ({
      commentId: t.id({ required: true, description: 'The comment.' }),
      ...((name === 'approveComment' || name === 'reviewComment') && revisionField(t)),
      ...((name === 'approveComment' || name === 'rejectComment') && explanationFields(t)),
    }),
    access: 'moderate_content',
    throws: ['invalid_transition', 'discussion_archived'],
    description,
    resolve: async (input, ctx) => ({ comment: await comments[name](ctx, input) }),
    output: (t) => ({
      comment: t.expose('comment', { type: CommentRef, description: 'The comment after the change.' }),
      ...besideComment(t),
    }),
  })

commentMutation('approveComment', 'Approves a pending or rejected comment, and answers the reports of it.')
commentMutation('rejectComment', 'Rejects a comment. It is not public any more.')
commentMutation('pinComment', 'Pins an approved comment: it comes before all others of its level.')
commentMutation('unpinComment', 'Unpins a comment.')
commentMutation(
  'reviewComment',
  'Marks an approved comment as reviewed: it leaves the queue `unreviewed`. A judgement marks a comment as well, and an edit takes the mark off.',
)

addMutation('moderateComments', {
  shape: bulkInput,
  input: (t) => ({
    ids: t.idList({ required: true, description: 'The comments, 1 to 100.' }),
    action: t.field({
      type: ModerationActionEnum,
      required: true,
      description: 'The action on each comment.',
    }),
    revisions: t.intList({
      description:
        'With approve and review: the revisions that were reviewed, one for each id. A comment that was edited since is refused.',
    }),
    ...explanationFields(t),
  }),
  access: 'moderate_content',
  description:
    'Approves, rejects, deletes, pins, unpins or reviews many comments. Each has its own outcome: a refusal of one does not affect the others.',
  resolve: async (input, ctx) => ({ outcomes: await moderateComments(ctx, input) }),
  output: (t) => ({
    outcomes: t.expose('outcomes', {
      type: [BulkOutcomeRef],
      description: 'The outcomes, in the order of the ids.',
    }),
  }),
})

addMutation('reportComment', {
  shape: reportInput,
  input: (t) => ({
    commentId: t.id({ required: true, description: 'The comment.' }),
    reason: t.field({ type: ReportReasonEnum, required: true, description: 'The reason of the report.' }),
    note: t.string({ description: 'A note, at most 1 000 characters.' }),
  }),
  access: 'reader',
  client: ofComment,
  throws: ['reader_banned', 'discussion_archived', 'already_reported', 'invalid_transition'],
  description:
    'Reports an approved comment for the asserted reader. A reader can report a comment once, and not their own.',
  resolve: async (input, ctx) => ({ report: await reportComment(ctx, input) }),
  output: (t) => ({ report: t.expose('report', { type: ReportRef, description: 'The report.' }) }),
})

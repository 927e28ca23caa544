import { builder, type InputFields, type ObjectFields } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { ONLY_WHERE_NAMED } from '../../graphql/in-rest.ts'
import { NodeRef } from '../../graphql/node.ts'
import { listed } from '../../graphql/connection.ts'
import { inputFields } from '../../graphql/checked.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { storedFields } from '../../graphql/stored-fields.ts'
import { ofComment, ofNewComment, seenByClient } from '../discussions/scope.ts'
import { loadDiscussion } from '../discussions/discussions.ts'
import { DiscussionByInput, DiscussionRef } from '../discussions/graphql.ts'
import { shownWith } from '../../graphql/shown-with.ts'
import { ReaderRef } from '../readers/graphql.ts'
import { RECORD_CAPABILITIES } from '../readers/records.ts'
import { COUNTED_COMMENTS, countCommentsOfReader, listCommentsOfReader, SEARCHED_COMMENTS } from './by-reader.ts'
import type { ReaderCommentCounts } from './by-reader.ts'
import * as changes from './history/edit.ts'
import type { Comment } from './comment.ts'
import * as comments from './comments.ts'
import { type Decision, type DECISION_ACTIONS, type DECISION_REASONS, explanationSchema } from './decision.ts'
import { decisionOfViewer } from './viewers-decision.ts'
import { reactionOfViewer } from './viewers-reaction.ts'
import { createComment } from './create.ts'
import { bodySchema, FIELDS, JSON_FIELDS, newCommentSchema } from './fields.ts'
import { type CommentPreview, previewText } from './checked-text.ts'
import { authorsInput, listAuthors } from './authors.ts'
import { withNames } from './mentioned.ts'
import { cursorOf, listComments, listRepliesOf } from './list.ts'
import type { Ctx } from '../../core/context.ts'
import { isMutedByViewer } from '../readers/mutes/mutes.ts'

export const CommentStatusEnum = addEnum('CommentStatus', 'Only the text of an approved comment is public.', {
  pending: 'Waits for a moderator.',
  approved: 'Public.',
  rejected: 'Rejected by a moderator.',
  deleted: 'Deleted. It stays as a tombstone while it has replies in view.',
  withheld:
    'The tombstone of a pending or rejected comment with replies in view. Its author gets its state instead, and so do moderators by its id.',
})

const CommentSortEnum = addEnum('CommentSort', 'The order of a level of a thread.', {
  newest: 'Newest first.',
  oldest: 'Oldest first.',
  top: 'Most reactions first, then most replies, then newest.',
})

const DecisionReasonEnum = addEnum<(typeof DECISION_REASONS)[number]>(
  'DecisionReason',
  'The reason of a decision on a comment.',
  {
    spam: 'It is spam.',
    abuse: 'It insults or threatens.',
    off_topic: 'It does not belong to the page.',
    illegal: 'It is against the law.',
    other: 'Another reason, which the message may tell.',
  },
)

export const DecisionRef = builder.objectRef<Decision>('CommentDecision').implement({
  description: 'A decision on a comment, as its author sees it.',
  fields: (t) => ({
    action: t.field({
      type: addEnum<(typeof DECISION_ACTIONS)[number]>('DecisionAction', 'What was decided on a comment.', {
        approve: 'It was approved.',
        reject: 'It was rejected.',
        delete: 'A moderator deleted it.',
      }),
      description: 'What was decided.',
      resolve: ({ action }) => action,
    }),
    reason: t.expose('reason', {
      type: DecisionReasonEnum,
      nullable: true,
      description: 'The reason. Null if none was given.',
    }),
    message: t.exposeString('message', { nullable: true, description: "The moderator's message to the author." }),
    automated: t.exposeBoolean('automated', { description: "Whether the tenant's classifier decided." }),
    at: t.field({ type: 'DateTime', description: 'When it was decided.', resolve: ({ at }) => at }),
  }),
})

/** The input fields with which a moderator explains a decision. */
export const explanationFields = (t: InputFields) => ({
  reason: t.field({ type: DecisionReasonEnum, description: 'The reason, for the author of the comment.' }),
  message: t.string({ description: 'A message to the author of the comment, 1 to 500 characters.' }),
})

export const storedField = storedFields(FIELDS, { comment_status: CommentStatusEnum })

export const CommentRef = builder.objectRef<Comment>('Comment').implement({
  description: 'A comment of a reader.',
  interfaces: [NodeRef],
  fields: (t) => {
    const special = {
      author: t.expose('author', {
        type: ReaderRef,
        nullable: true,
        description: 'The author. Null for a tombstone and after the erasure of the reader.',
      }),
      reactionCounts: t.expose('reactionCounts', {
        type: 'JSON',
        description: FIELDS.reactionCounts.help,
        extensions: shapedBy(comments.reactionCountsSchema),
      }),
      bodyHtml: t.string({
        nullable: true,
        description: FIELDS.bodyHtml.help,
        resolve: ({ bodyHtml }, _args, ctx) => withNames(ctx, bodyHtml),
      }),
      viewerReaction: t.string({
        nullable: true,
        description: FIELDS.viewerReaction.help,
        resolve: (comment, _args, ctx) => reactionOfViewer(ctx, comment),
      }),
      authorMuted: t.boolean({
        nullable: true,
        description: FIELDS.authorMuted.help,
        resolve: (comment, _args, ctx) => isAuthorMuted(ctx, comment),
      }),
      decision: t.field({
        type: DecisionRef,
        nullable: true,
        description: FIELDS.decision.help,
        resolve: (comment, _args, ctx) => decisionOfViewer(ctx, comment),
      }),
    }
    const isSpecial = (name: string): name is keyof typeof special => name in special
    return Object.fromEntries(JSON_FIELDS.map((name) => [name, isSpecial(name) ? special[name] : storedField(t, name)]))
  },
})

builder.objectField(listed(builder, CommentRef).connection, 'totalCount', (t) =>
  t.int({
    nullable: true,
    description:
      'The number of all entries, for the replies of a comment. Null for other lists, whose entries would have to be counted.',
    resolve: ({ totalCount }) => totalCount ?? null,
  }),
)

builder.objectField(CommentRef, 'replies', (t) =>
  t.connection({
    type: CommentRef,
    description: 'The direct replies in view.',
    args: { sort: t.arg({ type: CommentSortEnum, defaultValue: 'newest', description: 'The order.' }) },
    resolve: (comment, args, ctx) => listRepliesOf(ctx, comment, args),
  }),
)

builder.objectFields(CommentRef, (t) => ({
  discussion: t.field({
    type: DiscussionRef,
    description: 'The discussion that it belongs to.',
    extensions: ONLY_WHERE_NAMED,
    resolve: ({ discussionId }, _args, ctx) => loadDiscussion(ctx, discussionId),
  }),
  parent: t.field({
    type: CommentRef,
    nullable: true,
    description: 'The comment that it replies to. Null at the top level.',
    extensions: ONLY_WHERE_NAMED,
    resolve: (comment, _args, ctx) => comments.parentOf(ctx, comment),
  }),
}))

const spaced = (count: number): string => count.toLocaleString('en').replace(',', ' ')

const SEARCHED = `A page of one discussion or state looks through ${spaced(SEARCHED_COMMENTS)} of them: it may have fewer entries than asked for, or none, while hasNextPage is true.`

builder.objectField(ReaderRef, 'comments', (t) =>
  t.connection({
    type: CommentRef,
    ...shownWith(`Their comments in any state, newest first. ${SEARCHED}`, RECORD_CAPABILITIES, {
      except: '; the asserted reader sees their own',
    }),
    args: {
      discussionId: t.arg.id({ description: 'Only comments of this discussion.' }),
      status: t.arg({ type: CommentStatusEnum, description: 'Only comments in this state.' }),
    },
    resolve: (reader, args, ctx) => listCommentsOfReader(ctx, reader, args),
  }),
)

const ReaderCommentCountsRef = builder.objectRef<ReaderCommentCounts>('ReaderCommentCounts').implement({
  description: 'The newest comments of a reader by state.',
  fields: (t) => ({
    total: t.exposeInt('total', { description: `The number of comments, counted up to ${COUNTED_COMMENTS}.` }),
    approved: t.exposeInt('approved', { description: 'Approved comments.' }),
    pending: t.exposeInt('pending', { description: 'Comments that wait for a moderator.' }),
    rejected: t.exposeInt('rejected', { description: 'Comments that a moderator rejected.' }),
    deleted: t.exposeInt('deleted', { description: 'Deleted comments.' }),
    reportsReceived: t.exposeInt('reportsReceived', { description: 'The number of reports of these comments.' }),
  }),
})

builder.objectField(ReaderRef, 'commentCounts', (t) =>
  t.field({
    type: ReaderCommentCountsRef,
    ...shownWith(
      `Of their newest ${spaced(COUNTED_COMMENTS)} comments: the number in each state, and the number of reports.`,
      RECORD_CAPABILITIES,
    ),
    resolve: ({ id }, _args, ctx) => countCommentsOfReader(ctx, id),
  }),
)

builder.queryField('comment', (t) =>
  t.field({
    type: CommentRef,
    access: 'key',
    client: true,
    description:
      'Returns a comment. One that is not approved is visible to its author and to moderators, and to others as a tombstone while it has replies in view.',
    args: { id: t.arg.id({ required: true, description: 'The id of the comment.' }) },
    resolve: async (_root, { id }, ctx) => seenByClient(ctx, await comments.getComment(ctx, id)),
  }),
)

const PreviewRef = builder.objectRef<CommentPreview>('CommentPreview').implement({
  description: 'A text as a comment would show it.',
  fields: (t) => ({
    bodyHtml: t.exposeString('bodyHtml', {
      description: 'The text as sanitised HTML, safe to insert as it is. A mention in it is a text.',
    }),
  }),
})

builder.queryField('commentPreview', (t) =>
  t.field({
    type: PreviewRef,
    access: 'reader',
    description: 'Returns a text as a comment would show it. Nothing is stored, and no rule judges it.',
    args: {
      body: t.arg.string({
        required: true,
        description: 'The text in Markdown, 1 to 10 000 characters after trimming.',
        extensions: shapedBy(bodySchema),
      }),
    },
    resolve: (_root, args, ctx) => previewText(ctx, args),
  }),
)

builder.objectField(DiscussionRef, 'authors', (t) =>
  t.field({
    type: [ReaderRef],
    description:
      'Readers whom a comment here may name, the last one to write first: authors with a name, of recent threads. Not the asserted reader, nor whom they have muted.',
    extensions: ONLY_WHERE_NAMED,
    args: {
      prefix: t.arg.string({
        description: 'Only readers of whose name a word begins so. Case and accents do not count.',
        extensions: shapedBy(authorsInput.shape.prefix),
      }),
      limit: t.arg.int({
        description: 'How many: at most 100, 20 by default.',
        extensions: shapedBy(authorsInput.shape.limit),
      }),
    },
    resolve: (discussion, args, ctx) => listAuthors(ctx, discussion.id, args),
  }),
)

builder.objectField(DiscussionRef, 'comments', (t) =>
  t.connection({
    type: CommentRef,
    description: 'One level of the thread: the top, or the replies to one comment.',
    args: {
      sort: t.arg({ type: CommentSortEnum, defaultValue: 'newest', description: 'The order.' }),
      parentId: t.arg.id({ description: 'The comment whose replies to return.' }),
    },
    resolve: (discussion, args, ctx) => listComments(ctx, { ...args, discussionId: discussion.id }),
  }),
)

/**
 * What a client's cache must change beside a changed comment. Nothing is read that is not selected,
 * and all of it after the commit.
 */
export const besideComment = (t: ObjectFields<{ comment: Comment }>) => ({
  parent: t.field({
    type: CommentRef,
    nullable: true,
    description: 'The comment that it replies to, with its present replyCount. Null at the top level.',
    extensions: ONLY_WHERE_NAMED,
    resolve: ({ comment }, _args, ctx) => comments.parentOf(ctx, comment),
  }),
  discussion: t.field({
    type: DiscussionRef,
    description: 'The discussion that it belongs to, with its present commentCount.',
    extensions: ONLY_WHERE_NAMED,
    resolve: ({ comment }, _args, ctx) => loadDiscussion(ctx, comment.discussionId),
  }),
})

addMutation('createComment', {
  shape: newCommentSchema,
  input: (t) => ({
    discussion: t.field({
      type: DiscussionByInput,
      required: true,
      description: 'The discussion to post in. The first comment on an external id creates it.',
    }),
    parentId: t.id({ description: 'The comment to reply to.' }),
    ...inputFields(t, newCommentSchema.shape),
  }),
  access: 'reader',
  client: ofNewComment,
  throws: ['reader_banned', 'discussion_locked', 'discussion_archived', 'slow_mode'],
  description: 'Posts a comment for the asserted reader.',
  resolve: async (input, ctx) => ({ comment: await createComment(ctx, input) }),
  output: (t) => ({
    comment: t.expose('comment', { type: CommentRef, description: 'The comment as posted.' }),
    commentEdge: t.field({
      type: listed(builder, CommentRef).edge,
      description: 'The comment as an edge, to add to a list that a client has.',
      args: { sort: t.arg({ type: CommentSortEnum, defaultValue: 'newest', description: 'The order of the list.' }) },
      resolve: ({ comment }, { sort }) => ({ cursor: cursorOf(sort ?? 'newest')(comment), node: comment }),
    }),
    ...besideComment(t),
  }),
})

addMutation('updateComment', {
  shape: changes.editSchema,
  input: (t) => ({
    commentId: t.id({ required: true, description: 'The comment.' }),
    body: t.string({ required: true, description: 'Markdown, 1 to 10 000 characters after trimming.' }),
    revision: t.int({
      description: 'The revision that the author has read. If the comment has another one, the edit is refused.',
    }),
  }),
  access: 'reader',
  client: ofComment,
  throws: [
    'reader_banned',
    'not_author',
    'edit_window_closed',
    'discussion_locked',
    'discussion_archived',
    'invalid_transition',
  ],
  description: "Edits the asserted reader's own comment, within the tenant's edit window.",
  resolve: async (input, ctx) => ({ comment: await changes.updateComment(ctx, input) }),
  output: (t) => ({
    comment: t.expose('comment', { type: CommentRef, description: 'The comment as edited.' }),
    ...besideComment(t),
  }),
})

addMutation('deleteComment', {
  shape: explanationSchema,
  input: (t) => ({
    commentId: t.id({ required: true, description: 'The comment.' }),
    asAuthor: t.boolean({
      description:
        'Refuses the deletion unless the asserted reader is the author, even if the caller has moderate_content.',
    }),
    ...explanationFields(t),
  }),
  access: 'key',
  client: ofComment,
  throws: ['missing_capability', 'identity_required', 'not_author', 'discussion_archived'],
  description:
    'Deletes a comment. If the asserted reader wrote it, the author deletes it. Otherwise a moderator does, who needs moderate_content and may give a reason and a message.',
  resolve: async (input, ctx) => ({ comment: await changes.deleteComment(ctx, input) }),
  output: (t) => ({
    comment: t.expose('comment', { type: CommentRef, description: 'The tombstone.' }),
    deletedCommentId: t.id({
      nullable: true,
      description: 'The id of the comment. Null if it stays in view as a tombstone, because it has replies in view.',
      resolve: ({ comment }) => (comment.replyCount === 0 ? comment.id : null),
    }),
    ...besideComment(t),
  }),
})

/** True if the asserted reader has muted the author of a comment; null otherwise. */
const isAuthorMuted = (ctx: Ctx, { author, authorMuted }: Comment): Promise<true | null> | true | null =>
  authorMuted === undefined && author !== null ? isMutedByViewer(ctx, author.id) : (authorMuted ?? null)

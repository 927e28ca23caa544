import { z } from 'zod'

import { requireCaller } from '../../core/context.ts'
import { externalIdSchema } from '../../core/texts.ts'
import { builder } from '../../schema/builder.ts'
import { shapedBy } from '../../schema/shape.ts'
import { loadDiscussion } from '../discussions/discussions.ts'
import { DiscussionRef } from '../discussions/graphql.ts'
import { viewerReaction } from '../reactions/read.ts'
import { ReaderRecordRef, ReaderRef } from '../readers/graphql.ts'
import { COUNTED_COMMENTS, countCommentsOfReader, listCommentsOfReader } from './by-reader.ts'
import type { ReaderCommentCounts } from './by-reader.ts'
import * as changes from './edit.ts'
import * as comments from './comments.ts'
import { parentOf } from './comments.ts'
import { createComment } from './create.ts'
import { listComments, listRepliesOf } from './list.ts'
import { type CommentRevision, listRevisions } from './revisions.ts'

export const CommentStatusEnum = builder.enumType('CommentStatus', {
  description: 'Only an approved comment is public.',
  values: {
    pending: { description: 'Waits for a moderator.' },
    approved: { description: 'In view.' },
    rejected: { description: 'Refused by a moderator.' },
    deleted: { description: 'Deleted; a tombstone while it has replies in view.' },
  },
})

const CommentSortEnum = builder.enumType('CommentSort', {
  description: 'The order of a level of a thread.',
  values: {
    newest: { description: 'Newest first.' },
    oldest: { description: 'Oldest first.' },
    top: { description: 'Most reactions first; of the same number, most replies, then newest first.' },
  },
})

export const CommentRef = builder.objectRef<comments.Comment>('Comment').implement({
  description: 'A comment of a reader.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the comment.' }),
    discussionId: t.exposeID('discussionId', { description: 'The discussion that it stands in.' }),
    parentId: t.exposeID('parentId', {
      nullable: true,
      description: 'The comment that it replies to; null at the top.',
    }),
    depth: t.exposeInt('depth', { description: 'How many comments stand above it; 0 at the top.' }),
    author: t.expose('author', {
      type: ReaderRef,
      nullable: true,
      description: 'Who wrote it; null for a tombstone and after the erasure of the reader.',
    }),
    body: t.exposeString('body', { nullable: true, description: 'Markdown; null for a tombstone.' }),
    bodyHtml: t.exposeString('bodyHtml', {
      nullable: true,
      description: 'The body as sanitised HTML, safe to insert as it is; null for a tombstone.',
    }),
    status: t.expose('status', { type: CommentStatusEnum, description: 'Whether it is public, and why not.' }),
    pinnedAt: t.expose('pinnedAt', { type: 'DateTime', nullable: true, description: 'When it was pinned.' }),
    editedAt: t.expose('editedAt', { type: 'DateTime', nullable: true, description: 'When it was last edited.' }),
    deletedAt: t.expose('deletedAt', { type: 'DateTime', nullable: true, description: 'When it was deleted.' }),
    revision: t.exposeInt('revision', { description: '1 as posted; one more with each edit.' }),
    replyCount: t.exposeInt('replyCount', { description: 'How many direct replies are in view.' }),
    reactionCounts: t.expose('reactionCounts', {
      type: 'JSON',
      description: 'How often each type is held: `{type: n}`.',
      extensions: shapedBy(comments.reactionCountsSchema),
    }),
    viewerReaction: t.string({
      nullable: true,
      description: 'What the asserted reader holds on it; null without an identity.',
      resolve: ({ id, viewerReaction: known }, _args, ctx) =>
        known !== undefined || requireCaller(ctx).identity === null ? (known ?? null) : viewerReaction(ctx, id),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was posted.' }),
  }),
})

builder.objectField(CommentRef, 'replies', (t) =>
  t.connection({
    type: CommentRef,
    description: 'The direct replies that are in view.',
    args: { sort: t.arg({ type: CommentSortEnum, defaultValue: 'newest', description: 'The order.' }) },
    resolve: (comment, args, ctx) => listRepliesOf(ctx, comment, args),
  }),
)

builder.objectField(CommentRef, 'discussion', (t) =>
  t.field({
    type: DiscussionRef,
    description: 'The discussion that it stands in, as it is now.',
    resolve: ({ discussionId }, _args, ctx) => loadDiscussion(ctx, discussionId),
  }),
)

builder.objectField(CommentRef, 'parent', (t) =>
  t.field({
    type: CommentRef,
    nullable: true,
    description:
      'The comment that it replies to, as it is now; null at the top. One that is out of view is shown to its author and to moderators only.',
    resolve: (comment, _args, ctx) => parentOf(ctx, comment),
  }),
)

builder.objectField(ReaderRecordRef, 'comments', (t) =>
  t.connection({
    type: CommentRef,
    description: 'Their comments in whatever state, newest first.',
    resolve: ({ id }, args, ctx) => listCommentsOfReader(ctx, id, args),
  }),
)

const COUNTED = `Of their newest ${COUNTED_COMMENTS.toLocaleString('en').replace(',', ' ')} comments`

const ReaderCommentCountsRef = builder.objectRef<ReaderCommentCounts>('ReaderCommentCounts').implement({
  description: "What has become of a reader's newest comments.",
  fields: (t) => ({
    total: t.exposeInt('total', { description: `How many there are, counted up to ${COUNTED_COMMENTS}.` }),
    approved: t.exposeInt('approved', { description: 'Those in view.' }),
    pending: t.exposeInt('pending', { description: 'Those that wait for a moderator.' }),
    rejected: t.exposeInt('rejected', { description: 'Those that a moderator refused.' }),
    deleted: t.exposeInt('deleted', { description: 'Those that are deleted.' }),
    reportsReceived: t.exposeInt('reportsReceived', { description: 'How often readers have reported them.' }),
  }),
})

builder.objectField(ReaderRecordRef, 'commentCounts', (t) =>
  t.field({
    type: ReaderCommentCountsRef,
    description: `${COUNTED}: how many are in which state, and how often they were reported.`,
    resolve: ({ id }, _args, ctx) => countCommentsOfReader(ctx, id),
  }),
)

const RevisionRef = builder.objectRef<CommentRevision>('CommentRevision').implement({
  description: 'A body that a comment has or had.',
  fields: (t) => ({
    revision: t.exposeInt('revision', { description: '1 as posted; one more with each edit.' }),
    body: t.exposeString('body', {
      nullable: true,
      description: 'Markdown, also of a deleted comment; null after the erasure of the reader.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was written.' }),
    replacedAt: t.expose('replacedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When an edit replaced it; null for the one that the comment has now.',
    }),
  }),
})

builder.queryField('commentRevisions', (t) =>
  t.connection({
    type: RevisionRef,
    access: 'moderate_content',
    description: 'The bodies of a comment, the present one first.',
    args: { id: t.arg.id({ required: true, description: 'The id of the comment.' }) },
    resolve: (_root, { id, ...args }, ctx) => listRevisions(ctx, id, args),
  }),
)

builder.queryField('comment', (t) =>
  t.field({
    type: CommentRef,
    nullable: true,
    access: 'key',
    description: 'One comment. One that is not public is shown to its author and to moderators only.',
    args: { id: t.arg.id({ required: true, description: 'The id of the comment.' }) },
    resolve: (_root, { id }, ctx) => comments.getComment(ctx, id),
  }),
)

builder.objectField(DiscussionRef, 'comments', (t) =>
  t.connection({
    type: CommentRef,
    description: 'One level of the thread: the top, or the replies to one comment.',
    args: {
      sort: t.arg({ type: CommentSortEnum, defaultValue: 'newest', description: 'The order.' }),
      parentId: t.arg.id({ description: 'The comment whose replies are wanted.' }),
    },
    resolve: (discussion, args, ctx) => listComments(ctx, { ...args, discussionId: discussion.id }),
  }),
)

builder.relayMutationField(
  'createComment',
  {
    extensions: shapedBy(z.object({ externalId: externalIdSchema.nullish(), body: comments.bodySchema })),
    inputFields: (t) => ({
      discussionId: t.id({ description: 'The discussion to post in; this or externalId.' }),
      externalId: t.string({
        description: 'The page to post on, whose discussion comes into being with its first comment.',
      }),
      parentId: t.id({ description: 'The comment to reply to.' }),
      body: t.string({ required: true, description: 'Markdown, 1 to 10 000 characters after trimming.' }),
    }),
  },
  {
    access: 'reader',
    throws: ['reader_banned', 'discussion_locked', 'discussion_archived'],
    description: 'Posts a comment for the asserted reader.',
    resolve: async (_root, { input }, ctx) => ({ comment: await createComment(ctx, input) }),
  },
  {
    outputFields: (t) => ({
      comment: t.expose('comment', { type: CommentRef, description: 'The comment as posted.' }),
    }),
  },
)

builder.relayMutationField(
  'updateComment',
  {
    extensions: shapedBy(z.object({ body: comments.bodySchema })),
    inputFields: (t) => ({
      commentId: t.id({ required: true, description: 'The comment.' }),
      body: t.string({ required: true, description: 'Markdown, 1 to 10 000 characters after trimming.' }),
    }),
  },
  {
    access: 'reader',
    throws: [
      'reader_banned',
      'not_author',
      'edit_window_closed',
      'discussion_locked',
      'discussion_archived',
      'invalid_transition',
    ],
    description: "Edits the asserted reader's own comment, within the tenant's edit window.",
    resolve: async (_root, { input }, ctx) => ({ comment: await changes.updateComment(ctx, input) }),
  },
  {
    outputFields: (t) => ({
      comment: t.expose('comment', { type: CommentRef, description: 'The comment as edited.' }),
    }),
  },
)

builder.relayMutationField(
  'deleteComment',
  {
    inputFields: (t) => ({
      commentId: t.id({ required: true, description: 'The comment.' }),
      asAuthor: t.boolean({
        description: 'Refuses it unless the asserted reader is the author, also where the caller has moderate_content.',
      }),
    }),
  },
  {
    access: 'key',
    throws: ['missing_capability', 'identity_required', 'not_author', 'discussion_archived'],
    description:
      'Deletes a comment: as its author where the asserted reader wrote it, else as a moderator, which needs moderate_content.',
    resolve: async (_root, { input }, ctx) => ({ comment: await changes.deleteComment(ctx, input) }),
  },
  { outputFields: (t) => ({ comment: t.expose('comment', { type: CommentRef, description: 'The tombstone.' }) }) },
)

import {
  CommentDocument,
  CommentRevisionsDocument,
  CreateCommentDocument,
  DeleteCommentDocument,
  DiscussionCommentsByExternalIdDocument,
  DiscussionCommentsDocument,
  DiscussionThreadsByExternalIdDocument,
  DiscussionThreadsDocument,
  ReaderCommentsDocument,
  UpdateCommentDocument,
} from '../../generated/documents.ts'
import { listOf, type Route, route } from '../../rest/route.ts'

const page = {
  bounds: { replies: { min: 0, max: 3, description: 'How many first replies each comment comes with.' } },
  isDiscussionPage: true,
  status: 200,
} as const

const hasNoReplies = ({ replies }: { replies?: number | null | undefined }): boolean => replies == null || replies === 0

export const routes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/discussions/:id/comments',
    summary: 'One level of a thread, with first replies where asked for',
    document: DiscussionThreadsDocument,
    lighter: { document: DiscussionCommentsDocument, serves: hasNoReplies },
    ...page,
  }),
  route({
    method: 'GET',
    path: '/discussions/by-external/:externalId/comments',
    summary: 'One level of the thread of a page, with first replies where asked for',
    document: DiscussionThreadsByExternalIdDocument,
    lighter: { document: DiscussionCommentsByExternalIdDocument, serves: hasNoReplies },
    ...page,
  }),
  route({
    method: 'POST',
    path: '/discussions/:discussionId/comments',
    summary: 'Posts a comment',
    document: CreateCommentDocument,
    without: ['externalId'],
    status: 201,
  }),
  route({
    method: 'POST',
    path: '/discussions/by-external/:externalId/comments',
    summary: 'Posts a comment on a page; its discussion comes into being with the first one',
    document: CreateCommentDocument,
    without: ['discussionId'],
    status: 201,
  }),
  route({
    method: 'GET',
    path: '/comments/:id',
    summary: 'One comment',
    document: CommentDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/comments/:id/revisions',
    summary: 'The bodies of a comment, the present one first',
    document: CommentRevisionsDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/readers/:id/comments',
    summary: "A reader's comments in whatever state, newest first, and how many of the newest are in which",
    document: ReaderCommentsDocument,
    status: 200,
    answer: ({ reader }) => reader && { commentCounts: reader.commentCounts, ...listOf(reader.comments) },
  }),
  route({
    method: 'PATCH',
    path: '/comments/:commentId',
    summary: "Edits the reader's own comment",
    document: UpdateCommentDocument,
    status: 200,
  }),
  route({
    method: 'DELETE',
    path: '/comments/:commentId',
    summary: "Deletes the reader's own comment; without an identity, any, with moderate_content",
    document: DeleteCommentDocument,
    status: 204,
  }),
]

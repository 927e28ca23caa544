import {
  CommentDocument,
  CommentRevisionsDocument,
  CreateCommentByExternalIdDocument,
  CreateCommentDocument,
  DeleteCommentDocument,
  DiscussionCommentsByExternalIdDocument,
  DiscussionCommentsDocument,
  DiscussionThreadsByExternalIdDocument,
  DiscussionThreadsDocument,
  ReaderCommentsDocument,
  UpdateCommentDocument,
} from '../../generated/documents.ts'
import { listOf, type Route, route } from '../../schema/route.ts'

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
    summary: 'List comments',
    document: DiscussionThreadsDocument,
    lighter: { document: DiscussionCommentsDocument, serves: hasNoReplies },
    ...page,
  }),
  route({
    method: 'GET',
    path: '/discussions/by-external/:externalId/comments',
    summary: 'List comments of a page',
    document: DiscussionThreadsByExternalIdDocument,
    lighter: { document: DiscussionCommentsByExternalIdDocument, serves: hasNoReplies },
    ...page,
  }),
  route({
    method: 'POST',
    path: '/discussions/:discussionId/comments',
    summary: 'Create a comment',
    document: CreateCommentDocument,
    status: 201,
  }),
  route({
    method: 'POST',
    path: '/discussions/by-external/:externalId/comments',
    summary: 'Create a comment on a page',
    document: CreateCommentByExternalIdDocument,
    status: 201,
  }),
  route({
    method: 'GET',
    path: '/comments/:id',
    summary: 'Retrieve a comment',
    document: CommentDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/comments/:id/revisions',
    summary: "List a comment's revisions",
    document: CommentRevisionsDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/readers/:id/comments',
    summary: "List a reader's comments",
    description: "Returns a reader's comments, and how many there are of each status.",
    document: ReaderCommentsDocument,
    status: 200,
    answer: ({ reader }) => reader?.comments && { commentCounts: reader.commentCounts, ...listOf(reader.comments) },
  }),
  route({
    method: 'PATCH',
    path: '/comments/:commentId',
    summary: 'Update a comment',
    document: UpdateCommentDocument,
    status: 200,
  }),
  route({
    method: 'DELETE',
    path: '/comments/:commentId',
    summary: 'Delete a comment',
    document: DeleteCommentDocument,
    status: 204,
  }),
]

import {
  CommentDocument,
  CreateCommentDocument,
  DeleteCommentDocument,
  DiscussionCommentsByExternalIdDocument,
  DiscussionCommentsDocument,
  UpdateCommentDocument,
} from '../../generated/documents.ts'
import { type Route, route } from '../../rest/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/discussions/:id/comments',
    summary: 'One level of a thread',
    document: DiscussionCommentsDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/discussions/by-external/:externalId/comments',
    summary: 'One level of the thread of a page',
    document: DiscussionCommentsByExternalIdDocument,
    status: 200,
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

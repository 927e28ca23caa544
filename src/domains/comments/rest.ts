import { listOf, type RelayConnection, type RouteDefinition } from '../../graphql/route.ts'

const page = {
  bounds: { replies: { min: 0, max: 3, description: 'How many first replies each comment comes with.' } },
  isDiscussionPage: true,
  status: 200,
} as const

/** A list of comments with their first replies, or without them. */
function commentsOf(name: string, by: 'id: ID!' | 'externalId: String!', { replies }: { replies: boolean }): string {
  const [key] = by.split(':')
  return `query ${name}($${by}, $sort: CommentSort, $parentId: ID, $first: Int, $after: String${replies ? ', $replies: Int' : ''}) {
    discussion(by: { ${key}: $${key} }) {
      comments(sort: $sort, parentId: $parentId, first: $first, after: $after) {
        nodes {
          ...CommentFields
          ${replies ? 'replies(sort: $sort, first: $replies) { ...CommentConnectionFields }' : ''}
        }
        pageInfo { ...PageInfoFields }
      }
    }
  }`
}

/** Whom a comment may name. */
function authorsOf(name: string, by: 'id: ID!' | 'externalId: String!'): string {
  const [key] = by.split(':')
  return `query ${name}($${by}, $prefix: String, $limit: Int) {
    discussion(by: { ${key}: $${key} }) { authors(prefix: $prefix, limit: $limit) { ...ReaderFields } }
  }`
}

/** The asserted reader's comments, with more of each. */
const ownComments = (name: string, more: string): string =>
  `query ${name}($first: Int, $after: String, $discussionId: ID, $status: CommentStatus) {
    viewer {
      comments(first: $first, after: $after, discussionId: $discussionId, status: $status) {
        nodes { ...CommentFields ${more} }
        pageInfo { ...PageInfoFields }
      }
    }
  }`

const hasNoReplies = ({ replies }: { replies?: number | null | undefined }): boolean => replies == null || replies === 0

export const routes: readonly RouteDefinition[] = [
  {
    method: 'GET',
    path: '/discussions/:id/comments',
    summary: 'List comments',
    operation: commentsOf('DiscussionThreads', 'id: ID!', { replies: true }),
    lighter: { document: commentsOf('DiscussionComments', 'id: ID!', { replies: false }), serves: hasNoReplies },
    ...page,
  },
  {
    method: 'GET',
    path: '/discussions/by-external/:externalId/comments',
    summary: 'List comments of a page',
    operation: commentsOf('DiscussionThreadsByExternalId', 'externalId: String!', { replies: true }),
    lighter: {
      document: commentsOf('DiscussionCommentsByExternalId', 'externalId: String!', { replies: false }),
      serves: hasNoReplies,
    },
    ...page,
  },
  {
    method: 'GET',
    path: '/discussions/:id/authors',
    summary: 'List authors',
    operation: authorsOf('DiscussionAuthors', 'id: ID!'),
    status: 200,
  },
  {
    method: 'GET',
    path: '/discussions/by-external/:externalId/authors',
    summary: 'List authors of a page',
    operation: authorsOf('DiscussionAuthorsByExternalId', 'externalId: String!'),
    status: 200,
  },
  {
    method: 'POST',
    path: '/discussions/:discussionId/comments',
    summary: 'Create a comment',
    operation: `mutation CreateComment($discussionId: ID!, $parentId: ID, $body: String!) {
      createComment(input: { discussion: { id: $discussionId }, parentId: $parentId, body: $body }) {
        ...CreateCommentPayloadFields
      }
    }`,
    status: 201,
  },
  {
    method: 'POST',
    path: '/discussions/by-external/:externalId/comments',
    summary: 'Create a comment on a page',
    operation: `mutation CreateCommentByExternalId($externalId: String!, $parentId: ID, $body: String!) {
      createComment(input: { discussion: { externalId: $externalId }, parentId: $parentId, body: $body }) {
        ...CreateCommentPayloadFields
      }
    }`,
    status: 201,
  },
  {
    method: 'GET',
    path: '/comments/:id',
    summary: 'Retrieve a comment',
    field: 'comment',
    status: 200,
  },
  {
    method: 'POST',
    path: '/comment-preview',
    summary: 'Preview a comment',
    field: 'commentPreview',
    status: 200,
  },
  {
    method: 'GET',
    path: '/comments/:id/revisions',
    summary: "List a comment's revisions",
    field: 'commentRevisions',
    status: 200,
  },
  {
    method: 'GET',
    path: '/comments/:id/history',
    summary: "List a comment's public texts",
    operation: `query CommentHistory($id: ID!, $first: Int, $after: String) {
      comment(id: $id) { history(first: $first, after: $after) { ...CommentRevisionConnectionFields } }
    }`,
    status: 200,
  },
  {
    method: 'GET',
    path: '/readers/:id/comments',
    summary: "List a reader's comments",
    description: "Returns a reader's comments, and how many there are of each status.",
    operation: `query ReaderComments($id: ID!, $first: Int, $after: String) {
      reader(id: $id) {
        commentCounts { ...ReaderCommentCountsFields }
        comments(first: $first, after: $after) { ...CommentConnectionFields }
      }
    }`,
    status: 200,
    answer: ({ reader }: { reader: { commentCounts: object; comments: RelayConnection } }) => ({
      commentCounts: reader.commentCounts,
      ...listOf(reader.comments),
    }),
  },
  {
    method: 'GET',
    path: '/readers/me/comments',
    summary: "List the asserted reader's comments",
    description:
      "Returns the asserted reader's comments in any state, newest first, each with its discussion unless one is asked for. A deleted one is a tombstone. A page of one discussion or state may be short, or empty, while hasMore is true.",
    operation: ownComments('ViewerComments', 'discussion { id externalId title url }'),
    lighter: {
      document: ownComments('ViewerCommentsOfDiscussion', ''),
      serves: ({ discussionId }: { discussionId?: string | null | undefined }) => discussionId != null,
    },
    status: 200,
    answer: ({ viewer }: { viewer: { comments: RelayConnection } }) => listOf(viewer.comments),
  },
  {
    method: 'PATCH',
    path: '/comments/:commentId',
    summary: 'Update a comment',
    field: 'updateComment',
    status: 200,
  },
  { method: 'DELETE', path: '/comments/:commentId', summary: 'Delete a comment', field: 'deleteComment', status: 204 },
]

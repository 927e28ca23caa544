import { listOf, type RelayConnection, type RouteDefinition } from '../../graphql/route.ts'

const page = {
  bounds: { replies: { min: 0, max: 3, description: 'How many first replies each comment comes with.' } },
  isDiscussionPage: true,
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
    route: 'GET /discussions/:id/comments',
    summary: 'List comments',
    operation: commentsOf('DiscussionThreads', 'id: ID!', { replies: true }),
    lighter: { document: commentsOf('DiscussionComments', 'id: ID!', { replies: false }), serves: hasNoReplies },
    ...page,
  },
  {
    route: 'GET /discussions/by-external/:externalId/comments',
    summary: 'List comments of a page',
    operation: commentsOf('DiscussionThreadsByExternalId', 'externalId: String!', { replies: true }),
    lighter: {
      document: commentsOf('DiscussionCommentsByExternalId', 'externalId: String!', { replies: false }),
      serves: hasNoReplies,
    },
    ...page,
  },
  {
    route: 'GET /discussions/:id/authors',
    summary: 'List authors',
    operation: authorsOf('DiscussionAuthors', 'id: ID!'),
  },
  {
    route: 'GET /discussions/by-external/:externalId/authors',
    summary: 'List authors of a page',
    operation: authorsOf('DiscussionAuthorsByExternalId', 'externalId: String!'),
  },
  {
    route: 'POST /discussions/:discussionId/comments',
    summary: 'Create a comment',
    operation: `mutation CreateComment($discussionId: ID!, $parentId: ID, $body: String!) {
      createComment(input: { discussion: { id: $discussionId }, parentId: $parentId, body: $body }) {
        ...CreateCommentPayloadFields
      }
    }`,
    status: 201,
  },
  {
    route: 'POST /discussions/by-external/:externalId/comments',
    summary: 'Create a comment on a page',
    operation: `mutation CreateCommentByExternalId($externalId: String!, $parentId: ID, $body: String!) {
      createComment(input: { discussion: { externalId: $externalId }, parentId: $parentId, body: $body }) {
        ...CreateCommentPayloadFields
      }
    }`,
    status: 201,
  },
  { route: 'GET /comments/:id', summary: 'Retrieve a comment', field: 'comment' },
  { route: 'POST /comment-preview', summary: 'Preview a comment', field: 'commentPreview' },
  { route: 'GET /comments/:id/revisions', summary: "List a comment's revisions", field: 'commentRevisions' },
  {
    route: 'GET /comments/:id/history',
    summary: "List a comment's public texts",
    operation: `query CommentHistory($id: ID!, $first: Int, $after: String) {
      comment(id: $id) { history(first: $first, after: $after) { ...CommentRevisionConnectionFields } }
    }`,
  },
  {
    route: 'GET /readers/:id/comments',
    summary: "List a reader's comments",
    description: "Returns a reader's comments, and how many there are of each status.",
    operation: `query ReaderComments($id: ID!, $first: Int, $after: String) {
      reader(id: $id) {
        commentCounts { ...ReaderCommentCountsFields }
        comments(first: $first, after: $after) { ...CommentConnectionFields }
      }
    }`,
    answer: ({ reader }: { reader: { commentCounts: object; comments: RelayConnection } }) => ({
      commentCounts: reader.commentCounts,
      ...listOf(reader.comments),
    }),
  },
  {
    route: 'GET /readers/me/comments',
    summary: "List the asserted reader's comments",
    description:
      "Returns the asserted reader's comments in any state, newest first, each with its discussion unless one is asked for. A deleted one is a tombstone. A page of one discussion or state may be short, or empty, while hasMore is true.",
    operation: ownComments('ViewerComments', 'discussion { id externalId title url }'),
    lighter: {
      document: ownComments('ViewerCommentsOfDiscussion', ''),
      serves: ({ discussionId }: { discussionId?: string | null | undefined }) => discussionId != null,
    },
    answer: ({ viewer }: { viewer: { comments: RelayConnection } }) => listOf(viewer.comments),
  },
  { route: 'PATCH /comments/:commentId', summary: 'Update a comment', field: 'updateComment' },
  { route: 'DELETE /comments/:commentId', summary: 'Delete a comment', field: 'deleteComment', status: 204 },
]

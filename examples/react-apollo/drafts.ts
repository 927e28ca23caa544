import type {
  CommentPartsFragment,
  CommentPlaceFragment,
  CurrentReaderQuery,
  DiscussionPageQuery,
} from 'engagement-service/graphql/documents'

/** Where a reader writes. */
export interface Place {
  externalId: string
  discussion: DiscussionPageQuery['discussion']
  reader: NonNullable<CurrentReaderQuery['viewer']>
  /** The reader's own comments that wait or were rejected. */
  held: CommentPartsFragment[]
}

/** The service does not know it yet: it takes no reactions and replies. */
export const isDraft = (id: string): boolean => id.startsWith('new-')

/** What the page shows of a comment until the service answers. */
export function draftOf(
  { discussion, reader }: Place,
  body: string,
  parent?: CommentPartsFragment,
): CommentPlaceFragment {
  const { id = '', commentCount = 0, state = 'open' } = discussion ?? {}
  return {
    ...typed('Comment'),
    // Ids are in the order of time: this one is the last.
    id: `new-${Date.now()}`,
    discussionId: id,
    parentId: parent?.id ?? null,
    depth: parent === undefined ? 0 : parent.depth + 1,
    status: 'approved',
    bodyHtml: new Option(body).innerHTML,
    createdAt: new Date().toISOString(),
    editedAt: null,
    deletedAt: null,
    pinnedAt: null,
    replyCount: 0,
    author: reader,
    reactionGroups: [],
    parent: parent === undefined ? null : { ...typed('Comment'), id: parent.id, replyCount: parent.replyCount + 1 },
    discussion: { ...typed('Discussion'), id, commentCount: commentCount + 1, state },
  }
}

/** The name of its type, by which Apollo finds an object in its cache. */
const typed = (__typename: string): object => ({ __typename })

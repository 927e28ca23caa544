import type { Id } from '../../core/ids.ts'
import { MAX_DEPTH } from '../../core/settings/tenant.ts'
import { isInView } from '../../domains/comments/comment.ts'
import type { Key } from '../../domains/imports/keys.ts'
import type { ImportedComment } from './imported.ts'
import type { CommentFacts } from './threads-sql.ts'

/** A comment with its place in a thread. */
export interface PlacedComment extends CommentFacts {
  row: ImportedComment
  replyCount: number
}

/** The known comments that others may reply to. */
export interface Thread {
  /** The comment of a key; undefined if it has not come, null if it was deleted. */
  find: (key: Key) => CommentFacts | null | undefined
  /** A comment that exists already. */
  load: (id: Id) => Promise<CommentFacts | undefined>
  maxDepth: number
  /** Notes that a comment's place differs from its item. */
  note: (row: ImportedComment, move: Move) => void
}

/** Why a comment's place differs from its item. */
export type Move = 'absent' | 'gone' | 'page' | 'deep' | 'circle'

/**
 * The greatest depth of a comment: in an export of this service, the one that the tenant once
 * allowed.
 */
export const maxDepthOf = ({ keptId }: Pick<ImportedComment, 'keptId'>, ofTenant: number): number =>
  keptId === null ? ofTenant : MAX_DEPTH

export function moveReason(move: Move, maxDepth: number): string {
  switch (move) {
    case 'absent':
      return 'replies to a comment that is not in the file: it stands at the top level'
    case 'gone':
      return 'replies to a comment that is not there any more: it stands at the top level'
    case 'page':
      return 'replies to a comment of another page: it stands at the top level'
    case 'deep':
      return `is deeper than ${maxDepth}: it stands at the deepest place there is`
    case 'circle':
      return 'replies to itself, over other comments in a circle: it stands at the top level'
  }
}

export const WITHOUT_AUTHOR = 'is of a reader who is not in the file: it has no author'

/**
 * Attaches a comment to its parent, which is placed already. If that is impossible, it goes to the
 * root or higher up, so that no comment is lost.
 */
export async function placeBelow(
  row: ImportedComment,
  discussionId: Id,
  thread: Thread,
): Promise<{ parentId: Id | null; depth: number }> {
  const root = { parentId: null, depth: 0 }
  if (row.parentKey === null) return root
  let parent = thread.find(row.parentKey)
  if (parent == null) {
    thread.note(row, parent === null ? 'gone' : 'absent')
    return root
  }
  if (parent.discussionId !== discussionId) {
    thread.note(row, 'page')
    return root
  }
  const given = parent
  const maxDepth = maxDepthOf(row, thread.maxDepth)
  while (parent !== undefined && parent.depth >= maxDepth) {
    parent = parent.parentId === null ? undefined : await thread.load(parent.parentId)
  }
  if (parent !== given) thread.note(row, 'deep')
  return parent === undefined ? root : { parentId: parent.id, depth: parent.depth + 1 }
}

/**
 * Counts the replies in view of each of these comments, and returns the counts of those that
 * existed before.
 */
export function countReplies(placed: readonly PlacedComment[]): Map<Id, number> {
  const byId = new Map(placed.map((comment) => [comment.id, comment]))
  const others = new Map<Id, number>()
  // The deepest first: whether a comment that is not approved is in view depends on its replies.
  for (const { row, replyCount, parentId } of [...placed].sort((one, other) => other.depth - one.depth)) {
    if (parentId === null || !isInView({ status: row.status, replyCount })) continue
    const parent = byId.get(parentId)
    if (parent === undefined) others.set(parentId, (others.get(parentId) ?? 0) + 1)
    else parent.replyCount++
  }
  return others
}

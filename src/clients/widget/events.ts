import type { Comment, StreamEvent } from '../browser/stream.ts'
import type { ThreadState } from './state.ts'

type CommentEvent = Extract<StreamEvent, { type: `comment_${string}` }>

/** A mention without a name. */
export const NAMELESS = /data-reader="([\da-f-]+)">@(?=<)/g

/**
 * Applies an event. `me` is the reader's external id, empty for none: authors may lack one, too.
 */
export function applyEvent(state: ThreadState, event: StreamEvent, me: string): void {
  switch (event.type) {
    case 'discussion_locked':
    case 'discussion_unlocked':
    case 'discussion_archived':
      state.state = event.data.discussion.state
      break
    case 'reaction_toggled': {
      const { commentId, type, reactionCounts, reader } = event.data
      const comment = state.comments.get(commentId)
      if (!comment) break
      const own = reader?.externalId === me ? { viewerReaction: type } : {}
      state.comments.set(commentId, { ...comment, reactionCounts, ...own })
      break
    }
    case 'notification_reply':
      break
    default:
      applyComment(state, event, me)
  }
}

/**
 * By how much an event changes the number of approved comments. Judged by events alone, whatever
 * the page has loaded: a public stream only has events about comments that are or were public, and
 * names tombstones. `withdrawn` keeps those that are known not to count any more.
 */
export function countChange({ type, data }: CommentEvent, withdrawn: Set<string>): number {
  const { comment, tombstones = [], wasApproved = false } = data
  const { id } = comment
  const wasTombstone = tombstones.some((one) => one.id === id)
  const isNew = /created|approved/.test(type) || withdrawn.has(id) || wasTombstone
  const wasPublic = wasApproved || !isNew
  const isPublic = comment.status === 'approved'
  if (isPublic) withdrawn.delete(id)
  else withdrawn.add(id)
  return Number(isPublic) - Number(wasPublic)
}

function applyComment(state: ThreadState, event: CommentEvent, me: string): void {
  const { type, actor, data } = event
  const { tombstones = [] } = data
  const comment = { ...data.comment, bodyHtml: withNames(state, data.comment.bodyHtml) }
  const { id } = comment
  const before = state.comments.get(id)
  const change = countChange(event, state.withdrawn)
  const wasPublic = Number(state.isPublic(comment)) > change
  if (change <= 0 || !state.counted.delete(id)) state.exactCount += change
  // Only the author still sees a comment that is withheld. Its event names no author.
  const isOwn = (comment.author ?? before?.author)?.externalId === me
  if (before) {
    const isHeld = isOwn && !/approved|deleted/.test(comment.status)
    // Of their own edit they have an answer, which may tell more.
    const held = type === 'comment_rejected' ? 'rejected' : 'pending'
    const status = actor.kind === 'reader' ? before.status : held
    state.keep(isHeld ? { ...before, status, replyCount: comment.replyCount } : comment)
    place(state, comment)
  } else if (change > 0 && isOwn) {
    state.add(comment)
    if (state.counted.delete(id)) state.exactCount--
  } else {
    state.countReply(comment, Number(state.isInView(comment)) - Number(wasPublic || comment.replyCount > 0))
    // A pinned one may stand above the pages that are left to read.
    if (change > 0 || comment.pinnedAt) {
      state.comments.set(id, comment)
      place(state, comment)
    }
  }
  for (const tombstone of tombstones) if (tombstone.id !== id) applyTombstone(state, tombstone)
}

/** One above an event's comment has come into view or left it. */
function applyTombstone(state: ThreadState, tombstone: Comment): void {
  const { id } = tombstone
  const before = state.comments.get(id)
  // A known one has been counted by its replies. The reader's own stays as they wrote it.
  if (before) {
    if (!before.author) state.keep(tombstone)
  } else {
    state.countReply(tombstone, state.isInView(tombstone) ? 1 : -1)
    if (!state.isInView(tombstone)) return
    state.comments.set(id, tombstone)
  }
  place(state, tombstone)
}

/** Puts a comment in view into its list. One that is not in view does not wait there. */
function place(state: ThreadState, { id, parentId }: Comment): void {
  const list = state.list(parentId)
  const { ids, waiting } = list
  if (!state.isInView(state.comments.get(id))) list.waiting = waiting.filter((one) => one !== id)
  else if (ids.includes(id) || waiting.includes(id)) return
  // There they do not move anything that the reader is reading.
  else if (parentId === null && (ids.length === 0 || (state.sort === 'oldest' && !list.hasMore))) ids.push(id)
  else waiting.push(id)
}

/** Events have mentions without names: those of authors who are known here are filled in. */
const withNames = ({ comments }: ThreadState, html: string | null): string | null =>
  html &&
  html.replace(NAMELESS, (written, id: string) => {
    const known = [...comments.values()].find(({ author }) => author?.id === id)
    return written + (known?.author?.name ?? '').replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)
  })

import type { Thread } from '../thread.ts'

/**
 * Puts the reader's own comments that are known into their lists. A reply is put there once the
 * comment that it replies to is known.
 */
export function addOwn(thread: Pick<Thread, 'state' | 'isOwn'>): void {
  const { state } = thread
  for (const comment of state.comments.values()) {
    const { id, parentId } = comment
    if (!thread.isOwn(comment) || state.list(parentId).ids.includes(id)) continue
    if (parentId === null || state.comments.has(parentId)) state.add(comment)
  }
}

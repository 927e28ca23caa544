import type { Me } from '../backend.ts'
import type { ThreadState } from '../state.ts'

/**
 * Puts the reader's own comments that are known into their lists. A reply is put there once the
 * comment that it replies to is known.
 */
export function addOwn({ state, me }: { state: ThreadState; me: Me | null }): void {
  for (const comment of state.comments.values()) {
    const { id, parentId, author } = comment
    // A deleted one has no author.
    if (!me || author?.externalId !== me.id || state.list(parentId).ids.includes(id)) continue
    if (parentId === null || state.comments.has(parentId)) state.add(comment)
  }
}

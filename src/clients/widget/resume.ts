import type * as actions from './actions.ts'
import type { Wish } from './storage.ts'
import type { Panel, Thread } from './thread.ts'

/** Of each level. */
const MOST_PAGES = 10

/**
 * Opens what the reader wanted when they were asked to sign in: the box for a comment, or a panel
 * below a comment, for which its pages are loaded.
 */
export async function resume(
  thread: Thread,
  { kind, id }: Wish,
  { loadMore, openPanel }: Pick<typeof actions, 'loadMore' | 'openPanel'>,
): Promise<void> {
  if (kind === 'post') return thread.focusOn('textarea')
  let parentId = ''
  for (const one of await pathTo(thread, id)) {
    const list = thread.state.list(parentId)
    const isMissing = (): boolean => !list.ids.includes(one) && (list.hasMore || !list.isLoaded)
    for (let page = 0; isMissing() && page < MOST_PAGES; page++) await loadMore(thread, parentId)
    list.isOpen = true
    parentId = one
  }
  if (thread.state.comments.has(id)) openPanel(thread, id, kind as Panel['kind'])
}

/** The comments from the top level down to this one; none if it is gone. */
async function pathTo({ state, pages }: Thread, id: string): Promise<string[]> {
  const path: string[] = []
  for (let next: string | null = id; next !== null;) {
    const comment: { id: string; parentId: string | null } | null =
      state.comments.get(next) ?? (await pages.comment(next))
    if (comment === null) return []
    path.unshift(comment.id)
    next = comment.parentId
  }
  return path
}

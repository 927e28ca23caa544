import type { loadMore } from './actions.ts'
import type { PageComment } from './backend.ts'
import type { Thread } from './thread.ts'

/**
 * Loads what leads to a comment, opens it, and moves the focus to it. One that the first page has
 * not stands above the others. Returns whether the reader may see it.
 */
export async function reveal(thread: Thread, id: string, more: typeof loadMore, isQuiet: boolean): Promise<boolean> {
  const path = await pathTo(thread, id)
  let parentId = ''
  for (const comment of path) {
    const { comments } = thread.state
    const list = thread.state.list(parentId)
    if (!list.isLoaded) await more(thread, parentId)
    if (!list.ids.includes(comment.id)) {
      if (!comments.has(comment.id)) comments.set(comment.id, comment)
      list.waiting = list.waiting.filter((one) => one !== comment.id)
      list.ids.splice(parentId === '' ? 0 : list.ids.length, 0, comment.id)
    }
    list.isOpen = true
    parentId = comment.id
  }
  if (path.length === 0) {
    if (isQuiet) return false
    thread.errors.set('new', thread.words.text('not_found'))
    void thread.update()
    return false
  }
  thread.writing?.addOwn(thread)
  if (!isQuiet) thread.linked = id
  await thread.update()
  if (isQuiet) return true
  const shown = thread.shadowRoot?.getElementById(`c-${id}`)
  if (!thread.isTyping) shown?.focus({ preventScroll: true })
  shown?.scrollIntoView({ block: 'center' })
  return true
}

/** The comments from the top level down to this one; none if it is gone, or of another page. */
async function pathTo({ state, pages, discussionId }: Thread, id: string): Promise<PageComment[]> {
  const path: PageComment[] = []
  for (let next: string | null = id; next !== null;) {
    const comment: PageComment | null = state.comments.get(next) ?? (await pages.comment(next))
    if (comment?.discussionId !== discussionId || !comment) return []
    path.unshift(comment)
    next = comment.parentId
  }
  return path
}

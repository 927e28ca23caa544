import { RequestError, type PageComment } from './backend.ts'
import { type List, TOP } from './state.ts'
import type { Wish } from './storage.ts'
import type { Panel, Popup, Thread, Writing } from './thread.ts'

/** The place of a comment of the top level, and the key of its draft. */
export const NEW = 'new'

/** Does something once at a time in its place, and says there why it failed. */
export async function act(thread: Thread, place: string, action: string, work: () => Promise<void>): Promise<void> {
  if (thread.busy.has(place)) return
  thread.busy.add(place)
  thread.errors.delete(place)
  void thread.update()
  try {
    await work()
  } catch (error) {
    thread.errors.set(place, reasonOf(thread, error))
    if (error instanceof RequestError && error.code === 'identity_required') thread.me = null
    thread.emit('error', { error, action })
  }
  thread.busy.delete(place)
  void thread.update()
}

/** Any other error is a fault of this program. */
function reasonOf({ words }: Thread, error: unknown): string {
  const { code, retryAfterSeconds } = error instanceof RequestError ? error : new RequestError('error')
  const key = code.replace(/^discussion_/, '')
  return words.text(words.has(key) ? key : 'error', { time: words.inSeconds(Math.max(1, retryAfterSeconds)) })
}

/** Everybody has it, signed in or not. */
const MENU = 'menu'

/**
 * Does what only a signed-in reader can do, by the code for it. Another reader is asked to sign in,
 * by the page, and goes on afterwards (`writing/writing.ts`). Where guests may write, they write
 * first, and say who they are when they send it.
 */
export async function write(thread: Thread, wish: Wish, go: (writing: Writing) => unknown): Promise<void> {
  const { me, panel, signedOut, settings } = thread
  const isFree = me || wish.kind === MENU
  if (isFree || settings.guests) {
    // It is missing where it could not be loaded with the comments.
    if (!thread.writing) await act(thread, wish.id || NEW, 'load', () => thread.lateWriting())
    if (thread.writing)
      await (isFree || /post|reply/.test(wish.kind) ? go(thread.writing) : thread.writing.askGuest(thread))
    return
  }
  // Of a reader whose sign-in has expired, what is open.
  signedOut.wish = panel ?? wish
  if (thread.emit('sign-in', { action: wish.kind })) thread.warn('sign-in')
}

/** Opens or closes a panel or a popup of a comment. */
export const open = (thread: Thread, id: string, kind: (Panel | Popup)['kind']): Promise<void> =>
  write(thread, { kind, id }, (writing) => writing.openPanel(thread, id, kind))

/**
 * The next page of a level; for replies the first one too. The focus moves to it, unless the reader
 * has only scrolled.
 */
export const loadMore = (thread: Thread, parentId: string, isByScroll = false): Promise<void> =>
  act(thread, `more-${parentId}`, 'load', async () => {
    const { state, pages, pageSize: limit, shownReplies: replies } = thread
    const { ids } = state.list(parentId)
    const before = ids.length
    const load = async (id: string): Promise<void> => {
      const query = id === TOP ? { sort: state.sort } : { sort: 'oldest', parentId: id }
      const { cursor, isLoaded } = state.list(id)
      if (id === parentId || !isLoaded)
        state.addPage(id, await pages.comments({ ...query, limit, replies, ...(cursor !== null && { cursor }) }))
      // An only reply opens with its own replies, down to the end of the chain.
      const [only, next] = state.list(id).ids
      if (id !== TOP && only && !next && state.comments.get(only)?.replyCount) await load(only)
    }
    await load(parentId)
    thread.writing?.addOwn(thread)
    // The button may have gone.
    if (!isByScroll && before > 0 && ids.length > before) await thread.focusOn(`#c-${ids[before]}`)
  })

/** Shows what has been announced, a page at a time: thousands at once would hold the page up. */
const showWaiting = ({ state, pageSize }: Thread, list: List): string[] => state.showWaiting(list, +pageSize || 20)

/** Shows what has been announced at the top. */
export function showNew(thread: Thread): void {
  const shown = showWaiting(thread, thread.state.list(TOP))
  thread.status = ''
  void thread.focusOn(`#c-${shown.at(thread.sort === 'oldest' ? 0 : -1)}`)
}

export async function toggleReplies(thread: Thread, { id }: PageComment): Promise<void> {
  const list = thread.state.list(id)
  if (list.waiting.length > 0 && list.isOpen) showWaiting(thread, list)
  else if (list.isOpen) list.isOpen = false
  else if (list.isLoaded) showWaiting(thread, list)
  else await loadMore(thread, id)
  void thread.update()
}

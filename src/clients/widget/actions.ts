import { isPassing, RequestError, type PageComment } from './backend.ts'
import { notice } from './views/parts.ts'
import { type List, TOP } from './state.ts'
import type { Storage } from './storage.ts'
import type { Thread, Panel } from './thread.ts'

/** The key of a draft: a comment's id for a reply, another one for an edit. */
export const NEW = 'new'
export const editOf = (id: string): string => `edit-${id}`

/** Does something once at a time in its place, and says there why it failed. */
async function act(thread: Thread, place: string, action: string, work: () => Promise<void>): Promise<void> {
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

function reasonOf({ words }: Thread, error: unknown): string {
  const { code, retryAfterSeconds } = error instanceof RequestError ? error : { code: '', retryAfterSeconds: 0 }
  const key = code.replace(/^discussion_/, '')
  return words.text(words.has(key) ? key : 'error', { time: words.inSeconds(Math.max(1, retryAfterSeconds)) })
}

/**
 * Whether the reader may go on. A reader who is not signed in is asked to, by the page, and goes on
 * afterwards (`resume.ts`).
 */
export function isSignedIn(thread: Thread, action: string, id = ''): boolean {
  if (thread.me) return true
  // Of a reader whose sign-in has expired, what is open.
  thread.signedOut.wish = thread.panel ?? { kind: action, id }
  if (thread.emit('sign-in', { action })) thread.warn('sign-in')
  return false
}

export const post = (thread: Thread, parent: PageComment | null): Promise<void> => {
  const place = parent?.id ?? NEW
  return act(thread, place, 'post', async () => {
    const { storage, pages, words } = thread
    const { text, key } = storage.draft(place)
    if (text.trim() === '') return
    const sent = pages.post({ body: text, ...(parent && { parentId: parent.id }) }, key)
    const comment = await sent.catch((error: RequestError) => {
      // The service would repeat a refusal under this key for a day, so the draft gets a new key.
      // Without an answer the write may have succeeded, so it keeps its key.
      if (!isPassing(error)) storage.setDraft(place, text)
      throw error
    })
    storage.setDraft(place, '')
    if (parent && !thread.state.list(parent.id).isLoaded && parent.replyCount > 0) {
      await loadMore(thread, parent.id)
    }
    show(thread, storage, comment)
    thread.panel = null
    thread.status = words.text(comment.status === 'pending' ? 'awaiting' : 'posted')
    thread.emit('posted', { comment })
    await thread.focusOn(`#c-${comment.id}`)
  })
}

/**
 * Shows what the reader has written, on the thread's present state, which may have been loaded
 * again, unless it belongs to another reader now.
 */
function show(thread: Thread, storage: Storage, comment: PageComment): void {
  storage.keep(comment)
  if (thread.storage === storage) thread.state.add(comment)
}

export const saveEdit = (thread: Thread, { id, body }: PageComment): Promise<void> =>
  act(thread, editOf(id), 'edit', async () => {
    const { storage, pages } = thread
    const text = storage.draft(editOf(id)).text
    if (text.trim() !== '' && text !== body) show(thread, storage, await pages.edit(id, text))
    storage.setDraft(editOf(id), '')
    closePanel(thread)
  })

export const remove = (thread: Thread, comment: PageComment): Promise<void> =>
  act(thread, comment.id, 'delete', async () => {
    const { storage, pages } = thread
    await pages.remove(comment.id)
    storage.keep({ ...comment, status: 'deleted' })
    thread.state.remove(comment.id)
    thread.panel = null
    thread.status = thread.words.text('deleted')
    await thread.focusOn('#title')
  })

export const react = (thread: Thread, { id, viewerReaction }: PageComment, type: string): Promise<void> =>
  act(thread, id, 'react', async () => {
    if (!isSignedIn(thread, 'react', id)) return
    const answer = await thread.pages.react(id, viewerReaction === type ? null : type)
    const { comments } = thread.state
    const comment = comments.get(id)
    if (comment) comments.set(id, { ...comment, reactionCounts: answer.reactionCounts, viewerReaction: answer.type })
    if (thread.panel?.kind === 'react') closePanel(thread)
  })

export const report = (thread: Thread, { id }: PageComment, form: HTMLFormElement): Promise<void> =>
  act(thread, id, 'report', async () => {
    await thread.pages.report(id, Object.fromEntries(new FormData(form)))
    closePanel(thread)
    thread.status = thread.words.text('reported')
    thread.errors.set(id, notice(thread.status))
  })

/** The next page of a level; for replies the first one too. */
export const loadMore = (thread: Thread, parentId: string): Promise<void> =>
  act(thread, `more-${parentId}`, 'load', async () => {
    const { state, pages, pageSize: limit } = thread
    const { cursor, ids } = state.list(parentId)
    const before = ids.length
    const query = parentId === TOP ? { sort: state.sort, replies: '3' } : { sort: 'oldest', parentId }
    state.addPage(parentId, await pages.comments({ ...query, limit, ...(cursor !== null && { cursor }) }))
    // The button may have gone.
    if (before > 0 && ids.length > before) await thread.focusOn(`#c-${ids[before]}`)
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

const SIGNED_IN: readonly Panel['kind'][] = ['reply', 'report', 'react']

export function openPanel(thread: Thread, id: string, kind: Panel['kind']): void {
  const isOpen = thread.panel?.id === id && thread.panel.kind === kind
  if (isOpen) return closePanel(thread)
  if (SIGNED_IN.includes(kind) && !isSignedIn(thread, kind, id)) return
  thread.errors.delete(id)
  thread.panel = { id, kind }
  if (kind === 'edit' && thread.storage.draft(editOf(id)).text === '') {
    thread.storage.setDraft(editOf(id), thread.state.comments.get(id)?.body ?? '')
  }
  void thread.focusOn('.panel :is(textarea, select, button)')
}

/** The focus goes back to where it came from. */
export function closePanel(thread: Thread): void {
  const { panel } = thread
  thread.panel = null
  if (panel) void thread.focusOn(`#c-${panel.id} [data-opens=${panel.kind}]`)
}

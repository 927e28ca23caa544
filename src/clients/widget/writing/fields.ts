// Fields that hold a text stay, whatever happens to their comment, the discussion and the sign-in.
import type { PageComment } from '../backend.ts'
import type { ThreadState } from '../state.ts'
import type { Storage } from '../storage.ts'
import type { Panel, Thread } from '../thread.ts'
import { kit } from './kit.ts'
import { stopWaiting, takeBack } from './line.ts'

/** The key of the draft of an edit. That of a reply is the comment's id. */
export const editOf = (id: string): string => `edit-${id}`
/** The key of the draft of the note of a report. */
export const noteOf = (id: string): string => `note-${id}`
/** Where it is remembered, as a draft is, that the reader has reported a comment. */
export const reportOf = (id: string): string => `report-${id}`

/** What is open is stored as a draft is. */
export const PANEL = 'panel'

const PLACES: Partial<Record<Panel['kind'], (id: string) => string>> = {
  reply: (id) => id,
  edit: editOf,
  report: noteOf,
}

const textIn = ({ storage }: Thread, panel: Panel | null): string => {
  const place = panel && PLACES[panel.kind]?.(panel.id)
  return place ? storage.draft(place).text : ''
}

export const isHeld = (thread: Thread): boolean =>
  thread.storage.draft(kit.NEW).text !== '' || textIn(thread, thread.panel) !== ''

/** A reload of the browser's page opens it again if it holds a text. */
export function setPanel(thread: Thread, panel: Panel | null): void {
  // A reply waits in view alone.
  if (thread.panel?.kind === 'reply') stopWaiting(thread, thread.panel.id)
  thread.panel = panel
  thread.storage.setDraft(PANEL, panel ? JSON.stringify(panel) : '')
}

/** The panel that was open. Null as well for a text of another program. */
export function storedPanel(storage: Storage): Panel | null {
  try {
    return JSON.parse(storage.draft(PANEL).text || 'null') as Panel | null
  } catch {
    return null
  }
}

/** Closes this panel if it is still the open one. The focus goes back to where it came from. */
export function closePanel(thread: Thread, panel: Panel | null): void {
  const { panel: open } = thread
  if (!panel || open?.id !== panel.id || open.kind !== panel.kind) return
  if (panel.kind === 'reply') takeBack(thread, panel.id)
  setPanel(thread, null)
  void thread.focusOn(`#c-${panel.id} [data-opens=${panel.kind === 'reply' ? 'reply' : 'menu'}]`)
}

/** Why nothing can be sent about this comment now; of the top level without one. */
export function obstacle(thread: Thread, comment: PageComment | null): string | undefined {
  const { me, access, words, settings } = thread
  if (!me && !settings.guests) return `${words.text('identity_required')} ${words.text('kept')}`
  if (access !== 'open') return words.text(access)
  return comment?.body === null ? words.text('not_found') : undefined
}

/**
 * Keeps the open field in place after the page was loaded again, with the comments above it, and
 * asks what has become of its comment.
 */
export function keep(thread: Thread, before: ThreadState): void {
  const panel = thread.panel ?? storedPanel(thread.storage)
  if (!panel || textIn(thread, panel) === '') return
  const isNew = thread.panel === null
  thread.panel = panel
  const { id } = panel
  if (isShown(thread.state, id)) return
  if (isNew) void openAgain(thread, id)
  else {
    carry(thread.state, before, id)
    void refresh(thread, id)
  }
}

/** Whether the comment stands in the lists that are open. */
function isShown(state: ThreadState, id: string): boolean {
  const comment = state.comments.get(id)
  if (!comment) return false
  const { ids, isOpen } = state.list(comment.parentId)
  return ids.includes(id) && (comment.parentId === null || (isOpen && isShown(state, comment.parentId)))
}

function carry(state: ThreadState, before: ThreadState, id: string): void {
  for (let next: string | null = id; next !== null;) {
    const comment: PageComment | undefined = state.comments.get(next) ?? before.comments.get(next)
    if (!comment) return
    state.comments.set(next, comment)
    const list = state.list(comment.parentId)
    list.waiting = list.waiting.filter((one) => one !== next)
    if (!list.ids.includes(next)) list.ids.splice(comment.parentId === null ? 0 : list.ids.length, 0, next)
    list.isOpen = true
    next = comment.parentId
  }
}

/** A comment that the reader may no longer see is gone. Without an answer it stays as it was. */
async function refresh(thread: Thread, id: string): Promise<void> {
  const { state, pages } = thread
  const known = state.comments.get(id)
  const news = await pages.comment(id).catch(() => known)
  if (known) state.comments.set(id, news ?? { ...known, ...GONE })
  void thread.update()
}

const GONE = { status: 'deleted', author: null, body: null, bodyHtml: null } as const

/**
 * After a reload of the browser's page. The text has a place also where its comment is gone.
 * Without an answer nobody knows whether it is.
 */
async function openAgain(thread: Thread, id: string): Promise<void> {
  const { state } = thread
  if (await thread.reveal(id, true).catch(() => true)) return
  const gone = { ...GONE, id, discussionId: thread.discussionId ?? '', parentId: null, depth: 0, replyCount: 0 }
  const rest = { pinnedAt: null, editedAt: null, deletedAt: null, decision: null, revision: 1 }
  const none = { reactionCounts: {}, viewerReaction: null, authorMuted: null, createdAt: new Date(0).toISOString() }
  state.comments.set(id, { ...gone, ...rest, ...none })
  state.list(null).ids.unshift(id)
  void thread.update()
}

/**
 * Replaces a part of a text as if the reader had typed it: they can undo it, and `input` tells of
 * it. Leaves the caret behind it.
 */
export function typeOver(area: HTMLTextAreaElement, start: number, end: number, text: string): void {
  if (area.readOnly) return
  area.focus()
  area.setSelectionRange(start, end)
  // No other way keeps the history of a text box.
  if (document.execCommand(text === '' ? 'delete' : 'insertText', false, text)) return
  area.setRangeText(text, start, end, 'end')
  area.dispatchEvent(new Event('input', { bubbles: true }))
}

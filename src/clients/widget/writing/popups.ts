import type { PageComment } from '../backend.ts'
import type { Panel, Popup, Thread } from '../thread.ts'
import { closePopup, mute } from './actions.ts'
import { moveFocus } from './arrows.ts'
import { reportOf } from './fields.ts'
import { addStyles, kit } from './kit.ts'
import css from './popups.css?inline'

/** What is open over a comment: its menu, or the choice of a reaction. */
export function popupView(thread: Thread, comment: PageComment): unknown {
  const { popup } = thread
  if (popup?.id !== comment.id) return kit.nothing
  if (!hasOpener(thread, comment, popup)) {
    thread.popup = null
    return kit.nothing
  }
  addStyles(thread, css)
  const isMenu = popup.kind === 'menu'
  // The counts stand in the row.
  const uncounted = { ...comment, reactionCounts: {} }
  return kit.html`<div
    part="popup ${popup.kind}"
    class="popup ${popup.kind}"
    role=${isMenu ? 'menu' : 'group'}
    aria-label=${thread.words.text(popup.kind)}
    @keydown=${(event: KeyboardEvent) => move(thread, event)}
    @focusout=${(event: FocusEvent) => leave(thread, event)}
  >
    ${isMenu ? itemsOf(thread, comment) : thread.settings.reactionTypes.map((type) => kit.faceView(thread, uncounted, type))}
  </div>`
}

/** Whether the button stands that has opened it (`views/actions-view.ts`). */
function hasOpener(thread: Thread, comment: PageComment, { kind }: Popup): boolean {
  if (kind === 'menu') return hasMenu(thread, comment)
  return comment.body !== null && comment.status === 'approved' && thread.access === 'open'
}

export const hasMenu = (thread: Thread, comment: PageComment): boolean => itemsOf(thread, comment).length > 0

function itemsOf(thread: Thread, comment: PageComment): unknown[] {
  const { words, settings, access, me, state, storage } = thread
  const { id, status, author, body, createdAt } = comment
  if (body === null || state.state === 'archived') return []
  const opens = (kind: Panel['kind']): unknown => item(words.text(kind), () => kit.open(thread, id, kind))
  if (thread.isOwn(comment)) {
    const isFresh = kit.now() - Date.parse(createdAt) < settings.editWindowSeconds * 1000
    return [...(access === 'open' && isFresh && status !== 'rejected' ? [opens('edit')] : []), opens('delete')]
  }
  if (status !== 'approved') return []
  const mayReply = me && access === 'open' && comment.depth < settings.maxDepth
  const isMuted = state.muted.has(author?.id ?? '')
  const turn = (): Promise<void> => mute(thread, comment, !isMuted)
  const label = isMuted ? words.text('unmute') : words.text('mute', { name: kit.nameOf(thread, comment) })
  const isReported = storage.draft(reportOf(id)).text !== ''
  return [
    ...(mayReply ? [item(words.text('quote'), () => quote(thread, comment))] : []),
    ...(access === 'reader_banned' || isReported ? [] : [opens('report')]),
    ...(me && author ? [item(label, turn)] : []),
  ]
}

/** Its code comes with the formatting bar. */
async function quote(thread: Thread, comment: PageComment): Promise<void> {
  const file = await import('./format.ts').catch(() => null)
  if (file) return file.quote(thread, comment)
  thread.errors.set(comment.id, thread.words.text('unloaded'))
  closePopup(thread, thread.popup)
}

const item = (text: string, choose: () => unknown): unknown =>
  kit.html`<button type="button" part="button item" role="menuitem" tabindex="-1" @click=${choose}>${text}</button>`

/** Escape closes it. Arrows move between its buttons. */
function move(thread: Thread, event: KeyboardEvent): void {
  const { key, currentTarget } = event
  if (key === 'Escape') {
    // Not the panel below.
    event.stopPropagation()
    return closePopup(thread, thread.popup)
  }
  const all = [...(currentTarget as Element).querySelectorAll<HTMLElement>('button:enabled')]
  moveFocus(event, thread.words.dir, all)
}

/** The focus has left it, by the Tab key or a click elsewhere. */
function leave(thread: Thread, { currentTarget, relatedTarget }: FocusEvent): void {
  if ((currentTarget as Element).contains(relatedTarget as Node | null)) return
  thread.popup = null
  void thread.update()
}

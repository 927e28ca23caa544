import css from './bell.css?inline'
import type { StreamEvent } from '../../browser/stream.ts'
import type { RequestError } from '../backend.ts'
import type { Thread } from '../thread.ts'
import type { Bell, Unread } from './inbox.ts'
import { addStyles, kit } from './kit.ts'
import { MENTION } from './mentions.ts'

const bells = new WeakMap<Thread, Bell>()

/** Many readers hear of one comment at the same time. */
const SPREAD_MS = 3000

export function bellView(thread: Thread): unknown {
  const { html, nothing, button } = kit
  const bell = bellOf(thread)
  if (!bell?.unread) return nothing
  const { unread, isOpen, inbox } = bell
  const { words } = thread
  const n = unread.count === 0 ? '' : ` ${words.number(unread.count)}${unread.hasMore ? '+' : ''}`
  const label = unread.count === 0 ? words.text('inbox') : words.text('unread', { n: unread.count })
  const leave = ({ key }: KeyboardEvent): void => {
    if (key === 'Escape' && isOpen) void toggle(thread, bell)
  }
  return html`<div part="bell" class="bell" @keydown=${leave}>
      ${button(html`<span aria-hidden="true">🔔</span>${n}`, () => toggle(thread, bell), { label, isOpen, opens: 'inbox' })}
    </div>
    ${isOpen ? inbox?.view() : nothing}`
}

function bellOf(thread: Thread): Bell | null {
  const { me } = thread
  const known = bells.get(thread)
  if (known?.readerId === me?.id) return known ?? null
  bells.delete(thread)
  if (!me) return null
  const bell: Bell = { readerId: me.id, unread: { count: 0, hasMore: false }, inbox: null, isOpen: false, waits: false }
  bells.set(thread, bell)
  addStyles(thread, css)
  // The comments come first.
  void thread.update().then(() => recount(thread, bell))
  const onReturn = (): void => {
    if (bells.get(thread) !== bell || !thread.isConnected) document.removeEventListener('visibilitychange', onReturn)
    else if (!document.hidden) void recount(thread, bell)
  }
  document.addEventListener('visibilitychange', onReturn)
  return bell
}

/** Asks how many are unread. A failure leaves what is shown. */
async function recount(thread: Thread, bell: Bell): Promise<void> {
  const answer = kit.ask<Unread>(`${thread.backend}/me/notifications/count`)
  bell.unread = await answer.catch(({ code }: RequestError) => (code === 'not_found' ? null : bell.unread))
  if (bell.isOpen) await bell.inbox?.refresh()
  void thread.update()
}

async function toggle(thread: Thread, bell: Bell): Promise<void> {
  bell.isOpen = !bell.isOpen
  if (bell.isOpen) {
    try {
      bell.inbox ??= (await import('./inbox.ts')).openInbox(thread, bell)
      await bell.inbox.refresh()
    } catch (error) {
      bell.isOpen = bell.inbox !== null
      thread.emit('error', { error, action: 'inbox' })
    }
  }
  void thread.update()
}

/**
 * A reply to the reader, a comment that names somebody, or a decision may have brought a
 * notification.
 */
export function ring(thread: Thread, event: StreamEvent): void {
  const bell = bells.get(thread)
  if (!bell || bell.waits || !mayTell(thread, event)) return
  bell.waits = true
  const delay = event.type === 'notification_reply' ? 0 : Math.random() * SPREAD_MS
  setTimeout(() => {
    bell.waits = false
    if (bells.get(thread) === bell) void recount(thread, bell)
  }, delay)
}

function mayTell(thread: Thread, { type, data, actor }: StreamEvent): boolean {
  if (type === 'notification_reply') return true
  if (!('comment' in data)) return false
  const { comment } = data
  return comment.body?.includes(MENTION) === true || (actor.kind !== 'reader' && thread.isOwn(comment))
}

import css from './bell.css?inline'
import type { StreamEvent } from '../../browser/stream.ts'
import type { PageComment, RequestError } from '../backend.ts'
import type { Thread } from '../thread.ts'
import type { Bell, Unread } from './inbox.ts'
import { BELL, icon, SHEET } from './icons.ts'
import { addStyles, kit } from './kit.ts'
import { MENTION } from './mentions.ts'

const bells = new WeakMap<Thread, Bell>()

/** Many readers hear of one comment at the same time. */
const SPREAD_MS = 3000

export function bellView(thread: Thread): unknown {
  const { html, nothing, button } = kit
  const bell = bellOf(thread)
  if (!bell?.unread) return nothing
  const { unread, isOpen, inbox, isOwnOpen, own } = bell
  const { words } = thread
  const n = unread.count === 0 ? '' : ` ${words.number(unread.count)}${unread.hasMore ? '+' : ''}`
  const label = unread.count === 0 ? words.text('inbox') : words.text('unread', { n: unread.count })
  const leave = ({ key }: KeyboardEvent): void => {
    if (key === 'Escape' && isOpen) void toggle(thread, bell)
    if (key === 'Escape' && isOwnOpen) void toggleOwn(thread, bell)
  }
  const ownLabel = words.text('ownComments')
  return html`<div part="bell" class="bell" @keydown=${leave}>
      ${button(icon(kit, SHEET), () => toggleOwn(thread, bell), { label: ownLabel, isOpen: isOwnOpen, opens: 'own' })}
      ${button(html`${icon(kit, BELL)}${n}`, () => toggle(thread, bell), { label, isOpen, opens: 'inbox' })}
    </div>
    ${isOpen ? inbox?.view() : nothing} ${isOwnOpen ? own?.view() : nothing}`
}

const CLOSED = { inbox: null, isOpen: false, own: null, isOwnOpen: false }

function bellOf(thread: Thread): Bell | null {
  const { me } = thread
  const known = bells.get(thread)
  if (known?.readerId === me?.id) return known ?? null
  bells.delete(thread)
  if (!me) return null
  const bell: Bell = { readerId: me.id, unread: { count: 0, hasMore: false }, ...CLOSED, waits: false }
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

/** Asks how many are unread, and for the list where it is open. A failure leaves what is shown. */
async function recount(thread: Thread, bell: Bell): Promise<void> {
  const answer = kit.ask<Unread>(`${thread.backend}/me/notifications/count`)
  const list = bell.isOpen ? bell.inbox?.refresh() : null
  bell.unread = await answer.catch(({ code }: RequestError) => {
    // The page's function has no token any more: what only its reader sees goes away.
    if (code === 'identity_required' && thread.hasAttribute('site')) endReading(thread)
    return code === 'not_found' ? null : bell.unread
  })
  await list
  void thread.update()
}

/** When threads were loaded again for this: a function may have a token for each second request. */
const endedAt = new WeakMap<Thread, number>()
const ONCE_MS = 60_000

function endReading(thread: Thread): void {
  const now = performance.now()
  if (now - (endedAt.get(thread) ?? -ONCE_MS) < ONCE_MS) return
  endedAt.set(thread, now)
  thread.reload()
}

/** What the reader may see has changed. */
export function recountOf(thread: Thread): void {
  const bell = bells.get(thread)
  if (bell) void recount(thread, bell)
}

async function toggle(thread: Thread, bell: Bell): Promise<void> {
  bell.isOpen = !bell.isOpen
  bell.isOwnOpen = false
  if (bell.isOpen) {
    try {
      const file = import('./inbox.ts')
      file.catch(() => thread.errors.set(kit.NEW, thread.words.text('unloaded')))
      bell.inbox ??= (await file).openInbox(thread, bell)
      // The number may be of what has left the view on other pages.
      await recount(thread, bell)
    } catch (error) {
      bell.isOpen = bell.inbox !== null
      thread.emit('error', { error, action: 'inbox' })
    }
  }
  void thread.update()
}

async function toggleOwn(thread: Thread, bell: Bell): Promise<void> {
  bell.isOwnOpen = !bell.isOwnOpen
  bell.isOpen = false
  if (bell.isOwnOpen) {
    try {
      bell.own ??= (await import('./own-list.ts')).openOwn(thread, bell)
      await bell.own.refresh()
    } catch (error) {
      bell.isOwnOpen = bell.own !== null
      thread.errors.set(kit.NEW, thread.words.text('unloaded'))
      thread.emit('error', { error, action: 'own' })
    }
  }
  void thread.update()
}

/**
 * An event may have brought a notification, or have taken away or brought back what one tells of.
 * `before` is the comment as it was known here.
 */
export function ring(thread: Thread, event: StreamEvent, before: PageComment | undefined): void {
  const bell = bells.get(thread)
  if (!bell || bell.waits || !mayTell(thread, bell, event, before)) return
  bell.waits = true
  const delay = event.type === 'notification_reply' ? 0 : Math.random() * SPREAD_MS
  setTimeout(() => {
    bell.waits = false
    if (bells.get(thread) === bell) void recount(thread, bell)
  }, delay)
}

function mayTell(thread: Thread, { unread }: Bell, { type, data, actor }: StreamEvent, before?: PageComment): boolean {
  if (type === 'notification_reply') return true
  if (!('comment' in data)) return false
  const { comment } = data
  if (comment.body?.includes(MENTION)) return true
  // Whom it named or answered, the event does not tell any more.
  if (comment.status !== 'approved' && unread?.count) return true
  const answered = thread.state.comments.get(comment.parentId ?? '')
  return actor.kind !== 'reader' && [comment, before, answered].some((one) => one && thread.isOwn(one))
}

/** How many of a reader's comments that wait are asked for each minute. */
const MOST_ASKED = 5

/** Asks what has become of the reader's own comment. The stream tells everyone the same. */
async function learn(thread: Thread, { id }: PageComment): Promise<void> {
  const { state, pages } = thread
  const news = await pages.comment(id).catch(() => null)
  const known = state.comments.get(id)
  if (!news || !known || known.revision > news.revision) return
  const { status, decision } = news
  if (status !== known.status) {
    // The message may say that it waits.
    thread.status = ''
    recountOf(thread)
  }
  if (status === 'approved') state.add(news)
  else state.comments.set(id, { ...known, status, decision })
  void thread.update()
}

/** A moderator has done something with the reader's own comment. */
export function hearOfOwn(thread: Thread, { actor }: StreamEvent, known: PageComment | undefined): void {
  if (known && actor.kind !== 'reader' && thread.isOwn(known)) void learn(thread, known)
}

/** No event says that a comment was rejected which nobody else has seen. */
export function lookAtPending(thread: Thread): void {
  const waiting = [...thread.state.comments.values()].filter(({ status }) => status === 'pending')
  for (const comment of waiting.slice(-MOST_ASKED)) void learn(thread, comment)
}

// The stream's client and what its events change: a file of its own, which comes while the comments
// do.
import type { StreamEvent } from '../browser/stream.ts'
import { applyEvent, NAMELESS } from './events.ts'
import type { Thread } from './thread.ts'

export { openDiscussionStream } from '../browser/stream.ts'

/** Many readers hear of a comment at the same time. */
const SPREAD_MS = 5000

/** How often a busy discussion is drawn. The first event of a pause is drawn at once. */
const DRAW_MS = 100
const drawn = new WeakMap<Thread, { at: number; isDue: boolean }>()

function tellSoon(thread: Thread): void {
  const last = drawn.get(thread) ?? { at: 0, isDue: false }
  drawn.set(thread, last)
  if (last.isDue) return
  const tell = (): void => {
    Object.assign(last, { at: performance.now(), isDue: false })
    thread.tell()
  }
  const waitMs = last.at + DRAW_MS - performance.now()
  if (waitMs <= 0) return tell()
  last.isDue = true
  setTimeout(tell, waitMs)
}

export function hear(thread: Thread, event: StreamEvent): void {
  const { state, me } = thread
  const before = state.list(null).waiting.length
  const known = 'comment' in event.data ? state.comments.get(event.data.comment.id) : undefined
  applyEvent(state, event, me?.id ?? '')
  const waiting = state.list(null).waiting.length
  if (waiting > before) thread.status = thread.words.text('newComments', { n: waiting })
  if (event.type === 'notification_reply') thread.emit('reply', event.data)
  thread.writing?.hear(thread, event, known)
  if ('comment' in event.data) askNames(thread, event.data.comment.id)
  // The message may say that the reader's own comment waits.
  if (event.type === 'comment_approved') thread.status = ''
  tellSoon(thread)
}

/** Asks for the names of mentions that are not known here; not by all pages at once. */
function askNames(thread: Thread, id: string): void {
  const html = thread.state.comments.get(id)?.bodyHtml
  if (html && html.search(NAMELESS) >= 0) setTimeout(() => void learnNames(thread, id), Math.random() * SPREAD_MS)
}

/** A failure leaves them without. */
async function learnNames(thread: Thread, id: string): Promise<void> {
  const { state, pages } = thread
  const news = await pages.comment(id).catch(() => null)
  const known = state.comments.get(id)
  if (!known || known.revision !== news?.revision) return
  state.comments.set(id, { ...known, bodyHtml: news.bodyHtml })
  void thread.update()
}

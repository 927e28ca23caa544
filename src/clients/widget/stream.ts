// The stream's client and what its events change: a file of its own, which comes while the comments
// do.
import { type DiscussionStream, openDiscussionStream, type StreamEvent, type StreamOptions } from '../browser/stream.ts'
import { shareDiscussionStream } from '../browser/tabs.ts'
import { applyEvent, NAMELESS } from './events.ts'
import type { Thread, Ticket } from './thread.ts'

// For the counts of a front page (`live.ts`).
export { openSeveralStream } from '../browser/stream.ts'
export { countChange } from './events.ts'

/** What the thread gives. */
type Options = Omit<StreamOptions, 'ticket'>

/** The id of the reader whom a ticket names, null for none; undefined if it does not say. */
const readerOf = ({ recipient }: Ticket): string | null | undefined => recipient && recipient.externalId

/** Tickets that came with a page and were taken, and those that came later. */
const spent = new WeakSet<Ticket>()

/** Whose ticket has made a thread load again, so that it does so once. */
const reloadedFor = new WeakMap<Thread, string | null>()

/**
 * One stream for all tabs that show the discussion to the same reader: a stream has what only its
 * reader may see. Once this tab gets a ticket for another reader, or for nobody, the thread loads
 * again. Where tickets do not name their reader, or no ticket came with the page and the first one
 * names another, the tab has a stream of its own.
 */
function share(thread: Thread, options: Options): DiscussionStream {
  const { backend, discussion, pages } = thread
  const reader = thread.me?.id ?? null
  /** Whom tickets for this reader name. That is another id after the reader was merged. */
  let recipient: string | null | undefined = reader === null ? null : undefined
  /** The ticket for the next connection. */
  let ready: Ticket | null = null
  /** Whether the page shows the reader of this stream. */
  const isShown = (): boolean => (thread.me?.id ?? null) === reader
  /** Takes the ticket that came with the page. */
  const takeFirst = (): void => {
    const first = thread.ticket
    if (!first || spent.has(first) || !isShown()) return
    spent.add(first)
    ready = first
    recipient = readerOf(first)
  }
  const next = async (): Promise<Ticket> => {
    // The page may have been loaded again.
    takeFirst()
    const given = ready
    ready = null
    return given && !thread.isPast(given.expiresAt) ? given : pages.ticket()
  }
  const goOn = (open: () => DiscussionStream): void => {
    // The thread may have ended it meanwhile.
    if (stream.state === 'closed') return
    stream.close()
    stream = open()
  }
  let isAlone = false
  const followAlone = (given: Ticket): void => {
    if (isAlone) return
    isAlone = true
    const { lastEventId } = stream
    ready = given
    goOn(() => openDiscussionStream({ ...own, ticket, lastEventId }))
  }
  /**
   * Rejects for a ticket of another reader: a leader would tell the others that reader's events.
   */
  const ticket = async (): Promise<Ticket> => {
    const given = await next()
    const named = readerOf(given)
    const isFirst = recipient === undefined && named !== null
    // The reader was merged, or another one has signed in since the page was loaded.
    const isUnsure = isFirst && named !== undefined && named !== reader
    const isOther = isUnsure && (await pages.me()).reader?.id !== reader
    if (isFirst && !isOther) recipient = named
    if (named === recipient && isShown()) {
      thread.ticket = given
      spent.add(given)
      void thread.update()
    }
    // The page's backend may have answered as one reader, and then as another.
    if (named === undefined || (isUnsure && !isOther)) followAlone(given)
    else if (named === recipient) reloadedFor.delete(thread)
    else if (reloadedFor.get(thread) === named) followAlone(given)
    else if (stream.state !== 'closed') {
      reloadedFor.set(thread, named)
      thread.reload()
      throw new Error('the ticket is for another reader')
    }
    return given
  }
  const own: Options = {
    ...options,
    onEvent: (event) => {
      // The stream may be another reader's where tickets do not name them.
      const isOthers = event.type === 'notification_reply' && event.data.recipient?.externalId !== (recipient ?? reader)
      return isOthers ? undefined : options.onEvent(event)
    },
    onReload: async (position) => {
      const shown = await options.onReload(position)
      // Another reader may have signed in.
      if (!isShown()) goOn(() => share(thread, { ...options, lastEventId: shown ?? position }))
      return shown
    },
  }
  takeFirst()
  let stream: DiscussionStream = shareDiscussionStream({
    ...own,
    name: JSON.stringify([new URL(backend, document.baseURI), discussion, reader]),
    ticket,
  })
  return {
    get lastEventId() {
      return stream.lastEventId
    },
    get state() {
      return stream.state
    },
    close: () => stream.close(),
  }
}

/** How soon the page of a site without comments looks for the first one, and how late. */
const FIRST_LOOK_MS = 10_000
const LAST_LOOK_MS = 60_000

/**
 * Follows the discussion; not with `stream="off"`. The page of a site has a stream once it has a
 * comment: until then it looks for one.
 */
export function openStream(thread: Thread, options: Options): DiscussionStream | undefined {
  if (thread.getAttribute('stream') === 'off') return undefined
  if (thread.discussionId || !thread.hasAttribute('site')) return share(thread, options)
  let stream: DiscussionStream | undefined
  let timer: ReturnType<typeof setTimeout>
  let isClosed = false
  const look = async (nextMs: number): Promise<void> => {
    const isBegun = document.visibilityState === 'visible' && (await hasComments(thread))
    if (isClosed) return
    if (isBegun) stream = share(thread, options)
    else wait(nextMs)
  }
  // Random, so that many pages do not ask in the same instant.
  const wait = (ms: number): void => {
    timer = setTimeout(() => void look(Math.min(2 * ms, LAST_LOOK_MS)), ms * (0.5 + Math.random()))
  }
  wait(FIRST_LOOK_MS)
  return {
    get lastEventId() {
      return stream?.lastEventId
    },
    get state() {
      return stream?.state ?? 'connecting'
    },
    close: () => {
      isClosed = true
      clearTimeout(timer)
      stream?.close()
    },
  }
}

/** As nobody, so that caches may answer. */
async function hasComments({ backend, discussion }: Thread): Promise<boolean> {
  const url = `${backend}/counts?${new URLSearchParams({ externalId: discussion })}`
  const response = await fetch(url, { credentials: 'omit' }).catch(() => null)
  const answer: unknown = await response?.json().catch(() => null)
  const { data } = (answer ?? {}) as { data?: { commentCount: number }[] }
  return (data?.[0]?.commentCount ?? 0) > 0
}

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
  const { state } = thread
  const before = state.list(null).waiting.length
  const known = 'comment' in event.data ? state.comments.get(event.data.comment.id) : undefined
  applyEvent(state, event, thread.self)
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

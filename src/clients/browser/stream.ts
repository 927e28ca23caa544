// The browser's half of the stream, for pages: `import { openDiscussionStream } from
// 'engagement-service/client'`. It stands alone, as one ES2020 module.
import type { StreamEvent } from '../receiver/events.ts'

export type {
  Actor,
  Comment,
  Discussion,
  Reaction,
  Reader,
  ReplyNotification,
  StreamEvent,
} from '../receiver/events.ts'

/** What `POST /api/v1/stream/ticket` answers, as the page's backend hands it on. */
export interface StreamTicket {
  streamUrl: string
  /** The position of the discussion when the ticket was minted. */
  lastEventId: string
}

/** `connecting` is also a stream that was lost and is on its way back. */
export type StreamState = 'connecting' | 'open' | 'closed'

type Awaitable<T> = T | Promise<T>

export interface StreamOptions {
  /**
   * Asks the page's own backend for a ticket. Called for each connection that the browser cannot
   * resume by itself.
   */
  ticket: () => Awaitable<StreamTicket>
  /**
   * The position that the page shows, `lastEventId` of its discussion; that of the first ticket by
   * default.
   */
  lastEventId?: string | undefined
  /**
   * Called with each event once, in order. One that throws or rejects is not given the same event
   * again.
   */
  onEvent: (event: StreamEvent) => unknown
  /**
   * The position is older than the replay window: the page loads its data again and gives back the
   * `lastEventId` that they show, from which the stream goes on. Nothing comes before this settles.
   * Without an answer it goes on from `lastEventId`, the position of now; some events may then be
   * in the data already. Asked again where it fails.
   */
  onReload: (lastEventId: string) => Awaitable<string | void>
  /** Called with each change of state. */
  onState?: ((state: StreamState) => unknown) | undefined
  /**
   * Called with each failure, also of callbacks; `console.warn` by default. The stream goes on by
   * itself.
   */
  onError?: ((error: unknown) => unknown) | undefined
}

export interface DiscussionStream {
  /** How far the page has been brought; undefined before the first ticket. */
  readonly lastEventId: string | undefined
  readonly state: StreamState
  /** Ends it for good. No callback is called afterwards, and nothing is left behind. */
  close: () => void
}

/**
 * Every event that a stream can bring: EventSource hands out named events only to who asks for them
 * by name. `npm run generate` writes the list.
 */
export const EVENT_TYPES: readonly StreamEvent['type'][] = [
  'comment_created',
  'comment_edited',
  'comment_deleted',
  'comment_approved',
  'comment_rejected',
  'comment_pinned',
  'comment_unpinned',
  'reaction_toggled',
  'discussion_locked',
  'discussion_unlocked',
  'discussion_archived',
  'notification_reply',
]

/** A ticket, a first frame or a reload that takes longer is given up. */
const ANSWER_MS = 30_000
/** The longest `retry:` of the service: to who is over a cap. */
const RETRY_MS = 30_000
const FIRST_BACKOFF_MS = 1000
const MAX_BACKOFF_MS = 30_000
const CHECK_MS = 20_000
/**
 * Timers of a hidden page run once a minute. A longer gap means that the machine has slept, and
 * that the connection may be dead.
 */
const ASLEEP_MS = 90_000
/**
 * Heartbeats are comments, which EventSource hides: about this much silence before a reader's eyes
 * is looked into.
 */
const SILENCE_MS = 300_000

/**
 * Milliseconds to wait after `failures` (0-based) in a row: exponential, with full jitter. `chance`
 * in [0, 1).
 */
export const backoffMs = (failures: number, chance: number): number =>
  chance * Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** failures)

// The little of a page that is used here: the service's own compiler settings know Node alone.
type Listen = (name: string, listener: (event: { data: string }) => void) => void
interface Target {
  addEventListener: Listen
  removeEventListener: Listen
}
interface Source extends Target {
  readonly readyState: number
  close: () => void
}
declare const window: Target
declare const document: Target & { baseURI: string; visibilityState: string }
declare const EventSource: new (url: string) => Source
const CLOSED = 2

/**
 * Follows a discussion from a page: each event once and in order, across restarts of the service,
 * expired tickets, lost networks, and a page or machine that slept (docs/reference/choices.md).
 */
export function openDiscussionStream(options: StreamOptions): DiscussionStream {
  const { ticket, onEvent, onReload, onState, onError = console.warn } = options
  let position = options.lastEventId === undefined ? undefined : Number(options.lastEventId)
  let state: StreamState | undefined
  let source: Source | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  /** Counts connections: what an earlier one still brings is not heard. */
  let current = 0
  /** Connections in a row that have not become a whole stream. */
  let failures = 0
  let heardAt = 0
  let checkedAt = 0
  let patienceMs = SILENCE_MS

  /** Calls the page at once, and outlives whatever it throws or rejects with. */
  const call = async (callback: () => unknown, onFailure: (error: unknown) => void = report): Promise<void> => {
    try {
      await callback()
    } catch (error) {
      onFailure(error)
    }
  }
  const report = (error: unknown): void => {
    // Where that fails too, nobody is left to tell.
    if (state !== 'closed')
      void call(
        () => onError(error),
        () => undefined,
      )
  }
  const enter = (next: StreamState): void => {
    if (state === next) return
    state = next
    void call(() => onState?.(next))
  }
  /** What happens unless something else does before. */
  const due = (ms: number, action: () => void): void => {
    clearTimeout(timer)
    timer = setTimeout(action, ms)
  }
  const expect = (what: string, ms: number): void => due(ms, () => fail(new Error(`${what} took too long`)))
  const disconnect = (): void => {
    current++
    clearTimeout(timer)
    source?.close()
    source = undefined
  }
  const retry = (): void => due(backoffMs(failures++, Math.random()), connect)
  const fail = (error: unknown): void => {
    disconnect()
    retry()
    enter('connecting')
    report(error)
  }

  /** Asks the page, and goes on with its answer unless something else has happened meanwhile. */
  const ask = async <T>(what: string, question: () => Awaitable<T>, goOn: (answer: T) => void): Promise<void> => {
    disconnect()
    const mine = current
    expect(what, ANSWER_MS)
    enter('connecting')
    // What is told of a state may close the stream.
    if (mine !== current) return
    try {
      const answer = await question()
      if (mine === current) goOn(answer)
    } catch (error) {
      if (mine === current) fail(error)
    }
  }
  function connect(): void {
    void ask('the ticket', ticket, ({ streamUrl, lastEventId }) => {
      // A backend may hand on a refusal as if it were a ticket.
      if (typeof streamUrl !== 'string') throw new TypeError('the ticket has no streamUrl')
      position ??= Number(lastEventId)
      const url = new URL(streamUrl, document.baseURI)
      url.searchParams.set('lastEventId', String(position))
      listen(url.href)
    })
  }
  const reload = (lastEventId: string): void =>
    void ask(
      'the reload',
      () => onReload(lastEventId),
      (shown) => {
        position = Number(shown ?? lastEventId)
        // Not at once: a page that loads what is out of date would ask on and on.
        retry()
      },
    )

  /** Looks whether an open stream can still be trusted. */
  const check = (): void => {
    const now = Date.now()
    const hasSlept = now - checkedAt > ASLEEP_MS
    const isSilent = now - heardAt > patienceMs && document.visibilityState === 'visible'
    checkedAt = now
    if (hasSlept || isSilent) connect()
    else due(CHECK_MS, check)
  }

  function listen(url: string): void {
    const opened = new EventSource(url)
    const mine = current
    source = opened
    /**
     * Whether the server has answered since the connection was last lost: its `retry:` then sets
     * the browser's pace.
     */
    let isAnswered = false
    const on = (name: string, hear: (data: string) => void): void =>
      opened.addEventListener(name, ({ data }) => {
        if (mine === current) hear(data)
      })

    expect('the stream', ANSWER_MS)
    on('connected', (data) => {
      const { lastEventId, complete } = JSON.parse(data) as { lastEventId: string; complete: boolean }
      if (!complete) return reload(lastEventId)
      isAnswered = true
      failures = 0
      heardAt = checkedAt = Date.now()
      // Many pages heard the last event in the same instant.
      patienceMs = SILENCE_MS * (0.8 + 0.4 * Math.random())
      due(CHECK_MS, check)
      enter('open')
    })
    for (const type of EVENT_TYPES) {
      on(type, (data) => {
        const event = JSON.parse(data) as StreamEvent
        heardAt = Date.now()
        if (event.seq <= Number(position)) return
        position = event.seq
        void call(() => onEvent(event))
      })
    }
    on('connection-timeout', (data) => {
      const { lastEventId } = JSON.parse(data) as { lastEventId: string }
      // Numbers that were not for this page count too. Without a `connected` before, the stream is
      // over a cap.
      if (isAnswered) position = Math.max(Number(position), Number(lastEventId))
      isAnswered = true
    })
    on('error', () => {
      if (opened.readyState === CLOSED || !isAnswered) return fail(new Error('the stream was lost'))
      // The browser comes back when the server has told it to, with the same ticket and the id of
      // the last event.
      isAnswered = false
      expect('the stream', RETRY_MS + ANSWER_MS)
      enter('connecting')
    })
  }

  const forget = watchPage({
    pause: () => {
      disconnect()
      enter('connecting')
    },
    resume: connect,
    look: () => {
      if (state === 'open') check()
    },
  })
  connect()

  return {
    get lastEventId() {
      return position === undefined ? undefined : String(position)
    },
    get state() {
      return state ?? 'connecting'
    },
    close: () => {
      disconnect()
      forget()
      enter('closed')
    },
  }
}

interface Watcher {
  pause: () => void
  resume: () => void
  look: () => void
}

/**
 * Pauses while the page is in the back/forward cache or frozen, where a connection would only fill
 * up. Resumes after that and with a network, which may be another one than before. Gives back what
 * ends it.
 */
function watchPage({ pause, resume, look }: Watcher): () => void {
  let isPaused = false
  const away = (): void => {
    isPaused = true
    pause()
  }
  const back = (): void => {
    if (isPaused) resume()
    isPaused = false
  }
  const listeners: readonly [Target, string, () => void][] = [
    [window, 'pagehide', away],
    [window, 'pageshow', back],
    [document, 'freeze', away],
    [document, 'resume', back],
    [window, 'online', () => isPaused || resume()],
    [document, 'visibilitychange', look],
  ]
  for (const [target, name, listener] of listeners) target.addEventListener(name, listener)
  return () => listeners.forEach(([target, name, listener]) => target.removeEventListener(name, listener))
}

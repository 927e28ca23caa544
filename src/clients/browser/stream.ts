// The browser's side of the stream, for pages: `import { openDiscussionStream } from
// 'engagement-service/client'`. It is one ES2020 module without imports.
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

/** The answer of `POST /api/v1/stream/ticket`, as the page's backend passes it on. */
export interface StreamTicket {
  streamUrl: string
  /** The discussion's position when the ticket was minted. */
  lastEventId: string
}

/** `connecting` includes a lost stream that is reconnecting. */
export type StreamState = 'connecting' | 'open' | 'closed'

type Awaitable<T> = T | Promise<T>

export interface StreamOptions {
  /**
   * Requests a ticket from the page's own backend. Called for each connection that the browser
   * cannot resume by itself.
   */
  ticket: () => Awaitable<StreamTicket>
  /**
   * The position that the page shows, `lastEventId` of its discussion; by default that of the first
   * ticket.
   */
  lastEventId?: string | undefined
  /**
   * Called with each event once, in order. An event whose callback throws or rejects is not
   * repeated.
   */
  onEvent: (event: StreamEvent) => unknown
  /**
   * The position is older than the replay window: the page must load its data again, and return the
   * `lastEventId` that they show, from which the stream continues. No event comes before this
   * settles. Without a returned value the stream continues from the present `lastEventId`; the
   * loaded data may then contain some events already. Called again if it fails.
   */
  onReload: (lastEventId: string) => Awaitable<string | void>
  /** Called at each change of state. */
  onState?: ((state: StreamState) => unknown) | undefined
  /**
   * Called with each failure, including those of callbacks; `console.warn` by default. The stream
   * continues by itself.
   */
  onError?: ((error: unknown) => unknown) | undefined
}

export interface DiscussionStream {
  /** The position that the page has reached; undefined before the first ticket. */
  readonly lastEventId: string | undefined
  readonly state: StreamState
  /** Ends it for good. No callback is called after that, and nothing is left behind. */
  close: () => void
}

/**
 * Every event type of a stream: EventSource delivers named events only to listeners of that name.
 * `npm run generate` writes the list.
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

/** The deadline for a ticket, a first frame or a reload. */
const ANSWER_MS = 30_000
/** The longest `retry:` of the service, for clients over a cap. */
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
 * After about this long without an event, a visible page checks its stream: heartbeats are
 * comments, which EventSource hides.
 */
const SILENCE_MS = 300_000

/**
 * Milliseconds to wait after `failures` (0-based) in a row: exponential, with full jitter. `chance`
 * in [0, 1).
 */
export const backoffMs = (failures: number, chance: number): number =>
  chance * Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** failures)

// The few parts of a page that are used here: the service's compiler settings know only Node.
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
 * expired tickets, lost networks, and sleeping pages or machines
 * (docs/reference/choices/streams.md).
 */
export function openDiscussionStream(options: StreamOptions): DiscussionStream {
  const { ticket, onEvent, onReload, onState, onError = console.warn } = options
  let position = options.lastEventId === undefined ? undefined : Number(options.lastEventId)
  let state: StreamState | undefined
  let source: Source | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  /** The number of the current connection: later messages of earlier ones are ignored. */
  let current = 0
  /** Consecutive connections that did not become a complete stream. */
  let failures = 0
  let heardAt = 0
  let checkedAt = 0
  let patienceMs = SILENCE_MS

  /** Calls the page's callback at once, and survives its errors. */
  const call = async (callback: () => unknown, onFailure: (error: unknown) => void = report): Promise<void> => {
    try {
      await callback()
    } catch (error) {
      onFailure(error)
    }
  }
  const report = (error: unknown): void => {
    // If that fails too, there is no one left to report to.
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
  /** Runs `action` after `ms`, unless something else happens first. */
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

  /** Calls the page, and continues with its answer unless something else has happened meanwhile. */
  const ask = async <T>(what: string, question: () => Awaitable<T>, goOn: (answer: T) => void): Promise<void> => {
    disconnect()
    const mine = current
    expect(what, ANSWER_MS)
    enter('connecting')
    // The callback for a state may have closed the stream.
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
      // A backend may pass on a refusal as if it were a ticket.
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
        // Not at once: a page that loads stale data would reload endlessly.
        retry()
      },
    )

  /** Checks whether an open stream can still be trusted. */
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
     * Whether the server has answered since the connection was last lost: then its `retry:` sets
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
      // Random, because many pages got the last event in the same instant.
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
      // Takes the position even if it skips numbers, which were not for this page. Without an
      // earlier `connected`, the stream is over a cap.
      if (isAnswered) position = Math.max(Number(position), Number(lastEventId))
      isAnswered = true
    })
    on('error', () => {
      if (opened.readyState === CLOSED || !isAnswered) return fail(new Error('the stream was lost'))
      // The browser reconnects when the server has told it to, with the same ticket and the id of
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
 * up. Resumes after that, and when a network is back, perhaps another one. Returns a function that
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

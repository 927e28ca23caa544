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
  /** The reader whose notifications the stream has; an older service does not tell. */
  recipient?: { readerId: string; externalId: string } | null
}

/** `connecting` includes a lost stream that is reconnecting. */
export type StreamState = 'connecting' | 'open' | 'closed'

type Awaitable<T> = T | Promise<T>

/** The answer of the backend for a ticket for several discussions. */
export interface StreamTicketForSeveral extends StreamTicket {
  /** In the order of the positions in `lastEventId`. */
  discussions: readonly { discussionId: string; externalId: string; lastEventId: string }[]
}

interface Following<Ticket> {
  /**
   * Requests a ticket from the page's own backend. Called for each connection that the browser
   * cannot resume by itself.
   */
  ticket: () => Awaitable<Ticket>
  /**
   * Called with each event once, those of a discussion in order. An event whose callback throws or
   * rejects is not repeated.
   */
  onEvent: (event: StreamEvent) => unknown
  /** Called at each change of state. */
  onState?: ((state: StreamState) => unknown) | undefined
  /**
   * Called with each failure, including those of callbacks; `console.warn` by default. The stream
   * continues by itself.
   */
  onError?: ((error: unknown) => unknown) | undefined
  /** Called each time that the service refuses the stream over a cap. The stream tries again. */
  onRefused?: (() => unknown) | undefined
  /**
   * Whether another page shows what this stream brings. A page that is hidden checks its stream for
   * silence only then.
   */
  isSeenElsewhere?: (() => boolean) | undefined
}

export interface StreamOptions extends Following<StreamTicket> {
  /**
   * The position that the page shows, `lastEventId` of its discussion; by default that of the first
   * ticket.
   */
  lastEventId?: string | undefined
  /**
   * The position is older than the replay window: the page must load its data again, and return the
   * `lastEventId` that they show, from which the stream continues. No event comes before this
   * settles. Without a returned value the stream continues from the present `lastEventId`; the
   * loaded data may then contain some events already. Called again if it fails.
   */
  onReload: (lastEventId: string) => Awaitable<string | void>
}

/** Positions by the ids of their discussions. */
export type Positions = Readonly<Record<string, string>>

export interface SeveralStreamOptions extends Following<StreamTicketForSeveral> {
  /**
   * The positions that the page shows, `lastEventId` of its discussions; of others those of the
   * first ticket that names them.
   */
  lastEventIds?: Positions | undefined
  /**
   * The positions of these discussions are older than the replay window: as `onReload` of one
   * discussion, for several. The page returns the positions that it then shows.
   */
  onReload: (lastEventIds: Positions) => Awaitable<Positions | void>
  /** A discussion was deleted. Called again at each connection whose ticket names it. */
  onGone?: ((discussionId: string) => unknown) | undefined
}

interface OpenStream {
  readonly state: StreamState
  /** Ends it for good. No callback is called after that, and nothing is left behind. */
  close: () => void
}

export interface DiscussionStream extends OpenStream {
  /** The position that the page has reached; undefined before the first ticket. */
  readonly lastEventId: string | undefined
}

export interface SeveralStream extends OpenStream {
  /** The positions that the page has reached, of all discussions that it knows. */
  readonly lastEventIds: Positions
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
 * After about this long without an event, a page that is seen checks its stream: heartbeats are
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
  let position = options.lastEventId === undefined ? undefined : Number(options.lastEventId)
  const stream = follow(options, {
    adopt: ({ lastEventId }) => String((position ??= Number(lastEventId))),
    take: ({ seq }) => {
      if (seq <= Number(position)) return false
      position = seq
      return true
    },
    reload: ({ lastEventId, complete }) =>
      complete
        ? undefined
        : async () => {
            const shown = await options.onReload(lastEventId)
            return () => (position = Number(shown ?? lastEventId))
          },
    pass: (lastEventId) => (position = Math.max(Number(position), Number(lastEventId))),
  })
  return Object.defineProperties(stream as DiscussionStream, {
    lastEventId: { get: () => (position === undefined ? undefined : String(position)) },
  })
}

/** The length of what comes before the positions in a cursor. */
const PREFIX = 9

/** Follows up to 50 discussions by one connection, as `openStream` follows one. */
export function openSeveralStream(options: SeveralStreamOptions): SeveralStream {
  const positions = new Map(Object.entries(options.lastEventIds ?? {}).map(([id, at]) => [id, Number(at)]))
  let ids: readonly string[] = []
  const decode = (cursor: string): Map<string, number> => {
    const all = cursor.slice(PREFIX).split('.')
    return new Map(ids.map((id, n) => [id, Number(all[n])]))
  }
  const listed = (some: Iterable<readonly [string, number]>): Positions =>
    Object.fromEntries([...some].map(([id, at]) => [id, String(at)]))
  const stream = follow(options, {
    // Another ticket may be for other discussions.
    adopt: ({ lastEventId, discussions }) => {
      ids = discussions.map(({ discussionId }) => discussionId)
      const now = discussions.map(({ discussionId, lastEventId: last }) => {
        if (!positions.has(discussionId)) positions.set(discussionId, Number(last))
        return positions.get(discussionId)
      })
      return lastEventId.slice(0, PREFIX) + now.join('.')
    },
    take: ({ discussionId, seq }) => {
      if (seq <= (positions.get(discussionId) ?? 0)) return false
      positions.set(discussionId, seq)
      return true
    },
    reload: ({ lastEventId, incomplete = [] }) => {
      if (incomplete.length === 0) return undefined
      return async () => {
        const now = listed([...decode(lastEventId)].filter(([id]) => incomplete.includes(id)))
        const shown = { ...now, ...(await options.onReload(now)) } as Positions
        return () => incomplete.forEach((id) => positions.set(id, Number(shown[id])))
      }
    },
    pass: (cursor) => decode(cursor).forEach((at, id) => positions.set(id, Math.max(at, positions.get(id) ?? 0))),
    gone: options.onGone,
  })
  return Object.defineProperties(stream as SeveralStream, { lastEventIds: { get: () => listed(positions) } })
}

/** The first frame of a stream. */
interface Connected {
  lastEventId: string
  complete: boolean
  incomplete?: readonly string[]
  gone?: readonly string[]
}

/** The position of a page, in one discussion or in several. */
interface Course<Ticket> {
  /** Where a connection by this ticket resumes. */
  adopt: (ticket: Ticket) => string
  /** Moves on to an event. Returns false for one that the page has. */
  take: (event: StreamEvent) => boolean
  /** How the page loads its data again, if it must; the result moves on to what it then shows. */
  reload: (connected: Connected) => (() => Promise<() => unknown>) | undefined
  /** Moves on past what was not for this page. */
  pass: (lastEventId: string) => unknown
  gone?: ((discussionId: string) => unknown) | undefined
}

function follow<Ticket extends StreamTicket>(options: Following<Ticket>, course: Course<Ticket>): OpenStream {
  const { ticket, onEvent, onState, onError = console.warn } = options
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
    void ask('the ticket', ticket, (given) => {
      // A backend may pass on a refusal as if it were a ticket.
      if (typeof given.streamUrl !== 'string') throw new TypeError('the ticket has no streamUrl')
      const url = new URL(given.streamUrl, document.baseURI)
      url.searchParams.set('lastEventId', course.adopt(given))
      listen(url.href)
    })
  }

  /** Checks whether an open stream can still be trusted. */
  const check = (): void => {
    const now = Date.now()
    const hasSlept = now - checkedAt > ASLEEP_MS
    const isSilent = now - heardAt > patienceMs
    const isSeen = document.visibilityState === 'visible' || options.isSeenElsewhere?.()
    checkedAt = now
    if (hasSlept || (isSilent && isSeen)) connect()
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

    const tellGone = (discussionId: string): void => {
      // Also the callback for an earlier one may have closed the stream.
      if (mine === current) void call(() => course.gone?.(discussionId))
    }

    expect('the stream', ANSWER_MS)
    on('connected', (data) => {
      const connected = JSON.parse(data) as Connected
      const reload = course.reload(connected)
      if (reload !== undefined) {
        return void ask('the reload', reload, (moveOn) => {
          moveOn()
          // Not at once: a page that loads stale data would reload endlessly.
          retry()
        })
      }
      isAnswered = true
      failures = 0
      heardAt = checkedAt = Date.now()
      // Random, because many pages got the last event in the same instant.
      patienceMs = SILENCE_MS * (0.8 + 0.4 * Math.random())
      due(CHECK_MS, check)
      enter('open')
      connected.gone?.forEach(tellGone)
    })
    for (const type of EVENT_TYPES) {
      on(type, (data) => {
        const event = JSON.parse(data) as StreamEvent
        heardAt = Date.now()
        if (course.take(event)) void call(() => onEvent(event))
      })
    }
    on('connection-timeout', (data) => {
      const { lastEventId } = JSON.parse(data) as { lastEventId: string }
      // Takes the position even if it skips numbers, which were not for this page. Without an
      // earlier `connected`, the stream is over a cap.
      if (isAnswered) course.pass(lastEventId)
      else void call(() => options.onRefused?.())
      isAnswered = true
    })
    on('discussion-gone', (data) => tellGone((JSON.parse(data) as { discussionId: string }).discussionId))
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

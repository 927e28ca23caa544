// What tabs of a browser share that show the same. The tab that holds the lock has the stream, and
// tells the others each event with the position before it. A tab that finds a hole has a stream of
// its own until it has filled it, so each gets what it would get alone.

/** Positions by the ids of their discussions. */
export type Positions = Readonly<Record<string, string>>

type State = 'connecting' | 'open' | 'closed'

export interface Sharing {
  readonly lastEventIds: Positions
  readonly state: State
  close: () => void
}

/** The version of the messages. Tabs with another version share another stream. */
const PROTOCOL = 1
/** A tab that has asked waits so long for an answer before it follows by itself. */
const ASK_MS = 2000
/** A tab that has heard nothing of its leader for so long asks. A suspended leader is silent. */
const QUIET_MS = 20_000
/** For so long the others wait for a leader that has lost its stream, and may be hidden. */
const LOST_MS = 5000
/** A leader over a cap tries again after 30 s, and speaks for all its tabs. */
const REFUSED_MS = 40_000
/** Other tabs rely on a leader that was asked within this time. Hidden tabs ask once a minute. */
const NEEDED_MS = 150_000

/** Between one and two times `ms`: many tabs lose their streams in the same instant. */
const spread = (ms: number): number => ms * (1 + Math.random())

type At = Record<string, number>

/** What the leader tells. */
interface Told<Event> {
  /** The state of its stream. */
  state: State
  /** Whether the service has refused the stream over a cap. */
  isRefused?: boolean
  /** Its positions. */
  at?: At
  /** An event, and the leader's position in its discussion before it. */
  event?: Event
  before?: number
  gone?: string
}

/** A stream of one tab. */
export interface Own {
  /** Where it is, or begins. */
  readonly lastEventIds?: Positions
  close: () => void
}

export interface Page<Event> {
  onEvent: (event: Event) => unknown
  onState?: ((state: State) => unknown) | undefined
  onError?: ((error: unknown) => unknown) | undefined
  onGone?: ((discussionId: string) => unknown) | undefined
}

/** What a tab's own stream tells. */
export interface Hooks<Event> {
  /** Where it begins. */
  lastEventIds: Positions
  onEvent: (event: Event) => unknown
  /** `isKnown`: whether the service has said that it knows this tab's positions. */
  onState: (state: State, isKnown?: boolean) => void
  /** The service does not know this tab's position: the page loads its data again. */
  onUnknown: () => void
  /** The service has refused the stream over a cap. */
  onRefused: () => void
  onGone: (discussionId: string) => unknown
  isSeenElsewhere: () => boolean
  /** The page has loaded its data again, and shows these positions. */
  reloaded: (shown: Positions) => void
  /** All that is for this page up to these positions has come. */
  passed: (positions: Positions) => void
}

/** What the tabs share. */
interface Shared<Event> {
  /** Of what they show, and to whom. */
  name: string
  begin: Positions
  /** The discussion of an event. */
  keyOf: (event: Event) => string
  /** Its position; undefined for what is no event: other scripts can use the channel as well. */
  seqOf: (event: Partial<Event>) => number | undefined
  page: Page<Event>
  open: (hooks: Hooks<Event>) => Own
}

// The few parts of a page that are used here: the service's compiler settings know only Node.
declare const window: { addEventListener: Listen; removeEventListener: Listen }
declare const document: typeof window & { visibilityState: string }
type Listen = (name: string, listener: () => void) => void
interface Locks {
  request: (name: string, options: { signal: AbortSignal }, run: () => Promise<void>) => Promise<void>
}

/** A worker or an app has no such events. */
const isInPage = (): boolean => 'document' in globalThis

/** Follows what other tabs with the same name follow. */
export function share<Event>({ name, begin, keyOf, seqOf, page, open }: Shared<Event>): Sharing {
  const at = new Map(Object.entries(begin).map(([id, position]) => [id, Number(position)]))
  /** The leader's positions, as far as this tab knows. */
  const leaderAt = new Map<string, number>()
  let own: Own | undefined
  let state: State = 'connecting'
  let isLeader = false
  /** Whether a leader with an open stream was heard lately. Else this tab goes on by itself. */
  let isLed = false
  /** Whether the service refuses the leader's stream over a cap. */
  let isRefused = false
  /** Whether the numbers may have begun again: then this tab has its position checked. */
  let isDoubtful = false
  let isClosed = false
  /** When another tab last asked this leader. */
  let askedAt = -Infinity
  let channel: BroadcastChannel | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  /** Ends the wait for the lock, or gives it back. */
  let control: AbortController | undefined

  const listed = (): Positions => Object.fromEntries([...at].map(([id, position]) => [id, String(position)]))
  const call = async (callback: () => unknown): Promise<void> => {
    try {
      await callback()
    } catch (error) {
      try {
        const reported: unknown = (page.onError ?? console.warn)(error)
        await reported
      } catch {
        // There is no one left to report to.
      }
    }
  }
  const tell = (told: Omit<Told<Event>, 'state'> | null): void => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- it has no origin
    channel?.postMessage(told && { ...told, state, isRefused })
  }
  const tellAll = (): void => {
    learn()
    tell({ at: Object.fromEntries(at) })
  }
  const later = (ms: number, action: () => void): void => {
    clearTimeout(timer)
    timer = setTimeout(action, ms)
  }
  const ask = (): void => {
    later(ASK_MS, followUnled)
    tell(null)
  }
  const report = (now: State): void => {
    if (isClosed || now === state) return
    state = now
    if (isLeader) tell({})
    void call(() => page.onState?.(now))
  }
  /** Takes the positions of the first ticket, where the page gave none. */
  const learn = (): void => {
    for (const [id, position] of Object.entries(own?.lastEventIds ?? {})) if (!at.has(id)) at.set(id, Number(position))
  }
  const take = (event: Event, seq = seqOf(event) ?? 0): void => {
    const key = keyOf(event)
    const before = at.get(key) ?? 0
    if (isClosed || seq <= before) return
    at.set(key, seq)
    if (isLeader) tell({ event, before })
    void call(() => page.onEvent(event))
    stopIfCaughtUp()
  }
  const followAlone = (): void => {
    own ??= open({
      lastEventIds: listed(),
      onEvent: (event) => {
        learn()
        take(event)
      },
      onState: (now, isKnown = true) => {
        if (now === 'open') {
          learn()
          isRefused = false
          if (isKnown) isDoubtful = false
        }
        if (now !== 'closed') report(now)
      },
      onUnknown: () => void (isDoubtful = true),
      onRefused: () => {
        isRefused = true
        if (isLeader) tell({})
      },
      isSeenElsewhere: () => isLeader && Date.now() - askedAt < NEEDED_MS,
      onGone: (discussionId) => {
        if (isLeader) tell({ gone: discussionId })
        return page.onGone?.(discussionId)
      },
      reloaded: (shown) => {
        for (const [id, position] of Object.entries(shown)) at.set(id, Number(position))
        if (isLeader) tellAll()
        stopIfCaughtUp()
      },
      passed: (positions) => {
        // The others need not follow a leader to what is not for them.
        if (isLeader) return
        for (const [id, position] of Object.entries(positions)) at.set(id, Math.max(Number(position), at.get(id) ?? 0))
        stopIfCaughtUp()
      },
    })
    // The callback for the state may have closed the stream.
    if (isClosed) stopOwn()
  }
  const stopOwn = (): void => {
    own?.close()
    own = undefined
  }
  const isBehind = (): boolean => [...leaderAt].some(([id, position]) => (at.get(id) ?? 0) < position)
  const stopIfCaughtUp = (): void => {
    if (!isLeader && isLed && !isDoubtful && !isBehind()) stopOwn()
  }
  const followUnled = (): void => {
    isLed = false
    followAlone()
  }
  /** Whether a message is of this form. */
  const isTold = (data: unknown): data is Told<Event> | null => {
    if (data === null) return true
    const { state: now, at: positions = {}, event, before = 0 } = Object(data) as Partial<Told<Event>>
    if (now !== 'open' && now !== 'connecting') return false
    if (!Object.values(positions).every((position) => Number.isSafeInteger(position))) return false
    const seq = event === undefined ? 1 : seqOf(Object(event) as Event)
    return Number.isSafeInteger(seq) && (event === undefined || Number(seq) > before)
  }
  const hear = ({ data: told }: { data: unknown }): void => {
    if (isClosed || !isTold(told)) return
    if (isLeader) {
      // A tab has asked.
      if (told === null) {
        askedAt = Date.now()
        tellAll()
      }
      return
    }
    if (told === null) return
    isLed = told.state === 'open'
    if (isLed) later(spread(QUIET_MS), ask)
    else later(spread(told.isRefused === true ? REFUSED_MS : LOST_MS), followUnled)
    const { event, before = 0 } = told
    for (const [id, position] of Object.entries(told.at ?? {})) {
      if (position < Math.min(leaderAt.get(id) ?? 0, at.get(id) ?? 0)) {
        // Lower than this leader or an earlier one was. A fresh stream checks this tab's position.
        isDoubtful = true
        stopOwn()
      }
      leaderAt.set(id, position)
      // A page that gave no position begins where the leader is.
      if (!at.has(id)) at.set(id, position)
    }
    if (event !== undefined) {
      const key = keyOf(event)
      leaderAt.set(key, seqOf(event) ?? 0)
      if (!at.has(key)) at.set(key, before)
      if ((at.get(key) ?? 0) >= before) take(event)
    }
    if (told.gone !== undefined) void call(() => page.onGone?.(told.gone as string))
    if (isDoubtful || isBehind()) followAlone()
    else stopIfCaughtUp()
    if (own === undefined) report(told.state)
  }
  const leave = (): void => {
    control?.abort()
    control = undefined
    isLeader = isLed = false
    clearTimeout(timer)
    stopOwn()
    channel?.close()
    channel = undefined
  }
  const enter = (): void => {
    const { locks } = (globalThis as { navigator?: { locks?: Locks } }).navigator ?? {}
    if (locks === undefined) return followUnled()
    const shared = `engagement ${PROTOCOL} ${name}`
    try {
      channel = new BroadcastChannel(shared)
    } catch {
      // Browsers refuse it to pages that may store nothing.
      return followUnled()
    }
    const { signal } = (control = new AbortController())
    channel.addEventListener('message', hear)
    ask()
    locks
      .request(shared, { signal }, async () => {
        if (signal.aborted) return
        isLeader = true
        clearTimeout(timer)
        followAlone()
        tellAll()
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
      })
      .catch(() => signal.aborted || followUnled())
  }
  // A frozen or cached page holds no stream, and is no leader: another tab takes over.
  const away = (): void => {
    // Another tab may then be lower than this one was.
    for (const [id, position] of at) leaderAt.set(id, position)
    leave()
    report('connecting')
  }
  const back = (): void => {
    if (control === undefined && own === undefined && !isClosed) enter()
  }
  const look = (): void => {
    if (document.visibilityState === 'visible' && channel !== undefined && !isLeader) ask()
  }
  const listeners: readonly [typeof window, string, () => void][] = isInPage()
    ? [
        [window, 'pagehide', away],
        [window, 'pageshow', back],
        [document, 'freeze', away],
        [document, 'resume', back],
        [document, 'visibilitychange', look],
      ]
    : []
  for (const [target, event, listener] of listeners) target.addEventListener(event, listener)
  enter()
  return {
    get lastEventIds() {
      learn()
      return listed()
    },
    get state() {
      return state
    },
    close: () => {
      if (isClosed) return
      for (const [target, event, listener] of listeners) target.removeEventListener(event, listener)
      leave()
      report('closed')
      isClosed = true
    },
  }
}

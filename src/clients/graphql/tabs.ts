// One connection for a subscription of all tabs of a browser. The tab that holds the lock follows
// it, and tells the others each event with the position before it. A tab that finds a hole follows
// by itself until it has filled it, so each gets what it would get alone.
import type { GraphqlRequest, GraphqlResult, GraphqlSink } from './types.ts'
import { type FollowSink, positionOf } from './follow.ts'

type Follow = (request: GraphqlRequest, sink: FollowSink) => () => void

type State = Parameters<NonNullable<FollowSink['state']>>[0]
/**
 * What the leader tells: the state of its connection, and that it is at a position, or a result
 * that leads from `at` on.
 */
interface Told {
  state: State | undefined
  at?: number
  result?: GraphqlResult
}

/** A tab that has asked waits so long for an answer before it follows by itself. */
const ASK_MS = 2000
/** A leader tells its position so often at most, when its connection is heard. */
const TELL_MS = 15_000
const SILENCE_MS = 75_000

/** Follows a subscription together with the other tabs whose `nameOf` is the same. */
export function share(
  follow: Follow,
  nameOf: () => Promise<string | undefined>,
  request: GraphqlRequest,
  sink: GraphqlSink & Pick<FollowSink, 'state'>,
): () => void {
  const control = new AbortController()
  const { signal } = control
  let position = Number(request.variables?.lastEventId)
  let isLeader = false
  /** Whether the leader was heard lately. Until then this tab goes on by itself. */
  let isLed = false
  /** The leader's position, as far as this tab knows. */
  let leaderAt = 0
  /** When this tab's own connection was heard, and when it told its position as the leader. */
  let heardAt = -Infinity
  let toldAt = -Infinity
  let stopOwn: (() => void) | undefined
  let channel: BroadcastChannel | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  /** The state of the connection by which this tab gets its events. */
  let state: State | undefined

  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no origin
  const tell = (told: Omit<Told, 'state'> | null): void => channel?.postMessage(told && { ...told, state })
  const report = (now: State | undefined): void => {
    if (now === undefined || now === state) return
    state = now
    if (isLeader) tell({})
    sink.state?.(now, request)
  }
  const end = (): void => {
    control.abort()
    clearTimeout(timer)
    stopOwn?.()
    channel?.close()
  }
  const take = (result: GraphqlResult): void => {
    const seq = positionOf(result)
    if (signal.aborted || (seq !== undefined && seq <= position)) return
    // An end with an error is each tab's own.
    if (isLeader && seq !== undefined) tell({ at: position, result })
    position = seq ?? position
    sink.next(result)
    stopIfCaughtUp()
  }
  /** The page has loaded its data again. Other tabs must do so too: they follow to get there. */
  const reloaded = (at: number): void => {
    position = at
    if (isLeader) tell({ at })
    stopIfCaughtUp()
  }
  const tellPosition = (): void => {
    toldAt = Date.now()
    tell({ at: position })
  }
  const alive = (): void => {
    heardAt = Date.now()
    if (isLeader && heardAt - toldAt > TELL_MS) tellPosition()
  }
  const followAlone = (): void => {
    const from = { ...request, variables: { ...request.variables, lastEventId: `${position}` } }
    stopOwn ??= follow(from, {
      next: take,
      reloaded,
      // Nothing was missed up to there. The others need not follow a leader to it.
      passed: (at) => isLeader || at < position || reloaded(at),
      alive,
      state: report,
      error: (error) => (end(), sink.error(error)),
      complete: () => (end(), sink.complete()),
    })
  }
  const stopIfCaughtUp = (): void => {
    if (isLeader || !isLed || position < leaderAt) return
    stopOwn?.()
    stopOwn = undefined
  }
  const followUnled = (): void => {
    isLed = false
    followAlone()
  }
  const later = (ms: number, action: () => void): void => {
    clearTimeout(timer)
    timer = setTimeout(action, ms)
  }
  const hear = ({ data: told }: { data: Told | null }): void => {
    if (isLeader) {
      // A tab has asked. A leader that hears nothing itself can lead nobody.
      if (told === null && Date.now() - heardAt < SILENCE_MS) tellPosition()
      return
    }
    if (told === null) return
    if (told.at !== undefined) {
      isLed = true
      later(SILENCE_MS, followUnled)
      leaderAt = Math.max(told.at, positionOf(told.result ?? {}) ?? 0)
      if (position < told.at) followAlone()
      else if (told.result !== undefined) take(told.result)
      else stopIfCaughtUp()
    }
    if (stopOwn === undefined) report(told.state)
  }
  const begin = async (): Promise<void> => {
    const { lastEventId: _own, ...variables } = request.variables ?? {}
    const shared = await nameOf()
    if (signal.aborted) return
    if (shared === undefined) return followUnled()
    const name = `${shared} ${JSON.stringify({ ...request, variables })}`
    channel = new BroadcastChannel(name)
    channel.addEventListener('message', hear)
    tell(null)
    later(ASK_MS, followUnled)
    await navigator.locks.request(name, { signal }, async () => {
      isLeader = true
      clearTimeout(timer)
      followAlone()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
  }
  // Without the browser's help it follows alone, as it does after a failure of a token. A browser
  // with locks has channels.
  if ((globalThis.navigator as Partial<Navigator> | undefined)?.locks === undefined) followUnled()
  else begin().catch(() => signal.aborted || followUnled())
  return end
}

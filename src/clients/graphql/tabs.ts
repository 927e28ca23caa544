// One connection for a subscription of all tabs of a browser. The tab that holds the lock follows
// it, and tells the others each event with the position before it. A tab that finds a hole follows
// by itself until it has filled it, so each gets what it would get alone.
import type { GraphqlRequest, GraphqlResult, GraphqlSink } from './types.ts'
import { type FollowSink, positionOf } from './follow.ts'

type Follow = (request: GraphqlRequest, sink: FollowSink) => () => void

/** What the leader tells: that it is at a position, or a result that leads from `at` on. */
interface Told {
  at: number
  result?: GraphqlResult
}

/** How often a leader tells its position, and how long another tab waits for that. */
const TELL_MS = 15_000
const SILENCE_MS = 45_000

/** Follows a subscription together with the other tabs whose `nameOf` is the same. */
export function share(
  follow: Follow,
  nameOf: () => Promise<string | undefined>,
  request: GraphqlRequest,
  sink: GraphqlSink,
): () => void {
  const control = new AbortController()
  const { signal } = control
  let position = Number(request.variables?.lastEventId)
  let isLeader = false
  /** Whether the leader was heard lately. Until then this tab goes on by itself. */
  let isLed = false
  /** The leader's position, as far as this tab knows. */
  let leaderAt = 0
  let stopOwn: (() => void) | undefined
  let channel: BroadcastChannel | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- no window
  const tell = (told: Told | null): void => channel?.postMessage(told)
  const end = (): void => {
    control.abort()
    clearTimeout(timer)
    stopOwn?.()
    channel?.close()
  }
  const take = (result: GraphqlResult): void => {
    const seq = positionOf(result)
    if (signal.aborted || (seq !== undefined && seq <= position)) return
    if (isLeader) tell({ at: position, result })
    position = seq ?? position
    sink.next(result)
    stopIfCaughtUp()
  }
  /** The page has loaded its data again. The other tabs must do so too: they follow to get there. */
  const reloaded = (at: number): void => {
    position = at
    if (isLeader) tell({ at })
    stopIfCaughtUp()
  }
  const followAlone = (): void => {
    const from = { ...request, variables: { ...request.variables, lastEventId: `${position}` } }
    stopOwn ??= follow(from, {
      next: take,
      reloaded,
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
  const tellPosition = (): void => {
    tell({ at: position })
    later(TELL_MS, tellPosition)
  }
  const hear = ({ data: told }: { data: Told | null }): void => {
    if (isLeader) {
      // A tab has asked.
      if (told === null) tellPosition()
      return
    }
    if (told === null) return
    isLed = true
    later(SILENCE_MS, followUnled)
    leaderAt = Math.max(told.at, told.result === undefined ? 0 : (positionOf(told.result) ?? 0))
    if (position < told.at) followAlone()
    else if (told.result !== undefined) take(told.result)
    else stopIfCaughtUp()
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
    later(SILENCE_MS, followUnled)
    await navigator.locks.request(name, { signal }, async () => {
      isLeader = true
      followAlone()
      tellPosition()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
  }
  // Without the browser's help it follows alone, as it does after a failure of a token.
  if (typeof BroadcastChannel === 'undefined' || !('locks' in (globalThis.navigator ?? {}))) followUnled()
  else begin().catch(() => signal.aborted || followUnled())
  return end
}

// One connection for a subscription of all tabs of a browser: a file of its own, which only pages
// that share load.
import { share as shareAmongTabs, type Sharing } from '../browser/share.ts'
import { type FollowSink, positionOf } from './follow.ts'
import type { GraphqlClientOptions, GraphqlRequest, GraphqlResult, GraphqlSink } from './types.ts'

type Follow = (request: GraphqlRequest, sink: FollowSink) => () => void
type PageSink = GraphqlSink & Pick<FollowSink, 'state'> & Pick<GraphqlClientOptions, 'onError'>

/** Stands for the discussion of the subscription. */
const ONE = ''

/**
 * Follows a subscription together with the other tabs whose `nameOf` is the same; by itself where
 * that is undefined, or cannot be told.
 */
export function share(
  follow: Follow,
  nameOf: () => Promise<string | undefined>,
  request: GraphqlRequest,
  { next, error, complete, state: onState, onError }: PageSink,
): () => void {
  const { lastEventId, ...variables } = request.variables ?? {}
  let isOver = false
  let stop = (): void => undefined
  const end = (): void => {
    isOver = true
    stop()
  }
  let state: string | undefined
  const sink = {
    next,
    // An end is each tab's own.
    error: (reason: unknown) => (end(), error(reason)),
    complete: () => (end(), complete()),
    state: (now: Sharing['state']) => {
      if (now === state || now === 'closed') return
      state = now
      onState?.(now, request)
    },
  }
  const followFrom = (position: unknown, more?: Partial<FollowSink>): (() => void) =>
    follow({ ...request, variables: { ...variables, lastEventId: String(position) } }, { ...sink, ...more })

  const followAs = (name: string, position: string): Sharing => {
    const shared = shareAmongTabs<GraphqlResult>({
      name: `${name} ${JSON.stringify({ ...request, variables })}`,
      begin: { [ONE]: position },
      keyOf: () => ONE,
      seqOf: positionOf,
      page: { onEvent: next, onState: sink.state, onError },
      open: (hooks) => ({
        close: followFrom(hooks.lastEventIds[ONE], {
          next: (result) => (positionOf(result) === undefined ? next(result) : hooks.onEvent(result)),
          reloaded: (at) => hooks.reloaded({ [ONE]: String(at) }),
          passed: (at) => hooks.passed({ [ONE]: String(at) }),
          // An open connection may yet tell that the position is too old.
          state: (now) => hooks.onState(now, false),
          alive: () => hooks.onState('open'),
          unknown: hooks.onUnknown,
          refused: hooks.onRefused,
          accepted: async () => {
            if ((await nameOf()) === name) return
            // A leader would tell the others what only the new reader may see.
            shared.close()
            void begin(shared.lastEventIds[ONE] ?? position)
            throw new Error('the token is for another reader')
          },
        }),
      }),
    })
    return shared
  }
  const begin = async (position: string): Promise<void> => {
    const name = await nameOf().catch(() => undefined)
    if (isOver) return
    sink.state('connecting')
    stop = name === undefined ? followFrom(position) : followAs(name, position).close
  }
  void begin(String(lastEventId))
  return end
}

// One stream for all tabs of a browser that show the same.
import { share } from './share.ts'
import {
  type DiscussionStream,
  EVENT_TYPES,
  openDiscussionStream,
  openSeveralStream,
  type Positions,
  type SeveralStream,
  type SeveralStreamOptions,
  type StreamEvent,
  type StreamOptions,
} from './stream.ts'

/**
 * `openDiscussionStream` for a page that may be open in several tabs: all tabs of the origin whose
 * `name` is the same share one stream. The name must tell the discussion and the reader who is
 * signed in. Where the browser has no Web Locks, each tab has its own stream.
 */
export function shareDiscussionStream({ name, ...options }: StreamOptions & { name: string }): DiscussionStream {
  const { lastEventId } = options
  const shared = share<StreamEvent>({
    name,
    begin: lastEventId === undefined ? {} : { [ONE]: lastEventId },
    keyOf: () => ONE,
    seqOf,
    page: options,
    open: ({ lastEventIds, reloaded, ...hooks }) => {
      const own = openDiscussionStream({
        ...options,
        ...hooks,
        lastEventId: lastEventIds[ONE],
        onReload: async (now) => {
          const shown = (await options.onReload(now)) ?? now
          reloaded({ [ONE]: shown })
          return shown
        },
      })
      const listed = (): Positions => (own.lastEventId === undefined ? {} : { [ONE]: own.lastEventId })
      return Object.defineProperties({ close: own.close }, { lastEventIds: { get: listed } })
    },
  })
  return Object.defineProperties(shared as SeveralStream & DiscussionStream, {
    lastEventId: { get: () => shared.lastEventIds[ONE] },
  })
}

/** Shares a stream of several discussions among the tabs, as `shareStream` shares that of one. */
export function shareSeveralStream({ name, ...options }: SeveralStreamOptions & { name: string }): SeveralStream {
  const { lastEventIds = {} } = options
  return share<StreamEvent>({
    name,
    begin: lastEventIds,
    keyOf: ({ discussionId }) => discussionId,
    seqOf,
    page: options,
    open: ({ reloaded, ...hooks }) =>
      openSeveralStream({
        ...options,
        ...hooks,
        onReload: async (now) => {
          const shown = { ...now, ...(await options.onReload(now)) } as Positions
          reloaded(shown)
          return shown
        },
      }),
  })
}

/** Stands for the discussion of a stream of one. */
const ONE = ''

const seqOf = ({ type, seq }: Partial<StreamEvent>): number | undefined =>
  type !== undefined && EVENT_TYPES.includes(type) ? seq : undefined

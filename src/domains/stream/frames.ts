import type { Audience, EventType, News } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'

/** An event ready to be sent: encoded once, the same bytes for every stream. */
export interface Frame {
  readonly seq: number
  readonly type: EventType
  readonly audience: Audience
  readonly recipientId: Id | null
  readonly json: string
  /** The whole server-sent event, with its empty line. */
  readonly bytes: Buffer
}

/** JSON holds no line break, so that one `data:` line carries it. */
export const frameOf = (news: News): Frame => ({
  ...news,
  bytes: Buffer.from(`id: ${news.seq}\nevent: ${news.type}\ndata: ${news.json}\n\n`),
})

/** Who looks on: a caller with a key or an admin token, or a browser with a ticket, which may name a reader. */
export type Viewer = { kind: 'tenant' } | { kind: 'public'; readerId: Id | null }

/** Whether an event is for this viewer (contract, section 6, "Audience"). */
export function isVisible(event: Pick<Frame, 'audience' | 'recipientId'>, viewer: Viewer): boolean {
  if (event.audience === 'public' || viewer.kind === 'tenant') return true
  return event.audience === 'recipient' && viewer.readerId !== null && event.recipientId === viewer.readerId
}

/** What of `frames` is for this viewer. Without a copy where all of it is. */
export const visibleTo = (frames: readonly Frame[], viewer: Viewer): readonly Frame[] =>
  frames.every((frame) => isVisible(frame, viewer)) ? frames : frames.filter((frame) => isVisible(frame, viewer))

export const HEARTBEAT = Buffer.from(':\n\n')

export const retryLine = (ms: number): string => `retry: ${ms}\n`

/** A framing event: without an `id:`, so that it never moves a client's cursor. */
export const framingEvent = (event: 'connected' | 'connection-timeout', data: object): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

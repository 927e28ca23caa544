import type { Audience, EventType, News } from '../core/events.ts'
import type { Id } from '../core/ids.ts'
import { chunkOf } from './chunk.ts'
import { isVisible, type StreamViewer } from './viewer.ts'

/** An event ready to be sent: encoded once, the same bytes for every stream. */
export interface Frame {
  readonly seq: number
  readonly type: EventType
  readonly audience: Audience
  readonly recipientId: Id | null
  readonly json: string
  /** The whole server-sent event, with its closing empty line. */
  readonly bytes: Buffer
  /**
   * The frame for callers without `moderate_content` if the text has been withdrawn; null while it
   * has not.
   */
  withdrawn: Frame | null
}

/** A past event. */
export interface PastNews extends News {
  /** Its JSON without the withdrawn text; absent if no text was withdrawn. */
  withdrawn?: string | null
}

/** JSON contains no line break, so one `data:` line carries it. */
export const frameOf = ({ withdrawn = null, ...news }: PastNews): Frame => ({
  ...news,
  bytes: Buffer.from(`id: ${news.seq}\nevent: ${news.type}\ndata: ${news.json}\n\n`),
  withdrawn: withdrawn === null ? null : frameOf({ ...news, json: withdrawn }),
})

const OCCURRED_AT = '"occurredAt":"'

/** When an event happened. `encodeEvent` puts the time before anything that a tenant wrote. */
export function occurredAt({ json }: Frame): Date {
  const from = json.indexOf(OCCURRED_AT) + OCCURRED_AT.length
  return new Date(json.slice(from, json.indexOf('"', from)))
}

/**
 * What of `frames` is for this viewer, as this viewer may see it now. Without a copy where that is
 * all of it as it is.
 */
export function visibleTo(frames: readonly Frame[], viewer: StreamViewer): readonly Frame[] {
  if (viewer.kind === 'moderator') return frames
  if (frames.every((frame) => frame.withdrawn === null && isVisible(frame, viewer))) return frames
  return frames.filter((frame) => isVisible(frame, viewer)).map((frame) => frame.withdrawn ?? frame)
}

export const HEARTBEAT = chunkOf([':\n\n'])

export const retryLine = (ms: number): string => `retry: ${ms}\n`

/** A framing event has no `id:`, so that it never moves a client's position. */
export const framingEvent = (event: 'connected' | 'connection-timeout', data: object): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

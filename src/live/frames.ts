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
  /** The whole server-sent event, with its empty line. */
  readonly bytes: Buffer
  /**
   * What callers without `moderate_content` are sent in its place, now that its text is withdrawn;
   * null while it is not.
   */
  withdrawn: Frame | null
}

/** An event of the past. */
export interface PastNews extends News {
  /** Its JSON without the text that was withdrawn since; absent where none was. */
  withdrawn?: string | null
}

/** JSON holds no line break, so that one `data:` line carries it. */
export const eventText = ({ seq, type, json }: News): string => `id: ${seq}\nevent: ${type}\ndata: ${json}\n\n`

export const frameOf = ({ withdrawn = null, ...news }: PastNews): Frame => ({
  ...news,
  bytes: Buffer.from(eventText(news)),
  withdrawn: withdrawn === null ? null : frameOf({ ...news, json: withdrawn }),
})

const OCCURRED_AT = '"occurredAt":"'

/** When an event happened. `encodeEvent` puts it before anything that a tenant has written. */
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

/** A framing event: without an `id:`, so that it never moves a client's cursor. */
export const framingEvent = (event: 'connected' | 'connection-timeout', data: object): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

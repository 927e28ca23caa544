import type { Audience, EventType, News } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'
import { chunkOf } from './chunk.ts'
import { isVisible, type StreamViewer } from '../viewer.ts'

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
  if (frames.every((frame) => isVisible(frame, viewer) && frameFor(frame, viewer) === frame)) return frames
  return frames.filter((frame) => isVisible(frame, viewer)).map((frame) => frameFor(frame, viewer))
}

function frameFor(frame: Frame, { kind }: StreamViewer): Frame {
  const told = kind === 'moderator' ? frame : (frame.withdrawn ?? frame)
  return kind === 'public' && frame.recipientId !== null ? inShadow(told) : told
}

// No text can contain this: its quotes are escaped.
const PENDING = '"status":"pending"'
const shadowed = new WeakMap<Frame, Frame>()

/**
 * The frame as its recipient gets it. Of pending comments a reader gets only their own that their
 * shadow ban holds: those are approved to them.
 */
function inShadow(frame: Frame): Frame {
  if (!frame.json.includes(PENDING)) return frame
  const known = shadowed.get(frame)
  if (known !== undefined) return known
  const shown = frameOf({ ...frame, json: frame.json.replace(PENDING, '"status":"approved"'), withdrawn: null })
  shadowed.set(frame, shown)
  return shown
}

export const HEARTBEAT = chunkOf([':\n\n'])

/** A comment line that tells a client its position, where the last events were not for it. */
export const positionLine = (seq: number): string => `:seq: ${seq}\n\n`

export const retryLine = (ms: number): string => `retry: ${ms}\n`

/** A framing event has no `id:`, so that it never moves a client's position. */
export const framingEvent = (event: 'connected' | 'connection-timeout' | 'discussion-gone', data: object): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

import { CHANNELS } from '../core/bus.ts'
import type { News } from '../core/events.ts'
import { eventText } from './frames.ts'
import { ANYONE, isVisible } from './viewer.ts'
import type { DiscussionKey } from './event-log.ts'

/** Every held stream is subscribed to it: nothing but `RECOVER` is published there. */
export const ALL_STREAMS = 'streams'

/**
 * An event as a proxy is sent it. One that is not for all is empty, so that the next one follows on
 * it.
 */
export const itemOf = (key: DiscussionKey, news: News): string =>
  JSON.stringify({
    channel: CHANNELS.discussion(key),
    id: String(news.seq),
    'prev-id': String(news.seq - 1),
    formats: { 'http-stream': { content: isVisible(news, ANYONE) ? eventText(news) : '' } },
  })

/**
 * Has streams that have not come to `seq` ask for what they miss. A proxy that was sent the event
 * passes over this item, which has the same id.
 */
export const beaconOf = (key: DiscussionKey, seq: number): string =>
  JSON.stringify({
    channel: CHANNELS.discussion(key),
    id: String(seq),
    'prev-id': String(seq),
    // Else a proxy would wait for the event that is missing.
    'no-seq': true,
    formats: { 'http-stream': { content: '' } },
  })

/** Has every held stream ask for what it misses. */
export const RECOVER = JSON.stringify({ channel: ALL_STREAMS, formats: { 'http-stream': { action: 'hint' } } })

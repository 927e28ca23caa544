import { CHANNELS } from '../core/bus.ts'
import type { News } from '../core/events.ts'
import { eventText } from './frames.ts'
import { ANYONE, isVisible } from './viewer.ts'
import type { DiscussionKey } from './event-log.ts'

/** The channel of every held stream: only `RECOVER` is published there. */
export const ALL_STREAMS = 'streams'

/**
 * An event in the form for a proxy. An event that is not public is empty, so that the next one can
 * follow it.
 */
export const itemOf = (key: DiscussionKey, news: News): string =>
  JSON.stringify({
    channel: CHANNELS.discussion(key),
    id: String(news.seq),
    'prev-id': String(news.seq - 1),
    formats: { 'http-stream': { content: isVisible(news, ANYONE) ? eventText(news) : '' } },
  })

/**
 * Makes held streams that have not reached `seq` ask for the missing events. A proxy that has the
 * event ignores this item, which has the same id.
 */
export const beaconOf = (key: DiscussionKey, seq: number): string =>
  JSON.stringify({
    channel: CHANNELS.discussion(key),
    id: String(seq),
    'prev-id': String(seq),
    // Without it, a proxy would wait for the missing event.
    'no-seq': true,
    formats: { 'http-stream': { content: '' } },
  })

/** Makes every held stream ask for missing events. */
export const RECOVER = JSON.stringify({ channel: ALL_STREAMS, formats: { 'http-stream': { action: 'hint' } } })

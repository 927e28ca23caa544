import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

import type { Batch, Broadcast } from './batch.ts'
import { occurredAt } from './frames.ts'

/**
 * Why the service ended a stream: over the bound of unsent data, nothing taken for 10 s, its time
 * or that of its credentials was up, its key was revoked, its admin removed or given another
 * password, or the process stops.
 */
export const CUTS = ['unsent', 'stalled', 'expired', 'revoked', 'shutdown'] as const

export type CutReason = (typeof CUTS)[number]

/** The stream's figures at `/metrics`. */
export class StreamMetrics {
  readonly #events: Counter
  readonly #frames: Counter<'kind'>
  readonly #bytes: Counter<'kind'>
  readonly #replays: Counter
  readonly #repairs: Counter
  readonly #cuts: Counter<'reason'>
  readonly #delay: Histogram

  /** `look`: how many streams are open, and of how many discussions. */
  constructor(registry: Registry, look: () => { streams: number; discussions: number }) {
    const registers = [registry]
    const gauge = (name: string, help: string, read: () => number): Gauge => {
      const made: Gauge = new Gauge({ name, help, registers, collect: () => made.set(read()) })
      return made
    }
    gauge('stream_connections', 'Open streams and subscriptions.', () => look().streams)
    gauge('stream_discussions', 'Discussions that this process listens to.', () => look().discussions)
    this.#events = new Counter({ name: 'stream_events_total', help: 'Events that went out live.', registers })
    this.#frames = new Counter({
      name: 'stream_frames_total',
      help: 'Events times the streams that they were written to, live and as replay.',
      labelNames: ['kind'],
      registers,
    })
    this.#bytes = new Counter({
      name: 'stream_bytes_total',
      help: 'Bytes of the events that were written, live and as replay.',
      labelNames: ['kind'],
      registers,
    })
    this.#replays = new Counter({ name: 'stream_replays_total', help: 'Streams that began with a replay.', registers })
    this.#repairs = new Counter({
      name: 'stream_repaired_events_total',
      help: 'Events that the bus did not bring, and that were read from the database.',
      registers,
    })
    this.#cuts = new Counter({
      name: 'stream_cuts_total',
      help: 'Streams that the service ended, by reason.',
      labelNames: ['reason'],
      registers,
    })
    this.#delay = new Histogram({
      name: 'stream_delay_seconds',
      help: 'From when an event happened until it was written to the sockets of this process, by their clocks.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    })
    // A rate is told from the first one on.
    for (const reason of CUTS) this.#cuts.inc({ reason }, 0)
    for (const kind of ['live', 'replay']) {
      this.#frames.inc({ kind }, 0)
      this.#bytes.inc({ kind }, 0)
    }
  }

  /** Events have been written to all live streams of their discussion. */
  sent({ batches, frames }: Broadcast): void {
    const now = Date.now()
    this.#events.inc(frames.length)
    for (const frame of frames) {
      const ms = now - occurredAt(frame).getTime()
      if (!Number.isNaN(ms)) this.#delay.observe(Math.max(0, ms) / 1000)
    }
    for (const batch of batches) {
      this.#frames.inc({ kind: 'live' }, batch.frames.length * batch.taken)
      this.#bytes.inc({ kind: 'live' }, batch.size * batch.taken)
    }
  }

  /** A stream begins with what it has missed. */
  replays(): void {
    this.#replays.inc()
  }

  replayed(batch: Batch): void {
    this.#frames.inc({ kind: 'replay' }, batch.frames.length)
    this.#bytes.inc({ kind: 'replay' }, batch.size)
  }

  repaired(events: number): void {
    this.#repairs.inc(events)
  }

  cut(reason: CutReason): void {
    this.#cuts.inc({ reason })
  }
}

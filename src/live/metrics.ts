import type { Counter, Histogram, Registry } from 'prom-client'

import type { CUTS } from '../core/telemetry/metric-table.ts'
import { counter, gaugeOf, histogram } from '../core/telemetry/metrics.ts'
import type { Batch, Broadcast } from './streams/batch.ts'
import { occurredAt } from './streams/frames.ts'

export type CutReason = (typeof CUTS)[number]

/** The metrics of streams. */
export class StreamMetrics {
  readonly #events: Counter
  readonly #frames: Counter<'kind'>
  readonly #bytes: Counter<'kind'>
  readonly #replays: Counter
  readonly #repairs: Counter
  readonly #cuts: Counter<'reason'>
  readonly #delay: Histogram

  /**
   * `look` returns the number of open streams and of their discussions, and the pause between
   * writes.
   */
  constructor(registry: Registry, look: () => { streams: number; discussions: number; pauseMs: number }) {
    gaugeOf(registry, 'stream_connections', () => look().streams)
    gaugeOf(registry, 'stream_discussions', () => look().discussions)
    gaugeOf(registry, 'stream_pause_seconds', () => look().pauseMs / 1000)
    this.#events = counter(registry, 'stream_events_total')
    this.#frames = counter(registry, 'stream_frames_total')
    this.#bytes = counter(registry, 'stream_bytes_total')
    this.#replays = counter(registry, 'stream_replays_total')
    this.#repairs = counter(registry, 'stream_repaired_events_total')
    this.#cuts = counter(registry, 'stream_cuts_total')
    this.#delay = histogram(registry, 'stream_delay_seconds')
  }

  /** Counts events that were written to all live streams of their discussion. */
  sent({ batches, frames }: Broadcast): void {
    const now = Date.now()
    this.#events.inc(frames.length)
    for (const frame of frames) {
      const ms = now - occurredAt(frame).getTime()
      if (!Number.isNaN(ms)) this.#delay.observe(Math.max(0, ms) / 1000)
    }
    for (const batch of batches) {
      this.#frames.inc({ kind: 'live' }, batch.frames.length * batch.taken)
      this.#bytes.inc({ kind: 'live' }, batch.sentBytes)
    }
  }

  /** Counts a stream that begins with a replay. */
  replays(): void {
    this.#replays.inc()
  }

  replayed(batch: Batch): void {
    this.#frames.inc({ kind: 'replay' }, batch.frames.length * batch.taken)
    this.#bytes.inc({ kind: 'replay' }, batch.sentBytes)
  }

  repaired(events: number): void {
    this.#repairs.inc(events)
  }

  cut(reason: CutReason): void {
    this.#cuts.inc({ reason })
  }
}

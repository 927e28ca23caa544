import { requireCaller } from '../core/access.ts'
import type { Ctx } from '../core/context.ts'
import { invalid, ServiceError } from '../core/errors.ts'
import { type Id, isId } from '../core/ids.ts'
import { admitConnection, browserOf } from './admission.ts'
import { chargeReplayOfToken } from './browser-limits.ts'
import { credentialOf } from './credentials.ts'
import { viewerOf } from './viewer.ts'
import type { Payload } from './streams/batch.ts'
import type { Frame } from './streams/frames.ts'
import { type Beginning, hubOf } from './hub.ts'
import { Backlog, type Events, SourceQueue } from './source-queue.ts'
import type { Feed, Sink, Taker } from './seat.ts'

interface Following {
  discussionId: Id
  lastEventId?: string | null | undefined
}

/**
 * Follows a discussion for a GraphQL subscription: the same events, order, replay and audience as
 * the SSE route. Throws `not_found`, `too_many_streams`; `validation_failed` if it cannot resume
 * from the position; `unavailable` if it was ended meanwhile.
 */
export async function followDiscussion(ctx: Ctx, { discussionId, lastEventId }: Following): Promise<SourceStream> {
  const { tenant, actor } = requireCaller(ctx)
  if (!isId(discussionId)) throw new ServiceError('not_found')
  return openSourceStream(ctx, async (source) => {
    const beginning = await hubOf(ctx.app).join({
      tenantId: tenant.id,
      discussionId,
      viewer: viewerOf(actor),
      lastEventId: lastEventId ?? null,
      window: tenant.settings.stream,
      stream: source,
    })
    source.sit(beginning.seat)
    requireComplete(beginning)
    const browser = browserOf(ctx)
    // Most subscriptions have no replay to charge. To hold its buckets took 1.1 KB of heap each.
    if (browser === null || beginning.replayed === 0) return
    const { clientToken } = tenant.settings
    source.charge = chargeReplayOfToken(ctx.app, browser, clientToken, beginning.replayed)
  })
}

/**
 * A source for a subscription of the caller. It counts as an open stream and ends like one. `begin`
 * gives it its feed. Throws `too_many_streams`, `revoked_api_key`, `invalid_admin_token`,
 * `invalid_client_token`, `unavailable` if it was ended meanwhile, and what `begin` throws.
 */
export async function openSourceStream<P extends Payload>(
  ctx: Ctx,
  begin: (source: SourceStream<P>) => Promise<void>,
): Promise<SourceStream<P>> {
  const { app } = ctx
  const caller = requireCaller(ctx)
  const hub = hubOf(app)
  const source = new SourceStream<P>({
    idleMs: app.settings.STREAM_HEARTBEAT_SECONDS * 1000,
    onOverflow: () => hub.metrics.cut('unsent'),
  })
  source.onLeave(await admitConnection(ctx, source))
  try {
    await hub.requireLive(credentialOf(caller))
    await begin(source)
    if (source.isOver) throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
    return source
  } catch (error) {
    source.leave()
    throw error
  }
}

/** A sink whose replay is charged. */
const charged = <P extends Payload>(sink: Sink<P>, charge: (bytes: number) => void): Sink<P> => ({
  get isFull() {
    return sink.isFull
  },
  deliver: (batch) => sink.deliver(batch),
  ready: () => sink.ready(),
  passed: (position) => sink.passed?.(position),
  replayed: charge,
})

// A subscription has no first frame that could report a gap.
function requireComplete({ complete, lastEventId }: Beginning): void {
  if (complete) return
  throw invalid(
    '/lastEventId',
    'not_replayable',
    `is unknown or too old: load the data again and continue from ${lastEventId}`,
  )
}

/**
 * The events of one subscription, those of a discussion for instance. They either go to the
 * consumer given to `start`, or are iterated over. It holds a seat and counts as an open stream
 * until it is left.
 */
export class SourceStream<P extends Payload = Frame> implements AsyncIterable<P> {
  readonly #idleMs: number
  readonly #onOverflow: () => void
  #feed: Feed<P> | undefined
  #taker: Taker<P> | undefined
  /** Gets the bytes of each taken piece of a replay. */
  charge: ((bytes: number) => void) | undefined
  #isOver = false
  #isEnded = false
  readonly #leaving: (() => void)[] = []

  /**
   * `idleMs`: how long until it is checked again if it is not consumed. `onOverflow`: called when
   * an iteration does not keep up.
   */
  constructor({ idleMs, onOverflow }: { idleMs: number; onOverflow: () => void }) {
    this.#idleMs = idleMs
    this.#onOverflow = onOverflow
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Whether the service has ended it, rather than its consumer. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Calls `leave` when the stream is left, at once if it was. */
  onLeave(leave: () => void): void {
    if (this.#isOver) leave()
    else this.#leaving.push(leave)
  }

  /** Takes over the feed, such as a seat at a discussion. */
  sit(feed: Feed<P>): void {
    this.#feed = feed
    this.onLeave(() => feed.leave())
  }

  /** Starts with the replay, then continues live. */
  start(taker: Taker<P>): void {
    if (this.#isOver) return taker.end()
    this.#taker = taker
    this.#feed?.start(this.charge === undefined ? taker : charged(taker, this.charge))
  }

  /** Nothing is delivered after that. May be called again. */
  leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const leave of this.#leaving.splice(0)) leave()
  }

  /** Leaves, and ends its consumer. */
  end(): void {
    this.#isEnded ||= !this.#isOver
    this.leave()
    this.#taker?.end()
  }

  tick(now: number): number {
    return this.#taker?.tick?.(now) ?? now + this.#idleMs
  }

  /**
   * Iterates over the events, from the first `next` on. `next` rejects once if they are not taken
   * in time.
   */
  iterate(backlog: Backlog): Events<P> {
    const queue = new SourceQueue<P>(backlog, {
      onEnd: () => this.leave(),
      onOverflow: this.#onOverflow,
    })
    // Also if it was over before it began.
    this.onLeave(() => queue.end())
    return queue.iterate(() => this.start(queue))
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<P> {
    return this.iterate(new Backlog())
  }
}

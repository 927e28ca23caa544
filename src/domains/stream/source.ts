import { type Ctx, requireCaller } from '../../core/context.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { admitConnection, keyIdOf } from './admission.ts'
import type { Frame, Viewer } from './frames.ts'
import { type Beginning, hubOf } from './hub.ts'
import type { Seat, Sink } from './seat.ts'

const MAX_QUEUED_BYTES = 1024 * 1024
const MAX_QUEUED = 10_000
/** A replay waits while more than this is queued. */
const ROOMY_BYTES = 64 * 1024

/** What a subscription yields. A failure comes last, as a payload: a source that throws would end the process. */
export type SourceItem = Frame | ServiceError

/**
 * Follows a discussion for a GraphQL subscription: the same events, order, replay and audience as the SSE route.
 * Throws `not_found`, `too_many_streams`, `validation_failed` where the position asked for cannot be resumed from.
 */
export async function followDiscussion(
  ctx: Ctx,
  { discussionId, lastEventId }: { discussionId: Id; lastEventId?: string | null | undefined },
): Promise<AsyncIterable<SourceItem>> {
  const { app } = ctx
  const { tenant, actor } = requireCaller(ctx)
  if (!isId(discussionId)) throw new ServiceError('not_found')
  const hub = hubOf(app)
  const viewer: Viewer = { kind: 'tenant' }
  const queue = new Queue()
  const keyId = keyIdOf(actor)
  const release = admitConnection(ctx, () => queue.finish())
  let seat: Seat | undefined
  queue.onFinish = () => {
    release()
    seat?.leave()
  }
  try {
    if (keyId !== null) await hub.requireLiveKey({ tenantId: tenant.id, keyId })
    const beginning = await hub.join({
      tenantId: tenant.id,
      discussionId,
      viewer,
      lastEventId: lastEventId ?? null,
      window: tenant.settings.stream,
    })
    seat = beginning.seat
    requireComplete(beginning)
  } catch (error) {
    queue.finish()
    throw error
  }
  return iterate(queue, seat)
}

// A subscription has no first frame that could tell of a gap.
function requireComplete({ complete, lastEventId }: Beginning): void {
  if (complete) return
  throw invalid('/lastEventId', 'not_replayable', `is unknown or too old: reload, and go on from ${lastEventId}`)
}

/**
 * The queue as an async iterator. It is written out because `return` must end it at any time, also before the first
 * `next` and while one waits: an async generator would do neither. Nothing is fed before the first `next`.
 */
function iterate(queue: Queue, seat: Seat): AsyncIterableIterator<SourceItem> {
  let isFed = false
  return {
    async next() {
      if (!isFed) seat.start(queue)
      isFed = true
      const value = await queue.take()
      return value === undefined ? { done: true, value } : { done: false, value }
    },
    return() {
      queue.finish()
      return Promise.resolve({ done: true, value: undefined })
    },
    throw() {
      queue.finish()
      return Promise.resolve({ done: true, value: undefined })
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** What a subscriber has not taken yet, bounded. One that does not keep up gets an error as its last payload. */
class Queue implements Sink {
  onFinish: () => void = () => undefined
  #items: SourceItem[] = []
  #bytes = 0
  #over = false
  /** Woken by whatever changes. */
  #wake: (() => void)[] = []

  get isFull(): boolean {
    return this.#bytes > ROOMY_BYTES
  }

  deliver(frames: readonly Frame[]): void {
    if (this.#over) return
    this.#items.push(...frames)
    for (const { bytes } of frames) this.#bytes += bytes.length
    if (this.#bytes > MAX_QUEUED_BYTES || this.#items.length > MAX_QUEUED) {
      this.finish(
        new ServiceError('unavailable', { detail: 'The subscriber does not keep up; resume by lastEventId.' }),
      )
    } else this.#wakeAll()
  }

  async ready(): Promise<void> {
    while (!this.#over && this.isFull) await this.#changed()
  }

  /** The next item; undefined at the end. */
  async take(): Promise<SourceItem | undefined> {
    while (this.#items.length === 0 && !this.#over) await this.#changed()
    const item = this.#items.shift()
    if (item !== undefined && !(item instanceof ServiceError)) this.#bytes -= item.bytes.length
    this.#wakeAll()
    return item
  }

  /** Ends the subscription: what is queued goes, `failure` is the last payload. */
  finish(failure?: ServiceError): void {
    if (this.#over) return
    this.#over = true
    this.#items = failure === undefined ? [] : [failure]
    this.#bytes = 0
    this.onFinish()
    this.#wakeAll()
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => this.#wake.push(resolve))
  }

  #wakeAll(): void {
    const waiting = this.#wake
    this.#wake = []
    for (const wake of waiting) wake()
  }
}

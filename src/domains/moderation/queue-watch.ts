import type { Logger } from 'pino'

import { inBatches } from '../../core/queues/batches.ts'
import type { Bus } from '../../core/bus.ts'
import { requireCaller } from '../../core/access.ts'
import { perApp } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { hubOf } from '../../live/hub.ts'
import { openSourceStream, type SourceStream } from '../../live/source-stream.ts'
import { type QueueState, readQueueStates } from './queue-sql.ts'
import { type QueueFrame, type QueueSeat, QueueTopic } from './queue-topic.ts'

interface QueueWatchOptions {
  bus: Bus
  read: (tenantIds: readonly Id[]) => Promise<QueueState[]>
  log: Logger
}

/** The most tenants in one statement. */
const MAX_TENANTS = 100

/** The moderation queues that are followed in this process. No other queues are read. */
export class QueueWatch {
  readonly #options: QueueWatchOptions
  readonly #topics = new Map<Id, QueueTopic>()
  readonly #read: (tenantId: Id) => Promise<QueueState>

  constructor(options: QueueWatchOptions) {
    this.#options = options
    this.#read = inBatches<Id, QueueState>(MAX_TENANTS, async (batch) => {
      const states = await options.read([...new Set(batch.map(({ input }) => input))])
      const byTenant = new Map(states.map((state) => [state.tenantId, state]))
      for (const { input, resolve, reject } of batch) {
        const state = byTenant.get(input)
        if (state === undefined) reject(new Error(`the queues of tenant ${input} were not read`))
        else resolve(state)
      }
    })
  }

  /** How many tenants' queues are followed. */
  get size(): number {
    return this.#topics.size
  }

  /** Takes a seat, which gets the present state as soon as it is started. */
  async join(tenantId: Id): Promise<QueueSeat> {
    const topic = this.#topicOf(tenantId)
    const seat = topic.sit()
    try {
      await topic.prepare()
      return seat
    } catch (error) {
      seat.leave()
      throw error
    }
  }

  /** Reads all followed queues, because the bus may have lost messages. */
  async repair(): Promise<void> {
    await Promise.all([...this.#topics.values()].map((topic) => topic.refresh()))
  }

  #topicOf(tenantId: Id): QueueTopic {
    const existing = this.#topics.get(tenantId)
    if (existing !== undefined) return existing
    const { bus, log } = this.#options
    const onEmpty = (): void => void this.#topics.delete(tenantId)
    const topic = new QueueTopic({ tenantId, bus, read: this.#read, log, onEmpty })
    this.#topics.set(tenantId, topic)
    return topic
  }
}

/** The watch of this process; the hub repairs it. */
export const queueWatchOf = perApp((app) => {
  const { bus, db, log } = app
  const watch = new QueueWatch({ bus, log, read: (tenantIds) => readQueueStates(db.query, tenantIds) })
  hubOf(app).onRepair(() => watch.repair())
  return watch
})

/**
 * Follows the tenant's moderation queues for a GraphQL subscription. Throws `too_many_streams`, and
 * `unavailable` if it was ended meanwhile.
 */
export function followModerationQueue(ctx: Ctx): Promise<SourceStream<QueueFrame>> {
  const { tenant } = requireCaller(ctx)
  return openSourceStream(ctx, async (source) => source.sit(await queueWatchOf(ctx.app).join(tenant.id)))
}

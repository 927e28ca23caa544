import type { Logger } from 'pino'

import { requireCaller } from '../../core/access.ts'
import { perApp } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import { type Id, newId } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import type { Db } from '../../core/database/database.ts'
import { type Hub, hubOf } from '../../live/hub.ts'
import { countStreams, countStreamsOfTenant, forgetProcess, reportStreams, type StreamCount } from './presence-sql.ts'

/** The number of open streams on a discussion, over all processes. */
export interface Presence {
  streams: number
  /** The time of the oldest report in the number, at most 5 s ago. */
  asOf: Date
}

const REPORT_MS = 2000
/** Older reports do not count: the process is dead, or cut off from the database. */
const MAX_AGE_MS = 5000

/**
 * Reports this process's open streams to the database, so that every process can count all of them.
 * Only changes are sent, and nothing if there are none. It needs no bus.
 */
export class PresenceReporter {
  readonly processId = newId()
  readonly #db: Db
  readonly #log: Logger
  readonly #hub: Pick<Hub, 'counts'>
  readonly #timer: NodeJS.Timeout
  #reported = new Map<string, StreamCount>()
  #reporting: Promise<void> = Promise.resolve()

  constructor({ db, log, hub }: { db: Db; log: Logger; hub: Pick<Hub, 'counts'> }) {
    this.#db = db
    this.#log = log
    this.#hub = hub
    this.#timer = setInterval(() => {
      this.#reporting = this.#reporting.then(() => this.report())
    }, REPORT_MS).unref()
  }

  /** Never rejects: what fails is reported next time. */
  async report(): Promise<void> {
    const now = new Map(this.#hub.counts().map((count) => [`${count.tenantId}/${count.discussionId}`, count]))
    if (now.size === 0 && this.#reported.size === 0) return
    const changed = [...now.values()].filter((count) => this.#reported.get(keyOf(count))?.streams !== count.streams)
    const ended = [...this.#reported].flatMap(([key, count]) => (now.has(key) ? [] : [{ ...count, streams: 0 }]))
    try {
      if (now.size === 0) await forgetProcess(this.#db.query, this.processId)
      else if (await reportStreams(this.#db.query, this.processId, [...changed, ...ended])) {
        await reportStreams(this.#db.query, this.processId, [...now.values()])
      }
      this.#reported = now
    } catch (err) {
      this.#log.warn({ err }, 'the number of open streams could not be published')
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#reporting
    if (this.#reported.size > 0) await forgetProcess(this.#db.query, this.processId).catch(() => 'it ages by itself')
  }
}

const keyOf = ({ tenantId, discussionId }: StreamCount): string => `${tenantId}/${discussionId}`

/** The reporter of this process; it ends with the hub. */
export const presenceOf = perApp((app) => {
  const hub = hubOf(app)
  const reporter = new PresenceReporter({ db: app.db, log: app.log, hub })
  hub.onClose(() => reporter.stop())
  return reporter
})

/** How many streams are open on a discussion. One statement serves all of a request. */
export const getPresence = (ctx: Ctx, discussionId: Id): Promise<Presence> => loadPresence(ctx, discussionId)

const loadPresence = perRequest<Id, Presence>(async (ctx, discussionIds) => {
  const { tenant } = requireCaller(ctx)
  const { processId } = presenceOf(ctx.app)
  const others = await countStreams(ctx.app.db.query, tenant.id, discussionIds, {
    except: processId,
    maxAgeMs: MAX_AGE_MS,
  })
  const byDiscussion = new Map(others.map((row) => [row.discussionId, row]))
  const now = new Date()
  return discussionIds.map((discussionId) => {
    const other = byDiscussion.get(discussionId)
    const own = hubOf(ctx.app).streamsOf({ tenantId: tenant.id, discussionId })
    return { streams: own + (other?.streams ?? 0), asOf: other?.asOf ?? now }
  })
})

/** The number of the tenant's open streams, over all processes. */
export async function countOpenStreams(ctx: Ctx): Promise<number> {
  const { tenant } = requireCaller(ctx)
  const except = presenceOf(ctx.app).processId
  const others = await countStreamsOfTenant(ctx.app.db.query, tenant.id, { except, maxAgeMs: MAX_AGE_MS })
  const own = hubOf(ctx.app)
    .counts()
    .filter(({ tenantId }) => tenantId === tenant.id)
  return own.reduce((sum, { streams }) => sum + streams, others)
}

import type { Logger } from 'pino'

import { tolerant } from './core/bus.ts'
import type { App } from './core/app.ts'
import { metricsOf } from './core/telemetry/metrics.ts'
import type { Settings } from './core/settings/settings.ts'
import { readNow } from './core/database/late-reads.ts'
import type { Tracing } from './core/span.ts'
import type { Database } from './data/database.ts'
import { DatabaseHealth } from './data/server/health.ts'
import { createMemoryBus } from './data/bus/memory.ts'
import { createMemoryLimits } from './data/limits/memory.ts'
import { createMemoryPlaces } from './data/places/memory.ts'
import { observeClients } from './data/metrics.ts'
import { openDatabase, openReplica } from './data/open.ts'
import { createRedisBus } from './data/bus/redis.ts'
import { createRedisLimits } from './data/limits/redis.ts'
import { createRedisPlaces } from './data/places/redis.ts'
import { Replica } from './data/server/replica.ts'
import type { Link } from './processes/link.ts'
import { openOutbound, type Outbound } from './outbound/outbound.ts'

/** How long the last traces may take to be sent. */
const FLUSH_MS = 1500

interface Given {
  link?: Link | undefined
  tracing?: Tracing | undefined
  /** The name by which PostgreSQL distinguishes this process's sessions. */
  sessionName?: string
}

export interface OpenApp {
  app: App
  database: Database
  close(): Promise<void>
}

/**
 * Opens the clients of a process: the database, with its schema up to date, and the bus. With a
 * link, it shares them with the processes of the same parent.
 */
export async function openApp(settings: Settings, log: Logger, given: Given = {}): Promise<OpenApp> {
  const { link, tracing, sessionName } = given
  let health: DatabaseHealth | undefined
  const database = await openDatabase(
    settings,
    log,
    (err) => {
      health?.note(err)
      log.warn({ err }, 'a database connection was lost')
    },
    sessionName,
  )
  health = new DatabaseHealth(database, log)
  return withHealth(settings, log, database, health, await openReplica(settings), link, tracing)
}

/** Opens the app on a database that is open already. */
export const withDatabase = (settings: Settings, log: Logger, database: Database): OpenApp =>
  withHealth(settings, log, database, new DatabaseHealth(database, log), null)

function withHealth(
  settings: Settings,
  log: Logger,
  database: Database,
  health: DatabaseHealth,
  standby: Database | null,
  link?: Link,
  tracing?: Tracing,
): OpenApp {
  const { db } = health
  const { probe: primary, prisma } = database
  const { bus: shared, limits, places } = sharedOf(settings, log, link)
  const bus = tolerant(shared, (err, channel) => log.warn({ err, channel }, 'a message of the bus cannot be used'))
  const maxLagMs = settings.DATABASE_REPLICA_MAX_LAG_SECONDS * 1000
  const statementMs = settings.DATABASE_STATEMENT_TIMEOUT_SECONDS * 1000
  const replica = standby === null ? null : new Replica({ replica: standby, primary, db, maxLagMs, statementMs, log })
  let outbound: Outbound | undefined
  const app: App = {
    settings,
    db,
    late: replica?.reads ?? readNow(db),
    prisma,
    bus,
    limits,
    places,
    log,
    health,
    fetch: (url, request) => (outbound ??= openOutbound(settings)).fetch(url, request),
    ...(link !== undefined && { allFigures: link.figures }),
    ...(tracing !== undefined && { tracing }),
  }
  replica?.register(metricsOf(app))
  link?.onFigures(() => metricsOf(app).getMetricsAsJSON())
  const endObserving = observeClients(app, database.pool)
  return {
    app,
    database,
    close: async () => {
      endObserving()
      outbound?.close()
      await replica?.close()
      limits.close()
      await places.close()
      await bus.close()
      await health.close()
      await database.close()
      await tracing?.close(FLUSH_MS)
    },
  }
}

/**
 * What processes share, if they can reach each other: through Redis, through their parent, or not
 * at all.
 */
function sharedOf(settings: Settings, log: Logger, link?: Link): Pick<App, 'bus' | 'limits' | 'places'> {
  const { REDIS_URL: urls, REDIS_PREFIX: prefix } = settings
  if (urls !== undefined) {
    const bus = createRedisBus({
      urls,
      prefix,
      onDown: (err) => log.warn({ err }, 'Redis is not available; the database takes its place'),
      onUp: () => log.info('Redis is back'),
    })
    return { bus, limits: createRedisLimits({ urls, prefix }), places: createRedisPlaces({ urls, prefix }) }
  }
  return link ?? { bus: createMemoryBus(), limits: createMemoryLimits(), places: createMemoryPlaces() }
}

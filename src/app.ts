import type { Logger } from 'pino'

import type { App } from './core/context.ts'
import type { Settings } from './core/settings.ts'
import type { Database } from './data/database.ts'
import { DatabaseHealth } from './data/health.ts'
import { createMemoryBus } from './data/memory-bus.ts'
import { createMemoryLimits } from './data/memory-limits.ts'
import { createMemoryPlaces } from './data/memory-places.ts'
import { openDatabase } from './data/open.ts'
import { createRedisBus } from './data/redis-bus.ts'
import { createRedisLimits } from './data/redis-limits.ts'
import { createRedisPlaces } from './data/redis-places.ts'

export interface OpenApp {
  app: App
  database: Database
  close(): Promise<void>
}

/** Opens the clients of a process: the database, its schema up to date, and the bus. */
export async function openApp(settings: Settings, log: Logger): Promise<OpenApp> {
  let health: DatabaseHealth | undefined
  const database = await openDatabase(settings, log, (err) => {
    health?.note(err)
    log.warn({ err }, 'a database connection was lost')
  })
  health = new DatabaseHealth(database, log)
  return withHealth(settings, log, database, health)
}

/** The same on a database that is open already. */
export const withDatabase = (settings: Settings, log: Logger, database: Database): OpenApp =>
  withHealth(settings, log, database, new DatabaseHealth(database, log))

function withHealth(settings: Settings, log: Logger, database: Database, health: DatabaseHealth): OpenApp {
  const { REDIS_URL: urls, REDIS_PREFIX: prefix } = settings
  const bus =
    urls === undefined
      ? createMemoryBus()
      : createRedisBus({
          urls,
          prefix,
          onDown: (err) => log.warn({ err }, 'Redis is not available; the database takes its place'),
          onUp: () => log.info('Redis is back'),
        })
  const limits = urls === undefined ? createMemoryLimits() : createRedisLimits({ urls, prefix })
  const places = urls === undefined ? createMemoryPlaces() : createRedisPlaces({ urls, prefix })
  return {
    app: { settings, db: health.db, prisma: database.prisma, bus, limits, places, log, health },
    database,
    close: async () => {
      limits.close()
      await places.close()
      await bus.close()
      await health.close()
      await database.close()
    },
  }
}

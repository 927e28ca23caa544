import { withDatabase } from '../../src/app.ts'
import type { App } from '../../src/core/app.ts'
import type { Database } from '../../src/data/database.ts'

/** Another process on the database of a service: messages of neither reach the other. */
export function openMute({ settings, log }: App, database: Database): { app: App; close: () => Promise<void> } {
  const apart = { ...settings, REDIS_PREFIX: `${settings.REDIS_PREFIX}mute:` }
  // The service closes the database.
  return withDatabase(apart, log, { ...database, close: () => Promise.resolve() })
}

import type { App } from '../../core/context.ts'
import { continueBackfills, openBackfills } from '../../data/backfills.ts'
import { type Migration, readMigrations } from '../../data/migration-files.ts'

let migrations: Migration[] | undefined

/**
 * Goes on with what the migrations of this release have left to workers. Returns whether there may
 * be more to do.
 */
export const continueUpgrade = ({ db }: App, signal: AbortSignal): Promise<boolean> =>
  continueBackfills(db, (migrations ??= readMigrations()), signal)

/** How many backfills are not complete. */
export const countOpenBackfills = async ({ db }: App): Promise<number> => (await openBackfills(db.query)).length

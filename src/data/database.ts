import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'

import type { Db, Prisma, Sql } from '../core/database/database.ts'
import type { PoolWatch } from './pool-watch.ts'

/** PostgreSQL in one of its two forms. Only this folder knows which. */
export interface Database {
  db: Db
  /** For reading, on the connections of `db`. */
  prisma: Prisma
  /** Statistics of its pool, for metrics. */
  pool: PoolWatch
  /** Calls `listener` with each failure of a read through `prisma`. */
  observe(listener: (error: unknown) => void): void
  /**
   * Runs `work` while no other process of the service does. Everything that `work` leaves on the
   * adapter's sessions ends with it.
   */
  exclusively<T>(work: (adapter: SqlMigrationAwareDriverAdapterFactory) => Promise<T>): Promise<T>
  /**
   * For health checks, which wait for no other statement if possible. `patienceMs`: a check without
   * an answer for this long has failed.
   */
  probe: { sql: Sql; patienceMs: number }
  /** Looks for the host that takes writes, if there are several. Rejects if none does. */
  findHost(): Promise<void>
  /**
   * Replaces every connection: idle ones now, busy ones after their work. They may lead to a server
   * that takes no writes.
   */
  renew(): void
  /**
   * Cuts every connection, and fails everything that waits on one: a vanished server closes none.
   */
  abandon(): void
  close(): Promise<void>
}

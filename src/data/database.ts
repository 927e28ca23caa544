import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'

import type { Db, Prisma, Sql } from '../core/sql.ts'
import type { PoolWatch } from './pool-watch.ts'

/** PostgreSQL in one of its two forms. Nothing outside this folder asks which. */
export interface Database {
  db: Db
  /** For reading, on the connections of `db`. */
  prisma: Prisma
  /** The use of its connections, for metrics. */
  pool: PoolWatch
  /** Has `listener` hear of each failure of a read through `prisma`. */
  observe(listener: (error: unknown) => void): void
  /**
   * Runs `work` while no other process of the service does. What `work` leaves behind on the
   * adapter's sessions ends with it.
   */
  exclusively<T>(work: (adapter: SqlMigrationAwareDriverAdapterFactory) => Promise<T>): Promise<T>
  /**
   * For questions about its health, which wait for no other statement where they need not.
   * `patienceMs`: what has no answer for so long will have none.
   */
  probe: { sql: Sql; patienceMs: number }
  /** Looks for the host that takes writes, where it has several. Rejects where none does. */
  findHost(): Promise<void>
  /**
   * Replaces every connection: idle ones now, busy ones after their work. They may lead to a server
   * that takes no writes.
   */
  renew(): void
  /**
   * Cuts every connection, and fails what waits for an answer on one: a server that has vanished
   * ends none by itself.
   */
  abandon(): void
  close(): Promise<void>
}

import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'

import type { Db } from '../core/sql.ts'

/** PostgreSQL in one of its two forms. Nothing outside this folder asks which. */
export interface Database {
  db: Db
  /** What Prisma and its migration engine talk through; on a server they share the pool of `db`. */
  adapter: SqlMigrationAwareDriverAdapterFactory
  /** Runs `work` while no other process of the service does. What `work` leaves behind on the adapter's sessions ends with it. */
  exclusively<T>(work: (adapter: SqlMigrationAwareDriverAdapterFactory) => Promise<T>): Promise<T>
  close(): Promise<void>
}

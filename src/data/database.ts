import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'

import { PrismaClient } from '../generated/prisma/client.ts'
import type { Settings } from '../core/settings.ts'
import { openEmbedded } from './embedded.ts'
import { migrate } from './migrate.ts'
import { openServer } from './server.ts'
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

/** Opens the database and brings its schema up to date. */
export async function openDatabase(settings: Settings, onError: (error: Error) => void): Promise<Database> {
  const { DATABASE_URL: url, DATABASE_POOL_SIZE: size, DATA_DIR } = settings
  const database = url === undefined ? await openEmbedded(DATA_DIR) : await openServer({ url, size, onError })
  try {
    await database.exclusively(migrate)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

export const createPrisma = (database: Database): PrismaClient => new PrismaClient({ adapter: database.adapter })

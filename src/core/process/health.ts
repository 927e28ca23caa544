import type { Outage } from '../outage.ts'
import type { Sql } from '../database/database.ts'
import { statement } from '../database/statements.ts'

/**
 * Why a process must get no requests. `starting`: the first start has not finished, so no tenant
 * exists yet. `stopping`: it was told to stop, and still answers.
 */
export type NotReady = Outage | 'starting' | 'stopping'

/** Whether this process can serve: what `/readyz` answers. */
export interface Health {
  /** Null while it can serve. At most some seconds old. */
  readonly notReady: NotReady | null
  /** Whether the first tenant exists: before that, no credentials can be valid. */
  readonly isSetUp: boolean
  /** Called when the first tenant exists. */
  setUp(): void
  /** Called when the process begins to stop. */
  stop(): void
}

const HAS_TENANT = statement('health_has_tenant', 'SELECT 1 FROM tenants LIMIT 1')

/**
 * Whether there is a tenant. In SQL, because every start needs it, and the first query of Prisma
 * costs a process 56 MB.
 */
export const hasTenants = async (sql: Sql): Promise<boolean> => (await sql(HAS_TENANT)).length > 0

import type pg from 'pg'

import { SettingsError } from '../../core/settings/settings.ts'
import { Connection } from './connection.ts'
import type { Hosts } from './hosts.ts'

export type UrlSetting = 'DATABASE_URL' | 'DATABASE_DIRECT_URL'

/**
 * How often the test is repeated: other clients of a pooler may take the session in between, once.
 */
const ROUNDS = 20

/**
 * Throws a SettingsError if connections share sessions, because a pooler in transaction mode stands
 * before the server. Settings and locks of such a session would affect other clients.
 */
export async function refusePooler(client: pg.ClientBase, hosts: Hosts, setting: UrlSetting): Promise<void> {
  const pid = await pidOf(client)
  // PgBouncer gives its clients process numbers of its own.
  if (pid === (client as pg.ClientBase & { processID?: number }).processID) return
  const other = new Connection(hosts.config)
  try {
    await other.connect()
    const otherPid = await pidOf(other)
    for (let round = 0; round < ROUNDS; round++) {
      if (pid === otherPid || (await pidOf(client)) !== pid || (await pidOf(other)) !== otherPid) {
        throw poolerFound(setting)
      }
    }
  } finally {
    void other.end().catch(() => undefined)
  }
}

/** Explains the error by which PgBouncer refuses a connection that sets limits. */
export const explainPooler = (error: unknown, setting: UrlSetting): unknown =>
  error instanceof Error && error.message.includes('unsupported startup parameter')
    ? poolerFound(setting, error)
    : error

async function pidOf(client: pg.ClientBase): Promise<number | undefined> {
  return (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid
}

function poolerFound(setting: UrlSetting, cause?: unknown): SettingsError {
  const change = setting === 'DATABASE_URL' ? 'set DATABASE_POOLER=transaction, and DATABASE_DIRECT_URL' : 'set it'
  return new SettingsError(`${setting}: leads to a connection pooler: ${change} to the server itself`, {
    cause,
  })
}

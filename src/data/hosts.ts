import type { ClientConfig } from 'pg'

import { databaseHosts } from '../core/database-url.ts'
import { OutageError } from '../core/outage.ts'
import { Connection } from './connection.ts'

/**
 * The hosts of a database's URL. One of them takes writes; the others may follow it, or be away.
 */
export class Hosts {
  readonly #urls: readonly string[]
  readonly #connectMs: number
  #current = 0

  constructor(url: string, connectMs: number) {
    const urls = databaseHosts(url)
    if (urls === null) throw new Error('it is not a URL of PostgreSQL')
    this.#urls = urls.map(({ href }) => href)
    this.#connectMs = connectMs
  }

  /** Where a new connection goes. */
  get config(): ClientConfig {
    return { connectionString: this.#urls[this.#current], connectionTimeoutMillis: this.#connectMs, keepAlive: true }
  }

  /**
   * Looks for the host that takes writes, where there are several. Rejects where none does, with
   * what the one that was current said. Resolves to whether it is another one than before.
   */
  async find(): Promise<boolean> {
    const before = this.#current
    if (this.#urls.length === 1) return false
    const tried = this.#urls.map(async (connectionString, index) => {
      await expectWrites(new Connection({ ...this.config, connectionString }), this.#connectMs)
      return index
    })
    this.#current = await Promise.any(tried).catch(({ errors }: AggregateError) => {
      const reasons = this.#urls.map((url, index) => `${new URL(url).host}: ${reasonOf(errors[index])}`)
      throw new Error(reasons.join('; '), { cause: errors[before] })
    })
    return this.#current !== before
  }
}

/**
 * What a failed connection says. One to several addresses is an AggregateError without a message.
 */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return reasonOf(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}

async function expectWrites(connection: Connection, withinMs: number): Promise<void> {
  try {
    await connection.connect()
    await refuseStandby(connection, withinMs)
    const { rows } = await connection.query<{ isReadOnly: boolean }>(
      `SELECT current_setting('transaction_read_only') = 'on' AS "isReadOnly"`,
    )
    if (rows[0]?.isReadOnly !== false) throw new OutageError('read_only')
  } finally {
    void connection.end().catch(() => undefined)
  }
}

/**
 * A standby answers from the past and takes no writes: a connection that leads to one is given up
 * before it is used. So is one whose server does not say which it is `withinMs`.
 */
export async function refuseStandby(connection: Connection, withinMs: number): Promise<void> {
  const late = setTimeout(() => connection.cut(), withinMs)
  try {
    const { rows } = await connection.query<{ isStandby: boolean }>('SELECT pg_is_in_recovery() AS "isStandby"')
    if (rows[0]?.isStandby === true) throw new OutageError('standby')
  } finally {
    clearTimeout(late)
  }
}

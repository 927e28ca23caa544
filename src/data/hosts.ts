import type { ClientBase, ClientConfig } from 'pg'

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
      throw errors[before]
    })
    return this.#current !== before
  }
}

async function expectWrites(connection: Connection, withinMs: number): Promise<void> {
  // What a dying connection takes with it is told by what waits for it.
  connection.on('error', () => undefined)
  const late = setTimeout(() => connection.cut(), withinMs)
  try {
    await connection.connect()
    await refuseStandby(connection)
    const { rows } = await connection.query<{ isReadOnly: boolean }>(
      `SELECT current_setting('transaction_read_only') = 'on' AS "isReadOnly"`,
    )
    if (rows[0]?.isReadOnly !== false) throw new OutageError('read_only')
  } finally {
    clearTimeout(late)
    void connection.end()
  }
}

/**
 * A standby answers from the past and takes no writes: a connection that leads to one is given up
 * before it is used.
 */
export async function refuseStandby(connection: ClientBase): Promise<void> {
  const { rows } = await connection.query<{ isStandby: boolean }>('SELECT pg_is_in_recovery() AS "isStandby"')
  if (rows[0]?.isStandby === true) throw new OutageError('standby')
}

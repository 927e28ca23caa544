import { connect } from 'node:net'

import { databaseHosts } from '../../core/settings/database-url.ts'
import { OutageError } from '../../core/outage.ts'
import { Connection, type ConnectionConfig } from './connection.ts'
import { sessionFor } from './session.ts'

const NAME = 'application_name'

/**
 * The hosts of a database's URL. One of them takes writes; the others may follow it, or be down.
 */
export class Hosts {
  readonly #urls: readonly string[]
  readonly #connectMs: number
  readonly #session: Readonly<Record<string, string>>
  #current = 0

  /**
   * `name`: the sessions' application name, instead of the one in the URL. `isPooled`: a pooler in
   * transaction mode stands before the server.
   */
  constructor(
    url: string,
    connectMs: number,
    { name, isPooled = false }: { name?: string | undefined; isPooled?: boolean } = {},
  ) {
    const urls = databaseHosts(url)
    if (urls === null) throw new Error('it is not a URL of PostgreSQL')
    if (name !== undefined) {
      for (const { searchParams } of urls) if (searchParams.has(NAME)) searchParams.set(NAME, name)
    }
    this.#urls = urls.map(({ href }) => href)
    this.#connectMs = connectMs
    this.#session = sessionFor(isPooled)
  }

  /** The address for new connections. */
  get config(): ConnectionConfig {
    return {
      connectionString: this.#urls[this.#current],
      connectionTimeoutMillis: this.#connectMs,
      keepAlive: true,
      session: this.#session,
    }
  }

  /**
   * Looks for the host that takes writes, if there are several. Resolves to whether it has changed.
   * Rejects if no host takes writes, with the error of the current one.
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
 * The reason of a failed connection. A connection to several addresses fails with an AggregateError
 * without a message.
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
 * Refuses a connection that leads to a standby, before it is used: a standby is behind and takes no
 * writes. Also refuses one whose server does not answer `withinMs`.
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

/** The answer of a host, or why it has none. */
export type HostAnswer =
  | { is: 'writable' | 'read_only' | 'standby'; system: string; startedAt: string }
  | { is: 'refusing' | 'silent'; reason: string }
  | { is: 'no_postgres' }

/** Asks each host of a URL, all at once. Takes at most twice `withinMs`. */
export const askHosts = (url: string, withinMs: number): Promise<{ host: string; answer: HostAnswer }[]> =>
  Promise.all(
    (databaseHosts(url) ?? []).map(async (each) => ({ host: each.host, answer: await askHost(each, withinMs) })),
  )

async function askHost(url: URL, withinMs: number): Promise<HostAnswer> {
  const connection = new Connection({ connectionString: url.href, connectionTimeoutMillis: withinMs })
  const late = setTimeout(() => connection.cut(), withinMs)
  try {
    await connection.connect()
    const { rows } = await connection.query<{ is: 'writable'; system: string; startedAt: string }>(
      `SELECT CASE WHEN pg_is_in_recovery() THEN 'standby'
           WHEN current_setting('transaction_read_only') = 'on' THEN 'read_only' ELSE 'writable' END AS is,
         system_identifier::text AS system, pg_postmaster_start_time()::text AS "startedAt"
       FROM pg_control_system()`,
    )
    if (rows[0] !== undefined) return rows[0]
    throw new Error('it has no answer')
  } catch (error) {
    const { code, severity } = error as { code?: unknown; severity?: unknown }
    if (severity !== undefined) return { is: 'refusing', reason: reasonOf(error) }
    if (code === undefined && !(await mayBePostgres(url, withinMs))) return { is: 'no_postgres' }
    return { is: 'silent', reason: typeof code === 'string' ? code : reasonOf(error) }
  } finally {
    clearTimeout(late)
    void connection.end().catch(() => undefined)
  }
}

/**
 * False if another program answers. PostgreSQL answers the request for TLS with S or N, or with E
 * while it is in trouble.
 */
async function mayBePostgres({ hostname, port }: URL, withinMs: number): Promise<boolean> {
  if (hostname === '') return true
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 5432) })
  socket.on('error', () => undefined)
  socket.setTimeout(withinMs, () => socket.destroy())
  // SSLRequest: its length and code.
  socket.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]))
  const first = await new Promise<Buffer | null>((resolve) => {
    socket.once('data', resolve).once('close', () => resolve(null))
  })
  socket.destroy()
  return first === null || /^[SN]$|^E/.test(first.toString('latin1'))
}

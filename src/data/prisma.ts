import type { SqlDriverAdapter, SqlDriverAdapterFactory, SqlQueryable, Transaction } from '@prisma/driver-adapter-utils'

import type { Around, Prisma, Sql, TxSql } from '../core/database/database.ts'
import { type Statement, takesLocks } from '../core/database/statements.ts'
import { PrismaClient } from '../generated/prisma/client.ts'
import { replaceNewerValues } from './newer-values.ts'

/** What a driver adapter sends its queries to: a pool, or one session of it. */
export interface DriverClient {
  query(...args: never[]): Promise<unknown>
}

/** An adapter of the drivers' packages, which do not type their client. */
type ClientAdapter = SqlDriverAdapter & { client: DriverClient }

/** Longer than any transaction: the owner ends it. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

/**
 * Prisma over a database's own connections. `client` only reads, on any connection. Writes go
 * through `on`, within a transaction of the database: Prisma sees that transaction's state, and
 * does not end it.
 */
export class PrismaOver {
  readonly client: PrismaClient
  readonly #adapter: Promise<ClientAdapter>
  /** The session on which a transaction is being begun. */
  #session: SqlQueryable | undefined
  /** Settles when that is done: transactions are begun one after the other. */
  #beginning: Promise<unknown> = Promise.resolve()

  /** `onError` gets the errors of queries on the pool. */
  constructor(factory: SqlDriverAdapterFactory, onError: (error: unknown) => void) {
    this.#adapter = factory.connect() as Promise<ClientAdapter>
    const reporting: Around = (_asked, run) =>
      run().catch((error: unknown) => {
        onError(error)
        throw error
      })
    const connect = async (): Promise<SqlDriverAdapter> => {
      const adapter = await this.#adapter
      const reading = through(adapter, adapter.client, readOnly(reporting))
      const startTransaction = async (level?: string): Promise<Transaction> =>
        joined(level === undefined ? reading : (this.#session ?? reading))
      return Object.assign(through(adapter, adapter.client, reporting), { startTransaction })
    }
    const { provider, adapterName } = factory
    this.client = new PrismaClient({ adapter: { provider, adapterName, connect } })
  }

  /** Closes `client`. */
  async close(): Promise<void> {
    await this.client.$disconnect()
    await (await this.#adapter).dispose()
  }

  /**
   * Prisma on one session, whose owner has begun a transaction. It costs nothing until it is used.
   */
  on(session: DriverClient): PrismaSession {
    return new PrismaSession(async (around, isOver) => {
      const queryable = through(await this.#adapter, session, around)
      const begun = this.#beginning.then(() => {
        this.#session = queryable
        return new Promise<Prisma>((resolve, reject) => {
          const work = async (tx: Prisma): Promise<void> => {
            resolve(tx)
            await isOver
          }
          // By its level the adapter tells it from a transaction that Prisma makes of several
          // reads.
          this.client
            .$transaction(work, { maxWait: NO_TIMEOUT_MS, timeout: NO_TIMEOUT_MS, isolationLevel: 'ReadCommitted' })
            .catch(reject)
        })
      })
      this.#beginning = begun.catch(() => undefined)
      return begun
    })
  }
}

/** A transaction for which its owner, not Prisma, sends BEGIN and COMMIT. */
function joined(session: SqlQueryable): Transaction {
  const done = async (): Promise<void> => undefined
  return Object.assign(session, {
    options: { usePhantomQuery: true },
    commit: done,
    rollback: done,
    createSavepoint: done,
    rollbackToSavepoint: done,
    releaseSavepoint: done,
  })
}

/**
 * Prisma may wrap several reads of one tick in a transaction: outside of ours they need none. A
 * write in one is refused.
 */
const readOnly =
  (around: Around): Around =>
  (asked, run) => {
    if (asked.locks) throw new Error('Prisma writes in a transaction of the database alone: use db.transaction')
    return around(asked, run)
  }

type Open = (around: Around, isOver: Promise<void>) => Promise<Prisma>

/** Prisma in one transaction. */
export class PrismaSession {
  readonly #open: Open
  readonly #isOver: Promise<void>
  #end: () => void = () => undefined

  constructor(open: Open) {
    this.#open = open
    this.#isOver = new Promise((resolve) => (this.#end = resolve))
  }

  within(around: Around): Prisma {
    let opened: Promise<Prisma> | undefined
    return deferred(() => (opened ??= this.#open(around, this.#isOver)))
  }

  end(): void {
    this.#end()
  }
}

/** A copy of an adapter whose queries go through another client, each within `around`. */
function through(adapter: ClientAdapter, client: DriverClient, around: Around): ClientAdapter {
  const query = async (...args: never[]): Promise<unknown> => {
    const asked = statementOf(args[0])
    return replaceNewerValues(asked.text, await around(asked, () => client.query(...args)))
  }
  return Object.create(adapter, { client: { value: { query } } }) as ClientAdapter
}

/** Unnamed: Prisma generates the text for each call. */
function statementOf(query: string | { text: string } | undefined): Statement {
  const text = typeof query === 'object' ? query.text : (query ?? '')
  return { name: '', text, locks: takesLocks(text) }
}

/** The statements of one transaction, sent by `run` on its session. */
export function txSql(run: Sql, session: PrismaSession, around: Around = plain, trace?: string): TxSql {
  let prisma: Prisma | undefined
  const sql: Sql = (asked, params) => around(asked, () => run(asked, params))
  return Object.defineProperties(sql, {
    prisma: { get: () => (prisma ??= session.within(around)) },
    within: {
      value: (outer: Around, outerTrace = trace) =>
        txSql(run, session, (asked, go) => outer(asked, () => around(asked, go)), outerTrace),
    },
    trace: { value: trace },
  }) as TxSql
}

const plain: Around = (_asked, run) => run()

type Call = (args: unknown) => Promise<unknown>

/** A client that is created by its first query. */
function deferred(open: () => Promise<Prisma>): Prisma {
  const models = new Map<PropertyKey, object>()
  const modelOf = (name: string): object =>
    new Proxy(
      {},
      {
        get: (_target, method: string) => async (args: unknown) => {
          const prisma = (await open()) as unknown as Record<string, Record<string, Call>>
          return prisma[name]?.[method]?.(args)
        },
      },
    )
  return new Proxy({} as Prisma, {
    has: () => true,
    get: (_target, name: string) => {
      const model = models.get(name) ?? modelOf(name)
      models.set(name, model)
      return model
    },
  })
}

import type { App, Scope } from './context.ts'
import { ServiceError } from './errors.ts'
import { type Around, type Db, isLockFailure, LockFailure, readNow, type Sql, statement, type TxSql } from './sql.ts'

// Names may be nested: the innermost savepoint of a name counts.
const SAVEPOINT = statement('savepoint', 'SAVEPOINT step')
const RELEASE = statement('release_savepoint', 'RELEASE SAVEPOINT step')
const ROLL_BACK = statement('rollback_to_savepoint', 'ROLLBACK TO SAVEPOINT step')

/**
 * Runs `work` on an app whose statements all go to the one transaction. Where it throws, what it
 * has written is gone, and the transaction goes on.
 */
export type Savepoint = <T>(work: (app: App) => Promise<T>) => Promise<T>

/**
 * One transaction around what would be several. Operations do not know: on the app that `attempt`
 * gives them a transaction is a savepoint, and what they publish or keep in caches waits for the
 * commit.
 *
 * They must take their statements from that app, or its transactions. One on the process's own pool
 * would wait for a connection while this one is held: on the embedded form, which has only one, it
 * would wait forever.
 *
 * The transaction keeps the locks of each step to its end, so it is kept short: where a lock is not
 * to be had, all is rolled back and `work` runs again later, as where it takes too long. See
 * `Hold`.
 */
export async function inOneTransaction<T>(app: App, work: (sql: Sql, attempt: Savepoint) => Promise<T>): Promise<T> {
  const { result, effects } = await app.db.transaction(async (sql) => {
    const scope: Scope = { effects: [], erasedReaders: new Set() }
    const outcome = await work(sql, (attempted) =>
      inSavepoint(sql, scope, async () => {
        const mutex = new Mutex()
        const hold = new Hold()
        try {
          return await attempted(scopedApp(app, sql.within(hold.around), scope, mutex))
        } finally {
          // GraphQL may answer while fields beside the one that failed are still being read.
          await mutex.close()
          hold.throwFailure()
        }
      }),
    )
    return { result: outcome, effects: scope.effects }
  })
  await Promise.all(effects.map((effect) => effect()))
  return result
}

function scopedApp(app: App, sql: TxSql, scope: Scope, mutex: Mutex): App {
  const root = app.root ?? app
  const inTurn = sql.within((_asked, run) => mutex.join(run))
  const db: Db = {
    query: inTurn,
    transaction: (work) => mutex.join(() => inSavepoint(sql, scope, () => work(sql))),
    connections: 1,
    maxWaitMs: app.db.maxWaitMs,
  }
  return {
    settings: root.settings,
    limits: root.limits,
    places: root.places,
    log: app.log,
    health: root.health,
    root,
    ...(app.span !== undefined && { span: app.span }),
    scope,
    db,
    // It sees what the request has written.
    late: readNow(db),
    bus: { ...app.bus, publish: (...args) => void scope.effects.push(() => app.bus.publish(...args)) },
    get prisma() {
      return inTurn.prisma
    },
  }
}

/**
 * How long a request may keep the first lock that it took. The statement under way then adds to it,
 * some milliseconds.
 */
const MAX_HOLD_MS = 800

/**
 * Watches over the locks of a request's transaction. The first lock that is not to be had, and the
 * end of MAX_HOLD_MS, fail each statement from then on, and the transaction with them, whatever the
 * request makes of the error.
 */
class Hold {
  #since: number | undefined
  #failure: Error | undefined

  readonly around: Around = async (asked, run) => {
    if (this.#since !== undefined && performance.now() - this.#since > MAX_HOLD_MS) this.#failure ??= tooLong()
    if (this.#failure !== undefined) throw quiet(this.#failure)
    if (asked.locks) this.#since ??= performance.now()
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof Error) || !isLockFailure(error)) throw error
      this.#failure = error
      throw quiet(error)
    }
  }

  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure
  }
}

/** It is no failure yet that anybody should log: all of it runs again. */
const quiet = (cause: Error): ServiceError => new ServiceError('unavailable', { retryAfterSeconds: 1, cause })

const tooLong = (): LockFailure =>
  new LockFailure('The request took too long for one transaction; try again, or do less under one Idempotency-Key.')

async function inSavepoint<T>(sql: Sql, { effects }: Scope, work: () => Promise<T>): Promise<T> {
  const before = effects.length
  await sql(SAVEPOINT)
  try {
    const result = await work()
    await sql(RELEASE)
    return result
  } catch (error) {
    await sql(ROLL_BACK)
    effects.length = before
    throw error
  }
}

/**
 * One after the other: two savepoints on one connection must not interleave, as a request's fields
 * do.
 */
class Mutex {
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  join<T>(work: () => Promise<T>): Promise<T> {
    // The connection may be another request's by now.
    if (this.#isClosed) return Promise.reject(new Error('the transaction of this request is over'))
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  async close(): Promise<void> {
    // A statement that the last one wakes may join at once.
    for (let last; last !== this.#last;) {
      last = this.#last
      await last
    }
    this.#isClosed = true
  }
}

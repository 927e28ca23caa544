import type { App, Scope } from './app.ts'
import { ServiceError } from './errors.ts'
import type { Around, Db, Sql, TxSql } from './database/database.ts'
import { readNow } from './database/late-reads.ts'
import { isLockFailure, LockFailure } from './database/locks.ts'
import { statement } from './database/statements.ts'

// Savepoints may nest under the same name: the innermost counts.
const SAVEPOINT = statement('savepoint', 'SAVEPOINT step')
const RELEASE = statement('release_savepoint', 'RELEASE SAVEPOINT step')
const ROLL_BACK = statement('rollback_to_savepoint', 'ROLLBACK TO SAVEPOINT step')

/**
 * Runs `work` on an app whose statements all go to the one transaction. If it throws, its writes
 * are undone, and the transaction goes on.
 */
export type Savepoint = <T>(work: (app: App) => Promise<T>) => Promise<T>

/**
 * Runs several operations in one transaction. They do not notice: on the app that `attempt` gives
 * them, a transaction is a savepoint, and bus messages and cache updates wait for the commit.
 *
 * They must take their statements from that app, or its transactions. A statement on the process's
 * own pool would wait for a second connection while this one is held; the embedded form has only
 * one, so it would wait forever.
 *
 * The transaction holds the locks of each step until its end, so it is kept short: if it cannot get
 * a lock, or takes too long, it is rolled back and `work` runs again later. See `Hold`. So it does
 * if it needs the answer of another server (`askOutside`), once that is there.
 */
export async function inOneTransaction<T>(app: App, work: (sql: Sql, attempt: Savepoint) => Promise<T>): Promise<T> {
  const asked: Scope['asked'] = new Map()
  for (;;) {
    const known = asked.size
    try {
      return await runOnce(app, asked, work)
    } catch (error) {
      if (asked.size === known) throw error
      await Promise.allSettled(asked.values())
    }
  }
}

/**
 * Asks another server, which may take seconds. A request that is one transaction must not hold its
 * connection meanwhile: it is rolled back, and runs again with the answer. `what` names the
 * question within the request, and `ask` gets the app without that transaction.
 */
export function askOutside(
  app: App,
  what: string,
  ask: (outside: App) => Promise<string | null>,
): Promise<string | null> {
  const { scope, root } = app
  if (scope === undefined || root === undefined) return ask(app)
  const known = scope.asked.get(what)
  if (known !== undefined) return known
  const answer = ask(root)
  // The request gets a failure when it runs again.
  answer.catch(() => undefined)
  scope.asked.set(what, answer)
  throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
}

async function runOnce<T>(
  app: App,
  asked: Scope['asked'],
  work: (sql: Sql, attempt: Savepoint) => Promise<T>,
): Promise<T> {
  const { result, effects } = await app.db.transaction(async (sql) => {
    const scope: Scope = { effects: [], erasedReaders: new Set(), asked }
    const outcome = await work(sql, (attempted) =>
      inSavepoint(sql, scope, async () => {
        const mutex = new Mutex()
        const hold = new Hold()
        try {
          return await attempted(scopedApp(app, sql.within(hold.around), scope, mutex))
        } finally {
          // GraphQL may answer while fields beside a failed one are still being read.
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
    fetch: root.fetch,
    root,
    ...(app.span !== undefined && { span: app.span }),
    scope,
    db,
    // Must see the request's own writes.
    late: readNow(db),
    bus: { ...app.bus, publish: (...args) => void scope.effects.push(() => app.bus.publish(...args)) },
    get prisma() {
      return inTurn.prisma
    },
  }
}

/**
 * How long a request may hold its first lock. The statement under way may add some milliseconds.
 */
const MAX_HOLD_MS = 800

/**
 * Watches over the locks of a request's transaction. After the first failure to get a lock, or
 * after MAX_HOLD_MS, every statement fails, and so does the transaction, however the request
 * handles the error.
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

/** Not logged as a failure, because the whole request runs again. */
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
 * Runs one task after the other: two savepoints on one connection must not interleave, and a
 * request's fields run concurrently.
 */
class Mutex {
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  join<T>(work: () => Promise<T>): Promise<T> {
    // The connection may serve another request by now.
    if (this.#isClosed) return Promise.reject(new Error('the transaction of this request is over'))
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  async close(): Promise<void> {
    // A statement that was started by the last one may still join.
    for (let last; last !== this.#last;) {
      last = this.#last
      await last
    }
    this.#isClosed = true
  }
}

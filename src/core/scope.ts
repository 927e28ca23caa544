import type { App, Scope } from './context.ts'
import { type Db, type Sql, statement } from './sql.ts'

// Names may be nested: the innermost savepoint of a name counts.
const SAVEPOINT = statement('savepoint', 'SAVEPOINT step')
const RELEASE = statement('release_savepoint', 'RELEASE SAVEPOINT step')
const ROLL_BACK = statement('rollback_to_savepoint', 'ROLLBACK TO SAVEPOINT step')

/**
 * Runs `work` on an app whose statements all go to the one transaction. Where it throws, what it has written is gone, and
 * the transaction goes on.
 */
export type Attempt = <T>(work: (app: App) => Promise<T>) => Promise<T>

/**
 * One transaction around what would be several. Operations do not know: on the app that `attempt` gives them a
 * transaction is a savepoint, and what they publish or keep in caches waits for the commit.
 *
 * They must take their statements from that app, or its transactions. One on the process's own pool would wait for a
 * connection while this one is held: on the embedded form, which has only one, for ever.
 */
export async function inOneTransaction<T>(app: App, work: (sql: Sql, attempt: Attempt) => Promise<T>): Promise<T> {
  const effects: (() => void)[] = []
  const result = await app.db.transaction(async (sql) =>
    work(sql, (attempted) =>
      inSavepoint(sql, effects, async () => {
        const line = new Line()
        try {
          return await attempted(scopedApp(app, sql, effects, line))
        } finally {
          // GraphQL may answer while fields beside the one that failed are still being read.
          await line.close()
        }
      }),
    ),
  )
  for (const effect of effects) effect()
  return result
}

function scopedApp(root: App, sql: Sql, effects: Scope['effects'], line: Line): App {
  const db: Db = {
    query: (...args) => line.join(() => sql(...args)),
    transaction: (work) => line.join(() => inSavepoint(sql, effects, () => work(sql))),
  }
  return {
    settings: root.settings,
    limits: root.limits,
    places: root.places,
    log: root.log,
    scope: { root, effects },
    db,
    bus: { ...root.bus, publish: (...args) => void effects.push(() => root.bus.publish(...args)) },
    get prisma(): never {
      throw new Error('Prisma has connections of its own, outside the transaction of this request')
    },
  }
}

async function inSavepoint<T>(sql: Sql, effects: Scope['effects'], work: () => Promise<T>): Promise<T> {
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

/** One after the other: two savepoints on one connection must not interleave, as a request's fields do. */
class Line {
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
    // Whoever is woken by the last one may join at once.
    for (let last; last !== this.#last;) {
      last = this.#last
      await last
    }
    this.#isClosed = true
  }
}

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { statement } from '../../src/core/sql.ts'
import type { Database } from '../../src/data/database.ts'
import { onServer, openTestDatabase } from '../harness/database.ts'

const SLEEP = statement('sleep', 'SELECT pg_sleep(30)')
const PID = statement('pid', 'SELECT pg_backend_pid() AS pid')
const TERMINATE = statement('terminate', 'SELECT pg_terminate_backend($1)')

describe.skipIf(!onServer)(`a database connection that dies${onServer ? '' : ' (skipped: needs DATABASE_URL)'}`, () => {
  let database: Database
  // What nobody listens to would end the process.
  const uncaught = vi.fn()

  beforeAll(async () => {
    process.on('uncaughtException', uncaught)
    database = await openTestDatabase()
  })
  afterAll(async () => {
    process.off('uncaughtException', uncaught)
    await database.close()
  })

  test.each(['between two statements', 'in a statement'])(
    '%s of a transaction fails it, and nothing else',
    async (when) => {
      const { db } = database
      const work = db.transaction(async (sql) => {
        const [{ pid } = { pid: 0 }] = await sql<{ pid: number }>(PID)
        const sleeping = when === 'in a statement' ? sql(SLEEP).catch((error: unknown) => error) : null
        await db.query(TERMINATE, [pid])
        await vi.waitFor(async () =>
          expect(await db.query(statement('alive', 'SELECT 1 FROM pg_stat_activity WHERE pid = $1'), [pid])).toEqual(
            [],
          ),
        )
        await sleeping
        await sql(PID)
      })
      await expect(work).rejects.toThrow(/terminat|not queryable/)
      expect(await db.query(PID)).toHaveLength(1)
      expect(uncaught).not.toHaveBeenCalled()
    },
  )
})

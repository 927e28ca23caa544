import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import type { Database } from '../../src/data/database.ts'
import { openServer } from '../../src/data/server/server.ts'
import { onServer, openTestDatabase } from '../harness/database.ts'
import { unnamed } from '../harness/sql.ts'

const SLEEP = unnamed('SELECT pg_sleep(30)')
const PID = unnamed('SELECT pg_backend_pid() AS pid')
const ALIVE = unnamed('SELECT 1 FROM pg_stat_activity WHERE pid = $1')
const TERMINATE = unnamed('SELECT pg_terminate_backend($1)')

describe.skipIf(!onServer)(`a database connection that dies${onServer ? '' : ' (skipped: needs DATABASE_URL)'}`, () => {
  let database: Database
  /** Ends the other's connections. */
  let outside: Database
  // An error without a listener would end the process.
  const uncaught = vi.fn()

  beforeAll(async () => {
    process.on('uncaughtException', uncaught)
    database = await openTestDatabase()
    outside = await openServer({ url: process.env.DATABASE_URL ?? '', size: 1, onError: () => undefined })
  })
  afterAll(async () => {
    process.off('uncaughtException', uncaught)
    await outside.close()
    await database.close()
  })

  test.each(['between two statements', 'in a statement'])(
    '%s of a transaction fails it, and nothing else',
    async (when) => {
      const { db } = database
      const work = db.transaction(async (sql) => {
        const [{ pid } = { pid: 0 }] = await sql<{ pid: number }>(PID)
        const sleeping = when === 'in a statement' ? sql(SLEEP).catch((error: unknown) => error) : null
        await outside.db.query(TERMINATE, [pid])
        await vi.waitFor(async () => expect(await outside.db.query(ALIVE, [pid])).toEqual([]))
        await sleeping
        await sql(PID)
      })
      await expect(work).rejects.toThrow(/terminat|not queryable/)
      expect(await db.query(PID)).toHaveLength(1)
      expect(uncaught).not.toHaveBeenCalled()
    },
  )
})

import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { cpSync, readFileSync } from 'node:fs'

import pg from 'pg'
import { inject } from 'vitest'

import type { Database } from '../../src/data/database.ts'
import { openDump } from '../../src/data/embedded.ts'
import { openServer } from '../../src/data/server.ts'

/** Whether this run is on a real server (DATABASE_URL), beside or instead of the embedded form. */
export const onServer = (process.env.DATABASE_URL ?? '') !== ''

/** Makes `folder` a DATA_DIR with a migrated database that no service has been started on. */
export const makeDataDir = (folder: string): void => cpSync(inject('dataDir'), folder, { recursive: true })

/** A migrated database of one's own on the server: its address, and how to be rid of it. */
export async function createServerDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  const base = process.env.DATABASE_URL ?? ''
  const template = inject('template')
  const name = `${template}_${randomBytes(4).toString('hex')}`
  const run = async (text: string): Promise<void> => {
    const client = new pg.Client({ connectionString: base })
    await client.connect()
    try {
      await client.query(text)
    } finally {
      await client.end()
    }
  }
  await run(`CREATE DATABASE ${name} TEMPLATE ${template}`)
  const url = new URL(base)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
}

/**
 * A migrated database of one's own, on the server where there is one, else embedded in memory. A test that asks it for a
 * second connection in the midst of a transaction is refused: with the embedded form, or the last connection of a pool,
 * they would wait for themselves.
 */
export async function openTestDatabase(): Promise<Database> {
  const database = await openAnyDatabase()
  const inTransaction = new AsyncLocalStorage<true>()
  const refuse = (): void => {
    if (inTransaction.getStore() === true) throw new Error('a transaction waits for a second connection')
  }
  const { query, transaction } = database.db
  return {
    ...database,
    db: {
      ...database.db,
      query: async (...args) => {
        refuse()
        return query(...args)
      },
      transaction: async (work, lockWaitMs) => {
        refuse()
        return transaction((sql) => inTransaction.run(true, () => work(sql)), lockWaitMs)
      },
    },
  }
}

async function openAnyDatabase(): Promise<Database> {
  if (!onServer) return openDump(new Blob([readFileSync(inject('dump'))]))
  const { url, drop } = await createServerDatabase()
  const database = await openServer({ url, size: 8, onError: () => undefined })
  return {
    ...database,
    close: async () => {
      await database.close()
      await drop()
    },
  }
}

import { onTestFinished } from 'vitest'

import type { Database } from '../../src/data/database.ts'
import { openServer } from '../../src/data/server/server.ts'
import { createServerDatabase, openTestDatabase } from './database.ts'
import { unnamed } from './sql.ts'

/** Fills in comments of two tenants as a release before has left them. */
const FILL = `
  INSERT INTO tenants (id, slug) SELECT gen_random_uuid(), 'filled-' || n FROM generate_series(1, 2) n;
  INSERT INTO discussions (tenant_id, id, external_id)
  SELECT id, gen_random_uuid(), 'filled' FROM tenants WHERE slug LIKE 'filled-%';
  INSERT INTO comments (tenant_id, id, discussion_id, body, body_html, status)
  SELECT d.tenant_id, new_id(), d.id, 'text', '<p>text</p>', 'approved'
  FROM discussions d, generate_series(1, $ROWS) WHERE d.external_id = 'filled'`

export const runScript = (database: Database, script: string): Promise<unknown> =>
  database.exclusively(async (adapter) => {
    const connection = await adapter.connect()
    await connection.executeScript(script)
    await connection.dispose()
  })

export const oneRow = async <Row>({ db }: Database, text: string): Promise<Row | undefined> =>
  (await db.query<Row>(unnamed(text)))[0]

/** Of the keys that NEXT_RELEASE's backfill goes through. */
export const LAST_COMMENT = '(tenant_id, id) = (SELECT tenant_id, id FROM comments ORDER BY 1 DESC, 2 DESC LIMIT 1)'

/** What the release after this one changes (`releases.ts`). */
export const rulesOf = (database: Database) =>
  oneRow(
    database,
    `SELECT (SELECT is_nullable FROM information_schema.columns WHERE table_name = 'comments' AND column_name = 'language') AS nullable,
       (SELECT convalidated FROM pg_constraint WHERE conname = 'comments_language_fkey') AS valid,
       (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('comments_language')) AS index,
       (SELECT count(*)::int FROM comments WHERE language IS DISTINCT FROM 'und') AS unfilled`,
  )
export const UPGRADED = { nullable: 'NO', valid: true, index: true, unfilled: 0 }

const fill = (database: Database, rows: number) => runScript(database, FILL.replace('$ROWS', String(rows)))

/** A database of the test's own, with as many comments in each of two tenants. */
export async function openFilled(rows: number): Promise<Database> {
  const database = await openTestDatabase()
  onTestFinished(database.close)
  await fill(database, rows)
  return database
}

/** The same on a server, which two processes have open. */
export async function openFilledTwice(rows: number): Promise<{ url: string; database: Database; other: Database }> {
  const { url, drop } = await createServerDatabase()
  onTestFinished(drop)
  const open = async (): Promise<Database> => {
    const opened = await openServer({ url, size: 4, onError: () => undefined })
    onTestFinished(opened.close)
    return opened
  }
  const database = await open()
  await fill(database, rows)
  return { url, database, other: await open() }
}

/** Changes comments in a long transaction, which holds them until what it returns is called. */
export async function holdComments(
  { db }: Database,
  which = 'true',
  change = 'depth = depth',
): Promise<() => Promise<void>> {
  let letGo = (): void => undefined
  const held = new Promise<void>((resolve) => (letGo = resolve))
  let transaction: Promise<unknown> = Promise.resolve()
  await new Promise<void>((isHeld, reject) => {
    transaction = db.transaction(async (sql) => {
      await sql(unnamed(`UPDATE comments SET ${change} WHERE ${which}`))
      isHeld()
      await held
    })
    transaction.catch(reject)
  })
  return async () => {
    letGo()
    await transaction
  }
}

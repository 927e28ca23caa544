import { randomBytes } from 'node:crypto'
import { cpSync, readFileSync } from 'node:fs'

import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import { inject, vi } from 'vitest'

import type { Deadlines } from '../../src/data/server/connection.ts'
import type { Database } from '../../src/data/database.ts'
import { overPGlite, startParams } from '../../src/data/embedded/embedded.ts'
import { openServer } from '../../src/data/server/server.ts'
import { checkingParameters } from './parameters.ts'

/** Whether this run is on a real server (DATABASE_URL), beside or instead of the embedded form. */
export const onServer = (process.env.DATABASE_URL ?? '') !== ''

/**
 * The service's deadlines for the server in tests about something else. On a busy machine its usual
 * ones pass, and it answers 503. Tests of deadlines have their own.
 */
export const PATIENT: Deadlines = { connectMs: 20_000, poolMs: 60_000, statementMs: 60_000 }

/** Makes `folder` a DATA_DIR with a migrated database that no service has been started on. */
export const makeDataDir = (folder: string): void => cpSync(inject('dataDir'), folder, { recursive: true })

/**
 * A new database on the server without tables: its address, and how to drop it. `options` are those
 * of CREATE DATABASE, `settings` those of its sessions.
 */
export async function createBareDatabase(
  options: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `engagement_bare_${randomBytes(4).toString('hex')}`
  await onBase(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' ${options}`)
  for (const [setting, value] of Object.entries(settings))
    await onBase(`ALTER DATABASE ${name} SET ${setting} = ${value}`)
  const url = new URL(process.env.DATABASE_URL ?? '')
  url.pathname = `/${name}`
  return { url: url.href, drop: () => onBase(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
}

async function onBase(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: process.env.DATABASE_URL ?? '' })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

/** A new migrated database on the server: its address, and how to drop it. */
export async function createServerDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  const base = process.env.DATABASE_URL ?? ''
  const template = inject('template')
  const name = `${template}_${randomBytes(4).toString('hex')}`
  await onBase(`CREATE DATABASE ${name} TEMPLATE ${template}`)
  const url = new URL(base)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => onBase(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
}

/**
 * A new migrated database, on the server if there is one, else embedded in memory. The embedded
 * form has one connection: asking for a second one within a transaction fails.
 */
export async function openTestDatabase(): Promise<Database> {
  if (!onServer) return openEmptyPGlite()
  const { url, drop } = await createServerDatabase()
  const database = await openServer({ url, size: 8, onError: () => undefined, deadlines: PATIENT })
  return checkingParameters({
    ...database,
    close: async () => {
      await database.close()
      await drop()
    },
  })
}

/**
 * PGlites of this process that are as empty as new ones, and how those look: to make one takes a
 * second of CPU time.
 */
const empty: { pglite: PGlite; before: string }[] = []

async function openEmptyPGlite(): Promise<Database> {
  const { pglite, giveBack } = await lendPGlite()
  return checkingParameters(await overPGlite(pglite, giveBack))
}

/** The embedded database itself, migrated and empty, until it is given back. */
export async function lendPGlite(): Promise<{ pglite: PGlite; giveBack: () => Promise<void> }> {
  const { pglite, before } = empty.pop() ?? (await makePGlite())
  const giveBack = async (): Promise<void> => {
    // PGlite goes by the clock of the process, and keeps its counts back until an instant that a
    // test may have set far ahead.
    if (vi.isFakeTimers()) return pglite.close()
    await pglite.exec('SELECT pg_stat_force_next_flush()')
    await clear(pglite)
    // A test may have changed more than rows.
    if ((await look(pglite)) === before) empty.push({ pglite, before })
    else await pglite.close()
  }
  return { pglite, giveBack }
}

async function makePGlite(): Promise<{ pglite: PGlite; before: string }> {
  const pglite = await loadPGlite()
  backfills ??= (await pglite.query<{ rows: object[] }>(BACKFILLS)).rows[0]?.rows
  return { pglite, before: await look(pglite) }
}

async function loadPGlite(): Promise<PGlite> {
  return PGlite.create({
    loadDataDir: new Blob([readFileSync(inject('dump'))]),
    pgliteWasmModule: await program(),
    startParams: startParams(PGlite),
  })
}

let compiled: Promise<WebAssembly.Module> | undefined

/** PGlites of one process share it: to compile it for each takes half a second of CPU time. */
const program = (): Promise<WebAssembly.Module> => (compiled ??= WebAssembly.compile(readFileSync(PROGRAM)))

const PROGRAM = new URL('pglite.wasm', import.meta.resolve('@electric-sql/pglite'))

/** PGlites of this process that nothing was migrated on since they were given back. */
const bare: PGlite[] = []

/**
 * A PGlite that nothing was migrated on, until it is given back. To make one from nothing takes 4 s
 * of CPU time.
 */
export async function lendBarePGlite(): Promise<{ pglite: PGlite; giveBack: () => Promise<void> }> {
  const pglite = bare.pop() ?? (await loadPGlite())
  await pglite.exec('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
  const giveBack = async (): Promise<void> => {
    await pglite.exec('DISCARD ALL')
    bare.push(pglite)
  }
  return { pglite, giveBack }
}

/**
 * Removes all rows that a migrated database does not have. TRUNCATE writes new files for some 280
 * tables and indexes, which takes ten times the CPU time of DELETE and VACUUM. Only TRUNCATE
 * shrinks indexes, so it clears a database with a large table.
 */
async function clear(pglite: PGlite): Promise<void> {
  const { rows } = await pglite.query<{ name: string; bytes: number }>(FILLED)
  const names = rows.map(({ name }) => name)
  if (rows.some(({ bytes }) => bytes > LARGE_BYTES)) await pglite.exec(`TRUNCATE ${names.join()} CASCADE`)
  else if (names.length > 0) {
    const deletes = names.map((name) => `DELETE FROM ${name};`).join(' ')
    await pglite.exec(`SET session_replication_role = replica; ${deletes} RESET session_replication_role`)
    await pglite.exec(`VACUUM ${names.join()}`)
  }
  await pglite.exec('DELETE FROM backfills')
  await pglite.query('INSERT INTO backfills SELECT * FROM jsonb_populate_recordset(NULL::backfills, $1)', [backfills])
  await pglite.exec(FORGET)
}

/** The backfills of a migrated database. Workers change them. */
let backfills: object[] | undefined
const BACKFILLS = `SELECT coalesce(jsonb_agg(b), '[]') AS rows FROM backfills b`

const LARGE_BYTES = 2 ** 20

/** What must be as before once all rows are removed. */
async function look(pglite: PGlite): Promise<string> {
  const { rows } = await pglite.query<{ state: string }>(STATE)
  return rows[0]?.state ?? ''
}

const FIRST_OID = 16_384

// The catalogs of migrated objects, whose rows nothing but a statement about the schema changes.
const CATALOGS = {
  attribute: 'attrelid',
  attrdef: 'oid',
  constraint: 'oid',
  index: 'indexrelid',
  trigger: 'oid',
  proc: 'oid',
  type: 'oid',
  policy: 'oid',
  namespace: 'oid',
}
const changes = Object.entries(CATALOGS).map(
  ([catalog, oid]) =>
    `(SELECT format('%s %s', count(*), max(xmin::text::bigint)) FROM pg_${catalog} WHERE ${oid} >= ${FIRST_OID})`,
)

const FILLED = `SELECT oid::regclass::text AS name, pg_total_relation_size(oid)::float AS bytes FROM pg_class
  WHERE relkind = 'r' AND oid >= ${FIRST_OID} AND relname NOT IN ('_prisma_migrations', 'backfills')
    AND pg_relation_size(oid) > 0`

// The planner expects more rows in an empty table that was never vacuumed than in one that was.
const FORGET = `SELECT setval(seqrelid, seqstart, false) FROM pg_sequence;
  UPDATE pg_class SET relpages = 0, reltuples = -1, relallvisible = 0
    WHERE oid >= ${FIRST_OID} AND relkind IN ('r', 't') AND reltuples <> -1 AND relname <> '_prisma_migrations';
  DELETE FROM pg_statistic; SELECT pg_stat_reset(); CHECKPOINT`

// TRUNCATE and VACUUM change these columns.
const CHANGING = "'{relfilenode,relpages,reltuples,relallvisible,relfrozenxid,relminmxid}'::text[]"
const RELATIONS = `(SELECT md5(string_agg((to_jsonb(c) - ${CHANGING})::text, '' ORDER BY oid))
   FROM pg_class c WHERE oid >= ${FIRST_OID})`

const STATE = `SELECT
  concat_ws(' ', ${RELATIONS}, ${changes.join(', ')}, (SELECT jsonb_agg(m ORDER BY m.id) FROM _prisma_migrations m),
    (SELECT jsonb_agg(b ORDER BY b.name) FROM backfills b)) AS state`

import { fork } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { PGlite, types } from '@electric-sql/pglite'
import { PrismaPGlite } from 'pglite-prisma-adapter'

import { SettingsError } from '../core/settings.ts'
import type { Database } from './database.ts'
import type { Sql } from '../core/sql.ts'

/** A PostgreSQL in this process (PGlite), its files below `dataDir`. One process at a time may hold it. */
export async function openEmbedded(dataDir: string): Promise<Database> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const unlock = lock(dataDir)
  try {
    const files = join(dataDir, 'postgres')
    if (!existsSync(join(files, 'PG_VERSION'))) await createInChild(files)
    const database = await wrapPGlite(new PGlite(files, { parsers: PARSERS }))
    return {
      ...database,
      close: async () => {
        await database.close()
        unlock()
      },
    }
  } catch (error) {
    unlock()
    throw error
  }
}

const PARSERS = { [types.INT8]: Number, [types.JSON]: (text: string) => JSON.parse(text) as unknown }

/** A database of its own in memory, from a dump of a data folder. For tests. */
export const openDump = (dump: Blob): Promise<Database> => wrapPGlite(new PGlite({ loadDataDir: dump, parsers: PARSERS }))

async function wrapPGlite(pglite: PGlite): Promise<Database> {
  await pglite.waitReady
  const sqlOn =
    (target: Pick<PGlite, 'query'>): Sql =>
    async <Row>(statement: { text: string }, params: readonly unknown[] = []) =>
      (await target.query<Row>(statement.text, [...params])).rows
  const adapter = new PrismaPGlite(pglite)
  return {
    db: {
      query: sqlOn(pglite),
      transaction: (work) => pglite.transaction((tx) => work(sqlOn(tx))),
    },
    adapter,
    // One process holds the files: there is nobody to lock out.
    exclusively: (work) => work(adapter),
    close: () => pglite.close(),
  }
}

/** Creating the files takes some 0.8 GB for good in the process that does it: a child does, and goes. */
function createInChild(files: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [], {
      env: { ...process.env, EMBEDDED_CREATE: files },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    child.on('error', reject)
    child.on('exit', (code) => {
      if (code === 0) resolve()
      else {
        rmSync(files, { recursive: true, force: true })
        reject(new Error(`the embedded database could not be created (exit code ${code})`))
      }
    })
  })
}

if (process.env.EMBEDDED_CREATE !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) {
  const pglite = new PGlite(process.env.EMBEDDED_CREATE)
  await pglite.waitReady
  await pglite.close()
  process.disconnect?.()
}

/** PGlite has no lock of its own, and two processes on the same files would ruin them. */
function lock(dataDir: string): () => void {
  const file = join(dataDir, 'lock')
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' })
      return () => rmSync(file, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const holder = Number(readFileSync(file, 'utf8'))
      if (holder !== process.pid && isAlive(holder)) {
        throw new SettingsError(`DATA_DIR: ${dataDir} is in use by process ${holder}`)
      }
      rmSync(file, { force: true })
    }
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

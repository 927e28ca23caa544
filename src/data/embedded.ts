import { fork } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { PGlite, types } from '@electric-sql/pglite'
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import { PrismaPGlite } from 'pglite-prisma-adapter'

import { SettingsError } from '../core/settings.ts'
import type { Database } from './database.ts'
import type { Sql } from '../core/sql.ts'
import { migrate } from './migrate.ts'
import { wholeScripts } from './scripts.ts'

/** A PostgreSQL in this process (PGlite), its files below `dataDir`. One process at a time may hold it. */
export async function openEmbedded(dataDir: string): Promise<Database> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const unlock = lock(dataDir)
  try {
    const files = join(dataDir, 'postgres')
    if (!existsSync(join(files, 'PG_VERSION'))) await createInChild(files)
    const database = await wrapPGlite(new PGlite(files, TYPES))
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

const TYPES = {
  parsers: { [types.INT8]: Number, [types.JSON]: (text: string) => JSON.parse(text) as unknown },
  serializers: { [types.TIMESTAMPTZ]: timestamp },
}

/** An instant as PostgreSQL reads it, as `pg` writes it for a server: the year 0 is 1 BC. */
function timestamp(value: unknown): string {
  if (!(value instanceof Date)) return String(value)
  const text = value.toISOString()
  const year = value.getUTCFullYear()
  return year > 0 ? text : `${String(1 - year).padStart(4, '0')}${text.slice(text.indexOf('-', 1))} BC`
}

/** A database of its own in memory, from a dump of a data folder. For tests. */
export const openDump = (dump: Blob): Promise<Database> => wrapPGlite(new PGlite({ loadDataDir: dump, ...TYPES }))

async function wrapPGlite(pglite: PGlite): Promise<Database> {
  await pglite.waitReady
  const sqlOn =
    (target: Pick<PGlite, 'query'>): Sql =>
    async <Row>(statement: { text: string }, params: readonly unknown[] = []) =>
      (await target.query<Row>(statement.text, [...params])).rows
  return {
    db: {
      query: sqlOn(pglite),
      transaction: (work) => pglite.transaction((tx) => work(sqlOn(tx))),
    },
    adapter: new PrismaPGlite(pglite),
    // One process holds the files: there is nobody to lock out.
    exclusively: (work) => work(migrationAdapter(pglite)),
    close: () => pglite.close(),
  }
}

/** What the migration engine talks to PGlite through. */
export const migrationAdapter = (pglite: PGlite): SqlMigrationAwareDriverAdapterFactory =>
  wholeScripts(new PrismaPGlite(pglite), (script) => pglite.exec(script))

/**
 * Makes a migrated database. It takes some 0.8 GB for good in the process that does it: a child does, and goes.
 * The folder gets its name when it is whole, so that a kill at any instant leaves one or none.
 */
async function createInChild(files: string): Promise<void> {
  const folder = dirname(files)
  const drafts = readdirSync(folder).filter((name) => name.startsWith(DRAFT))
  for (const name of drafts) rmSync(join(folder, name), { recursive: true, force: true })
  // A name of its own: the child of a process that was killed may live on for a moment.
  const draft = mkdtempSync(join(folder, DRAFT))
  const code = await new Promise<number | null>((resolve, reject) => {
    const env = { ...process.env, EMBEDDED_CREATE: draft }
    const child = fork(fileURLToPath(import.meta.url), [], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    child.on('error', reject)
    child.on('exit', resolve)
  })
  if (code !== 0) {
    rmSync(draft, { recursive: true, force: true })
    throw new Error(`the embedded database could not be created (exit code ${code})`)
  }
  renameSync(draft, files)
}

const DRAFT = 'postgres-draft-'

if (process.env.EMBEDDED_CREATE !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('disconnect', () => process.exit(1))
  const pglite = new PGlite(process.env.EMBEDDED_CREATE)
  await pglite.waitReady
  await migrate(migrationAdapter(pglite))
  await pglite.close()
  process.exit(0)
}

/** PGlite has no lock of its own, and two processes on the same files would ruin them. */
function lock(dataDir: string): () => void {
  const file = join(dataDir, 'lock')
  for (;;) {
    try {
      writeFileSync(file, `${process.pid} ${birthOf(process.pid)}`, { flag: 'wx' })
      return () => rmSync(file, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const holder = holderOf(dataDir)
      if (holder !== null)
        throw new SettingsError(`DATA_DIR: ${dataDir} is in use by process ${holder}: stop that one first`)
      rmSync(file, { force: true })
    }
  }
}

/** The process that holds the files below `dataDir`; null where none does. */
export function holderOf(dataDir: string): number | null {
  const file = join(dataDir, 'lock')
  if (!existsSync(file)) return null
  const [pid = '', birth = ''] = readFileSync(file, 'utf8').split(' ')
  const holder = Number(pid)
  // A process number is used again, in a container at once: the holder is the one that was born then.
  return isAlive(holder) && birthOf(holder) === birth ? holder : null
}

/** What the files below `dataDir` hold, from a copy: to look at them must not change them. Null where there are none. */
export async function openCopy(dataDir: string): Promise<Database | null> {
  const files = join(dataDir, 'postgres')
  if (!existsSync(join(files, 'PG_VERSION'))) return null
  const copy = mkdtempSync(join(tmpdir(), 'engagement-copy-'))
  const remove = (): void => rmSync(copy, { recursive: true, force: true })
  try {
    cpSync(files, copy, { recursive: true })
    const database = await wrapPGlite(new PGlite(copy, TYPES))
    return { ...database, close: () => database.close().finally(remove) }
  } catch (error) {
    remove()
    throw error
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

/** When a process was born, in a form that no other process of the same number has; empty where the system does not tell. */
function birthOf(pid: number): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    // The command's name, the second field, may hold spaces and brackets.
    const ticks = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19] ?? ''
    return `${boot}/${ticks}`
  } catch {
    return ''
  }
}

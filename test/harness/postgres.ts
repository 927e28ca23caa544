import { execFile, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import pg from 'pg'

import { freePort } from './ports.ts'
import { findProgram } from './programs.ts'

const run = promisify(execFile)

/** Debian keeps the programs of each version in a folder of its own. */
const LIB = '/usr/lib/postgresql'
const versions = readFolder(LIB).toSorted((one, other) => Number(other) - Number(one))
const find = (name: string): string | undefined =>
  findProgram(...versions.map((version) => join(LIB, version, 'bin', name)), name)

export const hasPostgres = find('initdb') !== undefined && find('pg_basebackup') !== undefined

// PostgreSQL refuses to run as root.
const NOBODY = 65_534
export const asNobody = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}

/** A PostgreSQL server of a test's own. */
export interface PostgresServer {
  readonly port: number
  /** Answers one statement. */
  query(text: string): Promise<Record<string, unknown>[]>
  start(): Promise<void>
  /** As a machine that loses power. */
  kill(): Promise<void>
  /** All its processes stand still, and its connections stay. */
  freeze(): void
  unfreeze(): void
  /** Makes a standby take writes. */
  promote(): Promise<void>
  close(): Promise<void>
}

/**
 * Starts a primary, or a standby that follows one under the name `standby`. Its files are below
 * `place`.
 */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
  primary?: PostgresServer,
  place = tmpdir(),
): Promise<PostgresServer> {
  const port = await freePort()
  const folder = mkdtempSync(join(place, 'engagement-postgres-'))
  if (asNobody.uid !== undefined) chownSync(folder, asNobody.uid, asNobody.gid)
  const data = join(folder, 'data')
  const program = (name: string, ...args: string[]) => run(find(name) ?? name, args, { cwd: folder, ...asNobody })
  if (primary === undefined) await program('initdb', '-D', data, '-U', 'postgres', '--auth=trust', '--no-sync')
  else {
    const source = `host=127.0.0.1 port=${primary.port} user=postgres application_name=standby`
    await program('pg_basebackup', '-D', data, '-d', source, '--write-recovery-conf', '--checkpoint=fast', '--no-sync')
  }
  const options = Object.entries({
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    max_connections: 60,
    shared_buffers: '16MB',
    // A standby whose primary was away looks for it again after 5 s by default.
    wal_retrieve_retry_interval: '200ms',
    ...settings,
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`])

  let pid = 0
  const processes = (): number[] => [pid, ...childrenOf(pid)].filter((each) => each > 0)
  const signal = (name: NodeJS.Signals): void => processes().forEach((each) => send(each, name))
  let exited: Promise<unknown> = Promise.resolve()

  const server: PostgresServer = {
    port,
    query: async (text) => {
      const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' })
      client.on('error', () => undefined)
      await client.connect()
      try {
        return (await client.query<Record<string, unknown>>(text)).rows
      } finally {
        await client.end()
      }
    },
    start: async () => {
      const child = spawn(find('postgres') ?? 'postgres', ['-D', data, ...options], { stdio: 'ignore', ...asNobody })
      pid = child.pid ?? 0
      exited = new Promise((resolve) => child.once('exit', resolve))
      let isOver = false
      void exited.then(() => (isOver = true))
      while (!(await answers(server))) if (isOver) throw new Error('postgres ended at its start')
    },
    kill: async () => {
      signal('SIGKILL')
      await exited
    },
    freeze: () => signal('SIGSTOP'),
    unfreeze: () => signal('SIGCONT'),
    promote: async () => void (await program('pg_ctl', 'promote', '-D', data, '--wait')),
    close: async () => {
      signal('SIGKILL')
      await exited
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
    },
  }
  await server.start()
  return server
}

const answers = (server: PostgresServer): Promise<boolean> =>
  server.query('SELECT 1').then(
    () => true,
    () => new Promise((resolve) => setTimeout(resolve, 50, false)),
  )

function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}

const childrenOf = (pid: number): number[] =>
  readFolder('/proc')
    .map(Number)
    .filter((each) => Number.isInteger(each) && parentOf(each) === pid)

function parentOf(pid: number): number | undefined {
  try {
    return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1])
  } catch {
    return undefined
  }
}

function readFolder(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

import { execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import pg from 'pg'
import { vi } from 'vitest'

import { freePort } from './ports.ts'
import { findProgram } from './programs.ts'
import { asNobody } from './postgres.ts'

export const PGBOUNCER = findProgram(process.env.PGBOUNCER, 'pgbouncer')

/** Whether it hands on statements that are prepared under a name: since 1.21. */
export const canPrepare = PGBOUNCER !== undefined && minorOf(PGBOUNCER) >= 21

/** A PgBouncer of a test's own, in transaction mode. */
export interface Pooler {
  url: string
  log(): string
  start(): Promise<void>
  /** As a machine that loses power. */
  kill(): Promise<void>
  close(): Promise<void>
}

/** Starts one before a server, with few sessions there: clients share them. */
export async function startPgbouncer(serverPort: number, sessions: number, settings = ''): Promise<Pooler> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'engagement-pgbouncer-'))
  const file = (name: string): string => join(folder, name)
  const config = `[databases]
* = host=127.0.0.1 port=${serverPort} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${sessions}
server_login_retry = 1
logfile = ${file('log')}
${canPrepare ? 'max_prepared_statements = 200' : ''}
${settings}
`
  writeFileSync(file('pgbouncer.ini'), config)
  if (asNobody.uid !== undefined) chownSync(folder, asNobody.uid, asNobody.gid)
  let child: ReturnType<typeof spawn> | undefined
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise((resolve) => child?.once('exit', resolve))
    child.kill(signal)
    await exited
  }
  const pooler: Pooler = {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    log: () => readFileSync(file('log'), 'utf8'),
    start: async () => {
      child = spawn(PGBOUNCER ?? 'pgbouncer', ['-q', file('pgbouncer.ini')], { stdio: 'ignore', ...asNobody })
      await vi.waitFor(() => answers(pooler.url), { timeout: 10_000 })
    },
    kill: () => end('SIGKILL'),
    close: async () => {
      await end('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
  await pooler.start()
  return pooler
}

async function answers(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => undefined)
  await client.connect()
  await client.end()
}

function minorOf(program: string): number {
  return Number(/PgBouncer 1\.(\d+)/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[1])
}

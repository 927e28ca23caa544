import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import pg from 'pg'

import { freePort } from '../harness/ports.ts'
import type { Signer } from '../harness/identity.ts'

const MAIN = join(import.meta.dirname, '../../dist/main.js')
const SERVER = process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres'

export interface BenchService {
  databaseUrl: string
  port: number
  apiKey: string
  signer: Signer
  /** The secrets that processes on one database share. */
  keys: Readonly<Record<string, string>>
  /** Milliseconds of CPU that the process has used. */
  cpuMs(): number
  close(): Promise<void>
}

/**
 * An api process on a PostgreSQL database of its own (DATABASE_URL names the server), or on that of the one that it is
 * started beside. BENCH_PROFILE names a folder for its CPU profile.
 */
export async function startBenchService(
  env: Record<string, string> = {},
  beside?: Pick<BenchService, 'databaseUrl' | 'apiKey' | 'signer' | 'keys'>,
): Promise<BenchService> {
  const name = `engagement_bench_${randomBytes(4).toString('hex')}`
  const databaseUrl = new URL(beside?.databaseUrl ?? SERVER)
  if (beside === undefined) {
    await onServer(`CREATE DATABASE ${name}`)
    databaseUrl.pathname = `/${name}`
  }
  const port = await freePort()
  const apiKey = beside?.apiKey ?? `ek_${randomBytes(32).toString('hex')}`
  const secret = beside?.signer.secret ?? randomBytes(32).toString('hex')
  const keys = beside?.keys ?? {
    ADMIN_JWT_SECRET: randomBytes(32).toString('hex'),
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  }
  const { BENCH_PROFILE: folder } = process.env
  const profile = folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`]
  const child = spawn(process.execPath, [...profile, MAIN], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl.href,
      ROLE: 'api',
      PORT: String(port),
      LOG_LEVEL: 'warn',
      ...keys,
      BOOTSTRAP_API_KEY: apiKey,
      BOOTSTRAP_IDENTITY_SECRET: secret,
      ...env,
    },
  })
  await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('it did not start'))),
  ])
  // What is measured is the service, not its limits.
  const limits = await fetch(`http://127.0.0.1:${port}/api/v1/settings`, {
    method: 'PATCH',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ rateLimit: { perSecond: 100_000, burst: 1_000_000 } }),
  })
  if (!limits.ok) throw new Error(`the limits could not be raised: ${limits.status}`)
  return {
    databaseUrl: databaseUrl.href,
    port,
    apiKey,
    signer: { tenant: 'demo', secret },
    keys,
    cpuMs: () => cpuMs(child),
    close: async () => {
      await end(child)
      if (beside === undefined) await onServer(`DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

/** A process of the bench's own, and the CPU that it uses. */
export interface BenchProcess {
  port: number
  cpuMs(): number
  close(): Promise<void>
}

/** The bare server (bare.ts) on the database of a service. */
export async function startBareServer(databaseUrl: string, env: Record<string, string>): Promise<BenchProcess> {
  const port = await freePort()
  const child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'bare.ts')], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production', DATABASE_URL: databaseUrl, PORT: String(port), ...env },
  })
  await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('the bare server did not start'))),
  ])
  return { port, cpuMs: () => cpuMs(child), close: () => end(child) }
}

async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

/** User and system time of a process, from the kernel's table (100 ticks a second). */
function cpuMs({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

async function onServer(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: SERVER })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

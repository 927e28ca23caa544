import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'

import pg from 'pg'

import { openServer } from '../../src/data/server/server.ts'
import { freePort } from '../harness/ports.ts'
import type { Caller } from './requests.ts'
import { cpuMsOf, residentBytes } from './proc.ts'
import { type BenchProcess, end, ready } from './scripts.ts'

/** BENCH_MAIN measures another build. */
export const MAIN = process.env.BENCH_MAIN ?? join(import.meta.dirname, '../../dist/main.js')
const SERVER = process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres'

export interface BenchService extends BenchProcess, Caller {
  databaseUrl: string
  /** The secrets that processes on one database share. */
  keys: Readonly<Record<string, string>>
}

/** Connections to the database of a service. */
export const openDatabase = ({ databaseUrl }: { databaseUrl: string }, size = 1) =>
  openServer({ url: databaseUrl, size, onError: () => undefined })

/** A database of the bench's own. */
export async function createDatabase(): Promise<{ databaseUrl: string; close(): Promise<void> }> {
  const name = `engagement_bench_${randomBytes(4).toString('hex')}`
  const url = new URL(SERVER)
  url.pathname = `/${name}`
  await onServer(`CREATE DATABASE ${name}`)
  return { databaseUrl: url.href, close: () => onServer(`DROP DATABASE ${name} WITH (FORCE)`) }
}

/** Settings for processes that share a Redis. */
export function redisEnv(): { REDIS_URL: string; REDIS_PREFIX: string } {
  const { REDIS_URL = 'redis://127.0.0.1:6379' } = process.env
  return { REDIS_URL, REDIS_PREFIX: `engagement-bench-${randomBytes(4).toString('hex')}:` }
}

/**
 * An api process on a PostgreSQL database of its own (DATABASE_URL names the server), or on that of
 * the one that it is started beside. BENCH_PROFILE names a folder for its CPU profile. `main` is
 * that of another build.
 */
export async function startBenchService(
  env: Record<string, string> = {},
  beside?: Pick<BenchService, 'databaseUrl' | 'apiKey' | 'signer' | 'keys'>,
  main = MAIN,
): Promise<BenchService> {
  const database = beside === undefined ? await createDatabase() : null
  const databaseUrl = beside?.databaseUrl ?? database?.databaseUrl ?? ''
  const port = await freePort()
  const apiKey = beside?.apiKey ?? `ek_${randomBytes(32).toString('hex')}`
  const secret = beside?.signer.secret ?? randomBytes(32).toString('hex')
  const keys = beside?.keys ?? {
    ADMIN_JWT_SECRET: randomBytes(32).toString('hex'),
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  }
  const child = spawnMain(
    {
      DATABASE_URL: databaseUrl,
      ROLE: 'api',
      PORT: String(port),
      ...keys,
      BOOTSTRAP_API_KEY: apiKey,
      BOOTSTRAP_IDENTITY_SECRET: secret,
      UNAUTHENTICATED_RATE_PER_SECOND: '0',
      MAX_CONNECTIONS: '1000000',
      MAX_CONNECTIONS_PER_ADDRESS: '1000000',
      ...env,
    },
    main,
  )
  const close = async (): Promise<void> => {
    try {
      await end(child)
    } finally {
      await database?.close()
    }
  }
  try {
    await ready(child)
    // The bench measures the service, not its limits.
    await call({ port, apiKey }, 'PATCH', '/settings', { rateLimit: { perSecond: 100_000, burst: 1_000_000 } })
  } catch (error) {
    await close().catch(() => 'it has ended')
    throw error
  }
  const { pid = 0 } = child
  const signer = { tenant: 'demo', secret }
  return { pid, databaseUrl, port, apiKey, signer, keys, cpuMs: () => cpuMsOf(pid), close }
}

type Address = Pick<BenchService, 'port' | 'apiKey'>

/** Asks the API. Throws where the answer is an error. */
export async function ask(
  { port, apiKey }: Address,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Response> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method,
    headers: { 'x-api-key': apiKey, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer
}

/** What benches use of answers. */
interface Answer {
  id: string
  discussionId: string
  key: string
  publicKey: string
  ticket: string
  token: string
  queued: number
}

/** The same, and reads the answer. */
export const call = async (...asked: Parameters<typeof ask>): Promise<Answer> =>
  (await (await ask(...asked)).json()) as Answer

export interface WorkerProcess extends Omit<BenchProcess, 'port'> {
  /** Memory that it holds, in MB. */
  residentMb(): number
}

/**
 * A worker process on the database of a service. BENCH_PROFILE names a folder for its CPU profile.
 */
export async function startWorkerProcess(
  { databaseUrl, keys }: Pick<BenchService, 'databaseUrl' | 'keys'>,
  env: Record<string, string>,
): Promise<WorkerProcess> {
  const child = spawnMain({ DATABASE_URL: databaseUrl, ROLE: 'worker', ...keys, ...env })
  await ready(child)
  const { pid = 0 } = child
  return {
    pid,
    cpuMs: () => cpuMsOf(pid),
    residentMb: () => Math.round(residentBytes(pid) / 1024 / 1024),
    close: () => end(child),
  }
}

function spawnMain(env: Record<string, string>, main = MAIN): ChildProcess {
  const { BENCH_PROFILE: folder } = process.env
  const profile = folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`]
  return spawn(process.execPath, [...profile, main], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production', LOG_LEVEL: 'warn', ...env },
  })
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

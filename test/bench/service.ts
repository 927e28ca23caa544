import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

import pg from 'pg'

import { freePort } from '../harness/ports.ts'
import type { Signer } from '../harness/identity.ts'

/** BENCH_MAIN measures another build. */
export const MAIN = process.env.BENCH_MAIN ?? join(import.meta.dirname, '../../dist/main.js')
export const SERVER = process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres'

export interface BenchService {
  pid: number
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
 * An api process on a PostgreSQL database of its own (DATABASE_URL names the server), or on that of
 * the one that it is started beside. BENCH_PROFILE names a folder for its CPU profile. `main` is
 * that of another build.
 */
export async function startBenchService(
  env: Record<string, string> = {},
  beside?: Pick<BenchService, 'databaseUrl' | 'apiKey' | 'signer' | 'keys'>,
  main = MAIN,
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
  const child = spawnMain(
    {
      DATABASE_URL: databaseUrl.href,
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
  await ready(child)
  // The bench measures the service, not its limits.
  const limits = await fetch(`http://127.0.0.1:${port}/api/v1/settings`, {
    method: 'PATCH',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ rateLimit: { perSecond: 100_000, burst: 1_000_000 } }),
  })
  if (!limits.ok) throw new Error(`the limits could not be raised: ${limits.status}`)
  return {
    pid: child.pid ?? 0,
    databaseUrl: databaseUrl.href,
    port,
    apiKey,
    signer: { tenant: 'demo', secret },
    keys,
    cpuMs: () => cpuMsOf(child.pid ?? 0),
    close: async () => {
      await end(child)
      if (beside === undefined) await onServer(`DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

/** A process of the bench's own, and the CPU that it uses. */
export interface BenchProcess {
  pid: number
  port: number
  cpuMs(): number
  close(): Promise<void>
}

/** The bare server (bare.ts) on the database of a service. */
export const startBareServer = (databaseUrl: string, env: Record<string, string>): Promise<BenchProcess> =>
  startBare('bare.ts', { ...env, DATABASE_URL: databaseUrl })

/** The bare event stream (bare-stream.ts). */
export const startBareStream = (env: Record<string, string>): Promise<BenchProcess> => startBare('bare-stream.ts', env)

async function startBare(file: string, env: Record<string, string>): Promise<BenchProcess> {
  const port = await freePort()
  const script = await startScript(file, { PORT: String(port), ...env })
  return { ...script, port }
}

/** A script of the benches in a process of its own. */
export interface Script extends Omit<BenchProcess, 'port'> {
  /** Its message when it was ready. */
  hello: unknown
  ask(question: object): Promise<unknown>
}

/**
 * Starts a script of this folder. It sends one message when it is ready, and one for each that it
 * gets.
 */
export async function startScript(file: string, env: Record<string, string> = {}): Promise<Script> {
  const child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, file)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production', ...env },
  })
  const answer = async (): Promise<unknown> => {
    const asked = new AbortController()
    const ended = once(child, 'exit', asked).then(() => Promise.reject(new Error(`${file} has ended`)))
    try {
      return ((await Promise.race([once(child, 'message', asked), ended])) as unknown[])[0]
    } finally {
      ended.catch(() => 'the answer has come')
      asked.abort()
    }
  }
  return {
    hello: await answer(),
    ask: (question) => {
      const answered = answer()
      child.send(question)
      return answered
    },
    pid: child.pid ?? 0,
    cpuMs: () => cpuMsOf(child.pid ?? 0),
    close: () => end(child),
  }
}

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

async function ready(child: ChildProcess): Promise<void> {
  await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('it did not start'))),
  ])
}

async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

/** User and system time of a process, from the kernel's table (100 ticks a second). */
export const cpuMsOf = (pid: number): number => ticksOf(pid, 11) * 10

/** The same of all children of this process that have ended. */
export const childrenCpuMs = (): number => ticksOf(process.pid, 13) * 10

function ticksOf(pid: number, at: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return Number(fields[at]) + Number(fields[at + 1])
}

/** The first child of a process. Throws where it has none. */
export async function childOf({ pid }: ChildProcess): Promise<number> {
  const pids = (await readdir('/proc')).map(Number).filter((one) => one > 0)
  for (const one of pids) {
    const status = await readFile(`/proc/${one}/stat`, 'utf8').catch(() => '')
    if (Number(status.split(') ')[1]?.split(' ')[1]) === pid) return one
  }
  throw new Error(`the process ${pid} has no child`)
}

/** Resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(match?.[1]) * 1024
}

export async function onServer(text: string): Promise<void> {
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

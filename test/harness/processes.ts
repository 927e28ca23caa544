import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { callsTo } from './calls.ts'
import { createServerDatabase, onServer, makeDataDir, PATIENT } from './database.ts'
import { signIdentity } from './identity.ts'
import { noteLog } from './log.ts'
import { freePort } from './ports.ts'
import { send } from './send.ts'
import type { TestResponse, TestService } from './service.ts'

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
/**
 * A child whose parent is gone would live on forever, and hold its port. Children of its own
 * inherit this too.
 */
const ORPHAN_GUARD = `data:text/javascript,${encodeURIComponent(
  `if (process.argv[1] === ${JSON.stringify(MAIN)}) process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))`,
)}`
const READY_MS = 100_000
/** A graceful stop takes 10 s at most. */
const STOP_MS = 10_000
const PINO_ERROR = 50

export type Env = Readonly<Record<string, string | undefined>>

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/**
 * The exit status of a process as a shell has it: 128 and the number of a signal that ended it.
 */
export const statusOf = (code: number | null, signal: NodeJS.Signals | null): number =>
  code ?? 128 + constants.signals[signal as NodeJS.Signals]

/** A process of `dist/main.js`, from its start to its end. */
export interface Run {
  pid: number
  /** Settles when it says that it is ready. Rejects where it ends before. */
  ready: Promise<void>
  exited: Promise<Exit>
  readonly stdout: string
  readonly stderr: string
  signal(name: NodeJS.Signals): void
}

const running = new Set<Run>()
process.on('exit', () => running.forEach((run) => run.signal('SIGKILL')))

/** Starts the program as it is built, with these settings and no others. */
export function runMain(env: Env, args: readonly string[] = []): Run {
  const { PATH, HOME, TMPDIR } = process.env
  const output = { stdout: '', stderr: '' }
  const child = fork(MAIN, [...args], {
    // No load balancer waits for word in most tests.
    env: { PATH, HOME, TMPDIR, DRAIN_SECONDS: '0', ...env },
    execArgv: ['--enable-source-maps', '--import', ORPHAN_GUARD],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => (output[name] += text))
  }
  child.stderr?.on('data', noteLog)
  // `close`, not `exit`: only then has all output been read.
  const exited = new Promise<Exit>((resolve) => child.on('close', (code, signal) => resolve({ code, signal })))
  const ready = new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`not ready after ${READY_MS} ms: ${output.stderr}`)), READY_MS)
    child.once('message', () => resolve())
    void exited.then(({ code }) => reject(new Error(`ended with ${code}: ${output.stderr}`)))
    child.once('error', reject)
    void Promise.race([exited, new Promise((heard) => child.once('message', heard))]).then(() => clearTimeout(late))
  })
  // For a process that is meant to fail, a test only awaits `exited`.
  ready.catch(() => undefined)
  const run: Run = {
    pid: child.pid ?? 0,
    ready,
    exited,
    get stdout() {
      return output.stdout
    },
    get stderr() {
      return output.stderr
    },
    signal: (name) => void child.kill(name),
  }
  running.add(run)
  void exited.then(() => running.delete(run))
  return run
}

/**
 * One place in the deployment: the same settings, however often its process is killed and started
 * again.
 */
export class ServiceProcess {
  readonly url: string
  #env: Env
  #run: Run | undefined
  #errors: string[] = []

  constructor(url: string, env: Env) {
    this.url = url
    this.#env = env
  }

  async start(env: Env = {}): Promise<void> {
    this.#env = { ...this.#env, ...env }
    this.#run = runMain(this.#env)
    await this.#run.ready
  }

  get run(): Run {
    if (this.#run === undefined) throw new Error('the process was never started')
    return this.#run
  }

  get isRunning(): boolean {
    return this.#run !== undefined && running.has(this.#run)
  }

  /** As a machine that loses power. Settles when the process is gone. */
  async kill(): Promise<void> {
    const { run } = this
    run.signal('SIGKILL')
    await run.exited
    this.#errors.push(...errorLines(run.stderr))
  }

  /** As a deployment does it. Throws where the process does not end well within 10 s. */
  async stop(): Promise<void> {
    if (!this.isRunning) return
    const { run } = this
    run.signal('SIGTERM')
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<null>((resolve) => (timer = setTimeout(resolve, STOP_MS, null)))
    const exit = await Promise.race([run.exited, late])
    clearTimeout(timer)
    if (exit === null) await this.kill()
    if (exit?.code !== 0) throw new Error(`SIGTERM: ${JSON.stringify(exit ?? 'no end within 10 s')}\n${run.stderr}`)
    this.#errors.push(...errorLines(run.stderr))
  }

  /** Its own errors in the log, over all its runs. */
  get errors(): readonly string[] {
    return this.#errors
  }
}

/**
 * Lines of the log at level `error` and above, and whatever else is no log line: a stack, a warning
 * of Node.
 */
const errorLines = (stderr: string): string[] =>
  stderr.split('\n').filter((line) => {
    if (line === '') return false
    try {
      return (JSON.parse(line) as { level: number }).level >= PINO_ERROR
    } catch {
      return true
    }
  })

export interface Processes {
  /** At least one. In the embedded form the one process is api and worker. */
  apis: readonly ServiceProcess[]
  workers: readonly ServiceProcess[]
  /** Of the server form; in the embedded form nobody else can open the database. */
  databaseUrl: string | null
  slug: string
  apiKey: string
  identitySecret: string
  /** The header that vouches for a reader. */
  as(reader: string, claims?: Record<string, unknown>): Promise<Record<string, string>>
  /** Calls `/api/v1` of an api process (the first by default) with the API key. */
  call(method: string, path: string, options?: CallOptions): Promise<TestResponse>
  /** The JSON of the answer to a call that must succeed. */
  ok: TestService['ok']
  /**
   * Stops every process that still runs, and throws where one did not end well or had logged an
   * error.
   */
  close(): Promise<void>
}

interface CallOptions {
  body?: unknown
  headers?: Record<string, string>
  api?: ServiceProcess
}

interface Deployment {
  /** Processes on the server form; the embedded form is always one. */
  api?: number
  worker?: number
  /** ROLE of the api processes. */
  role?: 'api' | 'all'
  env?: Env
}

/**
 * Starts a deployment on a database (and Redis prefix) of its own, or one embedded process on a
 * folder of its own.
 */
export async function startProcesses({
  api = 1,
  worker = 1,
  role = 'api',
  env = {},
}: Deployment = {}): Promise<Processes> {
  const place = onServer ? await serverPlace() : embeddedPlace()
  const identitySecret = `ids_${randomBytes(32).toString('hex')}`
  const apiKey = `ek_${randomBytes(32).toString('hex')}`
  const shared: Env = {
    LOG_LEVEL: 'warn',
    BOOTSTRAP_API_KEY: apiKey,
    BOOTSTRAP_IDENTITY_SECRET: identitySecret,
    BOOTSTRAP_ADMIN_PASSWORD: randomBytes(12).toString('hex'),
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    WEBHOOK_POLL_SECONDS: '0.2',
    UNAUTHENTICATED_RATE_PER_SECOND: '0',
    // Shorter than 10 s, and long enough for a machine that stands still in the midst of it.
    SHUTDOWN_GRACE_SECONDS: '5',
    ...place.env,
    ...env,
  }
  const make = async (ROLE: string): Promise<ServiceProcess> => {
    const PORT = env.PORT ?? String(await freePort())
    return new ServiceProcess(`http://127.0.0.1:${PORT}`, { ...shared, ROLE, PORT })
  }
  const many = (count: number, plays: string) => Promise.all(Array.from({ length: count }, () => make(plays)))
  const one = onServer ? [] : [await make('all')]
  const apis = onServer ? await many(api, role) : one
  const workers = onServer ? await many(worker, 'worker') : one
  const all = [...new Set([...apis, ...workers])]
  const close = async (): Promise<void> => {
    const stops = await Promise.allSettled(all.map((process) => process.stop()))
    await place.remove()
    for (const stop of stops) if (stop.status === 'rejected') throw stop.reason
    const errors = all.flatMap((process) => process.errors)
    if (errors.length > 0) throw new Error(`logged as errors:\n${errors.join('\n')}`)
  }
  try {
    await Promise.all(all.map((process) => process.start()))
  } catch (error) {
    await close().catch(() => undefined)
    throw error
  }
  const call: Processes['call'] = (method, path, { api: at = first(apis), body, headers = {} } = {}) =>
    send(`${at.url}/api/v1${path}`, method, { 'x-api-key': apiKey, ...headers }, body)
  return {
    apis,
    workers,
    databaseUrl: place.databaseUrl,
    slug: 'demo',
    apiKey,
    identitySecret,
    as: async (reader, claims = {}) => ({
      'x-service-identity': await signIdentity(
        { tenant: 'demo', secret: identitySecret },
        { sub: reader, name: `Reader ${reader}`, ...claims },
      ),
    }),
    call,
    ok: callsTo(() => ({ call })).ok,
    close,
  }
}

/** The first of a list that has one. */
export function first<T>(list: readonly T[]): T {
  const [value] = list
  if (value === undefined) throw new Error('the list is empty')
  return value
}

/** The last of a list that has one. */
export const last = <T>(list: readonly T[]): T => first(list.slice(-1))

interface Place {
  databaseUrl: string | null
  env: Env
  remove(): Promise<void>
}

async function serverPlace(): Promise<Place> {
  const { url, drop } = await createServerDatabase()
  const env = {
    DATABASE_URL: url,
    DATABASE_POOL_SIZE: '8',
    DATABASE_CONNECT_TIMEOUT_SECONDS: String(PATIENT.connectMs / 1000),
    DATABASE_POOL_TIMEOUT_SECONDS: String(PATIENT.poolMs / 1000),
    DATABASE_STATEMENT_TIMEOUT_SECONDS: String(PATIENT.statementMs / 1000),
    DATABASE_LOCK_PATIENCE_SECONDS: '25',
    REDIS_URL: process.env.REDIS_URL,
    REDIS_PREFIX: `engagement-test-${randomBytes(6).toString('hex')}:`,
    ADMIN_JWT_SECRET: randomBytes(32).toString('hex'),
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  }
  return { databaseUrl: url, env, remove: drop }
}

function embeddedPlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), 'engagement-data-'))
  makeDataDir(folder)
  return {
    databaseUrl: null,
    env: { DATA_DIR: folder },
    remove: () => Promise.resolve(rmSync(folder, { recursive: true, force: true })),
  }
}

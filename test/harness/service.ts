import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'

import { afterAll, beforeAll, onTestFinished } from 'vitest'

import { withDatabase } from '../../src/app.ts'
import type { App } from '../../src/core/app.ts'
import type { Capability } from '../../src/core/capabilities.ts'
import { newId } from '../../src/core/ids.ts'
import { SCRYPT } from '../../src/core/secrets/crypto.ts'
import { createLog } from '../../src/core/telemetry/log.ts'
import { readSettings } from '../../src/core/settings/settings.ts'
import type { Database } from '../../src/data/database.ts'
import { hubOf } from '../../src/live/hub.ts'
import { bootstrap, createTenant, type FirstCredentials } from '../../src/domains/bootstrap/bootstrap.ts'
import { watchConnections } from '../../src/api/http/sockets/connections.ts'
import { createServer } from '../../src/api/http/server.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { callsTo } from './calls.ts'
import { openTestDatabase } from './database.ts'
import { noteAnswer, noteErrors } from './documented.ts'
import { signIdentity } from './identity.ts'
import { noteLog } from './log.ts'
import { freePort } from './ports.ts'
import { type Call, type Headers, type Json, send, type TestResponse } from './send.ts'

// A password at full cost takes 80 ms of CPU time, and most tests create a tenant or more.
SCRYPT.N = 2

export const METRICS_TOKEN = 'a-token-of-the-tests'

/** One tenant as its backend sees it. */
export interface TestTenant extends FirstCredentials {
  admin: { email: string; password: string }
  /** The header that vouches for a reader. */
  as(reader: string, claims?: Record<string, unknown>): Promise<Record<string, string>>
}

export interface TestService extends TestTenant {
  url: string
  app: App
  database: Database
  /** Calls `/api/v1` with the tenant's API key (or other headers). A body is sent as JSON. */
  call: Call
  /** The JSON of the answer to a call that must succeed. */
  ok(method: string, path: string, body?: unknown, headers?: Headers): Promise<Json>
  /** The figures as Prometheus reads them. They may be a second old. */
  scrape(): Promise<string>
  /** Its status is that of the refusal where there is no data: HTTP says 200. */
  graphql(query: string, variables?: object, headers?: Record<string, string>): Promise<TestResponse>
  /** Creates a discussion of the tenant, and gives its id. */
  newDiscussion(externalId?: string): Promise<string>
  /** Makes an API key with these capabilities alone; `headers` are those of its requests. */
  newKey(...capabilities: Capability[]): Promise<{ id: string; key: string; headers: Record<string, string> }>
  /** The clients' ports of all connections that are open. */
  peers(): ReadonlySet<number>
  /** Another tenant of the same service. */
  addTenant(slug: string): Promise<TestTenant>
  /** As a stop begins: it still answers, and each answer ends its connection. */
  retire(): void
  close(): Promise<void>
}

export type { Headers, Json, TestResponse }

interface Options {
  env?: Record<string, string>
  /** Whether a worker runs beside the api; it does by default. */
  worker?: boolean
  /** The database, instead of a new one. The service closes it. */
  database?: Database
  /** Prepares the database before the service starts on it. */
  prepare?: (database: Database) => Promise<unknown>
}

/**
 * For tests in which no write may fail: on a machine without a free core, the writes of a crowd can
 * wait longer for a lock than the default allows.
 */
export const PATIENT = { DATABASE_LOCK_PATIENCE_SECONDS: '25' }

/**
 * A whole service in this process, on a database of its own (and a Redis prefix of its own where
 * REDIS_URL is set).
 */
export async function startService({
  env = {},
  worker = true,
  prepare,
  database: given,
}: Options = {}): Promise<TestService> {
  const database = given ?? (await openTestDatabase())
  await prepare?.(database)
  const settings = readSettings(
    {
      PORT: String(await freePort()),
      LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
      REDIS_URL: process.env.REDIS_URL,
      REDIS_PREFIX: `engagement-test-${randomBytes(6).toString('hex')}:`,
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
      // For ports without a listener.
      WEBHOOK_ALLOWED_PORTS: '1-65535',
      WEBHOOK_POLL_SECONDS: '0.2',
      UNAUTHENTICATED_RATE_PER_SECOND: '0',
      METRICS_TOKEN,
      ...env,
    },
    () => ({ ADMIN_JWT_SECRET: randomBytes(32).toString('hex'), ENCRYPTION_KEY: randomBytes(32) }),
  )
  const isShown = process.env.LOG_LEVEL !== undefined
  const log = createLog(settings.LOG_LEVEL, isShown ? undefined : { write: noteLog })
  const { app, close } = withDatabase(settings, log, database)
  const credentials = await bootstrap(app)
  if (credentials === null) throw new Error('the test database is not empty')
  const server = await createServer(app)
  const connections = watchConnections(server.server)
  const peers = new Set<number>()
  server.server.on('connection', (socket: Socket) => {
    const { remotePort = 0 } = socket
    peers.add(remotePort)
    socket.once('close', () => peers.delete(remotePort))
  })
  await server.listen({ host: settings.HOST, port: settings.PORT })
  const running = worker ? await startWorker(app) : null
  const url = `http://${settings.HOST}:${settings.PORT}`
  const tenant = testTenant(credentials)
  const call: Call = async (method, path, { body, headers = {} } = {}) => {
    const answer = await send(`${url}/api/v1${path}`, method, withKey(credentials.apiKey, headers), body)
    noteAnswer(settings, method, path, answer)
    return answer
  }
  const { ok } = callsTo(() => ({ call }))
  return {
    ...tenant,
    url,
    app,
    database,
    call,
    ok,
    scrape: async () =>
      (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })).text(),
    graphql: async (query, variables = {}, headers = {}) => {
      const answer = await send(`${url}/graphql`, 'POST', withKey(credentials.apiKey, headers), { query, variables })
      noteErrors(query, answer)
      return { ...answer, status: refusedWith(answer) ?? answer.status }
    },
    newDiscussion: async (externalId = newId()) => (await ok('POST', '/discussions', { externalId })).id,
    newKey: async (...capabilities) => {
      const { id, key } = await ok('POST', '/keys', { label: 'test', capabilities })
      return { id, key, headers: { 'x-api-key': key } }
    },
    peers: () => peers,
    addTenant: async (slug) => testTenant(await createTenant(app, { slug, adminEmail: `admin@${slug}.example` })),
    retire: () => connections.retire(),
    close: async () => {
      const closed = server.close()
      await hubOf(app).close({ graceMs: 0 })
      await connections.drain(closed, { idleMs: 0, withinMs: 0 })
      await running?.stop()
      await close()
    },
  }
}

/**
 * The service of a file, from its first hook to its last. Unlike `startService`, it has no worker
 * unless asked for one.
 */
export function useService(options: Options = {}): TestService {
  const service = {} as TestService
  beforeAll(async () => {
    Object.assign(service, await startService({ worker: false, ...options }))
  })
  afterAll(() => service.close())
  return service
}

/** A service of one test, which ends with it. */
export async function startOwn(options: Options = {}): Promise<TestService> {
  const service = await startService({ worker: false, ...options })
  onTestFinished(() => service.close())
  return service
}

/** The headers of readers of a file's service. */
export function useReaders<Name extends string>(
  service: TestTenant,
  ...names: Name[]
): Record<Name, Record<string, string>> {
  const readers = Object.fromEntries(names.map((name) => [name, {}])) as Record<Name, Record<string, string>>
  beforeAll(async () => {
    for (const name of names) Object.assign(readers[name], await service.as(name))
  })
  return readers
}

/** The headers of an API key of a file's service, which has these capabilities alone. */
export function useKey(service: TestService, ...capabilities: Capability[]): Record<string, string> {
  const headers: Record<string, string> = {}
  beforeAll(async () => {
    Object.assign(headers, (await service.newKey(...capabilities)).headers)
  })
  return headers
}

/** The greatest status of the errors of an answer without data. */
function refusedWith({ json }: TestResponse): number | null {
  const errors: { extensions: { status: number } }[] = json?.errors ?? []
  const hasData = Object.values(json?.data ?? {}).some((value) => value !== null)
  return hasData || errors.length === 0 ? null : Math.max(...errors.map(({ extensions }) => extensions.status))
}

/** An admin whose account is new. */
export const withPassword = ({ email, password }: FirstCredentials['admin']): TestTenant['admin'] => {
  if (password === null) throw new Error(`${email} had an account already`)
  return { email, password }
}

const testTenant = (credentials: FirstCredentials): TestTenant => ({
  ...credentials,
  admin: withPassword(credentials.admin),
  as: async (reader, claims = {}) => ({
    'x-service-identity': await signIdentity(
      { tenant: credentials.tenant.slug, secret: credentials.identitySecret.secret },
      { sub: reader, name: `Reader ${reader}`, ...claims },
    ),
  }),
})

/** With the key, where no other credentials are given; an empty one stands for none. */
function withKey(apiKey: string, given: Record<string, string>): Record<string, string> {
  const headers: Record<string, string> = { 'x-api-key': apiKey, ...given }
  if (headers.authorization !== undefined && given['x-api-key'] === undefined) delete headers['x-api-key']
  if (headers['x-api-key'] === '') delete headers['x-api-key']
  return headers
}

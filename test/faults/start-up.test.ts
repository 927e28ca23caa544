import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { tlsOptions } from '../../src/api/http/server.ts'
import { misspellings, readSettings, SettingsError } from '../../src/core/settings/settings.ts'
import { openOutbound } from '../../src/outbound/outbound.ts'
import { makeCertificates } from '../harness/certificates.ts'
import { createServerDatabase, makeDataDir, onServer } from '../harness/database.ts'
import { useFolder } from '../harness/folders.ts'
import { freePort } from '../harness/ports.ts'
import { type Env, type Exit, type Run, runMain } from '../harness/processes.ts'

const WAIT = { timeout: 30_000, interval: 10 }
const NOBODY = 'postgres://postgres@127.0.0.1:1/nothing'
const SECRETS = { ADMIN_JWT_SECRET: 'a'.repeat(32), ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') }
/** The same as they are read. */
const READ_SECRETS = { ADMIN_JWT_SECRET: SECRETS.ADMIN_JWT_SECRET, ENCRYPTION_KEY: Buffer.alloc(32) }

const folder = useFolder()
let taken: Server
let takenPort: string
let counter = 0
const runs: Run[] = []

beforeAll(async () => {
  const { cert } = makeCertificates(['127.0.0.1'])
  writeFileSync(join(folder, 'cert.pem'), cert)
  writeFileSync(join(folder, 'garbage'), 'this is no certificate')
  const port = await freePort()
  takenPort = String(port)
  taken = createServer()
  await new Promise<void>((resolve) => taken.listen(port, '127.0.0.1', resolve))
})

afterAll(async () => {
  await Promise.all(
    runs.map((run) => {
      run.signal('SIGKILL')
      return run.exited
    }),
  )
  await new Promise((resolve) => taken.close(resolve))
})

const file = (name: string): string => join(folder, name)
const emptyDataDir = (): string => file(`data-${counter++}`)
function newDataDir(): string {
  const made = emptyDataDir()
  makeDataDir(made)
  return made
}

function start(env: Env, args: readonly string[] = []): Run {
  const ofTest = {
    PORT: '0',
    DATA_DIR: env.DATA_DIR ?? newDataDir(),
    LOG_LEVEL: 'warn',
    SHUTDOWN_GRACE_SECONDS: '5',
  }
  const run = runMain({ ...ofTest, ...env }, args)
  runs.push(run)
  return run
}

async function stop(run: Run): Promise<Exit> {
  run.signal('SIGTERM')
  return run.exited
}

/** One line that begins with the setting's name, no credentials, and a status that is not 0. */
async function expectRefusal(run: Run, name: string): Promise<void> {
  const { code } = await run.exited
  expect(run.stderr).toMatch(new RegExp(`^${name}: \\S[^\\n]{4,300}\\n$`))
  // No stack trace, and no library's message.
  expect(run.stderr).not.toMatch(/ {4}at |node_modules|Error:|\.[jt]s:\d/)
  expect(run.stdout).toBe('')
  expect(code).toBeGreaterThan(0)
}

type Wrong = readonly [what: string, name: string, env: Env]

/**
 * Each way in which a setting reaches the program. Single rules are tested below, without a
 * process.
 */
const WRONG: readonly Wrong[] = [
  ['ROLE=worker without DATABASE_URL', 'ROLE', { ROLE: 'worker' }],
  ['DATABASE_URL does not answer', 'DATABASE_URL', { DATABASE_URL: NOBODY, ...SECRETS }],
  ['DATABASE_URL without ENCRYPTION_KEY', 'ENCRYPTION_KEY', { DATABASE_URL: NOBODY, ...SECRETS, ENCRYPTION_KEY: '' }],
  ['BOOTSTRAP_API_KEY is malformed', 'BOOTSTRAP_API_KEY', { BOOTSTRAP_API_KEY: 'ek_123' }],
]

/** These processes have databases of their own, whatever the tests are given. */
const elsewhere = onServer ? ' (skipped: the same without DATABASE_URL)' : ''

describe.skipIf(onServer)(
  `a wrong setting ends the start with one line that names it, before anything is created${elsewhere}`,
  () => {
    test.concurrent.each(WRONG)('%s', async (_what, name, env) => {
      const DATA_DIR = emptyDataDir()
      await expectRefusal(start({ DATA_DIR, ...env }), name)
      expect(existsSync(join(DATA_DIR, 'postgres'))).toBe(false)
    })
  },
)

const WRONG_BY_ITSELF: readonly Wrong[] = [
  ['PORT is no number', 'PORT', { PORT: 'http' }],
  ['PORT is out of range', 'PORT', { PORT: '70000' }],
  ['ROLE is unknown', 'ROLE', { ROLE: 'boss' }],
  ['ROLE=api without DATABASE_URL', 'ROLE', { ROLE: 'api' }],
  ['LOG_LEVEL is unknown', 'LOG_LEVEL', { LOG_LEVEL: 'loud' }],
  ['a name is wrong in production', 'DATABSE_URL', { NODE_ENV: 'production', DATABSE_URL: NOBODY }],
  ['no database in production', 'DATABASE_URL', { NODE_ENV: 'production' }],
  ['EMBEDDED=false without DATABASE_URL', 'DATABASE_URL', { EMBEDDED: 'false' }],
  ['EMBEDDED=true with DATABASE_URL', 'EMBEDDED', { EMBEDDED: 'true', DATABASE_URL: NOBODY, ...SECRETS }],
  ['BASE_URL is no URL', 'BASE_URL', { BASE_URL: 'example' }],
  ['DATABASE_URL is no URL', 'DATABASE_URL', { DATABASE_URL: 'somewhere', ...SECRETS }],
  ['DATABASE_URL is of another database', 'DATABASE_URL', { DATABASE_URL: 'mysql://a@b/c', ...SECRETS }],
  [
    'DATABASE_URL without ADMIN_JWT_SECRET',
    'ADMIN_JWT_SECRET',
    { DATABASE_URL: NOBODY, ...SECRETS, ADMIN_JWT_SECRET: '' },
  ],
  ['ENCRYPTION_KEY is too short', 'ENCRYPTION_KEY', { ENCRYPTION_KEY: Buffer.alloc(16).toString('base64') }],
  ['ENCRYPTION_KEY is not base64', 'ENCRYPTION_KEY', { ENCRYPTION_KEY: '!'.repeat(44) }],
  ['ADMIN_JWT_SECRET is too short', 'ADMIN_JWT_SECRET', { ADMIN_JWT_SECRET: 'short' }],
  ['REDIS_URL is no URL', 'REDIS_URL', { REDIS_URL: 'somewhere' }],
  ['HEADER_PREFIX is malformed', 'HEADER_PREFIX', { HEADER_PREFIX: 'X Service' }],
  ['TLS_CERT_FILE alone', 'TLS_KEY_FILE', { TLS_CERT_FILE: 'cert.pem' }],
  ['TLS_KEY_FILE alone', 'TLS_CERT_FILE', { TLS_KEY_FILE: 'key.pem' }],
  ['WEBHOOK_ALLOWED_CIDRS is no list of ranges', 'WEBHOOK_ALLOWED_CIDRS', { WEBHOOK_ALLOWED_CIDRS: 'everything' }],
  ['WEBHOOK_ALLOWED_PORTS is no list of ports', 'WEBHOOK_ALLOWED_PORTS', { WEBHOOK_ALLOWED_PORTS: 'https' }],
  ['WEBHOOK_ALLOWED_CIDRS has an impossible range', 'WEBHOOK_ALLOWED_CIDRS', { WEBHOOK_ALLOWED_CIDRS: '999.0.0.0/8' }],
  ['BOOTSTRAP_TENANT is malformed', 'BOOTSTRAP_TENANT', { BOOTSTRAP_TENANT: 'My Tenant' }],
  ['BOOTSTRAP_ADMIN_EMAIL is malformed', 'BOOTSTRAP_ADMIN_EMAIL', { BOOTSTRAP_ADMIN_EMAIL: 'me' }],
  ['BOOTSTRAP_ADMIN_PASSWORD is too short', 'BOOTSTRAP_ADMIN_PASSWORD', { BOOTSTRAP_ADMIN_PASSWORD: '1234' }],
  ['BOOTSTRAP_IDENTITY_SECRET is too short', 'BOOTSTRAP_IDENTITY_SECRET', { BOOTSTRAP_IDENTITY_SECRET: '1234' }],
  ['STREAM_TOKEN_SUNSET is no date', 'STREAM_TOKEN_SUNSET', { STREAM_TOKEN_SUNSET: 'soon' }],
]

test.each(WRONG_BY_ITSELF)('%s: one line with its name', (_what, name, env) => {
  const secrets = () => READ_SECRETS
  expect(() => readSettings({}, secrets)).not.toThrow()
  expect(() => readSettings(env, secrets)).toThrow(new RegExp(`^${name}: \\S.{4,}$`))
})

test.each<[string, Env, lines: RegExp[]]>([
  ['values', { PORT: 'http', ROLE: 'boss' }, [/^ROLE: /, /^PORT: /]],
  ['secrets', { DATABASE_URL: NOBODY }, [/^ADMIN_JWT_SECRET: is required/, /^ENCRYPTION_KEY: is required/]],
  [
    'settings that need others',
    { EMBEDDED: 'false', ROLE: 'api', TLS_CERT_FILE: 'cert.pem' },
    [/^DATABASE_URL: /, /^ROLE: /, /^TLS_KEY_FILE: /],
  ],
])('of several %s each has its line', (_what, env, lines) => {
  const secrets = () => ({ ADMIN_JWT_SECRET: '', ENCRYPTION_KEY: Buffer.alloc(32) })
  let said: string[] = []
  try {
    readSettings(env, secrets)
  } catch (error) {
    said = (error as Error).message.split('\n')
  }
  expect(said).toEqual(lines.map((line) => expect.stringMatching(line) as string))
})

test.each([
  ['DATABSE_URL', 'DATABASE_URL'],
  ['DATABASE_ULR', 'DATABASE_URL'],
  ['database_url', 'DATABASE_URL'],
  ['REDIS_URI', 'REDIS_URL'],
  ['WEBHOOK_ALLOW_CIDRS', 'WEBHOOK_ALLOWED_CIDRS'],
])('%s is reported, with the nearest name', (wrong, right) => {
  const line = `${wrong}: there is no such setting: did you mean ${right}?`
  expect(misspellings({ [wrong]: 'x', [right]: 'x', PATH: '/bin' })).toEqual([line])
  const secrets = () => READ_SECRETS
  expect(() => readSettings({ [wrong]: 'x' }, secrets)).not.toThrow()
  expect(() => readSettings({ [wrong]: 'x', NODE_ENV: 'production', EMBEDDED: 'true' }, secrets)).not.toThrow()
})

test('a name that is almost that of a setting does not stop the start if that setting is set too', () => {
  const env = { NODE_ENV: 'production', DATABASE_URL: NOBODY, DATABASE_SSL: 'true', ...SECRETS }
  expect(() => readSettings(env, () => ({ ADMIN_JWT_SECRET: '', ENCRYPTION_KEY: Buffer.alloc(32) }))).not.toThrow()
  expect(misspellings(env)).toHaveLength(1)
})

test('variables of other programs are not reported', () => {
  const names = 'PATH HOME HOSTNAME USER LANG SHELL PWD TERM POST PORTS REDIS_PORT REDIS_SERVICE_HOST DATABASE_HOST'
  const others = `${names} host port role NODE_OPTIONS NODE_PATH npm_config_cache OTEL_LOG_LEVEL PGHOST CI ROLES`.split(
    ' ',
  )
  expect(misspellings(Object.fromEntries(others.map((name) => [name, 'x'])))).toEqual([])
})

test.each([
  ['TLS_CERT_FILE is no certificate', 'TLS_CERT_FILE', 'garbage', 'garbage'],
  ['TLS_KEY_FILE is missing', 'TLS_KEY_FILE', 'cert.pem', 'none'],
  ['TLS_KEY_FILE is no key', 'TLS_KEY_FILE', 'cert.pem', 'garbage'],
])('%s: one line that names it', (_what, name, cert, key) => {
  const settings = readSettings({ TLS_CERT_FILE: file(cert), TLS_KEY_FILE: file(key) }, () => READ_SECRETS)
  expectOneLine(() => tlsOptions({ settings }), name)
})

test('WEBHOOK_CA_FILE is no certificate: one line that names it', () => {
  const settings = readSettings({ WEBHOOK_CA_FILE: file('garbage') }, () => READ_SECRETS)
  expectOneLine(() => openOutbound(settings), 'WEBHOOK_CA_FILE')
})

/** `main.ts` prints the message of such an error and nothing else, as the tests below prove. */
function expectOneLine(work: () => unknown, name: string): void {
  expect(work).toThrow(SettingsError)
  expect(work).toThrow(new RegExp(`^${name}: \\S[^\\n]{4,300}$`))
}

// One existing data folder, because its creation is not tested.
describe.skipIf(onServer)(`a setting that proves wrong at start${elsewhere}`, () => {
  let DATA_DIR: string

  beforeAll(() => {
    DATA_DIR = newDataDir()
  })

  describe('in use by another process', () => {
    let refused: Run
    let holder: Run

    beforeAll(async () => {
      refused = start({ DATA_DIR, PORT: takenPort })
      await refused.exited
      holder = start({ DATA_DIR })
      await holder.ready
    })
    afterAll(async () => expect(await stop(holder)).toEqual({ code: 0, signal: null }))

    test('PORT is in use: one line, and the credentials are not shown yet', async () => {
      await expectRefusal(refused, 'PORT')
      expect(holder.stdout).toMatch(/ek_[0-9a-f]{64}/)
    })

    test('DATA_DIR is in use by another process, which continues', async () => {
      await expectRefusal(start({ DATA_DIR }), 'DATA_DIR')
      const url = /http:\S+/.exec(holder.stdout)?.[0]
      expect((await fetch(`${url}/readyz`)).status).toBe(200)
    })
  })

  // One of each part of a start that finds such a setting.
  test.each([
    [
      'TLS_CERT_FILE is missing',
      'TLS_CERT_FILE',
      () => ({ TLS_CERT_FILE: file('none'), TLS_KEY_FILE: file('cert.pem') }),
    ],
    ['WEBHOOK_CA_FILE is missing', 'WEBHOOK_CA_FILE', () => ({ WEBHOOK_CA_FILE: file('none') })],
    ['HOST is not of this machine', 'HOST', () => ({ HOST: '203.0.113.1' })],
    ['DATA_DIR is a file', 'DATA_DIR', () => ({ DATA_DIR: file('garbage') })],
    ['DATA_DIR has damaged secrets', 'DATA_DIR', damagedDataDir],
  ] as const)('%s', async (_what, name, env) => {
    await expectRefusal(start({ DATA_DIR, ...env() }), name)
  })

  test('an argument instead of a setting', async () => {
    await expectRefusal(start({}, ['--port', '4720']), '--port')
  })

  test('ENCRYPTION_KEY has changed: it starts, and one warning says so', async () => {
    const foreign = start({ DATA_DIR, ENCRYPTION_KEY: SECRETS.ENCRYPTION_KEY })
    await foreign.ready
    expect(await stop(foreign)).toEqual({ code: 0, signal: null })
    const lines = foreign.stderr.split('\n').filter((line) => line !== '')
    expect(lines).toEqual([
      expect.stringMatching(/"ENCRYPTION_KEY: 1 stored secret is sealed with other keys \([0-9a-f]{8}\)/),
    ])
  })

  function damagedDataDir(): Env {
    const damaged = emptyDataDir()
    mkdirSync(damaged)
    writeFileSync(join(damaged, 'secrets.json'), '{"ADMIN_JWT_SECRET": "')
    return { DATA_DIR: damaged }
  }
})

describe.skipIf(onServer)(`the embedded form${elsewhere}`, () => {
  describe('that has started', () => {
    let run: Run

    beforeAll(async () => {
      run = start({ LOG_LEVEL: 'info', DRAIN_SECONDS: '1' })
      await run.ready
    })

    test('with PORT=0, every place that shows its address has the port that the system chose', async () => {
      const [url = ''] = /http:\S+/.exec(run.stdout) ?? []
      const response = await fetch(`${url}/api/v1/stream/ticket`, {
        method: 'POST',
        headers: { 'x-api-key': /ek_[0-9a-f]{64}/.exec(run.stdout)?.[0] ?? '', 'content-type': 'application/json' },
        body: JSON.stringify({ externalId: 'page' }),
      })
      const { streamUrl } = (await response.json()) as { streamUrl: string }
      const stream = await fetch(streamUrl)
      expect({ status: stream.status, origin: new URL(streamUrl).origin }).toEqual({ status: 200, origin: url })
      await stream.body?.cancel()
      const documentAt = async (name: string) => (await (await fetch(`${url}/api/v1/${name}`)).json()) as object
      expect(await documentAt('openapi.json')).toMatchObject({ servers: [{ url }] })
      expect(await documentAt('asyncapi.json')).toMatchObject({ servers: { service: { host: new URL(url).host } } })
    })

    test('a signal, even twice, prints two lines: how long the stop takes at most, and when it is over', async () => {
      run.signal('SIGTERM')
      expect(await stop(run)).toEqual({ code: 0, signal: null })
      const lines = run.stderr.trim().split('\n')
      expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
        { signal: 'SIGTERM', msg: 'stopping, within 5 s; it takes requests for 1 s more (DRAIN_SECONDS)' },
        { signal: 'SIGTERM', msg: 'stopped', ms: expect.any(Number) as number },
      ])
    })
  })

  test('shows the credentials of the first start only, and keeps everything over SIGTERM and kill -9', async () => {
    const DATA_DIR = emptyDataDir()
    const firstRun = start({ DATA_DIR })
    await firstRun.ready
    const apiKey = /ek_[0-9a-f]{64}/.exec(firstRun.stdout)?.[0] ?? ''
    const post = async (run: Run, externalId: string) =>
      fetch(`${/http:\S+/.exec(run.stdout)?.[0]}/api/v1/discussions`, {
        method: 'POST',
        headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
        body: JSON.stringify({ externalId }),
      })
    expect((await post(firstRun, 'one')).status).toBe(201)
    expect(await stop(firstRun)).toEqual({ code: 0, signal: null })

    const secondRun = start({ DATA_DIR })
    await secondRun.ready
    expect(secondRun.stdout).not.toMatch(/ek_|Password|secret/i)
    expect((await post(secondRun, 'one')).status).toBe(200)
    expect((await post(secondRun, 'two')).status).toBe(201)
    secondRun.signal('SIGKILL')
    await secondRun.exited

    const thirdRun = start({ DATA_DIR })
    await thirdRun.ready
    expect((await post(thirdRun, 'one')).status).toBe(200)
    expect((await post(thirdRun, 'two')).status).toBe(200)
    expect(await stop(thirdRun)).toEqual({ code: 0, signal: null })
    expect([firstRun, secondRun, thirdRun].map(({ stderr }) => stderr)).toEqual(['', '', ''])
  })

  test('a first start that is killed while it creates the database is repaired by the next one', async () => {
    const DATA_DIR = emptyDataDir()
    const killed = start({ DATA_DIR })
    const made = () => (existsSync(DATA_DIR) ? readdirSync(DATA_DIR, { recursive: true }) : [])
    await vi.waitFor(() => expect(made().some((name) => String(name).endsWith('PG_VERSION'))).toBe(true), WAIT)
    killed.signal('SIGKILL')
    await killed.exited
    const next = start({ DATA_DIR })
    await next.ready
    expect(next.stdout).toMatch(/ek_[0-9a-f]{64}/)
    expect(await stop(next)).toEqual({ code: 0, signal: null })
    expect(readdirSync(DATA_DIR).toSorted()).toEqual(['lock', 'postgres', 'secrets.json'])
  })
})

describe.runIf(onServer)('on a server (needs DATABASE_URL)', () => {
  let url: string
  let drop: () => Promise<void>

  beforeAll(async () => {
    ;({ url, drop } = await createServerDatabase())
  })
  afterAll(() => drop())

  const settings = (ROLE: string): Env => ({ ROLE, DATABASE_URL: url, ...SECRETS, REDIS_URL: process.env.REDIS_URL })

  test('a database that does not exist: one line', async () => {
    const missing = new URL(url)
    missing.pathname = '/there_is_no_such_database'
    await expectRefusal(start({ ...settings('api'), DATABASE_URL: missing.href }), 'DATABASE_URL')
  })

  test('concurrent starts do not deadlock; exactly one, an api, shows the credentials', async () => {
    const worker = start(settings('worker'))
    const apis = Array.from({ length: 3 }, () => start(settings('api')))
    await Promise.all([worker, ...apis].map(({ ready }) => ready))
    // Prisma's engine takes one that ends with its connection, and would wait 10 s for another
    // process's.
    expect(await advisoryLocks(url)).toEqual([])
    expect([worker, ...apis].map(({ stdout }) => /ek_/.test(stdout)).filter(Boolean)).toHaveLength(1)
    expect(worker.stdout).not.toContain('ek_')
    const exits = await Promise.all([worker, ...apis].map(stop))
    expect(exits).toEqual(exits.map(() => ({ code: 0, signal: null })))
  })

  test('REDIS_URL that does not answer does not stop the start', async () => {
    const run = start({ ...settings('api'), REDIS_URL: 'redis://127.0.0.1:1' })
    await run.ready
    const response = await fetch(`${/http:\S+/.exec(run.stdout)?.[0]}/readyz`)
    expect(await response.json()).toEqual({ status: 'ok', bus: 'down' })
    expect(await stop(run)).toEqual({ code: 0, signal: null })
  })
})

async function advisoryLocks(url: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<object>(`
    SELECT objid FROM pg_locks JOIN pg_database d ON d.oid = database
    WHERE locktype = 'advisory' AND datname = current_database()`)
  await client.end()
  return rows
}

import type { ExecFileOptions } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
  truncateSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { examine } from '../../src/cli/doctor.ts'
import type { Finding } from '../../src/cli/finding.ts'
import { ROOT } from '../../src/core/process/root.ts'
import { makeCertificates } from '../harness/certificates.ts'
import { type Outcome, runCli } from '../harness/cli.ts'
import { makeDataDir, onServer } from '../harness/database.ts'
import { useFolder } from '../harness/folders.ts'
import { signIdentity } from '../harness/identity.ts'
import { ownDatabase } from '../harness/own-database.ts'
import { freePort } from '../harness/ports.ts'
import { type Env, runMain } from '../harness/processes.ts'
import { startProxy } from '../harness/proxy.ts'
import type { TestResponse } from '../harness/service.ts'
import { holdsWithin } from '../harness/standstill.ts'

const REDIS_URL = process.env.REDIS_URL
const SERVER_ONLY = onServer ? '' : ' (skipped: needs DATABASE_URL)'
const EMBEDDED_ONLY = onServer ? ' (skipped: the same without DATABASE_URL)' : ''

const folder = useFolder()
let env: Env
let remove: () => Promise<void>

beforeAll(async () => {
  const redis =
    REDIS_URL === undefined ? {} : { REDIS_URL, REDIS_PREFIX: `engagement-test-${randomBytes(6).toString('hex')}:` }
  const own = await ownDatabase()
  remove = own.remove
  env = { ...own.env, ...(onServer && redis) }
  expect((await cli(['tenant', 'create', '--slug', 'acme', '--admin-email', 'a@acme.example'])).code).toBe(0)
})

afterAll(() => remove())

interface Result extends Outcome {
  json: TestResponse['json']
}

/** Runs the command line with these settings and no others. */
async function cli(args: string[], more: Env = {}, as: Pick<ExecFileOptions, 'uid'> = {}): Promise<Result> {
  const outcome = await runCli(args, { ...env, ...more }, as)
  return {
    ...outcome,
    // Of commands whose answer is one document.
    get json() {
      return /^[{[]/.test(outcome.stdout) ? JSON.parse(outcome.stdout) : null
    },
  }
}

describe('npm run cli', () => {
  // Each command opens the embedded database again, which takes seconds: there the next test tries
  // a merge.
  test.skipIf(!onServer)(`readers merge merges two readers, and can be repeated${SERVER_ONLY}`, async () => {
    const file = join(folder, 'readers.jsonl')
    const lines = [
      { kind: 'reader', id: 'old', name: 'Ann' },
      { kind: 'reader', id: 'new', name: 'Ann of today' },
      { kind: 'discussion', id: '1', url: 'https://news.example/a' },
      { kind: 'comment', id: '1', discussionId: '1', authorId: 'old', body: 'x', createdAt: '2020-01-01T00:00:00Z' },
    ]
    writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'))
    expect(await cli(['import', '--tenant', 'acme', '--from', 'jsonl', file])).toMatchObject({ code: 0 })
    const merge = (from: string, into: string) =>
      cli(['readers', 'merge', '--tenant', 'acme', '--from', from, '--into', into])
    for (let n = 0; n < 2; n++) {
      expect((await merge('jsonl:old', 'jsonl:new')).json).toMatchObject({
        tenant: { slug: 'acme' },
        reader: { externalId: 'jsonl:new', name: 'Ann of today' },
      })
    }
    const refused = { code: 1, stdout: '', stderr: 'There is no reader nobody, who is to go.\n' }
    expect(await merge('nobody', 'jsonl:new')).toMatchObject(refused)
    expect((await merge('jsonl:new', 'nobody')).stderr).toBe('There is no reader nobody, who is to stay.\n')
    expect(await merge('jsonl:new', 'jsonl:new')).toMatchObject({
      code: 1,
      stderr: 'jsonl:new and jsonl:new are one reader already: name the one who goes and another one who stays.\n',
    })
    const { stdout: help } = await cli(['readers', 'merge', '--help'])
    expect(help).toMatch(/--from +The reader to merge/)
    expect(help).toMatch(/--into +The reader who stays/)
    const { stdout } = await cli(['export', '--tenant', 'acme'])
    const items = stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
    const readers = items.filter(({ kind }) => kind === 'reader')
    expect(readers).toMatchObject([{ externalId: 'jsonl:new' }])
    expect(items.find(({ kind }) => kind === 'comment')).toMatchObject({ authorId: readers[0].id })
    // The old file brings nothing again; a longer one adds its new items to the reader who stays.
    const more = { ...lines[3], id: '2' }
    writeFileSync(file, [...lines, more].map((line) => JSON.stringify(line)).join('\n'))
    expect(await cli(['import', '--tenant', 'acme', '--from', 'jsonl', file])).toMatchObject({ code: 0 })
    const later = (await cli(['export', '--tenant', 'acme'])).stdout
    expect(later.split('"kind":"reader"')).toHaveLength(2)
    expect(later.split(`"authorId":"${readers[0].id}"`)).toHaveLength(3)
  })

  test('discussions rename goes through a file, says what it refuses, and can be repeated', async () => {
    const old = join(folder, 'pages.jsonl')
    const pages = ['r1', 'r2', 'r3', 'r4'].map((id) => ({
      kind: 'discussion',
      id,
      url: 'https://x.example/',
      externalId: id,
    }))
    writeFileSync(old, pages.map((page) => JSON.stringify(page)).join('\n'))
    expect(await cli(['import', '--tenant', 'acme', '--from', 'jsonl', old])).toMatchObject({ code: 0 })
    const map = join(folder, 'renames.csv')
    const rename = () => cli(['discussions', 'rename', '--tenant', 'acme', '--map', map])
    writeFileSync(map, 'old,new\nr1,"one, first"\nr2,two\nnone,three\nr3,r4\nr4,r1\n')
    const taken = 'Another discussion has this external id, or had it in the last year.'
    const refused = [
      'row 4: "none" is not renamed to "three": There is no such discussion.',
      `row 5: "r3" is not renamed to "r4": ${taken}`,
      `row 6: "r4" is not renamed to "r1": ${taken}`,
    ]
    const first = await rename()
    expect([first.code, first.stderr.trim().split('\n')]).toEqual([1, refused])
    expect(first.json).toEqual({ rows: 5, renamed: 2, unchanged: 0, renamedSince: 0, refused: 3 })
    expect((await rename()).json).toEqual({ rows: 5, renamed: 0, unchanged: 2, renamedSince: 0, refused: 3 })
    writeFileSync(map, 'r1,one\n')
    expect(await rename()).toMatchObject({ code: 0, json: { rows: 1, renamedSince: 1 } })
    for (const [rows, trouble] of [
      ['r1\n', 'row 1 has not two columns'],
      ['r3,\n', 'row 1 has nothing in its second column'],
      [',r3\n', 'row 1 has nothing in its first column'],
      ['r3,five\nr4,six\nr3,seven\n', 'row 3 has another value than row 1 for the same'],
    ] as const) {
      writeFileSync(map, rows)
      expect(await rename()).toMatchObject({ code: 1, stderr: expect.stringContaining(trouble) as string })
    }
    const { stdout } = await cli(['export', '--tenant', 'acme'])
    expect(stdout).toContain('"externalId":"one, first"')
    // A refused file renames nothing.
    expect(stdout).toContain('"externalId":"r3"')
  })

  test('identity-secret create shows a new secret once; the old one works for another day', async () => {
    const first = await cli(['identity-secret', 'create', '--tenant', 'acme'])
    const second = await cli(['identity-secret', 'create', '--tenant', 'acme'])
    for (const { code, json } of [first, second]) {
      expect(code).toBe(0)
      expect(Object.keys(json as object).sort()).toEqual(['createdAt', 'kid', 'secret'])
    }
    expect(second.json.kid).not.toBe(first.json.kid)
    const { json: key } = await cli(['key', 'create', '--tenant', 'acme', '--label', 'identities'])
    await withService(async (url) => {
      for (const { json } of [first, second]) {
        const assertion = await signIdentity({ tenant: 'acme', secret: json.secret as string }, { sub: 'reader' })
        const { status } = await fetch(`${url}/api/v1/discussions`, {
          headers: { 'x-api-key': key.key as string, 'x-service-identity': assertion },
        })
        expect(status).toBe(200)
      }
    })
    expect((await cli(['identity-secret', 'create', '--tenant', 'nobody'])).stderr).toBe('there is no tenant nobody\n')
  })

  test.skipIf(!onServer)(
    'secrets reseal seals under another key, and says whether the old one can be removed',
    async () => {
      const other = randomBytes(32).toString('base64')
      const forth = await cli(['secrets', 'reseal'], { ENCRYPTION_KEY: other, ENCRYPTION_KEYS: env.ENCRYPTION_KEY })
      expect([forth.code, forth.stderr]).toEqual([0, ''])
      expect(forth.json).toMatchObject({ damaged: 0, missingKeys: [], oldKeys: [{ secrets: 0, canBeRemoved: true }] })
      const { webhook_secrets, identity_secrets, classifier_secrets } = forth.json.resealed as Record<string, number>
      expect([webhook_secrets, classifier_secrets]).toEqual([0, 0])
      expect(identity_secrets).toBeGreaterThan(0)
      expect(
        (await examine({ ...env, ENCRYPTION_KEY: other })).find(({ part }) => part === 'encryption'),
      ).toMatchObject({
        level: 'ok',
      })
      const without = await cli(['secrets', 'reseal'])
      expect([without.code, without.json.missingKeys]).toEqual([
        1,
        [{ key: forth.json.key, secrets: identity_secrets }],
      ])
      const back = await cli(['secrets', 'reseal'], { ENCRYPTION_KEYS: other })
      expect(back.json.resealed).toEqual(forth.json.resealed)
      expect((await cli(['secrets', 'new-key'])).stderr).toMatch(/^ENCRYPTION_KEY comes from the environment/)
    },
  )

  test.skipIf(onServer)('secrets new-key rotates the key of DATA_DIR, and keeps the old one for opening', async () => {
    const file = join(env.DATA_DIR ?? '', 'secrets.json')
    const read = () => JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    const { ENCRYPTION_KEY: old, ADMIN_JWT_SECRET } = read()
    const { code, json, stderr } = await cli(['secrets', 'new-key'])
    expect([code, stderr]).toEqual([0, ''])
    expect(json.resealed.identity_secrets).toBeGreaterThan(0)
    expect(json.oldKeys).toMatchObject([{ secrets: 0, canBeRemoved: true }])
    expect(read()).toEqual({
      ADMIN_JWT_SECRET,
      ENCRYPTION_KEY: expect.not.stringContaining(String(old)),
      ENCRYPTION_KEYS: [old],
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect((await examine(env)).find(({ part }) => part === 'encryption')).toMatchObject({ level: 'ok' })
  })

  // Each command opens the embedded database again, which takes seconds; a few of them are tried
  // there, above.
  test.skipIf(!onServer)('admin list shows admins of all tenants or of one, and no password', async () => {
    await cli(['tenant', 'create', '--slug', 'other', '--admin-email', 'a@other.example'])
    const all = await cli(['admin', 'list'])
    expect(all.json.map(({ email }: { email: string }) => email)).toEqual(['a@acme.example', 'a@other.example'])
    expect(all.stdout).not.toMatch(/password|scrypt/i)
    const one = await cli(['admin', 'list', '--tenant', 'other'])
    expect(one.json).toMatchObject([{ tenant: 'other', email: 'a@other.example' }])
    expect((await cli(['admin', 'list', '--tenant', 'nobody'])).code).toBe(1)
  })

  test.skipIf(!onServer)('admin remove ends an admin’s sign-ins within 5 s, and no other admin’s', async () => {
    const at = ['--tenant', 'acme', '--email']
    const { json: made } = await cli(['admin', 'create', ...at, 'Leaver@acme.example', '--password', 'a long password'])
    await withService(async (url) => {
      const login = async ({ email, password }: { email: string; password: string }) => {
        const init = { method: 'POST', headers: { 'content-type': 'application/json' } }
        return fetch(`${url}/api/v1/admin/auth/login`, { ...init, body: JSON.stringify({ email, password }) })
      }
      const { token } = (await (await login(made.admin)).json()) as { token: string }
      const me = async () =>
        (await fetch(`${url}/api/v1/admin/me`, { headers: { authorization: `Bearer ${token}` } })).status
      expect(await me()).toBe(200)
      const removed = await cli(['admin', 'remove', ...at, 'leaver@acme.example'])
      expect(removed.json).toMatchObject({ tenant: { slug: 'acme' }, admin: { email: 'leaver@acme.example' } })
      await holdsWithin(5000, async () => expect(await me()).toBe(401))
      expect((await login(made.admin)).status).toBe(401)
    })
    const again = await cli(['admin', 'remove', ...at, 'leaver@acme.example'])
    expect([again.code, again.stderr]).toEqual([1, 'acme has no member leaver@acme.example\n'])
    const elsewhere = await cli(['admin', 'remove', '--tenant', 'other', '--email', 'a@acme.example'])
    expect(elsewhere.code).toBe(1)
  })

  test.skipIf(!onServer)(
    'admin password shows a new password once, or takes one, and only the newest signs in',
    async () => {
      const at = ['--tenant', 'acme', '--email', 'Keeper@acme.example']
      const { json: made } = await cli(['admin', 'create', ...at])
      const changed = await cli(['admin', 'password', ...at])
      expect(changed.json).toMatchObject({ tenant: { slug: 'acme' }, admin: { email: 'keeper@acme.example' } })
      const given = await cli(['admin', 'password', ...at, '--password', 'a long password'])
      expect(given.json.admin).toEqual({ email: 'keeper@acme.example', password: 'a long password' })
      await withService(async (url) => {
        const statuses = [made.admin, changed.json.admin, given.json.admin].map(async (admin) => {
          const init = { method: 'POST', headers: { 'content-type': 'application/json' } }
          return (await fetch(`${url}/api/v1/admin/auth/login`, { ...init, body: JSON.stringify(admin) })).status
        })
        expect(await Promise.all(statuses)).toEqual([401, 401, 200])
      })
      const nobody = await cli(['admin', 'password', '--tenant', 'acme', '--email', 'nobody@acme.example'])
      expect([nobody.code, nobody.stderr]).toEqual([1, 'acme has no member nobody@acme.example\n'])
      expect((await cli(['admin', 'password', ...at, '--password', 'short'])).code).toBe(2)
    },
  )

  test.skipIf(!onServer)('key list and key revoke; a key of another tenant is not found', async () => {
    const { json: made } = await cli(['key', 'create', '--tenant', 'acme', '--label', 'mine'])
    const list = await cli(['key', 'list', '--tenant', 'acme'])
    expect(list.json).toContainEqual(expect.objectContaining({ id: made.id, label: 'mine', revokedAt: null }))
    expect(list.stdout).not.toContain(made.key)
    expect((await cli(['key', 'revoke', '--tenant', 'other', '--id', made.id as string])).code).toBe(1)
    expect((await cli(['key', 'revoke', '--tenant', 'acme', '--id', 'x'])).code).toBe(1)
    const revoked = await cli(['key', 'revoke', '--tenant', 'acme', '--id', made.id as string])
    expect(revoked.json.revokedAt).toMatch(/^\d{4}-/)
    const again = await cli(['key', 'revoke', '--tenant', 'acme', '--id', made.id as string])
    expect(again.json.revokedAt).toBe(revoked.json.revokedAt)
  })

  test('doctor reports that all is well and exits with 0; with a problem it exits with 1', async () => {
    const well = await cli(['doctor'])
    expect(well.stdout).not.toMatch(/^fail/m)
    expect(well.stdout).toMatch(/^ok {4}settings /)
    expect(well.code).toBe(0)
    const ill = await cli(['doctor'], { PORT: 'x' })
    expect(ill.stdout).toMatch(/^fail {2}settings +PORT: /)
    expect(ill.code).toBe(1)
  })
})

// A server changes nothing here: these are about the command line, or a DATA_DIR.
describe.skipIf(onServer)(`npm run cli on no server${EMBEDDED_ONLY}`, () => {
  test.each([[['help']], [['--help']], [['help', 'key']], [['key', 'create', '--help']], [['help', 'key', 'create']]])(
    '%s shows how it is used, and ends with 0',
    async (words) => {
      const { code, stdout, stderr } = await cli(words)
      expect(stdout).toMatch(/^Usage: npm run cli -- /)
      expect(stdout).toContain('key create --tenant <slug> --label <label> [--capabilities <name,name>]')
      expect(stdout.includes('doctor')).toBe(!words.includes('key'))
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    },
  )

  test('import --help describes each option', async () => {
    const { stdout } = await cli(['import', '--help'])
    for (const option of ['from', 'map', 'authors', 'page', 'as', 'dry-run']) {
      expect(stdout).toMatch(new RegExp(`^  --${option} +[A-Z].*\\.$`, 'm'))
    }
  })

  test('a DATA_DIR without a database is refused in one line, and nothing is created there', async () => {
    const DATA_DIR = join(folder, 'mistyped')
    const secrets = { ADMIN_JWT_SECRET: 'a'.repeat(32), ENCRYPTION_KEY: randomBytes(32).toString('base64') }
    for (const more of [{ ADMIN_JWT_SECRET: '', ENCRYPTION_KEY: '' }, secrets]) {
      for (const words of [
        ['tenant', 'list'],
        ['tenant', 'create', '--slug', 'acme'],
        ['secrets', 'new-key'],
      ]) {
        const { code, stdout, stderr } = await cli(words, { DATABASE_URL: '', DATA_DIR, ...more })
        expect(stderr).toMatch(/^DATA_DIR: there is no database in \/\S+\/mistyped: [^\n]+\n$/)
        expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      }
    }
    writeFileSync(join(folder, 'a file'), '')
    expect((await cli(['tenant', 'list'], { DATABASE_URL: '', DATA_DIR: join(folder, 'a file') })).code).toBe(1)
    expect(existsSync(DATA_DIR)).toBe(false)
  })

  test('migrate creates the embedded database, which the other commands then open', async () => {
    const more = { DATABASE_URL: '', DATA_DIR: join(folder, 'made') }
    const made = await cli(['migrate'], more)
    expect({ code: made.code, json: made.json }).toEqual({ code: 0, json: { missing: [], newer: [], foreign: [] } })
    const list = await cli(['tenant', 'list'], more)
    expect({ code: list.code, json: list.json }).toEqual({ code: 0, json: [] })
  })

  test('damaged files are reported in one line', async () => {
    const more = { DATABASE_URL: '', DATA_DIR: join(folder, 'damaged') }
    makeDataDir(more.DATA_DIR)
    truncateSync(join(more.DATA_DIR, 'postgres/global/pg_control'), 100)
    const { code, stdout, stderr } = await cli(['tenant', 'list'], more)
    expect(stderr).toMatch(/^DATA_DIR: the files of the database in \/\S+ are damaged, [^\n]+\n$/)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  })

  test.each([[['version']], [['--version']], [['-v']]])('%s prints the version', async (words) => {
    const { version }: { version: string } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    expect(await cli(words)).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  const isRoot = process.getuid?.() === 0
  test.skipIf(!isRoot)(
    `the database of another user is refused in one line${isRoot ? '' : ' (skipped: needs root)'}`,
    async () => {
      const more = { DATABASE_URL: '', DATA_DIR: join(folder, 'of another user') }
      makeDataDir(more.DATA_DIR)
      const file = join(more.DATA_DIR, 'postgres', 'PG_VERSION')
      chownSync(file, 12_345, 12_345)
      for (const words of [['tenant', 'list'], ['migrate']]) {
        const { code, stderr } = await cli(words, more)
        expect(stderr).toMatch(/^DATA_DIR: \/[^:]+ belongs to user 12345, and this is user 0: [^\n]+\n$/)
        expect(code).toBe(1)
      }
      chownSync(file, 0, 0)
      chmodSync(folder, 0o755)
      chmodSync(more.DATA_DIR, 0o700)
      const { code, stderr } = await cli(['migrate'], more, { uid: 12_345 })
      expect(stderr).toMatch(/^DATA_DIR: \/[^:]+ cannot be read \(EACCES\): [^\n]+\n$/)
      expect(code).toBe(1)
    },
  )

  const SIGN = ['identity', 'sign', '--tenant', 'acme', '--sub', 'reader']

  test.each([
    ['', [], 'a command is missing', 'Commands: tenant, admin, '],
    ['an unknown command', ['tenant', 'destroy'], 'there is no command tenant destroy', 'Commands: tenant create, '],
    ['half a command', ['documents'], 'documents needs one of: ', 'Commands: documents '],
    ['half a command with an option', ['key', '--tenant', 'a'], 'key needs one of: ', 'Commands: key '],
    ['help of one', ['help', 'toString'], 'there is no command toString', 'Commands: tenant, admin, '],
    ['a missing option', ['tenant', 'create'], '--slug is required', 'tenant create --slug <slug> '],
    ['a missing value', ['key', 'list', '--tenant'], '--tenant needs a value', 'key list --tenant <slug>'],
    ['an option as a value', ['key', 'revoke', '--tenant', '--id', 'x'], '--tenant needs a value', 'key revoke '],
    ['an unknown option', ['key', 'list', '--slug', 'acme'], 'there is no option --slug', 'key list --tenant <slug>'],
    ['an option twice', ['key', 'list', '--tenant=a', '--tenant=b'], '--tenant is given twice', 'key list '],
    ['a stray word', ['doctor', 'now'], '"now" is not an option', 'doctor'],
    ['a wrong value', ['tenant', 'create', '--slug', 'A'], '--slug must be lower-case letters', 'tenant create '],
    ['a short secret', [...SIGN, '--secret', 'x'.repeat(31)], '--secret must have at least 32 characters', 'identity '],
  ])('a wrong command line (%s) is refused in two lines, with exit status 2', async (_what, words, what, right) => {
    const { code, stdout, stderr } = await cli(words)
    const [first, second, ...rest] = stderr.split('\n')
    expect(first).toContain(what)
    expect(second).toContain(right)
    expect({ code, stdout, rest }).toEqual({ code: 2, stdout: '', rest: [''] })
  })

  test('an option that npm has taken is reported', async () => {
    const taken = { npm_lifecycle_event: 'cli', npm_config_admin_email: 'true' }
    const stderr = 'npm has taken --admin-email for itself\nWrite -- before the command: npm run cli -- help\n'
    expect(await cli(['tenant', 'create', 'a@example.com'], taken)).toMatchObject({ code: 2, stdout: '', stderr })
    expect(await cli(['version'], taken)).toMatchObject({ code: 0 })
  })

  test('identity sign accepts a secret of 32 characters', async () => {
    const { code, stdout } = await cli([...SIGN, '--secret', 'x'.repeat(32), '--name', 'help'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)
  })
})

async function withService(work: (url: string) => Promise<void>): Promise<void> {
  const port = String(await freePort())
  const run = runMain({ ...env, PORT: port, LOG_LEVEL: 'warn', SHUTDOWN_GRACE_SECONDS: '2' })
  await run.ready
  try {
    await work(`http://127.0.0.1:${port}`)
  } finally {
    run.signal('SIGTERM')
    await run.exited
  }
}

describe('the doctor', () => {
  const findings = async (more: Env = {}): Promise<Map<string, Finding>> => {
    const found = await examine({ ...env, ...more })
    const secrets = [env.ADMIN_JWT_SECRET, env.ENCRYPTION_KEY, 'hunter2'].filter((text) => text !== undefined)
    for (const { text } of found) for (const secret of secrets) expect(text).not.toContain(secret)
    return new Map(found.map((each) => [each.part, each]))
  }
  const expectFail = async (part: string, text: RegExp, more: Env): Promise<void> => {
    expect((await findings(more)).get(part)).toMatchObject({
      level: 'fail',
      text: expect.stringMatching(text) as string,
    })
  }
  const levels = (found: ReadonlyMap<string, Finding>) =>
    Object.fromEntries([...found].map(([part, { level }]) => [part, level]))

  test('finds no fault with a good deployment', async () => {
    const parts = {
      settings: 'ok',
      database: 'ok',
      clock: 'ok',
      migrations: 'ok',
      encryption: 'ok',
      tls: 'ok',
      metrics: 'ok',
    }
    const redis = onServer && REDIS_URL === undefined ? 'warn' : 'ok'
    const found = await findings()
    expect(levels(found)).toEqual({ ...parts, redis, ...(onServer ? {} : { data: 'ok' }) })
    expect(found.get('database')?.text).toMatch(onServer ? /^PostgreSQL \d+/ : /^embedded PostgreSQL \d+ answers$/)
  })

  test('prints one line for a wrong setting, with its name', async () => {
    const found = await findings({ REDIS_URL: 'http://:hunter2@example.com' })
    expect([...found.keys()]).toEqual(['settings'])
    expect(found.get('settings')).toMatchObject({
      level: 'fail',
      text: expect.stringMatching(/^REDIS_URL: /) as string,
    })
  })

  test('recognises another ENCRYPTION_KEY', () =>
    expectFail('encryption', /sealed with other keys/, { ENCRYPTION_KEY: randomBytes(32).toString('base64') }))

  test('recognises a certificate that expires soon, an expired one, and an invalid one', async () => {
    const { cert, key } = makeCertificates(['127.0.0.1'])
    const file = (name: string, content: string): string => {
      writeFileSync(join(folder, name), content)
      return join(folder, name)
    }
    const files = { TLS_CERT_FILE: file('cert.pem', cert), TLS_KEY_FILE: file('key.pem', key) }
    const days = Number(/(-?\d+) days/.exec((await findings(files)).get('tls')?.text ?? '')?.[1])
    expect(days).toBeGreaterThanOrEqual(0)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + (days + 2) * 86_400_000 })
    const expired = (
      await examine({ ...env, ...files, DATABASE_URL: undefined, ROLE: 'all', DATA_DIR: join(folder, 'none') })
    ).find(({ part }) => part === 'tls')
    vi.useRealTimers()
    expect(expired).toMatchObject({ level: 'fail' })
    await expectFail('tls', /are no certificate/, { ...files, TLS_CERT_FILE: file('garbage', 'none') })
    await expectFail('tls', /are no certificate/, { ...files, TLS_KEY_FILE: join(folder, 'missing') })
  })

  test('recognises a Redis that does not answer, and one that delivers nothing', async () => {
    await expectFail('redis', /does not answer/, { REDIS_URL: 'redis://:hunter2@127.0.0.1:1' })
    if (REDIS_URL === undefined) return
    const { hostname, port } = new URL(REDIS_URL)
    const proxy = await startProxy({ host: hostname, port: Number(port || 6379) })
    proxy.swallow((chunk) => chunk.includes('$7\r\nmessage\r\n'))
    await expectFail('redis', /delivers none/, { REDIS_URL: `redis://127.0.0.1:${proxy.port}` })
    await proxy.close()
  })

  test('changes nothing where nothing exists yet', async () => {
    const nowhere = join(folder, 'nowhere')
    const found = await findings({ DATABASE_URL: undefined, DATA_DIR: nowhere })
    expect(found.get('database')).toMatchObject({
      level: 'ok',
      text: expect.stringContaining('the first start') as string,
    })
    expect(existsSync(nowhere)).toBe(false)
  })

  test.skipIf(onServer)('checks a copy of the embedded database, and leaves no trace', async () => {
    const dataDir = env.DATA_DIR ?? ''
    const copies = () => readdirSync(tmpdir()).filter((name) => name.startsWith('engagement-copy-'))
    const before = copies()
    const files = () => new Set(readdirSync(dataDir, { recursive: true }).map(String))
    const kept = files()
    await findings()
    expect(files()).toEqual(kept)
    expect(copies()).toEqual(before)
  })

  test.skipIf(onServer)(
    'says which process has the embedded database open, and other commands are refused',
    async () => {
      await withService(async () => {
        expect((await findings()).get('database')).toMatchObject({
          level: 'warn',
          text: expect.stringMatching(/^process \d+ on /) as string,
        })
        const { code, stderr } = await cli(['tenant', 'list'])
        expect({ code, stderr }).toEqual({
          code: 1,
          stderr: expect.stringMatching(/^DATA_DIR: \S+ is in use by process \d+ on \S+: .+\n$/) as string,
        })
      })
    },
  )

  describe.skipIf(!onServer)(`on a server${onServer ? '' : ' (skipped: needs DATABASE_URL)'}`, () => {
    const sql = async (text: string): Promise<void> => {
      const client = new pg.Client({ connectionString: env.DATABASE_URL })
      await client.connect()
      try {
        await client.query(text)
      } finally {
        await client.end()
      }
    }

    test('recognises a database that takes no writes, and names its server', async () => {
      const { pathname } = new URL(env.DATABASE_URL ?? '')
      await sql(`ALTER DATABASE ${pathname.slice(1)} SET default_transaction_read_only = on`)
      try {
        await expectFail('database', /^PostgreSQL \d+ at 127\.0\.0\.1:\d+ takes no writes/, {})
      } finally {
        await sql(
          `SET transaction_read_only = off; ALTER DATABASE ${pathname.slice(1)} RESET default_transaction_read_only`,
        )
      }
    })

    test('warns that a start may open more connections than the server allows', async () => {
      expect((await findings({ WORKERS: '20' })).get('database')).toMatchObject({
        level: 'warn',
        text: expect.stringMatching(/takes \d+ connections; this start may open 357: raise/) as string,
      })
    })

    test('recognises a database that does not answer', () =>
      expectFail('database', /cannot be opened/, { DATABASE_URL: 'postgres://postgres:hunter2@127.0.0.1:1/nothing' }))

    test('reports pending migrations, and does not apply them; `migrate` does', async () => {
      const name = `empty_${randomBytes(4).toString('hex')}`
      await sql(`CREATE DATABASE ${name}`)
      const url = new URL(env.DATABASE_URL ?? '')
      url.pathname = `/${name}`
      const look = () => findings({ DATABASE_URL: url.href })
      expect((await look()).get('migrations')).toMatchObject({ level: 'warn' })
      expect((await look()).get('migrations')).toMatchObject({ level: 'warn' })
      expect((await look()).get('encryption')).toMatchObject({ level: 'ok' })
      for (const words of [
        ['tenant', 'list'],
        ['tenant', 'create', '--slug', 'acme'],
      ]) {
        const refused = await cli(words, { DATABASE_URL: url.href })
        expect(refused.stderr).toMatch(/^DATABASE_URL: there is no service in this database: [^\n]+\n$/)
        expect(refused.code).toBe(1)
      }
      const { code, json } = await cli(['migrate'], { DATABASE_URL: url.href })
      expect({ code, json }).toEqual({ code: 0, json: { missing: [], newer: [], foreign: [] } })
      expect((await look()).get('migrations')).toMatchObject({ level: 'ok' })
      await sql(`DROP DATABASE ${name} WITH (FORCE)`)
    })

    test('all commands report a missing database alike', async () => {
      const url = new URL(env.DATABASE_URL ?? '')
      url.pathname = '/there_is_none'
      const line = 'DATABASE_URL: database "there_is_none" does not exist: create it, or name another one'
      await expectFail('database', new RegExp(`^${line}$`), { DATABASE_URL: url.href })
      for (const words of [['tenant', 'list'], ['migrate']]) {
        const { code, stderr } = await cli(words, { DATABASE_URL: url.href })
        expect({ code, stderr }).toEqual({ code: 1, stderr: `${line}\n` })
      }
    })

    test('recognises migrations of a newer release', async () => {
      await sql(`INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
                 VALUES ('x', 'x', '29990101000000_later', now(), 1)`)
      expect((await findings()).get('migrations')).toMatchObject({
        level: 'ok',
        text: 'all applied, and 1 of a newer release',
      })
      await sql(
        `UPDATE _prisma_migrations SET migration_name = '29990101000000_contract_29980101000000' WHERE id = 'x'`,
      )
      await expectFail('migrations', /29990101000000_contract/, {})
      await sql(`DELETE FROM _prisma_migrations WHERE id = 'x'`)
    })

    test('reports incomplete backfills', async () => {
      await sql(`INSERT INTO backfills (name, changed) VALUES ('29990101000000_later', 7)`)
      const { level, text } = (await findings()).get('migrations') ?? {}
      expect(level).toBe('warn')
      expect(text).toContain('29990101000000_later (7 rows so far)')
      await sql('DELETE FROM backfills')
    })

    test('recognises a wrong clock', async () => {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 })
      const { level, text } = (await findings()).get('clock') ?? {}
      vi.useRealTimers()
      expect(level).toBe('fail')
      expect(text).toMatch(/ahead of/)
    })
  })
})

import { stat } from 'node:fs/promises'
import { Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'

import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'

import { isTold, OutageError, troubleOf } from '../../src/core/outage.ts'
import type { Sql } from '../../src/core/database/database.ts'
import type { Database } from '../../src/data/database.ts'
import { DatabaseHealth } from '../../src/data/server/health.ts'
import { openTestDatabase } from '../harness/database.ts'
import { SILENT } from '../harness/log.ts'
import { unnamed } from '../harness/sql.ts'

const ONE = unnamed('SELECT 1 AS one')
const TIMING = { everyMs: 5, againMs: 5 }

/** One for all tests: to open one takes longer than most of them. */
let opened: Database
let database: Database
let health: DatabaseHealth
/** What the database answers instead, while this is set. */
let failure: Error | null
let asked: number
let renewed: number
let lines: { level: number; database?: string; msg: string }[]

beforeAll(async () => {
  opened = await openTestDatabase()
})
afterAll(() => opened.close())

beforeEach(async () => {
  failure = null
  asked = renewed = 0
  lines = []
  const failing: Sql = async (...args) => {
    if (args[0].name.startsWith('health_')) asked++
    if (failure !== null) throw failure
    return opened.db.query(...args)
  }
  database = {
    ...opened,
    renew: () => renewed++,
    abandon: () => undefined,
    probe: { sql: failing, patienceMs: 10_000 },
    db: { ...opened.db, query: failing },
  }
  const write = (line: Buffer, _encoding: string, done: () => void): void => {
    lines.push(JSON.parse(line.toString()) as (typeof lines)[number])
    done()
  }
  health = new DatabaseHealth(database, pino(new Writable({ write })), TIMING)
  health.setUp()
  await vi.waitFor(() => expect(asked).toBeGreaterThan(0))
})
afterEach(async () => {
  await health.close()
})

const withCode = (code: string): Error => Object.assign(new Error('no'), { code })

test.each([
  ['does not answer', withCode('ECONNREFUSED'), 'down'],
  ['has become a standby', new OutageError('standby'), 'standby'],
  ['has become read-only', withCode('25006'), 'read_only'],
])('a database that %s: not ready until it works again, and one line at each end', async (_what, error, state) => {
  failure = error
  await expect(health.db.query(ONE)).rejects.toBe(error)
  await vi.waitFor(() => expect(health.notReady).toBe(state))
  for (let n = 0; n < 20; n++) await expect(health.db.query(ONE)).rejects.toBe(error)
  expect(isTold(new Error('outer', { cause: error }))).toBe(true)
  failure = null
  await vi.waitFor(() => expect(health.notReady).toBeNull())
  expect(lines).toMatchObject([
    { level: 40, database: state, msg: expect.stringContaining('503') as string },
    { level: 30, msg: 'the database takes writes again' },
  ])
})

test.each([
  ['57P01', 'down'],
  ['25006', 'read_only'],
  ['55P03', 'busy'],
])('an error of Prisma is told as the error %s of the database is: %s', async (code, trouble) => {
  const run = (text: string): Promise<unknown> => health.db.query(unnamed(text))
  await run(`CREATE FUNCTION fails() RETURNS uuid LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'as told' USING ERRCODE = '${code}'; END $$`)
  await run('ALTER TABLE tenants RENAME TO tenants_away')
  await run('CREATE VIEW tenants AS SELECT fails() AS id FROM generate_series(1, 1)')
  const error = await database.prisma.tenant.findFirst({ select: { id: true } }).catch((thrown: unknown) => thrown)
  await run('DROP VIEW tenants')
  await run('ALTER TABLE tenants_away RENAME TO tenants')
  await run('DROP FUNCTION fails')
  expect([troubleOf(error), isTold(error)]).toEqual([trouble, trouble !== 'busy'])
})

test('a connection from when the database took no writes is replaced, with all others', async () => {
  const error = withCode('25006')
  await expect(
    health.db.transaction(async () => {
      throw error
    }),
  ).rejects.toBe(error)
  expect(renewed).toBeGreaterThan(0)
})

test.each(['57014', '55P03', '40001', '53200'])(
  'one statement that gave up (%s) says nothing of the database',
  async (code) => {
    failure = withCode(code)
    const error = failure
    const before = lines.length
    failure = null
    health.note(error)
    await expect(health.db.query(ONE)).resolves.toEqual([{ one: 1 }])
    expect([health.notReady, isTold(error), lines.length]).toEqual([null, false, before])
  },
)

test('asking whether it is ready costs no statement', async () => {
  await health.close()
  const before = asked
  for (let n = 0; n < 1000; n++) expect(health.notReady).toBeNull()
  expect(asked).toBe(before)
})

test("a full disk is forgotten if the role may not create the probe's table", async () => {
  database.db = { ...database.db, transaction: () => Promise.reject(withCode('42501')) }
  health.note(withCode('53100'))
  const before = asked
  await vi.waitFor(() => expect(asked).toBeGreaterThan(before + 2))
  expect(health.notReady).toBeNull()
})

test('a first tenant that is created during a probe is not forgotten', async () => {
  await health.close()
  let answer = (): void => undefined
  const slow: Database = {
    ...database,
    probe: {
      sql: async (...args) => {
        if (args[0].name !== 'health_has_tenant') return database.probe.sql(...args)
        await new Promise<void>((resolve) => (answer = resolve))
        return []
      },
      patienceMs: 10_000,
    },
  }
  const first = new DatabaseHealth(slow, SILENT, { everyMs: 60_000, againMs: 60_000 })
  const never = answer
  await vi.waitFor(() => expect(answer).not.toBe(never))
  first.setUp()
  answer()
  await first.close()
  expect([first.isSetUp, first.notReady]).toEqual([true, null])
})

test('a database that never answers has its connections cut, each time', async () => {
  await health.close()
  let cut = (): void => undefined
  const silent: Database = {
    ...database,
    abandon: () => cut(),
    probe: {
      sql: () => new Promise((_resolve, reject) => (cut = () => reject(withCode('ECONNRESET')))),
      patienceMs: 20,
    },
  }
  const impatient = new DatabaseHealth(silent, SILENT, TIMING)
  const cuts = vi.spyOn(silent, 'abandon')
  await vi.waitFor(() => expect(cuts.mock.calls.length).toBeGreaterThan(2))
  expect(impatient.notReady).toBe('down')
  await impatient.close()
})

test('an answer that has arrived while this process was busy is in time', async () => {
  await health.close()
  let answers = 0
  const patienceMs = 20
  const blocking: Database = {
    ...database,
    abandon: () => undefined,
    probe: {
      sql: async () => {
        // Timers come next, and answers are read only after them.
        await setImmediate()
        const answer = stat('.')
        // Long enough for the answer, which nothing reads meanwhile.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5 * patienceMs)
        await answer
        answers++
        return []
      },
      patienceMs,
    },
  }
  const cuts = vi.spyOn(blocking, 'abandon')
  const busy = new DatabaseHealth(blocking, SILENT, TIMING)
  busy.setUp()
  await vi.waitFor(() => expect(answers).toBeGreaterThan(2))
  expect([cuts.mock.calls.length, busy.notReady]).toEqual([0, null])
  await busy.close()
})

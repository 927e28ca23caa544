import { afterAll, beforeAll, expect, test } from 'vitest'

import { type Statement, statement, type StatementOf } from '../../src/core/database/statements.ts'
import type { Database } from '../../src/data/database.ts'
import { TYPES } from '../../src/data/pool.ts'
import { describeParameters, describeStatement, DRIVER_TYPES, loadStatements } from '../../src/build/statements.ts'
import type { Json } from '../../src/generated/statements.ts'
import { lendPGlite, openTestDatabase } from '../harness/database.ts'
import { faults } from '../harness/faults.ts'
import { checkParameters, fits } from '../harness/parameters.ts'
import { unnamed } from '../harness/sql.ts'

let database: Database
beforeAll(async () => void (database = await openTestDatabase()))
afterAll(() => database.close())

/** What PREPARE takes. */
const PREPARED = /^(SELECT|INSERT|UPDATE|DELETE|WITH)\b/

test('PostgreSQL knows every table, column and type that a statement names', async () => {
  const statements = await loadStatements()
  expect(statements.length).toBeGreaterThan(150)
  const refused: string[] = []
  for (const { name, text } of statements.filter((each) => PREPARED.test(each.text))) {
    await database.db
      .query({ name: '', text: `PREPARE "prepared_${name}" AS ${text}`, locks: false })
      .catch((error: Error) => refused.push(`${name}: ${error.message}`))
  }
  expect(refused).toEqual([])
})

test('a name has only one text', () => {
  expect(statement('test_one_text', 'SELECT 1').text).toBe('SELECT 1')
  expect(() => statement('test_one_text', 'SELECT  1')).not.toThrow('test_one_text')
  expect(() => statement('test_one_text', 'SELECT 2')).toThrow('test_one_text')
})

test('the columns of a statement are those that PostgreSQL describes', async () => {
  const { pglite, giveBack } = await lendPGlite()
  const describe = (text: string): Promise<string> => describeStatement(pglite, { ...unnamed(text), name: 'a_name' })
  expect(await describe('SELECT id, created_at AS "createdAt", settings FROM tenants WHERE id = $1')).toBe(
    '  a_name: { "id": string; "createdAt": Date; "settings": Json }',
  )
  expect(await describe('DELETE FROM tenants WHERE id = $1')).toBe('  a_name: {  }')
  await expect(describe('SELECT no_column FROM tenants')).rejects.toThrow('a_name: column "no_column" does not exist')
  await expect(describe('SELECT 1::money AS price')).rejects.toThrow('a_name: DRIVER_TYPES lacks the type of price')
  const takes = (text: string): Promise<string> => describeParameters(pglite, { ...unnamed(text), name: 'a_name' })
  expect(await takes('SELECT 1 FROM tenants WHERE created_at < $2 AND id = ANY($1::uuid[])')).toBe(
    '  a_name: ["uuid[]","timestamp with time zone"],',
  )
  expect(await takes('SELECT 1')).toBe('  a_name: [],')
  await giveBack()
})

test.each<[string, fitting: unknown[], unfitting: unknown[]]>([
  ['bigint', [1, 1n, '-9223372036854775808', null], [1.5, NaN, '', 'a', true, undefined]],
  ['boolean', [true, null], ['true', 1, undefined]],
  ['bytea', [Buffer.of(1), new Uint8Array(1)], ['a', [1]]],
  ['comment_status', ['pending'], [1, undefined]],
  ['double precision', [0.5], ['0.5']],
  ['integer', [2_147_483_647], [2_147_483_648, 0.5, '1', 1n]],
  ['json', ['{}', '"a"', 'null'], [{}, 'a', '{', []]],
  ['text', ['', null], [1, true, new Date(0), {}, undefined]],
  ['text[]', [[], ['a', null], null], ['{}', 'a', [1], [undefined]]],
  ['timestamp with time zone', [new Date(0), '2026-01-01T00:00:00.123456Z', 'infinity'], [0, '2026-01-01', 'now']],
  ['uuid', ['019ab3c4-0000-7000-8000-000000000000'], ['a', 1, '']],
])('the values accepted as %s', (type, fitting, unfitting) => {
  expect(fitting.filter((value) => !fits(type, value))).toEqual([])
  expect(unfitting.filter((value) => fits(type, value))).toEqual([])
})

test('a statement gets as many parameters as it has, of their types', async () => {
  const asked = (await loadStatements()).find(({ name }) => name === 'copy_deliveries') ?? unnamed('')
  expect(() => database.db.query(asked, ['a', null, null, null])).toThrow('copy_deliveries: $1 is of type uuid')
  expect(() => database.db.query(asked, [])).toThrow('copy_deliveries: takes 4 parameters, not 0')
  await database.db.transaction(async (sql) => {
    expect(() => sql(asked, [])).toThrow('copy_deliveries')
    expect(() => sql.within((_asked, run) => run())(asked, [])).toThrow('copy_deliveries')
  })
  expect(faults.splice(0)).toHaveLength(4)
  expect(() => checkParameters(asked, [null, null, null, null])).not.toThrow()
})

/** A value of each type, as PostgreSQL sends it. */
const SENT: Readonly<Record<string, string>> = {
  boolean: 't',
  'Buffer<ArrayBuffer>': '\\x00',
  number: '1',
  Json: '{}',
  string: 'a',
  'string[]': '{a}',
  Date: '2026-01-01 00:00:00+00',
}

const typeOf = (value: unknown): string => {
  if (Buffer.isBuffer(value)) return 'Buffer<ArrayBuffer>'
  if (value instanceof Date) return 'Date'
  if (Array.isArray(value)) return `${typeof value[0]}[]`
  return typeof value === 'object' ? 'Json' : typeof value
}

test.each(Object.entries(DRIVER_TYPES))('the driver makes of type %s: %s', (oid, type) => {
  expect(typeOf(TYPES.getTypeParser(Number(oid))(SENT[type] ?? ''))).toBe(type)
})

test('the compiler refuses a row with columns that its statement lacks', () => {
  const run = <Row>(asked: StatementOf<Row>): StatementOf<Row> => asked
  const READ: Statement<{ id: string; seq: number; words: string[]; at: Date; data: Json }> = unnamed('')
  run(READ)
  run<{ id: string; seq: number; words: string[]; at: Date; data: { deep: boolean } }>(READ)
  run<{ id: 'one' | 'other' | null; seq: number | null; at?: Date; data: string; missing?: string }>(READ)
  // @ts-expect-error: a column that the statement lacks.
  run<{ id: string; name: string }>(READ)
  // @ts-expect-error: another type.
  run<{ seq: string }>(READ)
  // @ts-expect-error: another type, which may be null.
  run<{ at: string | null }>(READ)
  // @ts-expect-error: an array of others.
  run<{ words: number[] }>(READ)
  // @ts-expect-error: a text is no object.
  run<{ id: { deep: boolean } }>(READ)
  // @ts-expect-error: a name that `npm run generate` has not seen.
  run<{ id: string }>(statement('test_not_generated', 'SELECT'))
  expect(run(READ)).toBe(READ)
})

import { readFileSync } from 'node:fs'

import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { type Json, type Statement, statement, type StatementOf } from '../../src/core/sql.ts'
import type { Database } from '../../src/data/database.ts'
import { TYPES } from '../../src/data/pool.ts'
import { describeStatement, DRIVER_TYPES, loadStatements } from '../../src/statements.ts'
import { openTestDatabase } from '../harness/database.ts'
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

test('a name stands for one text', () => {
  expect(statement('test_one_text', 'SELECT 1').text).toBe('SELECT 1')
  expect(() => statement('test_one_text', 'SELECT  1')).not.toThrow('test_one_text')
  expect(() => statement('test_one_text', 'SELECT 2')).toThrow('test_one_text')
})

test('the columns of a statement are those that PostgreSQL describes', async () => {
  const pglite = await PGlite.create({ loadDataDir: new Blob([readFileSync(inject('dump'))]) })
  const describe = (text: string): Promise<string> => describeStatement(pglite, { ...unnamed(text), name: 'a_name' })
  expect(await describe('SELECT id, created_at AS "createdAt", settings FROM tenants WHERE id = $1')).toBe(
    '  a_name: { "id": string; "createdAt": Date; "settings": Json }',
  )
  expect(await describe('DELETE FROM tenants WHERE id = $1')).toBe('  a_name: {  }')
  await expect(describe('SELECT no_column FROM tenants')).rejects.toThrow('a_name: column "no_column" does not exist')
  await expect(describe('SELECT 1::money AS price')).rejects.toThrow('a_name: DRIVER_TYPES lacks the type of price')
  await pglite.close()
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

test('the compiler refuses a row with columns that its statement does not have', () => {
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

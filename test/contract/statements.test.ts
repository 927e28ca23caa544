import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { registeredStatements, type Statement, statement } from '../../src/core/sql.ts'
import type { Database } from '../../src/data/database.ts'
import { openTestDatabase } from '../harness/database.ts'

const SOURCE = join(import.meta.dirname, '../../src')

let database: Database
const statements: Statement[] = []

beforeAll(async () => {
  database = await openTestDatabase()
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && readFileSync(join(SOURCE, name), 'utf8').includes('statement('),
  )
  await Promise.all(files.map((name) => import(join(SOURCE, name))))
  statements.push(...registeredStatements())
})
afterAll(() => database.close())

/** What PREPARE takes. */
const PREPARED = /^(SELECT|INSERT|UPDATE|DELETE|WITH)\b/

test('PostgreSQL knows every table, column and type that a statement names', async () => {
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

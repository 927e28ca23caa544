import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, expect, test } from 'vitest'

import type { Database } from '../../src/data/database.ts'
import { arrayTypes } from '../../src/data/arrays.ts'
import { PARAMETERS } from '../../src/generated/statements.ts'
import { loadStatements } from '../../src/statements.ts'
import { openTestDatabase } from '../harness/database.ts'
import { unnamed } from '../harness/sql.ts'

let database: Database
beforeAll(async () => void (database = await openTestDatabase()))
afterAll(() => database.close())

const TEXTS = unnamed('SELECT t AS value FROM unnest($1::text[]) WITH ORDINALITY AS u(t, n) ORDER BY n')
const IDS = unnamed('SELECT i AS value FROM unnest((SELECT $1::uuid[])) WITH ORDINALITY AS u(i, n) ORDER BY n')

test.each([
  ['plain', ['a', 'b c']],
  ['with quotes, backslashes, braces and commas', ['"', '\\', '{a,b}', ',', '\\"', "'"]],
  ['blank, and the word NULL', ['', ' ', '\n\t', 'NULL', 'null']],
  ['of several bytes a character', ['é', '🙂', 'ﷺ', '한국어'.repeat(1000)]],
  ['with nulls', [null, 'a', null]],
  ['none', []],
])('an array of texts arrives as it is: %s', async (_name, texts) => {
  expect(await database.db.query(TEXTS, [texts])).toEqual(texts.map((value) => ({ value })))
})

test.each([
  ['some', [randomUUID(), 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000000']],
  ['with nulls', [null, randomUUID()]],
  ['none', []],
])('an array of ids arrives as it is: %s', async (_name, ids) => {
  expect(await database.db.query(IDS, [ids])).toEqual(ids.map((value) => ({ value })))
})

test('an id in another form of PostgreSQL is taken as well', async () => {
  const id = randomUUID()
  expect(await database.db.query(IDS, [[`{${id.toUpperCase()}}`, id.replaceAll('-', '')]])).toEqual([
    { value: id },
    { value: id },
  ])
})

test.each(['', 'no id', '01234567-89ab-cdef-0123_456789abcdef', '0123456789abcdef-0123-456789abcdef---'])(
  'PostgreSQL refuses what is no id: %j',
  async (text) => {
    await expect(database.db.query(IDS, [[randomUUID(), text]])).rejects.toMatchObject({ code: '22P02' })
  },
)

test('PostgreSQL refuses NUL in a text of an array', async () => {
  await expect(database.db.query(TEXTS, [['a\0b']])).rejects.toMatchObject({ code: '22021' })
})

test('the arrays of a statement are of the types that PostgreSQL gives its parameters', async () => {
  const known: Readonly<Record<string, readonly string[]>> = PARAMETERS
  const found = (await loadStatements()).flatMap(({ name, text }) =>
    [...arrayTypes(text)].map(([place, type]) => [name, `${type}[]`, known[name]?.[place]] as const),
  )
  expect(found.length).toBeGreaterThan(100)
  expect(found.filter(([, type, described]) => type !== described)).toEqual([])
})

test('a parameter that is cast to two types is sent as text', () => {
  expect(arrayTypes('SELECT $1::uuid[], $2::text[]')).toEqual(
    new Map([
      [0, 'uuid'],
      [1, 'text'],
    ]),
  )
  expect(arrayTypes('SELECT $1::uuid[] WHERE $1::text[] <> $2::text')).toEqual(new Map())
})

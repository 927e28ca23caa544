import { randomBytes, randomUUID } from 'node:crypto'

import { afterAll, beforeAll, expect, test } from 'vitest'

import type { Value } from '../../src/core/database/statements.ts'
import { arrayTypes } from '../../src/data/arrays.ts'
import type { Database } from '../../src/data/database.ts'
import { PARAMETERS } from '../../src/generated/statements.ts'
import { loadStatements } from '../../src/build/statements.ts'
import { openTestDatabase } from '../harness/database.ts'
import { unnamed } from '../harness/sql.ts'

let database: Database
beforeAll(async () => void (database = await openTestDatabase()))
afterAll(() => database.close())

const HOSTILE = [
  'plain',
  '',
  ' ',
  ' of spaces ',
  '\t\n\r\v\f',
  'NULL',
  'null',
  'undefined',
  '"',
  '\\',
  '\\"',
  '"\\',
  '\\\\""\\',
  "'",
  ',',
  '{}',
  '{a,"b"}',
  '}',
  '[1:2]={a,b}',
  '\\x00',
  '$1',
  '\u{1}\u{7f}\u{85}\u{a0}\u{2028}\u{feff}',
  'é한🙂\u{10ffff}',
  '한국어'.repeat(1000),
  '"\\,{}'.repeat(10_000),
]

const JSONS = ['null', '{}', '[]', '"a"', JSON.stringify({ '\\"{},': ['"', '\\', null, 'NULL', ''] }), '1.5']

const CASES: [type: string, values: Value[], given?: unknown[]][] = [
  ['text', HOSTILE],
  ['text', ['a\ud800', '\udc00"'], ['a\ufffd', '\ufffd"']],
  ['uuid', ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff']],
  [
    'timestamptz',
    [new Date(0), new Date(-1), new Date('0001-01-01T00:00:00.000Z'), new Date('9999-12-31T23:59:59.999Z')],
  ],
  ['timestamptz', ['infinity', '-infinity'], [Infinity, -Infinity]],
  ['bigint', [0, -1, 2 ** 53 - 1, 2n ** 53n - 1n, '-9007199254740991'], [0, -1, 2 ** 53 - 1, 2 ** 53 - 1, 1 - 2 ** 53]],
  ['int', [0, -0, 2 ** 31 - 1, -(2 ** 31)], [0, 0, 2 ** 31 - 1, -(2 ** 31)]],
  ['float8', [0.1, 1e300, 5e-324, NaN, Infinity, -Infinity]],
  ['boolean', [true, false]],
  ['bytea', [new Uint8Array(), new Uint8Array([0, 34, 92, 255]), randomBytes(1000).subarray(7)]],
  ['jsonb', JSONS, JSONS.map((json) => JSON.parse(json))],
  ['comment_status', ['pending', 'approved', 'rejected', 'deleted']],
]

test.each(CASES)('an array of %s arrives unchanged (%#)', async (type, values, given = values) => {
  const select = `SELECT v AS value FROM unnest($1::${type}[]) WITH ORDINALITY AS u (v, n) ORDER BY n`
  const arrived = async (sent: readonly Value[]): Promise<unknown[]> =>
    (await database.db.query<{ value: unknown }>(unnamed(select), [sent])).map(({ value }) =>
      value instanceof Uint8Array ? Buffer.from(value) : value,
    )
  const expected = given.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value))
  expect(await arrived(values)).toEqual(expected)
  expect(await arrived([null, ...values, null])).toEqual([null, ...expected, null])
  expect(await arrived([null])).toEqual([null])
  expect(await arrived([])).toEqual([])
})

test('PostgreSQL refuses an invalid value as a data error', async () => {
  for (const [type, value] of [
    ['text', 'a\0b'],
    ['uuid', 'no id'],
    ['int', 1.5],
    ['int', 2 ** 31],
    ['jsonb', '"\\u0000"'],
    ['jsonb', '{'],
    ['timestamptz', new Date('-000001-01-01T00:00:00Z')],
    ['timestamptz', new Date(NaN)],
    ['uuid', ''],
    ['uuid', '01234567-89ab-cdef-0123_456789abcdef'],
    ['uuid', '0123456789abcdef-0123-456789abcdef---'],
    ['comment_status', 'gone'],
  ] as const) {
    const sent = database.db.query(unnamed(`SELECT $1::${type}[]`), [[value]])
    await expect(sent, `${type} ${String(value)}`).rejects.toMatchObject({ code: expect.stringMatching(/^22/) })
  }
})

test('an id in another textual form of PostgreSQL is accepted', async () => {
  const id = randomUUID()
  expect(
    await database.db.query(unnamed('SELECT unnest($1::uuid[]) AS value'), [
      [`{${id.toUpperCase()}}`, id.replaceAll('-', '')],
    ]),
  ).toEqual([{ value: id }, { value: id }])
})

test("the types of a statement's arrays are those of PostgreSQL's parameters", async () => {
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

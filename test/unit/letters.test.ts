import { readFileSync } from 'node:fs'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { foldForSearch, LETTERS } from '../../src/core/input/letters.ts'
import { normalizeText } from '../../src/domains/comments/text/normalize.ts'
import { CORPORA } from '../harness/harmless.ts'
import { lendPGlite } from '../harness/database.ts'

let lent: Awaited<ReturnType<typeof lendPGlite>>
beforeAll(async () => void (lent = await lendPGlite()))
afterAll(() => lent.giveBack())

const inDatabase = async (texts: readonly string[]): Promise<string[]> => {
  const sql = 'SELECT search_fold(said) AS folded FROM unnest($1::text[]) WITH ORDINALITY AS t (said, n) ORDER BY n'
  const { rows } = await lent.pglite.query<{ folded: string }>(sql, [texts])
  return rows.map(({ folded }) => folded)
}

test('searches read each letter of the table as its base, in either case', async () => {
  const letters = LETTERS.flatMap(({ letter }) => [letter, letter.toUpperCase()])
  const bases = LETTERS.flatMap(({ base }) => [base, base])
  expect(letters.map(foldForSearch)).toEqual(bases)
  expect(await inDatabase(letters)).toEqual(bases)
})

test('word lists keep letters of their own, and read the others as their base', () => {
  for (const { letter, base, isOwn } of LETTERS) expect(normalizeText(letter)).toBe(isOwn ? letter : base)
})

test.each([
  ['Łukasz Søren Đorđe', 'lukasz soren dorde'],
  ['Straße Æsop Œuvre Þór', 'strasse aesop oeuvre thor'],
  ['Nguyễn Ñandú Über', 'nguyen nandu uber'],
  ['כָּלֵב שׁלום', 'כלב שלומ'],
  ['كَلْب كـلب أحمد', 'كلب كلب احمد'],
  ['کتاب فارسی ۱۲', 'كتاب فارسي ١٢'],
  ['Ελλάς', 'ελλασ'],
  ['が กี่ कि', 'か\u3099 กี่ कि'],
])('a search reads %j as %j', async (text, folded) => {
  expect(foldForSearch(text)).toBe(folded)
  expect(await inDatabase([text])).toEqual([folded])
})

test('the database and the service fold the sentences of all languages alike', async () => {
  const texts = Object.values(CORPORA).flatMap(({ harmless, hits }) => [...harmless, ...hits])
  expect(await inDatabase(texts)).toEqual(texts.map(foldForSearch))
})

test('the page about letters has the table', () => {
  const page = readFileSync('docs/reference/letters.md', 'utf8')
  for (const { letter, base, isOwn } of LETTERS) {
    const row = page
      .split('\n')
      .find((line) => line.startsWith('| ') && line.split('|')[1]?.split(' ').includes(letter))
    expect(row?.split('|').map((cell) => cell.trim())[isOwn ? 3 : 2], letter).toMatch(isOwn ? /themselves/ : /./)
    expect(row, letter).toContain(base)
  }
})

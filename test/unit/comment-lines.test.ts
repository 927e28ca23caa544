import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const GENERATED = /^src\/(generated\/|clients\/graphql\/documents\.ts$)/
const COMMENT = /^\s*(\/\/|\/\*\*|\*)/

const lines = ['src', 'test']
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .filter((file) => /\.(ts|tsx|mjs)$/.test(file) && !GENERATED.test(file))
  .flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8').split('\n')
    return text.map((line, n) => ({ line, place: `${file}:${n + 1}` }))
  })
const comments = lines.filter(({ line }) => COMMENT.test(line))

const names = lines.filter(({ line, place }) => /\.test\.ts:/.test(place) && /^\s*(test|describe)\b/.test(line))

const found = (pattern: RegExp): string[] =>
  [...comments, ...names].filter(({ line }) => pattern.test(line)).map(({ line, place }) => `${place} ${line.trim()}`)

test('no line of a comment has more than 100 columns', () => {
  expect(lines.length).toBeGreaterThan(50_000)
  const long = comments.filter(({ line }) => line.length > 100)
  expect(long.map(({ place }) => place)).toEqual([])
})

test('a comment names a page of docs/ or an RFC for a rule, not a document that the repository lacks', () => {
  expect(found(/\b(contract|specification), sections? \d|\bthe contract\b/i)).toEqual([])
})

test('comments and test names avoid words that have to be read twice', () => {
  expect(found(/\b(whoever|anew|nobody's|none that|without a word|who comes|nor does|untold)\b/i)).toEqual([])
})

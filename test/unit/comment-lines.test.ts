import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const COMMENT = /^\s*(\/\/|\/\*\*|\*)/

test('no line of a comment has more than 100 columns', () => {
  const files = ['src', 'test'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  const lines = files
    .filter((file) => /\.(ts|tsx|mjs)$/.test(file) && !file.startsWith('src/generated/'))
    .flatMap((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8').split('\n')
      return text.map((line, n) => ({ line, place: `${file}:${n + 1}` }))
    })
  expect(lines.length).toBeGreaterThan(50_000)
  const long = lines.filter(({ line }) => COMMENT.test(line) && line.length > 100)
  expect(long.map(({ place }) => place)).toEqual([])
})

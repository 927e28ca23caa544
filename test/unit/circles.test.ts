import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { expect, test } from 'vitest'

const SRC = join(import.meta.dirname, '../../src')

/** The folders of `src`, those within them as well, as paths. */
const ROOMS = readdirSync(SRC, { withFileTypes: true, recursive: true })
  .filter((entry) => entry.isDirectory())
  .map(({ parentPath, name }) => relative(SRC, join(parentPath, name)))
  .filter((room) => !room.startsWith('generated'))

/** What each part of a room imports of it. A part is a folder in the room, or a file beside it. */
function importsOf(room: string): Map<string, Set<string>> {
  const imports = new Map<string, Set<string>>()
  for (const file of readdirSync(join(SRC, room), { recursive: true, encoding: 'utf8' })) {
    if (!/\.tsx?$/.test(file)) continue
    const found = imports.get(partOf(file)) ?? new Set()
    imports.set(partOf(file), found)
    for (const [, source = ''] of readFileSync(join(SRC, room, file), 'utf8').matchAll(
      /(?:from |import\()'(\.[^']+)'/g,
    )) {
      const target = normalize(join(dirname(file), source))
      if (!target.startsWith('..') && partOf(target) !== partOf(file)) found.add(partOf(target))
    }
  }
  return imports
}

const partOf = (file: string): string => file.split('/')[0] ?? file

/** A way from a part back to itself; null if there is none. */
function circleIn(imports: ReadonlyMap<string, ReadonlySet<string>>): string[] | null {
  const done = new Set<string>()
  const walk = (way: string[]): string[] | null => {
    const here = way.at(-1) ?? ''
    if (way.indexOf(here) < way.length - 1) return way
    if (done.has(here)) return null
    for (const next of imports.get(here) ?? []) {
      const circle = walk([...way, next])
      if (circle !== null) return circle
    }
    done.add(here)
    return null
  }
  for (const part of imports.keys()) {
    const circle = walk([part])
    if (circle !== null) return circle
  }
  return null
}

test.each(ROOMS)('the folders and files of src/%s import each other in no circle', (room) => {
  expect(circleIn(importsOf(room))).toBeNull()
})

test('all domains are looked at', () => {
  const imports = importsOf('domains')
  expect(imports.size).toBeGreaterThan(30)
  expect(imports.get('comments')).toContain('discussions')
})

test('a circle is found', () => {
  const of = (imports: Record<string, string[]>) =>
    circleIn(new Map(Object.entries(imports).map(([part, others]) => [part, new Set(others)])))
  expect(of({ a: ['b', 'c'], b: ['d'], c: ['d'], d: [] })).toBeNull()
  expect(of({ a: ['b'], b: ['c'], c: ['b'] })).toEqual(['a', 'b', 'c', 'b'])
})

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

const DOMAINS = join(import.meta.dirname, '../../src/domains')

/** Which domains the files of each domain import. Fields are on a floor above operations. */
function importsOf(floor: 'operations' | 'fields'): Map<string, Set<string>> {
  const imports = new Map<string, Set<string>>()
  for (const file of readdirSync(DOMAINS, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || floorOf(file) !== floor) continue
    const [domain = ''] = file.split('/')
    const found = imports.get(domain) ?? new Set()
    imports.set(domain, found)
    for (const [, source = ''] of readFileSync(join(DOMAINS, file), 'utf8').matchAll(/from '(\.[^']+)'/g)) {
      const target = normalize(join(dirname(file), source))
      const [other = ''] = target.split('/')
      if (!target.startsWith('..') && other !== domain && floorOf(target) === floor) found.add(other)
    }
  }
  return imports
}

const floorOf = (file: string): string => (/\/graphql(-\w+)?\.ts$/.test(file) ? 'fields' : 'operations')

/** A way from a domain back to itself; null if there is none. */
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
  for (const domain of imports.keys()) {
    const circle = walk([domain])
    if (circle !== null) return circle
  }
  return null
}

test.each(['operations', 'fields'] as const)('the %s of no domains import each other in a circle', (floor) => {
  const imports = importsOf(floor)
  expect(imports.size).toBeGreaterThan(15)
  expect(circleIn(imports)).toBeNull()
})

test('a circle is found', () => {
  const of = (imports: Record<string, string[]>) =>
    circleIn(new Map(Object.entries(imports).map(([domain, others]) => [domain, new Set(others)])))
  expect(of({ a: ['b', 'c'], b: ['d'], c: ['d'], d: [] })).toBeNull()
  expect(of({ a: ['b'], b: ['c'], c: ['b'] })).toEqual(['a', 'b', 'c', 'b'])
})

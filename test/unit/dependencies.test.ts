import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const root = join(import.meta.dirname, '../..')
const read = <T>(name: string, schema: z.ZodType<T>): T =>
  schema.parse(JSON.parse(readFileSync(join(root, name), 'utf8')))

const names = z.record(z.string(), z.string()).default({})
const manifestSchema = z.object({ dependencies: names, devDependencies: names })
const lockSchema = z.object({
  packages: z.record(z.string(), z.object({ version: z.string().optional(), optionalDependencies: names })),
})

const namedIn = (folder: string): Record<string, string> => {
  const { dependencies, devDependencies } = read(join(folder, 'package.json'), manifestSchema)
  return { ...dependencies, ...devDependencies }
}

describe.each(['.', 'examples', 'test/ci'])('dependencies of %s', (folder) => {
  const { packages } = read(join(folder, 'package-lock.json'), lockSchema)

  test.each(Object.entries(namedIn(folder)))('%s is pinned to %s, the version of the lock file', (name, version) => {
    expect(version).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/)
    expect(packages[`node_modules/${name}`]?.version).toBe(version)
  })

  // npm omits packages that it cannot fetch from a lock file, and then refuses to install from
  // that file.
  test('optional packages for other machines are locked as well', () => {
    const optional = Object.values(packages).flatMap(({ optionalDependencies }) => Object.keys(optionalDependencies))
    const locked = new Set(Object.keys(packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 13)))
    expect(optional.filter((name) => !locked.has(name))).toEqual([])
  })
})

test('what the service and the examples both name has one version', () => {
  const own = namedIn('.')
  const both = Object.entries(namedIn('examples')).filter(([name]) => own[name] !== undefined)
  expect(both.length).toBeGreaterThan(0)
  // The checkers of Vue's and Svelte's templates need the compiler's older API.
  const older = ['typescript']
  expect(both.filter(([name, version]) => own[name] !== version && !older.includes(name))).toEqual([])
})

test('the service is built on the packages that its design names', () => {
  const design = ['graphql-yoga', 'graphql', '@pothos/core', '@pothos/plugin-prisma', '@prisma/client', 'prisma']
  design.push('graphql-sse', 'ioredis', 'got', 'vitest')
  expect(design.filter((name) => namedIn('.')[name] === undefined)).toEqual([])
})

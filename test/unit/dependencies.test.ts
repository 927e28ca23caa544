import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const root = join(import.meta.dirname, '../..')
const read = <T>(name: string, schema: z.ZodType<T>): T =>
  schema.parse(JSON.parse(readFileSync(join(root, name), 'utf8')))

const names = z.record(z.string(), z.string()).default({})
const manifest = read('package.json', z.object({ dependencies: names, devDependencies: names }))
const { packages } = read(
  'package-lock.json',
  z.object({
    packages: z.record(z.string(), z.object({ version: z.string().optional(), optionalDependencies: names })),
  }),
)

describe('dependencies', () => {
  test.each(Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }))(
    '%s is pinned to %s, the version of the lock file',
    (name, version) => {
      expect(version).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/)
      expect(packages[`node_modules/${name}`]?.version).toBe(version)
    },
  )

  // npm omits packages that it cannot fetch from a lock file, and then refuses to install from
  // that file.
  test('optional packages for other machines are locked as well', () => {
    const optional = Object.values(packages).flatMap(({ optionalDependencies }) => Object.keys(optionalDependencies))
    const locked = new Set(Object.keys(packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 13)))
    expect(optional.filter((name) => !locked.has(name))).toEqual([])
  })
})

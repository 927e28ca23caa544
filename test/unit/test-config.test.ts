import { fileURLToPath } from 'node:url'

import type { TestProjectInlineConfiguration } from 'vitest/config'
import { expect, test } from 'vitest'

import { needsOf } from '../harness/needs.ts'
import config from '../vitest.config.ts'

test('packages are loaded as they are, whatever the name of the folder that the clone is in', () => {
  // vitest takes all below a folder `es` or `esm` for source.
  const module = '/home/ann/es/service/node_modules/ioredis/built/index.js'
  const projects = (config.test?.projects ?? []) as TestProjectInlineConfiguration[]
  expect(projects.length).toBeGreaterThan(0)
  for (const { test: settings } of projects) {
    const external = settings?.server?.deps?.external ?? []
    expect(external.some((pattern) => pattern instanceof RegExp && pattern.test(module))).toBe(true)
  }
})

const pathOf = (name: string): string => fileURLToPath(new URL(`../${name}.test.ts`, import.meta.url))

test.each([
  ['unit/jwks', { build: false, database: false }],
  ['unit/nodes', { build: true, database: false }],
  ['unit/pool', { build: true, database: true }],
  ['contract/keys', { build: true, database: true }],
])('what a run of %s needs is made, and nothing else', (name, needs) => {
  expect(needsOf([pathOf(name)])).toEqual(needs)
  expect(needsOf([pathOf('unit/jwks'), pathOf(name)])).toEqual(needs)
})

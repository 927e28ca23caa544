import type { TestProjectInlineConfiguration } from 'vitest/config'
import { expect, test } from 'vitest'

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

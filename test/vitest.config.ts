import { fileURLToPath } from 'node:url'

import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'

const root = fileURLToPath(new URL('..', import.meta.url))

/** A folder of tests. Without `isolate` a worker loads the service once for all its files. */
const project = (name: string, isolate: boolean): TestProjectInlineConfiguration => ({
  root,
  resolve: {
    // vitest would load the CommonJS and the ES form of graphql side by side, and one does not know
    // the other's types.
    alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }],
  },
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    isolate,
    pool: 'forks',
    setupFiles: ['test/harness/patience.ts', 'test/harness/run-checks.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    server: { deps: { inline: [/graphql/, /@pothos/, /@graphql-/, /@envelop/] } },
  },
})

export default defineConfig({
  root,
  test: {
    projects: [
      // The service keeps nothing outside of an app, and no module is mocked.
      project('contract', false),
      project('unit', false),
      project('browser', false),
      project('cluster', false),
      project('containers', false),
      // They measure memory, set clocks, and listen to what their process does not catch.
      project('faults', true),
    ],
    globalSetup: ['test/harness/global-setup.ts'],
    // Much of it waits for processes, timers and browsers.
    maxWorkers: 3,
    // Each run and each isolated file would transform the same sources.
    experimental: { fsModuleCache: true },
  },
})

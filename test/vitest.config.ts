import { fileURLToPath } from 'node:url'

import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'

const root = fileURLToPath(new URL('..', import.meta.url))

const ALONE = '(database|leaks|webhooks-hostile)'

/**
 * A folder of tests, or these files. Without `isolate` a worker loads the service once for all its
 * files.
 */
const project = (
  name: string,
  { files = `test/${name}/**/*.test.ts`, isolate = false } = {},
): TestProjectInlineConfiguration => ({
  root,
  resolve: {
    // vitest would load the CommonJS and the ES form of graphql side by side, and one does not know
    // the other's types.
    alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }],
  },
  test: {
    name,
    // Not by an exclude: that would end the one of the command line.
    include: [files],
    isolate,
    pool: 'forks',
    // Workers that keep all cores busy gain nothing by threads that collect garbage beside them.
    execArgv: isolate ? [] : ['--single-threaded-gc'],
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
      project('contract'),
      project('unit'),
      project('browser'),
      project('cluster'),
      project('containers'),
      // They measure the memory of their process, or listen to what it does not catch.
      project('faults-alone', { files: `test/faults/@${ALONE}.test.ts`, isolate: true }),
      project('faults', { files: `test/faults/!${ALONE}.test.ts` }),
    ],
    globalSetup: ['test/harness/global-setup.ts'],
    // Much of it waits for processes, timers and browsers.
    maxWorkers: 3,
    // Each run and each isolated file would transform the same sources.
    experimental: { fsModuleCache: true },
  },
})

import { fileURLToPath } from 'node:url'

import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'

const root = fileURLToPath(new URL('..', import.meta.url))

const project = (name: string, include: string, isolate: boolean): TestProjectInlineConfiguration => ({
  root,
  resolve: {
    // vitest would load the CommonJS and the ES form of graphql side by side, and one does not know the other's types.
    alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }],
  },
  test: {
    name,
    include: [include],
    isolate,
    pool: 'forks',
    setupFiles: ['test/harness/patience.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    server: { deps: { inline: [/graphql/, /@pothos/, /@graphql-/, /@envelop/] } },
  },
})

export default defineConfig({
  root,
  test: {
    projects: [
      // The service is loaded once for all files of a worker: it keeps nothing outside of an app. They mock no modules.
      project('contract', 'test/contract/**/*.test.ts', false),
      project('others', 'test/{unit,faults,browser}/**/*.test.ts', true),
    ],
    globalSetup: ['test/harness/global-setup.ts'],
    // Much of it waits for processes, timers and browsers.
    maxWorkers: 3,
  },
})

import { fileURLToPath } from 'node:url'

import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'

const root = fileURLToPath(new URL('..', import.meta.url))

/** A folder of tests. */
const project = (name: string): TestProjectInlineConfiguration => ({
  root,
  resolve: {
    // vitest would load the CommonJS and the ES form of graphql side by side, and one does not know
    // the other's types.
    alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }],
  },
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    // A worker loads the service once for all its files: it keeps nothing outside of an app, and no
    // module is mocked.
    isolate: false,
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
    projects: [project('contract'), project('unit'), project('faults'), project('browser')],
    globalSetup: ['test/harness/global-setup.ts'],
    // Much of it waits for processes, timers and browsers.
    maxWorkers: 3,
  },
})

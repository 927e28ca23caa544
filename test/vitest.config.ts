import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * The folders of tests, and what they are for. `npm test` runs the first four, `.ci/run` these and,
 * on PostgreSQL and Redis, `main`; `npm run test:full` runs all of them but `containers`.
 */
const PARTS = [
  'unit',
  'contract',
  'main',
  'models',
  'jobs',
  'clients',
  'scale',
  'docs',
  'programs',
  'timing',
  'faults',
  'browser',
  'cluster',
  'containers',
]

/** The folders to run: TEST_PARTS names some of them. */
const parts = process.env.TEST_PARTS?.split(',') ?? PARTS
const unknown = parts.filter((part) => !PARTS.includes(part))
if (unknown.length > 0) throw new Error(`TEST_PARTS: ${unknown.join()} is none of ${PARTS.join()}`)

const tests = parts.flatMap((part) =>
  readdirSync(join(root, 'test', part)).flatMap((name) => (name.endsWith('.test.ts') ? [`test/${part}/${name}`] : [])),
)

const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')

/** Whether a service or an embedded database runs in the file's process, with timers of its own. */
const hasService = (file: string): boolean =>
  !/^test\/(unit|models|scale|docs|programs|timing)\//.test(file) ||
  /harness\/(database|imports|service|tenants|webhooks)\.ts'/.test(textOf(file))

/** They measure the memory of their process, or listen to what it does not catch. */
const MEASURED = ['faults/database', 'faults/leaks', 'timing/webhooks-hostile'].map((name) => `test/${name}.test.ts`)

/**
 * Whether the file needs a process of its own. One that sets the clock of a service forward leaves
 * ids of a later time behind it: new ids are greater than all earlier ones. Where one forgets the
 * modules, those of the files after it are loaded twice, which Pothos refuses.
 */
const isAlone = (file: string): boolean =>
  MEASURED.includes(file) ||
  /vi\.resetModules\(|harness\/regexes\.ts'/.test(textOf(file)) ||
  (hasService(file) && textOf(file).includes('vi.useFakeTimers('))

const alone = tests.filter(isAlone)
const services = tests.filter((file) => hasService(file) && !isAlone(file))
const withoutService = tests.filter((file) => !hasService(file) && !isAlone(file))

const project = (name: string, include: string[], isolate: boolean): TestProjectInlineConfiguration => ({
  root,
  resolve: {
    // vitest would load the CommonJS and the ES form of graphql side by side, and one does not know
    // the other's types.
    alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }],
  },
  test: {
    name,
    // Not by an exclude: that would end the one of the command line.
    include,
    isolate,
    pool: 'forks',
    // Without it, vitest takes packages in a clone below a folder `es` or `esm` for source.
    server: { deps: { external: [/\/node_modules\//] } },
    // Workers keep all cores busy: threads that collect garbage beside them gain nothing, and a
    // larger space for young objects is collected less often.
    execArgv: isolate ? [] : ['--single-threaded-gc', '--max-semi-space-size=64'],
    setupFiles: ['test/harness/patience.ts', 'test/harness/run-checks.ts', 'test/harness/seed.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
  },
})

export default defineConfig({
  root,
  test: {
    projects: [
      // The service keeps nothing outside of an app, and no module is mocked. So a worker loads the
      // service once for all its files, whatever folder they are in: that takes some 4 s of CPU.
      ...(services.length === 0 ? [] : [project('services', services, false)]),
      // They count timers and set the clock: a service in the same process would disturb them.
      ...(withoutService.length === 0 ? [] : [project('unit', withoutService, false)]),
      ...(alone.length === 0 ? [] : [project('alone', alone, true)]),
    ],
    globalSetup: ['test/harness/global-setup.ts'],
    // Much of it waits for processes, timers and browsers.
    maxWorkers: 3,
    // Each run and each isolated file would transform the same sources.
    experimental: { fsModuleCache: true },
  },
})

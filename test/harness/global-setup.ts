import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

import type { TestProject } from 'vitest/node'

import { ROOT } from '../../src/core/process/root.ts'
import { needsOf } from './needs.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A migrated data folder of the embedded database, to load. */
    dump: string
    /** The same as DATA_DIR, to copy: to make one takes a process some seconds. */
    dataDir: string
    /** A migrated database on the server, to clone; absent without DATABASE_URL. */
    template: string | undefined
  }
}

/** Makes what the files of this run need, and nothing else. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const needs = needsOf(project.vitest.state.getPaths())
  if (needs.build) build()
  if (!needs.database) return undefined
  // Not before the build: it loads the database client.
  const { makeDatabases } = await import('./migrated.ts')
  return makeDatabases(project)
}

function build(): void {
  // What vitest sets would change the bundles.
  const { NODE_ENV: _mode, TEST: _test, VITEST: _vitest, ...env } = process.env
  execFileSync(process.execPath, [join(ROOT, 'src/build/build.mjs')], { env, stdio: 'inherit' })
}

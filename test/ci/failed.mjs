// failed.mjs <report>: the files in which a test failed. Ends with 1 where these may have no second
// try, or where there are none: then something else has failed.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

const MAX_FILES = 6

/** They prove that nothing is lost, doubled or reordered, so a single failure counts. */
const PROMISES = [
  'analytics',
  'classifier-kill',
  'crash',
  'database',
  'end-to-end',
  'erasure',
  'idempotency',
  'import',
  'merges',
  'migrations',
  'ordering',
  'places',
  'redis',
  'restarts',
  'soak',
  'stream',
  'webhooks',
  'webhooks-chaos',
  'webhooks-kill',
]
  .map((name) => `test/faults/${name}.test.ts`)
  .concat(['analytics-model', 'concurrency', 'idempotency', 'stream'].map((name) => `test/contract/${name}.test.ts`))

const { testResults } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const failed = testResults
  .filter(({ status }) => status === 'failed')
  .map(({ name }) => relative(process.cwd(), name).replaceAll('\\', '/'))
if (failed.length === 0 || failed.length > MAX_FILES || failed.some((file) => PROMISES.includes(file))) process.exit(1)
console.log(failed.join(' '))

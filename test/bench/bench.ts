// npm run bench [-- name …]: each bench prints its figures beside a reference that it measures in
// the same run. One that fails ends with 1, after the others.
import { benchAnalytics } from './analytics.ts'
import { benchApi } from './api.ts'
import { benchCpu } from './cpu.ts'
import { benchEmbedded } from './embedded.ts'
import { runBench } from './figures.ts'
import { benchGraphql } from './graphql.ts'
import { benchGuests } from './guests.ts'
import { benchHostile } from './hostile.ts'
import { benchImport } from './import.ts'
import { benchNeighbours } from './neighbours.ts'
import { benchCreate } from './create.ts'
import { benchPeers } from './peers.ts'
import { benchPost } from './post.ts'
import { benchProcesses } from './processes.ts'
import { benchRetention } from './retention.ts'
import { benchSearch } from './search.ts'
import { isSmallest, NotHere, sized, skip } from './size.ts'
import { benchSizing } from './sizing.ts'
import { benchStart } from './start.ts'
import { benchStreamTimes } from './stream-times.ts'
import { benchStream } from './stream.ts'
import { benchToggle } from './toggle.ts'
import { benchTraces } from './traces.ts'
import { benchWebhooks } from './webhooks.ts'

const BENCHES: Readonly<Record<string, () => Promise<void>>> = {
  create: benchCreate,
  post: benchPost,
  neighbours: benchNeighbours,
  api: benchApi,
  cpu: benchCpu,
  graphql: benchGraphql,
  toggle: benchToggle,
  hostile: benchHostile,
  guests: benchGuests,
  stream: benchStream,
  peers: benchPeers,
  'stream-times': benchStreamTimes,
  analytics: benchAnalytics,
  webhooks: benchWebhooks,
  import: benchImport,
  retention: benchRetention,
  search: benchSearch,
  embedded: benchEmbedded,
  processes: benchProcesses,
  sizing: benchSizing,
  traces: benchTraces,
  start: benchStart,
}

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => BENCHES[name] === undefined)
if (unknown.length > 0) {
  console.error(`no bench ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}`)
  process.exit(2)
}

/** Two at once at the smallest size, where no figure counts: each waits for its processes. */
const LANES = sized(1, 2)

const left = Object.entries(BENCHES).filter(([name]) => asked.length === 0 || asked.includes(name))
await Promise.all(Array.from({ length: LANES }, runAll))

async function runAll(): Promise<void> {
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    const [name, bench] = next
    const startedAt = performance.now()
    try {
      await runBench(bench)
    } catch (error) {
      if (error instanceof NotHere) skip(error.message)
      else {
        console.error(`\nthe bench ${name} has failed`, error)
        process.exitCode = 1
      }
    }
    if (isSmallest) console.log(`\n${name} took ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  }
}

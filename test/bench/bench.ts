// npm run bench [-- name …]: each bench prints its figures beside a reference that it measures in
// the same run.
import { benchAnalytics } from './analytics.ts'
import { benchApi } from './api.ts'
import { benchCpu } from './cpu.ts'
import { benchEmbedded } from './embedded.ts'
import { benchGraphql } from './graphql.ts'
import { benchImport } from './import.ts'
import { benchNeighbours } from './neighbours.ts'
import { benchCreate } from './create.ts'
import { benchPeers } from './peers.ts'
import { benchPost } from './post.ts'
import { benchProcesses } from './processes.ts'
import { benchRetention } from './retention.ts'
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
  stream: benchStream,
  peers: benchPeers,
  'stream-times': benchStreamTimes,
  analytics: benchAnalytics,
  webhooks: benchWebhooks,
  import: benchImport,
  retention: benchRetention,
  embedded: benchEmbedded,
  processes: benchProcesses,
  sizing: benchSizing,
  traces: benchTraces,
  start: benchStart,
}

const asked = process.argv.slice(2)
const names = asked.length === 0 ? Object.keys(BENCHES) : asked
for (const name of names) {
  const bench = BENCHES[name]
  if (bench === undefined) {
    console.error(`no bench ${name}; there are ${Object.keys(BENCHES).join(', ')}`)
    process.exit(2)
  }
  await bench()
}

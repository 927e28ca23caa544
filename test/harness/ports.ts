import { createServer } from 'node:net'

// Below the range that the kernel draws from for outgoing connections: one of those could take the
// port of a process that is down for a moment, or connect to itself there. Above 10080, the last of
// the ports to which browsers and fetch refuse to go (Fetch standard, "bad port").
const PORTS = { from: 10_081, to: 30_000 }

// Concurrent test files use separate ports: a port that is reserved for a process, or whose
// process is down for a moment, is given to no other. So do two runs of tests at once: the second
// has TEST_RUN=1.
const WORKERS = 64
const RUNS = 2
const run = Number(process.env.TEST_RUN ?? 0) % RUNS
const worker = (Number(process.env.VITEST_POOL_ID ?? 0) + (run * WORKERS) / RUNS) % WORKERS
const SLOTS = Math.floor((PORTS.to - PORTS.from) / WORKERS)
let slot = Math.floor(Math.random() * SLOTS)

/** A port that nobody listens on now, and that this process was not given lately. */
export async function freePort(): Promise<number> {
  for (;;) {
    slot = (slot + 1) % SLOTS
    const port = PORTS.from + slot * WORKERS + worker
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

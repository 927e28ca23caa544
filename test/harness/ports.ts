import { createServer } from 'node:net'

// Below the range that the kernel draws from for outgoing connections: one of those could take the port of a process
// that is down for a moment, or connect to itself there. Above 10080, the last of the ports to which browsers and fetch
// refuse to go (Fetch standard, "bad port").
const PORTS = { from: 10_081, to: 30_000 }

/** A port that nobody listens on now. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.from + Math.floor(Math.random() * (PORTS.to - PORTS.from))
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

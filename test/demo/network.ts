import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** The way between a reader and the service. */
export interface Network {
  port: number
  /** Breaks every connection on it, and lets no new one through. */
  cut(): void
  mend(): void
  close(): Promise<void>
}

/** A TCP relay to `port` of this machine, which can be cut in the middle of anything. */
export async function startNetwork(port: number): Promise<Network> {
  const sockets = new Set<Socket>()
  let isCut = false
  const relay = createServer((near) => {
    if (isCut) return void near.destroy()
    const far = connect(port, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
    near.pipe(far)
    far.pipe(near)
  })
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
  const breakAll = () => sockets.forEach((socket) => socket.destroy())
  return {
    port: (relay.address() as AddressInfo).port,
    cut: () => {
      isCut = true
      breakAll()
    },
    mend: () => {
      isCut = false
    },
    close: async () => {
      breakAll()
      await new Promise((resolve) => relay.close(resolve))
    },
  }
}

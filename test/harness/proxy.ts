import { connect, createServer, type Server, type Socket } from 'node:net'

import { freePort } from './ports.ts'

/** Stands between a client and a server, and gets in the way. */
export interface Proxy {
  port: number
  /** Cuts every connection and refuses new ones. */
  down(): Promise<void>
  /** Takes connections again, on the same port. */
  up(): Promise<void>
  /**
   * Swallows what the server sends where this says so; null lets everything through. Connections
   * stay.
   */
  swallow(isLost: ((chunk: Buffer) => boolean) | null): void
  /** How many chunks have been swallowed. */
  readonly swallowed: number
  close(): Promise<void>
}

/** A TCP proxy to `host:port`. */
export async function startProxy(target: { host: string; port: number }): Promise<Proxy> {
  const sockets = new Set<Socket>()
  let isLost: ((chunk: Buffer) => boolean) | null = null
  let swallowed = 0
  let server: Server | undefined
  const port = await freePort()

  const join = (client: Socket): void => {
    const upstream = connect(target)
    const ends = [client, upstream]
    for (const socket of ends) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => ends.forEach((end) => sockets.delete(end) && end.destroy()))
    }
    client.pipe(upstream)
    upstream.on('data', (chunk: Buffer) => {
      if (isLost?.(chunk) === true) swallowed++
      else client.write(chunk)
    })
  }

  const up = async (): Promise<void> => {
    if (server !== undefined) return
    const opened = createServer(join)
    server = opened
    await new Promise<void>((resolve, reject) => opened.once('error', reject).listen(port, '127.0.0.1', resolve))
  }

  const down = async (): Promise<void> => {
    const closed = new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)))
    for (const socket of sockets) socket.destroy()
    await closed
    server = undefined
  }

  await up()
  return {
    port,
    down,
    up,
    swallow: (rule) => void (isLost = rule),
    get swallowed() {
      return swallowed
    },
    close: down,
  }
}

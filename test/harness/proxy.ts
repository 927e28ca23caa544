import { connect, createServer, type Server, type Socket } from 'node:net'

import { freePort } from './ports.ts'

/** Sits between a client and a server, and causes faults. */
export interface Proxy {
  port: number
  /** Cuts every connection and refuses new ones. */
  down(): Promise<void>
  /** Takes connections again, on the same port. */
  up(): Promise<void>
  /**
   * Drops chunks from the server for which this returns true; null passes everything. Connections
   * stay.
   */
  swallow(isLost: ((chunk: Buffer) => boolean) | null): void
  /**
   * Forwards nothing, not even the end of a connection, like a network that drops packets. Data
   * sent meanwhile arrives afterwards, unless its connection has ended. New connections are
   * accepted.
   */
  silence(isSilent: boolean): void
  /**
   * Connections that are silent now stay so, as on a machine that was replaced: nothing answers on
   * them, not even their end.
   */
  forget(): void
  /** Hands on what the server sends after so many milliseconds. */
  delay(ms: number): void
  /** How many chunks have been swallowed. */
  readonly swallowed: number
  close(): Promise<void>
}

/** A TCP proxy to `host:port`. */
export async function startProxy(target: { host: string; port: number }): Promise<Proxy> {
  const sockets = new Set<Socket>()
  let isLost: ((chunk: Buffer) => boolean) | null = null
  let swallowed = 0
  let isSilent = false
  let generation = 0
  let delayMs = 0
  /** Data that waits for the end of a silence. */
  const held: (() => void)[] = []
  let server: Server | undefined
  const port = await freePort()

  const join = (client: Socket): void => {
    const born = generation
    const forward = (step: () => void): void => {
      if (born !== generation) return
      if (isSilent) held.push(step)
      else step()
    }
    const upstream = connect(target)
    const ends = [client, upstream]
    for (const socket of ends) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        forward(() => ends.forEach((end) => end.destroy()))
      })
    }
    const pipe = (from: Socket, to: Socket): void => {
      from.on('data', (chunk: Buffer) => {
        if (from === upstream && isLost?.(chunk) === true) swallowed++
        // Data of a sender that has given up is dropped.
        else if (from === upstream && delayMs > 0) setTimeout(() => to.write(chunk), delayMs)
        else forward(() => void (from.destroyed || to.write(chunk)))
      })
    }
    pipe(client, upstream)
    pipe(upstream, client)
  }

  const up = async (): Promise<void> => {
    if (server !== undefined) return
    const opened = createServer(join)
    server = opened
    await new Promise<void>((resolve, reject) => opened.once('error', reject).listen(port, '127.0.0.1', resolve))
  }

  const down = async (): Promise<void> => {
    const closed = new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)))
    held.length = 0
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
    delay: (ms) => void (delayMs = ms),
    silence: (silent) => {
      isSilent = silent
      if (!silent) for (const step of held.splice(0)) step()
    },
    forget: () => {
      generation++
      held.length = 0
    },
    get swallowed() {
      return swallowed
    },
    close: down,
  }
}

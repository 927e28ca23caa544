import type { Server } from 'node:http'
import type { Socket } from 'node:net'

const SWEEP_MS = 50

/** Knows the connections of a server, so that none of them holds up its end. */
export function watchConnections(server: Server): {
  /**
   * Waits for `closed`. Idle connections are closed at once, all others after `graceMs`.
   */
  drain(closed: Promise<unknown>, graceMs: number): Promise<void>
} {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const sweep = (): void => {
    // A connection that was busy when the server closed becomes idle later, and its client keeps
    // it.
    server.closeIdleConnections()
    // Clients open connections ahead of need. Node considers one that never carried a request busy
    // until it closes.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  }
  return {
    async drain(closed, graceMs) {
      const sweeper = setInterval(sweep, SWEEP_MS)
      // An HTTPS server with HTTP/2 has no closeAllConnections.
      const late = setTimeout(() => sockets.forEach((socket) => socket.destroy()), graceMs)
      sweep()
      await closed.finally(() => {
        clearInterval(sweeper)
        clearTimeout(late)
      })
    },
  }
}

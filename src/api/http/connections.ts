import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const SWEEP_MS = 50

/** A connection that has carried nothing for this long was opened ahead of need. */
const UNUSED_MS = 1000

/** Tracks the connections of a server, so that none delays its end. */
export function watchConnections(server: Server): {
  /** Waits for `closed`. Idle connections are closed at once, all others after `graceMs`. */
  drain(closed: Promise<unknown>, graceMs: number): Promise<void>
} {
  const sockets = new Map<Socket, number>()
  server.on('connection', (socket: Socket) => {
    sockets.set(socket, performance.now())
    socket.once('close', () => sockets.delete(socket))
  })
  const sweep = (): void => {
    // A connection that was busy when the server closed becomes idle later, and its client keeps
    // it open.
    server.closeIdleConnections()
    // Node counts a connection without any request as busy. A new one's request may be on its way.
    const unusedSince = performance.now() - UNUSED_MS
    for (const [socket, openedAt] of sockets) if (socket.bytesRead === 0 && openedAt < unusedSince) socket.destroy()
  }
  return {
    async drain(closed, graceMs) {
      const sweeper = setInterval(sweep, SWEEP_MS)
      // An HTTPS server with HTTP/2 has no closeAllConnections.
      const late = setTimeout(() => sockets.forEach((_openedAt, socket) => socket.destroy()), graceMs)
      sweep()
      const ended = async (): Promise<void> => {
        await closed
        // A server waits only for its own connections, not for those that a parent gave it.
        while (sockets.size > 0) await sleep(SWEEP_MS)
      }
      await ended().finally(() => {
        clearInterval(sweeper)
        clearTimeout(late)
      })
    },
  }
}

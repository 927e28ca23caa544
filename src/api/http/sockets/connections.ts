import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Http2SecureServer, ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { quietTurn } from '../../../core/process/event-loop.ts'

const SWEEP_MS = 50

/** A connection that has carried nothing for this long was opened ahead of need. */
const UNUSED_MS = 1000

/** How long a sweep waits for a turn of the event loop in which nothing arrives. */
const QUIET_MS = 200

interface Connection {
  /** Answers under way. Node tells nothing of those that wait when their connection closes. */
  answers: Set<ServerResponse>
  idleSince: number
  /** What it had carried then: more of it is a request that is on its way. */
  bytesRead: number
}

/** The connections of a server, and how they end when it stops. */
export interface Connections {
  /**
   * From now on each answer ends its connection, so that proxies and clients open the next one
   * elsewhere. Those that may break off do not say so. HTTP/2 connections take no further requests
   * (GOAWAY), and end after the ones that they have.
   */
  retire(): void
  /**
   * Waits for `closed`, the end of the listener. Connections end once they have been idle for
   * `idleMs`, which is as long as a proxy may keep one without using it, and all others after
   * `withinMs`.
   */
  drain(closed: Promise<unknown>, times: { idleMs: number; withinMs: number }): Promise<void>
}

/** Tracks the connections of a server. It closes idle ones by itself no longer. */
export function watchConnections(server: Server): Connections {
  const sockets = new Map<Socket, Connection>()
  const sessions = new Set<ServerHttp2Session>()
  let isRetiring = false

  // Node closes idle connections with the listener, also one that its proxy has just used.
  server.closeIdleConnections = () => undefined

  server.on('connection', (socket: Socket) => {
    sockets.set(socket, { answers: new Set(), idleSince: performance.now(), bytesRead: 0 })
    socket.once('close', () => sockets.delete(socket))
  })
  // Before the handler, which may answer at once.
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    // HTTP/2 has no such header.
    if (request.httpVersionMajor > 1) return
    if (isRetiring) response.shouldKeepAlive = false
    const socket = rawOf(request.socket)
    const connection = sockets.get(socket)
    if (connection === undefined) return
    connection.answers.add(response)
    response.once('close', () => {
      connection.answers.delete(response)
      if (connection.answers.size > 0) return
      Object.assign(connection, { idleSince: performance.now(), bytesRead: socket.bytesRead })
    })
  })
  ;(server as unknown as Http2SecureServer).on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    session.on('stream', () => {
      if (isRetiring) session.close()
    })
  })

  const isIdle = (socket: Socket, connection: Connection, idleMs: number): boolean => {
    const { answers, idleSince, bytesRead } = connection
    if (answers.size > 0 || socket.bytesRead !== bytesRead) return false
    return performance.now() - idleSince >= (bytesRead === 0 ? Math.max(idleMs, UNUSED_MS) : idleMs)
  }

  const sweep = async (idleMs: number): Promise<void> => {
    if (sockets.size === 0) return
    // What has arrived is read first: the end of a connection with unread bytes is a reset.
    await quietTurn(QUIET_MS)
    for (const [socket, connection] of sockets) if (isIdle(socket, connection, idleMs)) socket.destroySoon()
  }

  return {
    retire() {
      isRetiring = true
      for (const { answers } of sockets.values()) for (const answer of answers) answer.shouldKeepAlive = false
      for (const session of sessions) session.close()
    },
    async drain(closed, { idleMs, withinMs }) {
      this.retire()
      // An HTTPS server with HTTP/2 has no closeAllConnections.
      const late = setTimeout(() => sockets.forEach((_connection, socket) => socket.destroy()), withinMs)
      let isOver = false
      const sweeping = (async () => {
        while (!isOver) {
          await sweep(idleMs)
          await sleep(SWEEP_MS)
        }
      })()
      try {
        await closed
        // A server waits only for its own connections, not for those that a parent gave it.
        while (sockets.size > 0) await sleep(SWEEP_MS)
      } finally {
        isOver = true
        clearTimeout(late)
        await sweeping
      }
    },
  }
}

/** The connection below TLS, by which the server knows it. */
function rawOf(socket: Socket): Socket {
  const { _parent: below } = socket as Socket & { _parent?: Socket | null }
  return below ?? socket
}

import type { Server } from 'node:http'
import type { Socket } from 'node:net'

import type { FastifyReply, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'

import { type App, perApp } from '../../../core/app.ts'
import { addressBucket } from '../../../core/limits.ts'
import { counter, gaugeOf, metricsOf } from '../../../core/telemetry/metrics.ts'

/** The least time between warnings about refused connections. */
const WARN_EVERY_MS = 60_000

interface TrackedConnection {
  /**
   * The address that it counts for; null for a trusted proxy, whose address stands for many
   * clients.
   */
  owner: string | null
  /** The number of event streams on it now. */
  streams: number
  isClosed: boolean
}

/**
 * Keeps `server` within MAX_CONNECTIONS and MAX_CONNECTIONS_PER_ADDRESS: excess connections are
 * closed at once. A connection with a stream does not count, because streams have their own caps.
 * Call the result for each stream that opens.
 */
export function limitConnections(server: Server, app: App): (request: FastifyRequest, reply: FastifyReply) => void {
  const { MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS, TRUSTED_PROXIES } = app.settings
  const isProxy = inRanges(TRUSTED_PROXIES)
  const { counted, connections, onRefused } = connectionsOf(app)

  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket
    const owner = isProxy(remoteAddress) ? null : addressBucket(remoteAddress)
    const limit = counted.total >= MAX_CONNECTIONS ? 'process' : 'address'
    if (limit === 'process' || counted.of(owner) >= MAX_CONNECTIONS_PER_ADDRESS) {
      socket.destroy()
      return onRefused(limit, remoteAddress)
    }
    // Node hides the socket below TLS and HTTP/2, but its remote end identifies it.
    const name = nameOf(socket)
    const connection: TrackedConnection = { owner, streams: 0, isClosed: false }
    connections.set(name, connection)
    counted.add(owner, 1)
    socket.once('close', () => {
      connection.isClosed = true
      connections.delete(name)
      if (connection.streams === 0) counted.add(owner, -1)
    })
  })

  return (request, reply) => {
    const connection = connections.get(nameOf(request.raw.socket))
    if (connection === undefined) return
    if (connection.streams++ === 0) counted.add(connection.owner, -1)
    reply.raw.once('close', () => {
      if (--connection.streams === 0 && !connection.isClosed) counted.add(connection.owner, 1)
    })
  }
}

/** All connections of a process, by remote end. */
const connectionsOf = perApp((app) => {
  const connections = new Map<string, TrackedConnection>()
  return { counted: new ConnectionCounts(), connections, onRefused: tellOperator(app, () => connections.size) }
})

const nameOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`

/** Counts connections, in total and by owner. */
class ConnectionCounts {
  total = 0
  readonly #byOwner = new Map<string, number>()

  of(owner: string | null): number {
    return owner === null ? 0 : (this.#byOwner.get(owner) ?? 0)
  }

  add(owner: string | null, by: 1 | -1): void {
    this.total += by
    if (owner === null) return
    const count = this.of(owner) + by
    if (count === 0) this.#byOwner.delete(owner)
    else this.#byOwner.set(owner, count)
  }
}

function inRanges(cidrs: readonly string[]): (address: string) => boolean {
  const ranges = cidrs.map((cidr) => ipaddr.parseCIDR(cidr))
  return (address) => {
    if (ranges.length === 0 || !ipaddr.isValid(address)) return false
    const parsed = ipaddr.process(address)
    return ranges.some(([network, bits]) => parsed.kind() === network.kind() && parsed.match(network, bits))
  }
}

/** Reports to metrics and, at times, to the log. */
function tellOperator(app: App, open: () => number): (limit: 'process' | 'address', address: string) => void {
  gaugeOf(metricsOf(app), 'http_connections', open)
  const refused = counter(metricsOf(app), 'http_connections_refused_total')
  let warnedAt = -Infinity
  return (limit, address) => {
    refused.inc({ limit })
    if (performance.now() - warnedAt < WARN_EVERY_MS) return
    warnedAt = performance.now()
    app.log.warn({ limit, address, open: open() }, 'connections are refused: there are too many')
  }
}

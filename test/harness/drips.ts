import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** A client that sends its bytes one at a time and never comes to an end. */
export interface Drip {
  /** All that the server has answered. */
  readonly text: string
  /** Its own port, once it is connected. */
  readonly localPort: number
  /** Resolves when the server has closed the connection. */
  readonly closed: Promise<void>
  close(): void
}

interface Options {
  port: number
  /** Sent at once. */
  head?: string | Uint8Array
  /** Sent repeatedly after that; nothing if absent. */
  drop?: string | Uint8Array
  everyMs?: number
  /** Over TLS, with this protocol. */
  alpn?: 'h2' | 'http/1.1'
}

export function drip({ port, head = '', drop, everyMs = 100, alpn }: Options): Drip {
  const to = { port, host: '127.0.0.1', allowHalfOpen: true }
  const socket: Socket =
    alpn === undefined ? connect(to) : connectTls({ ...to, ALPNProtocols: [alpn], rejectUnauthorized: false })
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.once(alpn === undefined ? 'connect' : 'secureConnect', () => socket.write(head))
  const timer = setInterval(() => {
    if (drop !== undefined && socket.writable) socket.write(drop)
  }, everyMs)
  // The end of a closing server is read after its data, while this half of the connection is still
  // open.
  const closed = new Promise<void>((resolve) => socket.once('end', resolve).once('close', () => resolve()))
  socket.on('error', () => undefined)
  void closed.then(() => clearInterval(timer))
  return {
    get text() {
      return Buffer.concat(chunks).toString('latin1')
    },
    get localPort() {
      return socket.localPort ?? 0
    },
    closed,
    close: () => socket.destroy(),
  }
}

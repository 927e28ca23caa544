// A receiver of webhooks that costs next to nothing: raw sockets, every complete request answered
// with 204. It counts, and notes when each event came. Requests to /hang/… get no answer while it
// is told to hang.
import { createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'

import { makeCertificates } from '../harness/certificates.ts'

/** The questions to the sink, and its answers. */
export interface SinkQuestion {
  /** Drops its counts, and hangs from now on or does not. */
  reset?: { hang: boolean }
}
export interface SinkAnswer {
  count: number
  /** When the last one came, in milliseconds since 1970. */
  lastAt: number
  /**
   * Event and arrival time of requests to paths other than /hang/…, in order; only if nothing was
   * reset.
   */
  arrivals: [eventId: string, at: number][]
}

const OK = Buffer.from('HTTP/1.1 204 No Content\r\n\r\n')
const KEY = /x-service-idempotency-key: \w+:(\S+)/i
const LENGTH = /content-length: (\d+)/i

let state = { count: 0, lastAt: 0, arrivals: [] as [string, number][] }
let hang = false

function serve(socket: Socket): void {
  socket.setNoDelay(true)
  socket.on('error', () => undefined)
  let pending = ''
  socket.on('data', (chunk: Buffer) => {
    // latin1: one character a byte, so that lengths agree.
    pending += chunk.toString('latin1')
    for (;;) {
      const headEnd = pending.indexOf('\r\n\r\n')
      if (headEnd < 0) return
      const head = pending.slice(0, headEnd)
      const end = headEnd + 4 + Number(LENGTH.exec(head)?.[1] ?? 0)
      if (pending.length < end) return
      pending = pending.slice(end)
      const isHanging = hang && head.startsWith('POST /hang/')
      state.count += isHanging ? 0 : 1
      state.lastAt = performance.timeOrigin + performance.now()
      if (!head.startsWith('POST /hang/')) state.arrivals.push([KEY.exec(head)?.[1] ?? '', state.lastAt])
      if (!isHanging) socket.write(OK)
    }
  })
}

process.on('message', ({ reset }: SinkQuestion) => {
  if (reset !== undefined) {
    state = { count: 0, lastAt: 0, arrivals: [] }
    hang = reset.hang
  }
  process.send?.({ ...state, arrivals: reset === undefined ? state.arrivals : [] } satisfies SinkAnswer)
})

const { ca, cert, key } = makeCertificates(['127.0.0.1'])
const http = createServer(serve)
const https = createTlsServer({ cert, key }, serve)
await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
await new Promise<void>((resolve) => https.listen(0, '127.0.0.1', resolve))
process.send?.({ http: http.address(), https: https.address(), ca })

import { connect } from 'node:net'

import { times } from './figures.ts'
import { sized } from './size.ts'

interface Load {
  port: number
  connections: number
  seconds: number
  /**
   * The requests, whole and encoded; each connection takes the next one as soon as it has its
   * answer.
   */
  requests: readonly Buffer[]
  /** Whether they may be refused. */
  mayFail?: boolean
}

export interface LoadResult {
  perSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
  answered: number
}

/** Shared by all sockets: the load must cost little, because the service has the same cores. */
const buffer = Buffer.allocUnsafe(256 * 1024)
const NOTHING = Buffer.alloc(0)
/** As Fastify writes it, and as Node does. */
const LENGTHS = ['\r\ncontent-length: ', '\r\nContent-Length: '] as const

/**
 * Sends requests over raw keep-alive sockets, one at a time on each, and counts the answers. Throws
 * where the process ends, or an answer is an error that was not expected.
 */
export async function load({ port, connections, seconds, requests, mayFail = false }: Load): Promise<LoadResult> {
  const latencies: number[] = []
  const statuses: Record<string, number> = {}
  let next = 0
  const until = performance.now() + sized(seconds, 0.1) * 1000
  const started = performance.now()
  const one = (): Promise<void> =>
    new Promise((resolve, reject) => {
      let sentAt = 0
      let isOver = false
      /** The beginning of an answer, until its head is whole. */
      let head = NOTHING
      /** Bytes of the answer that are still to come; null while its head is not whole. */
      let missing: number | null = null
      const send = (): void => {
        // At least once, however slow the machine is.
        isOver = sentAt > 0 && performance.now() >= until
        if (isOver) return void socket.end()
        const request = requests[next++ % requests.length]
        sentAt = performance.now()
        if (request !== undefined) socket.write(request)
      }
      const receive = (chunk: Buffer): void => {
        if (missing === null) {
          const answer = head.length === 0 ? chunk : Buffer.concat([head, chunk])
          const length = answerLength(answer)
          if (length === null) return void (head = Buffer.from(answer))
          const status = answer.toString('latin1', 9, 12)
          statuses[status] = (statuses[status] ?? 0) + 1
          missing = length - answer.length
          head = NOTHING
        } else missing -= chunk.length
        if (missing > 0) return
        missing = null
        latencies.push(performance.now() - sentAt)
        send()
      }
      const callback = (length: number): boolean => {
        receive(buffer.subarray(0, length))
        return true
      }
      const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback } })
      socket.on('connect', send)
      socket.on('error', reject)
      socket.on('close', () => (isOver ? resolve() : reject(new Error('a connection was closed under the load'))))
    })
  await Promise.all(Array.from({ length: sized(connections, Math.min(connections, 8)) }, one))
  const elapsed = (performance.now() - started) / 1000
  const wrong = Object.keys(statuses).filter((status) => !['200', '201', '304'].includes(status))
  if (wrong.length > 0 && !mayFail) throw new Error(`answers were ${JSON.stringify(statuses)}`)
  return { perSecond: latencies.length / elapsed, ...times(latencies), answered: latencies.length }
}

/** The length of head and body; null while the head is not whole. */
function answerLength(answer: Buffer): number | null {
  const end = answer.indexOf('\r\n\r\n')
  if (end < 0) return null
  const found = Math.max(...LENGTHS.map((name) => answer.subarray(0, end).indexOf(name)))
  if (found < 0) return end + 4
  const at = found + LENGTHS[0].length
  // parseInt ends at the line's end.
  return end + 4 + Number.parseInt(answer.toString('latin1', at, at + 12), 10)
}

export const httpRequest = (method: string, path: string, headers: Record<string, string>, body = ''): Buffer =>
  Buffer.from(
    [
      `${method} ${path} HTTP/1.1`,
      'Host: 127.0.0.1',
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  )

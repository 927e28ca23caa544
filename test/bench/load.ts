import { connect } from 'node:net'

interface Load {
  port: number
  connections: number
  seconds: number
  /**
   * The requests, whole and encoded; each connection takes the next one as soon as it has its
   * answer.
   */
  requests: readonly Buffer[]
}

export interface LoadResult {
  perSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
  statuses: Record<string, number>
}

/** Shared by all sockets: the load must cost little, because the service has the same cores. */
const buffer = Buffer.allocUnsafe(256 * 1024)
const NOTHING = Buffer.alloc(0)
/** As Fastify writes it, and as Node does. */
const LENGTHS = ['\r\ncontent-length: ', '\r\nContent-Length: '] as const

/** Sends requests over raw keep-alive sockets, one at a time on each, and counts the answers. */
export async function load({ port, connections, seconds, requests }: Load): Promise<LoadResult> {
  const latencies: number[] = []
  const statuses: Record<string, number> = {}
  let next = 0
  const until = performance.now() + seconds * 1000
  const started = performance.now()
  const one = (): Promise<void> =>
    new Promise((resolve, reject) => {
      let sentAt = 0
      /** The beginning of an answer, until its head is whole. */
      let head = NOTHING
      /** Bytes of the answer that are still to come; null while its head is not whole. */
      let missing: number | null = null
      const send = (): void => {
        if (performance.now() >= until) return void socket.end()
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
      socket.on('close', () => resolve())
    })
  await Promise.all(Array.from({ length: connections }, one))
  const elapsed = (performance.now() - started) / 1000
  latencies.sort((a, b) => a - b)
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0
  return { perSecond: latencies.length / elapsed, p50: at(0.5), p99: at(0.99), statuses }
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

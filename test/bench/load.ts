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

/** Sends requests over raw keep-alive sockets, one at a time on each, and counts the answers. */
export async function load({ port, connections, seconds, requests }: Load): Promise<LoadResult> {
  const latencies: number[] = []
  const statuses: Record<string, number> = {}
  let next = 0
  const until = performance.now() + seconds * 1000
  const started = performance.now()
  const one = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1')
      socket.setNoDelay(true)
      let sentAt = 0
      let answer = Buffer.alloc(0)
      const send = (): void => {
        if (performance.now() >= until) return void socket.end()
        const request = requests[next++ % requests.length]
        sentAt = performance.now()
        if (request !== undefined) socket.write(request)
      }
      socket.on('connect', send)
      socket.on('data', (chunk) => {
        answer = answer.length === 0 ? chunk : Buffer.concat([answer, chunk])
        const length = answerLength(answer)
        if (length === null || answer.length < length) return
        const status = answer.toString('latin1', 9, 12)
        statuses[status] = (statuses[status] ?? 0) + 1
        latencies.push(performance.now() - sentAt)
        answer = answer.subarray(length)
        send()
      })
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
  const match = /content-length: (\d+)/i.exec(answer.toString('latin1', 0, end))
  return end + 4 + Number(match?.[1] ?? 0)
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

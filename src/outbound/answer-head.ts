import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** The most bytes that the head of an answer may have. */
export const MAX_HEAD_BYTES = 64 * 1024

/** What the head of an answer says. */
export interface AnswerHead {
  statusCode: number
  retryAfter: string | null
  /** By name, in lower case; empty where the parser refused the head. */
  headers: IncomingHttpHeaders
}

const watchers = new WeakMap<Socket, (chunk: Buffer) => void>()

/**
 * Calls `onHead` once the head of the answer is complete. Node's parser refuses heads that other
 * clients take: a repeated length, a length beside chunks, folded lines. Their bytes are read here,
 * and the parser then closes the connection.
 *
 * A connection on which anything follows an answer is closed as well: the bytes would become the
 * answer of the next request.
 */
export function watchHead(request: ClientRequest, onHead: (head: AnswerHead) => void): void {
  let answer: IncomingMessage | undefined
  const chunks: Buffer[] = []
  let length = 0
  request.once('response', (response) => {
    answer = response
    if (hasBodyOutOfPlace(response)) request.shouldKeepAlive = false
    const { statusCode = 0, headers } = response
    onHead({ statusCode, retryAfter: headers['retry-after'] ?? null, headers })
  })
  // The answer to a request that asked for no other protocol.
  request.once('upgrade', ({ statusCode = 101, headers }, socket) => {
    onHead({ statusCode, retryAfter: null, headers })
    socket.destroy()
  })
  request.once('error', (error: NodeJS.ErrnoException) => {
    const isRefused = error.code?.startsWith('HPE_') === true && error.code !== 'HPE_HEADER_OVERFLOW'
    const head = answer === undefined && isRefused ? headIn(Buffer.concat(chunks)) : null
    if (head !== null) onHead(head)
  })
  request.once('socket', (socket: Socket) => {
    const before = watchers.get(socket)
    if (before !== undefined) socket.off('data', before)
    const watcher = (chunk: Buffer): void => {
      if (answer?.complete === true) socket.destroy()
      if (answer !== undefined) return
      // The parser's limit is for each of the heads, of which informational ones (1xx) never end.
      if (length > MAX_HEAD_BYTES) return void socket.destroy(tooLong())
      chunks.push(chunk)
      length += chunk.length
    }
    watchers.set(socket, watcher)
    // Before the parser's own listener, which removes itself with the end of the answer.
    socket.prependListener('data', watcher)
  })
}

const tooLong = (): Error => Object.assign(new Error('the head is too long'), { code: 'HPE_HEADER_OVERFLOW' })

/** Such an answer has no body (RFC 9112, 6.3): the bytes that it announces come after its end. */
function hasBodyOutOfPlace({ statusCode, headers }: IncomingMessage): boolean {
  const announced = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0
  return (statusCode === 204 || statusCode === 304) && announced
}

/**
 * What a head says that the parser refused, perhaps before its end: the first status line that is
 * not informational (1xx) decides. Null if there is none.
 */
export function headIn(bytes: Buffer): AnswerHead | null {
  // The last line has no end yet.
  const lines = bytes.toString('latin1').split('\n').slice(0, -1)
  let from = 0
  while (from < lines.length) {
    const statusCode = Number(/^HTTP\/1\.\d ([1-5]\d\d)(?!\d)/.exec(lines[from] ?? '')?.[1] ?? 0)
    if (statusCode === 0) return null
    let end = from + 1
    while (end < lines.length && lines[end] !== '' && lines[end] !== '\r') end++
    if (statusCode >= 200) return { statusCode, retryAfter: retryAfterIn(lines.slice(from + 1, end)), headers: {} }
    from = end + 1
  }
  return null
}

function retryAfterIn(lines: readonly string[]): string | null {
  const line = lines.find((each) => /^retry-after:/i.test(each))
  return line === undefined ? null : line.slice(line.indexOf(':') + 1).trim()
}

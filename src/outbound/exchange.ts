import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

import type { Got, Request } from 'got'

import { type AnswerHead, watchHead } from './answer-head.ts'

export interface OutboundRequest {
  url: string
  headers: Record<string, string>
  body: string
  /** Covers look-up, connection, TLS and the head of the answer, and its body unless `logsBody`. */
  timeoutMs: number
  /**
   * Whether the body of the answer is read for the log alone: for 1 s at most, and whatever becomes
   * of it, the answer is complete with its head.
   */
  logsBody?: boolean
  /** Aborts at once. */
  signal: AbortSignal
}

export interface OutboundAnswer {
  /** Null without the head of an answer. */
  statusCode: number | null
  retryAfter: string | null
  /** By name, in lower case; empty without the head of an answer. */
  headers: IncomingHttpHeaders
  /** At most 64 KiB, unpacked. */
  body: Buffer
  /** Null if the answer was complete and in time, whatever its status. */
  error: string | null
  /** Milliseconds until the head of the answer, or until the error. */
  durationMs: number
}

const MAX_ANSWER_BYTES = 64 * 1024
const LOGGED_BODY_MS = 1000

const TIMED_OUT = new Error('timeout')

/** Sends a request with `client`. Never rejects: errors are part of the answer. */
export async function exchange(
  client: Got,
  requireAllowed: (url: URL) => void,
  request: OutboundRequest & { method: 'GET' | 'POST' },
): Promise<OutboundAnswer> {
  const { method, url, headers, body, timeoutMs, logsBody = false, signal } = request
  const began = performance.now()
  const elapsedMs = (): number => Math.round(performance.now() - began)
  const giveUp = new AbortController()
  const abort = (): void => giveUp.abort(signal.reason)
  let timer = setTimeout(() => giveUp.abort(TIMED_OUT), timeoutMs)
  signal.addEventListener('abort', abort)
  let head: (AnswerHead & { durationMs: number }) | null = null
  const onHead = (found: AnswerHead): void => {
    head ??= { ...found, durationMs: elapsedMs() }
    if (!logsBody) return
    clearTimeout(timer)
    timer = setTimeout(() => giveUp.abort(TIMED_OUT), LOGGED_BODY_MS)
  }
  const chunks: Buffer[] = []
  const answered = (error: string | null): OutboundAnswer => ({
    ...(head ?? { statusCode: null, retryAfter: null, headers: {}, durationMs: elapsedMs() }),
    body: Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES),
    error: head !== null && logsBody ? null : error,
  })
  try {
    signal.throwIfAborted()
    requireAllowed(new URL(url))
    const options = { method, headers, signal: giveUp.signal, ...(method === 'POST' ? { body } : {}) }
    const answer = client.stream(url, options)
    // got may have an error when the body has been read: Node would end the process for it.
    answer.on('error', () => undefined)
    let isComplete = (): boolean => true
    answer.once('request', (sent) => {
      watchHead(sent, onHead)
      sent.once('response', (response: IncomingMessage) => (isComplete = () => response.complete))
    })
    await readInto(chunks, answer)
    // A packed body may end before its answer does. No receiver holds a connection by that.
    if (!isComplete()) answer.destroy()
    return answered(null)
  } catch (error) {
    return answered(giveUp.signal.reason === TIMED_OUT ? 'timeout' : explain(error))
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

/** Reads the unpacked body, up to 64 KiB; the connection is cut if there is more. */
async function readInto(chunks: Buffer[], answer: Request): Promise<void> {
  let length = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= MAX_ANSWER_BYTES) return
  }
}

const WORDS: Readonly<Record<string, string>> = {
  EADDRREFUSED: 'address not allowed',
  EPORTREFUSED: 'port not allowed',
  EPROTOREFUSED: 'http not allowed',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed by the receiver',
  EPIPE: 'connection closed by the receiver',
  ECONNABORTED: 'connection closed by the receiver',
  ETIMEDOUT: 'timeout',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  EADDRNOTAVAIL: 'network unreachable',
  ENOTFOUND: 'name not found',
  EAI_AGAIN: 'name servers did not answer',
  CERT_HAS_EXPIRED: 'tls: the certificate has expired',
  CERT_NOT_YET_VALID: 'tls: the certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'tls: the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'tls: a certificate in the chain is self-signed',
  ERR_TLS_CERT_ALTNAME_INVALID: 'tls: the certificate is for another name',
}

/**
 * Why a request failed, in our own few words: a library's message may reveal too much, and changes
 * with its version.
 */
function explain(error: unknown): string {
  const code = codeOf(error)
  if (code === undefined) return 'request failed'
  const words = WORDS[code]
  if (words !== undefined) return words
  if (/^(UNABLE_TO_|CERT_|INVALID_CA|PATH_LENGTH_EXCEEDED)/.test(code)) return 'tls: the certificate cannot be verified'
  if (code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS') || code === 'EPROTO') return 'tls: handshake failed'
  if (code.startsWith('HPE_')) return 'the answer is not HTTP'
  if (code.startsWith('Z_') || code.startsWith('ERR_BROTLI')) return 'the answer cannot be unpacked'
  return 'request failed'
}

/** The code of the innermost cause: wrappers have codes of their own. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  const { code } = error as { code?: unknown }
  return codeOf(error.cause) ?? (typeof code === 'string' ? code : undefined)
}

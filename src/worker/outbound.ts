import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { LookupFunction } from 'node:net'
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'

import { type Got, got, type Request } from 'got'

import { USER_AGENT } from '../core/delivery-request.ts'
import { type Settings, SettingsError } from '../core/settings.ts'
import { createAddressRule, createPortRule, literalAddress } from '../domains/webhooks/addresses.ts'
import { AddressRefused, guardedLookup, PortRefused, ProtocolRefused, type Resolve, resolveHost } from './lookup.ts'
import { explain } from './explain.ts'

/** Every outbound request of the service goes through here. */
export interface Outbound {
  /** Posts a body. Never rejects: errors are part of the answer. */
  post(request: OutboundRequest): Promise<OutboundAnswer>
  /** Fetches a JSON document. Rejects with a short message of our own. */
  fetchJson(url: string): Promise<unknown>
  close(): void
}

export interface OutboundRequest {
  url: string
  headers: Record<string, string>
  body: string
  /** Covers everything: look-up, connection, TLS, headers and body. */
  timeoutMs: number
  /** Aborts at once. */
  signal: AbortSignal
}

export interface OutboundAnswer {
  /** Null without an answer. */
  statusCode: number | null
  /** At most 64 KiB. */
  body: Buffer
  /** Null if the answer was complete and in time, whatever its status. */
  error: string | null
}

const MAX_ANSWER_BYTES = 64 * 1024
const FETCH_TIMEOUT_MS = 10_000
const NO_BODY = Buffer.alloc(0)
// Servers that announce no time close idle connections after 5 s (uvicorn, Node behind some
// proxies) or more; a request on a connection that is being closed is a failed attempt. If they
// announce a time, the agent follows it.
const IDLE_MS = 4000

type OutboundSettings = Pick<
  Settings,
  'WEBHOOK_ALLOWED_CIDRS' | 'WEBHOOK_ALLOWED_PORTS' | 'WEBHOOK_CA_FILE' | 'WEBHOOK_ALLOW_HTTP'
>

/**
 * The agents are shared by all requests, and opened by the first one. Throws a SettingsError at
 * once where WEBHOOK_CA_FILE cannot be used.
 */
export function openOutbound(settings: OutboundSettings, resolve: Resolve = resolveHost): Outbound {
  const isAllowed = createAddressRule(settings.WEBHOOK_ALLOWED_CIDRS)
  const isAllowedPort = createPortRule(settings)
  const { WEBHOOK_CA_FILE: caFile } = settings
  const withCertificates = caFile === undefined ? undefined : contextWith(caFile)
  const open = (): Client => openClient(guardedLookup(isAllowed, resolve), withCertificates ?? createSecureContext())
  let opened: Client | undefined
  /**
   * The agents check addresses at the look-up, but an IP address in the URL needs none, so it is
   * checked here.
   */
  function requireAllowed(url: URL): void {
    // The URL may have been accepted while the setting was on.
    if (url.protocol !== 'https:' && !settings.WEBHOOK_ALLOW_HTTP) throw new ProtocolRefused('http is not allowed')
    const address = literalAddress(url.hostname)
    if (address !== null && !isAllowed(address)) throw new AddressRefused('this address is not allowed')
    if (!isAllowedPort(url)) throw new PortRefused('this port is not allowed')
  }
  const send = (request: OutboundRequest & { method: 'GET' | 'POST' }): Promise<OutboundAnswer> =>
    exchange((opened ??= open()).got, requireAllowed, request)
  return {
    post: (request) => send({ ...request, method: 'POST' }),
    fetchJson: async (url) => {
      const { signal } = new AbortController()
      const headers = { accept: 'application/json' }
      const answer = await send({ url, method: 'GET', headers, body: '', timeoutMs: FETCH_TIMEOUT_MS, signal })
      if (answer.error !== null) throw new Error(answer.error)
      if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`)
      return parseJson(answer.body.toString('utf8'))
    },
    close: () => opened?.close(),
  }
}

interface Client {
  got: Got
  close(): void
}

/**
 * One TLS context serves all connections: to make one, Node parses some 150 root certificates. That
 * is 2 % of a start, so that without WEBHOOK_CA_FILE the first request makes it.
 */
function openClient(lookup: LookupFunction, secureContext: SecureContext): Client {
  const options = { keepAlive: true, scheduling: 'lifo', maxFreeSockets: 256, timeout: IDLE_MS, lookup } as const
  const http = new HttpAgent(options)
  const https = new HttpsAgent({ ...options, secureContext })
  return {
    got: got.extend({
      agent: { http, https },
      headers: { 'user-agent': USER_AGENT },
      followRedirect: false,
      retry: { limit: 0 },
      throwHttpErrors: false,
    }),
    close: () => {
      http.destroy()
      https.destroy()
    },
  }
}

function contextWith(caFile: string): SecureContext {
  try {
    const pem = readFileSync(caFile, 'utf8')
    // The context takes any text and reports no error.
    void new X509Certificate(pem)
    return createSecureContext({ ca: [...rootCertificates, pem] })
  } catch (cause) {
    throw new SettingsError(`WEBHOOK_CA_FILE: ${caFile} cannot be read as certificates`, { cause })
  }
}

async function exchange(
  client: Got,
  requireAllowed: (url: URL) => void,
  { method, url, headers, body, timeoutMs, signal }: OutboundRequest & { method: 'GET' | 'POST' },
): Promise<OutboundAnswer> {
  const deadline = new AbortController()
  const giveUp = (): void => deadline.abort(signal.reason)
  const timer = setTimeout(() => deadline.abort(TIMED_OUT), timeoutMs)
  signal.addEventListener('abort', giveUp)
  let statusCode: number | null = null
  try {
    signal.throwIfAborted()
    requireAllowed(new URL(url))
    const options = { method, headers, signal: deadline.signal, ...(method === 'POST' ? { body } : {}) }
    const answer = client.stream(url, options)
    answer.once('response', (response: { statusCode: number }) => (statusCode = response.statusCode))
    return { body: await readBody(answer), error: null, statusCode }
  } catch (error) {
    return { body: NO_BODY, error: deadline.signal.reason === TIMED_OUT ? 'timeout' : explain(error), statusCode }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', giveUp)
  }
}

const TIMED_OUT = new Error('timeout')

/** The unpacked body, up to 64 KiB; the connection is cut if there is more. */
async function readBody(answer: Request): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= MAX_ANSWER_BYTES) break
  }
  return Buffer.concat(chunks, Math.min(length, MAX_ANSWER_BYTES))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error('the answer is not JSON', { cause })
  }
}

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { Agent as TlsAgent } from 'node:https'
import type { LookupFunction } from 'node:net'
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'

import { type Got, got } from 'got'

import type { FetchText } from '../core/app.ts'
import { USER_AGENT } from '../core/delivery/request.ts'
import { type Settings, SettingsError } from '../core/settings/settings.ts'
import { createAddressRule, createPortRule, literalAddress } from '../domains/webhooks/rules/addresses.ts'
import { MAX_HEAD_BYTES } from './answer-head.ts'
import { exchange, type OutboundAnswer, type OutboundRequest } from './exchange.ts'
import { AddressRefused, guardedLookup, PortRefused, ProtocolRefused, type Resolve, resolveHost } from './lookup.ts'

/** Every outbound request of the service goes through here. */
export interface Outbound {
  /** Posts a body. Never rejects: errors are part of the answer. */
  post(request: OutboundRequest): Promise<OutboundAnswer>
  /** Fetches a JSON document. Rejects with a short message of our own. */
  fetchJson(url: string): Promise<unknown>
  /** Sends a text, and reads one. Rejects as `fetchJson` does, but for a status. */
  fetch: FetchText
  close(): void
}

const FETCH_TIMEOUT_MS = 10_000
// Servers that announce no time close idle connections after 5 s (uvicorn, Node behind some
// proxies) or more; a request on a connection that is being closed is a failed attempt. If they
// announce a time, the agent follows it.
const IDLE_MS = 4000
// Of a host with several addresses, Node ends an attempt for one of them before it tries the next.
// Its own 250 ms never reach a receiver that is far away: this is time for a packet sent again.
const ADDRESS_MS = 1500

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
  const fetchText: FetchText = async (url, { method, headers, body = '' }) => {
    const { signal } = new AbortController()
    const { error, statusCode, ...answer } = await send({
      url,
      method,
      headers,
      body,
      timeoutMs: FETCH_TIMEOUT_MS,
      signal,
    })
    if (error !== null || statusCode === null) throw new Error(error ?? 'no answer')
    return { status: statusCode, text: answer.body.toString('utf8') }
  }
  return {
    post: (request) => send({ ...request, method: 'POST' }),
    fetchJson: async (url) => {
      const { status, text } = await fetchText(url, { method: 'GET', headers: { accept: 'application/json' } })
      if (status !== 200) throw new Error(`status ${status}`)
      return parseJson(text)
    },
    fetch: fetchText,
    close: () => opened?.close(),
  }
}

// A connection serves one URL alone. So the receiver of one endpoint cannot answer for another one
// at the same host, by bytes that it sends when it has answered already.
class HttpAgent extends Agent {
  override getName(options: object = {}): string {
    return `${super.getName(options)}:${addressOf(options)}`
  }
}

class HttpsAgent extends TlsAgent {
  override getName(options: object = {}): string {
    return `${super.getName(options)}:${addressOf(options)}`
  }
}

const addressOf = (options: object): string => ('href' in options ? String(options.href) : '')

interface Client {
  got: Got
  close(): void
}

/**
 * One TLS context serves all connections: to make one, Node parses some 150 root certificates. That
 * is 2 % of a start, so that without WEBHOOK_CA_FILE the first request makes it.
 */
function openClient(lookup: LookupFunction, secureContext: SecureContext): Client {
  const options = {
    keepAlive: true,
    scheduling: 'lifo',
    maxFreeSockets: 256,
    timeout: IDLE_MS,
    lookup,
    autoSelectFamilyAttemptTimeout: ADDRESS_MS,
  } as const
  const http = new HttpAgent(options)
  const https = new HttpsAgent({ ...options, secureContext })
  return {
    got: got.extend({
      agent: { http, https },
      headers: { 'user-agent': USER_AGENT },
      followRedirect: false,
      retry: { limit: 0 },
      throwHttpErrors: false,
      maxHeaderSize: MAX_HEAD_BYTES,
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error('the answer is not JSON', { cause })
  }
}

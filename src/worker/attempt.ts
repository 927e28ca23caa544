import type { App } from '../core/app.ts'
import { bodyOf, idempotencyKeyOf, signedHeaders } from '../core/delivery/request.ts'
import { withoutEchoes } from '../core/secrets/echoes.ts'
import { openHeaders, redactHeaders, withOwnHeaders } from '../core/delivery/own-headers.ts'
import { openSecrets } from '../core/secrets/signing-secrets.ts'
import type { Attributes, Span } from '../core/span.ts'
import type { WebhookPolicy } from '../core/settings/tenant.ts'
import { answeredHeaders, type AttemptHeaders, sentHeaders } from '../domains/webhooks/attempt-headers.ts'
import { effectivePolicy } from '../domains/webhooks/rules/policy.ts'
import { loadTenant } from '../domains/tenants/tenants.ts'
import type { Lease } from './statements/lease-sql.ts'
import type { Outcome } from './statements/record-sql.ts'
import type { OutboundAnswer } from '../outbound/exchange.ts'
import type { Outbound } from '../outbound/outbound.ts'
import { pauseOf } from './retry-after.ts'

/**
 * Makes one attempt to deliver. Null if `signal` aborted it: the result is unknown, and must not be
 * recorded.
 */
export async function attemptDelivery(
  app: App,
  outbound: Outbound,
  lease: Lease,
  signal: AbortSignal,
): Promise<Outcome | null> {
  const { settings } = await loadTenant(app, lease.tenantId)
  const policy = effectivePolicy(settings, lease.policy)
  const at = new Date()
  const span = app.tracing?.begin('webhook attempt', {
    kind: 'client',
    link: lease.trace,
    attributes: attributesOf(lease),
  })
  const { answer, headers, own } = await send(app, outbound, { lease, at, span }, policy.timeoutMs, signal)
  const error = failureOf(answer)
  if (answer.statusCode !== null) span?.set({ 'http.response.status_code': answer.statusCode })
  span?.end(error ?? undefined)
  if (signal.aborted) return null
  return {
    lease,
    at,
    durationMs: answer.durationMs,
    statusCode: answer.statusCode,
    error,
    responseSnippet: snippetOf(answer.body, headers, own),
    headers: headersOf(answer, headers, own),
    wasSent: answer !== GONE && answer !== UNSIGNED,
    retryInMs: error === null || answer === GONE ? null : retryDelayMs(lease.attemptCount + 1, policy, Math.random()),
    pauseMs: pauseOf(answer, at),
  }
}

/**
 * Milliseconds to wait after failed attempt `n` (1-based); null when none is left. `chance` in [0,
 * 1). 1 s × 2^(n−1) by default, plus up to 50 % jitter; days without jitter
 * (docs/reference/choices/webhooks.md).
 */
export function retryDelayMs(n: number, policy: WebhookPolicy, chance: number): number | null {
  if (policy.schedule === 'days') return DAYS_MS[n - 1] ?? null
  if (n >= policy.maxAttempts) return null
  return Math.round(policy.backoffBaseMs * 2 ** (n - 1) * (1 + chance / 2))
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** The waits of the schedule `days`. */
const DAYS_MS = [5000, 5 * MINUTE_MS, 30 * MINUTE_MS, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS)]

type Headers = Record<string, string>

interface Sending {
  lease: Lease
  at: Date
  span: Span | null | undefined
}

const attributesOf = ({ endpointId, deliveryId, eventType, attemptCount }: Lease): Attributes => ({
  'http.request.method': 'POST',
  'webhook.endpoint.id': endpointId,
  'webhook.delivery.id': deliveryId,
  'webhook.event.type': eventType,
  'webhook.attempt': attemptCount + 1,
})

async function send(
  app: App,
  outbound: Outbound,
  { lease, at, span }: Sending,
  timeoutMs: number,
  signal: AbortSignal,
) {
  const body = bodyOf(lease)
  const secrets = openSecrets(app.settings, lease.endpointId, lease.secrets)
  const own = openHeaders(app.settings, lease.endpointId, lease.headers)
  const nothing: Headers = {}
  if (body === null) return { answer: GONE, headers: nothing, own: nothing }
  if (secrets === null || own === null) return { answer: UNSIGNED, headers: nothing, own: nothing }
  const request = {
    prefix: app.settings.HEADER_PREFIX,
    event: lease.eventType,
    deliveryId: lease.deliveryId,
    idempotencyKey: idempotencyKeyOf(lease),
    isTest: lease.body !== null,
  }
  const headers: Headers = withOwnHeaders(own, signedHeaders(request, secrets, at, body))
  if (span != null) headers.traceparent = span.traceparent
  return {
    answer: await outbound.post({ url: lease.url, headers, body, timeoutMs, logsBody: true, signal }),
    headers,
    own,
  }
}

const unsent = (error: string): OutboundAnswer => ({
  statusCode: null,
  retryAfter: null,
  headers: {},
  body: Buffer.alloc(0),
  error,
  durationMs: 0,
})

// Events are stored only for a time.
const GONE = unsent('the event is no longer stored')
// This process lacks the key that sealed it. That may be fixed while attempts are left.
const UNSIGNED = unsent('the signing secret cannot be opened')

/**
 * Why an answer is a failure; null for a 2xx whose head came in time, whatever its body
 * (docs/guides/webhooks.md).
 */
function failureOf({ statusCode, error }: OutboundAnswer): string | null {
  if (error !== null) return error
  if (statusCode === null) return 'request failed'
  if (statusCode >= 200 && statusCode < 300) return null
  return statusCode >= 300 && statusCode < 400 ? 'redirect not followed' : `status ${statusCode}`
}

/** What is kept of the headers of a request and its answer; null if nothing was sent. */
function headersOf(answer: OutboundAnswer, sent: Readonly<Headers>, own: Readonly<Headers>): AttemptHeaders | null {
  if (Object.keys(sent).length === 0) return null
  return {
    sent: sentHeaders(sent, own),
    answered: answeredHeaders(answer.headers, (text) => withoutSecrets(text, sent, own)),
  }
}

const MAX_SNIPPET_BYTES = 1024

/** Our own signatures, in hex, and those of Standard Webhooks, in base64. */
const SENT_SIGNATURE = /v1=([0-9a-f]{64})|v1,([A-Za-z0-9+/]{43}=)/g

/**
 * The beginning of an answer, at most 1 KiB of valid UTF-8 that the database can store; null if
 * there is none. Signatures and own headers that the receiver echoes must not get into the delivery
 * log.
 */
export function snippetOf(body: Buffer, sent: Readonly<Headers>, own: Readonly<Headers> = {}): string | null {
  if (body.length === 0) return null
  const text = withoutSecrets(body.toString('utf8').replaceAll('\0', '\uFFFD'), sent, own)
  return new TextDecoder().decode(Buffer.from(text).subarray(0, MAX_SNIPPET_BYTES), { stream: true })
}

/** A text without the signatures and own headers that were sent: a receiver may echo them. */
function withoutSecrets(given: string, sent: Readonly<Headers>, own: Readonly<Headers>): string {
  let text = given
  for (const value of Object.values(sent)) {
    for (const [, hex, base64] of value.matchAll(SENT_SIGNATURE)) {
      const signature = hex ?? base64
      if (signature !== undefined) text = withoutEchoes(text, signature, '[signature]')
    }
  }
  return redactHeaders(text, own)
}

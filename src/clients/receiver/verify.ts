// The receiver's side of webhooks, for backends that take them: `import { verifyWebhook } from
// 'engagement-service/webhooks'`. It needs nothing but Node.
import { createHmac, timingSafeEqual } from 'node:crypto'

import type { CommonEvent } from './events.ts'

export type { Actor, Comment, CommonEvent, Discussion, Reaction, Reader } from './events.ts'

/** The ownership handshake: answer 200 with `{"challenge": …}` as JSON. */
export interface Verification {
  type: 'verification'
  challenge: string
  timestamp: string
}

/** What a receiver gets; `type` says which. */
export type WebhookEvent = CommonEvent | Verification

export type Reason = 'missing_header' | 'malformed_header' | 'outside_tolerance' | 'wrong_signature' | 'malformed_body'

/** The request is not genuine: answer 401 (400 for `malformed_body`), and do nothing else. */
export class WebhookVerificationError extends Error {
  readonly reason: Reason

  constructor(reason: Reason, message: string) {
    super(message)
    this.name = 'WebhookVerificationError'
    this.reason = reason
  }
}

export interface VerifyOptions {
  /** How far the timestamp may differ from now, either way; 300 by default. */
  toleranceSeconds?: number
  /**
   * The prefix of the service's header names, if it has another one (`HEADER_PREFIX`); `X-Service-`
   * by default.
   */
  prefix?: string
  /** Now, by default. */
  now?: Date
}

/** In the form of Node, Express and Fastify, or of fetch. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * The event in a genuine request. `rawBody` must be the received bytes, never parsed and serialised
 * again. `secrets` are the endpoint's: after a rotation the new and the old one, in any order. For
 * 24 h a second header has the old secret's signature, so that secrets can be exchanged here at any
 * time in between. Takes the same time whichever byte of a signature is wrong. Throws a
 * WebhookVerificationError.
 */
export function verifyWebhook(
  headers: WebhookHeaders,
  rawBody: string | Uint8Array,
  secrets: string | readonly string[],
  { toleranceSeconds = 300, prefix = 'X-Service-', now = new Date() }: VerifyOptions = {},
): WebhookEvent {
  const known = [secrets].flat()
  if (known.length === 0 || known.includes('')) throw new TypeError('verifyWebhook needs a secret')
  const timestamp = required(headers, `${prefix}Timestamp`)
  const seconds = secondsOf(timestamp)
  if (!(Math.abs(now.getTime() - Date.parse(timestamp)) <= toleranceSeconds * 1000)) {
    throw new WebhookVerificationError('outside_tolerance', `the timestamp ${timestamp} is too far from now`)
  }
  const previous = find(headers, `${prefix}Signature-Previous`)
  const given = [required(headers, `${prefix}Signature`), ...(previous === undefined ? [] : [previous])]
  const signatures = given.map((text) => signatureIn(text, seconds))
  const expected = known.map((secret) => createHmac('sha256', secret).update(`${timestamp}.`).update(rawBody).digest())
  // Every pair is compared, so that the time does not reveal which one matches.
  const matches = signatures.flatMap((signature) => expected.map((each) => timingSafeEqual(signature, each)))
  if (!matches.includes(true)) throw new WebhookVerificationError('wrong_signature', 'no secret signs it so')
  return eventIn(rawBody)
}

function find(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1]
  return typeof value === 'string' || value === undefined ? value : value.join(', ')
}

function required(headers: WebhookHeaders, name: string): string {
  const value = find(headers, name)
  if (value === undefined) throw new WebhookVerificationError('missing_header', `there is no ${name}`)
  return value
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
const SIGNATURE = /^t=(\d{1,12}),v1=([0-9a-f]{64}),kid=[0-9a-f]{8}$/

function secondsOf(timestamp: string): number {
  const at = INSTANT.test(timestamp) ? Date.parse(timestamp) : NaN
  if (Number.isNaN(at)) throw new WebhookVerificationError('malformed_header', 'the timestamp is no instant')
  return Math.floor(at / 1000)
}

function signatureIn(text: string, seconds: number): Buffer {
  const [, t, v1] = SIGNATURE.exec(text) ?? []
  if (v1 === undefined || Number(t) !== seconds) {
    throw new WebhookVerificationError(
      'malformed_header',
      'the signature is not of the form t=…,v1=…,kid=… for its timestamp',
    )
  }
  return Buffer.from(v1, 'hex')
}

function eventIn(rawBody: string | Uint8Array): WebhookEvent {
  try {
    const event: unknown = JSON.parse(typeof rawBody === 'string' ? rawBody : Buffer.from(rawBody).toString('utf8'))
    // The signature proves the content.
    if (typeof event === 'object' && event !== null && 'type' in event) return event as WebhookEvent
  } catch {
    // Reported below.
  }
  throw new WebhookVerificationError('malformed_body', 'the body is not an event')
}

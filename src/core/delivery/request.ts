import { createHmac } from 'node:crypto'

import { encodeEvent, type EventType } from '../events.ts'
import type { Id } from '../ids.ts'
import { type SigningSecret, standardKey } from '../secrets/signing-secrets.ts'
import { type CommentState, tellNow } from '../withdrawal.ts'

interface EventParts {
  /** Only for a test. */
  body: string | null
  eventId: Id
  eventType: EventType
  discussionId: Id
  seq: number
  occurredAt: Date | null
  actor: string | null
  data: string | null
  /**
   * The state of the comment that decides which texts are withdrawn; null for an event about no
   * comment, and for one that is sent as it was written.
   */
  commentNow: CommentState | null
}

/**
 * The body of a delivery: the event's JSON, the same bytes at each attempt as long as no text of it
 * is withdrawn. Null if the event is no longer stored.
 */
export function bodyOf(parts: EventParts): string | null {
  const { body, eventId, eventType, discussionId, seq, occurredAt, actor, data, commentNow } = parts
  if (body !== null) return body
  if (occurredAt === null || actor === null || data === null) return null
  return tellNow(encodeEvent({ id: eventId, type: eventType, discussionId, seq, occurredAt, actor, data }), commentNow)
}

/**
 * An event has one key, for retries, redeliveries and all endpoints
 * (docs/reference/choices/webhooks.md).
 */
export const idempotencyKeyOf = ({ eventType, eventId }: { eventType: string; eventId: Id }): string =>
  `${eventType}:${eventId}`

/** The signature header's value for `body`, sent at `at` (docs/guides/webhook-signatures.md). */
export function signatureOf({ kid, secret }: SigningSecret, at: Date, body: string): string {
  const v1 = createHmac('sha256', secret).update(`${at.toISOString()}.`).update(body).digest('hex')
  return `t=${unixSeconds(at)},v1=${v1},kid=${kid}`
}

/** The value of `webhook-signature` (Standard Webhooks 1.0): a signature for each valid secret. */
export function standardSignatureOf(secrets: readonly SigningSecret[], id: string, at: Date, body: string): string {
  const signed = (secret: SigningSecret): string =>
    createHmac('sha256', standardKey(secret))
      .update(`${id}.${unixSeconds(at)}.`)
      .update(body)
      .digest('base64')
  return secrets.map((secret) => `v1,${signed(secret)}`).join(' ')
}

const unixSeconds = (at: Date): number => Math.floor(at.getTime() / 1000)

interface SignedRequest {
  prefix: string
  event: string
  deliveryId: Id
  idempotencyKey: string
  /** Whether it is a requested example. */
  isTest?: boolean
}

export const USER_AGENT = 'engagement-service-webhooks/1'

/** The headers of a delivery that all attempts share. */
export const lastingHeaders = ({
  prefix,
  event,
  deliveryId,
  idempotencyKey,
  isTest = false,
}: SignedRequest): Record<string, string> => ({
  'Content-Type': 'application/json',
  'User-Agent': USER_AGENT,
  [`${prefix}Event`]: event,
  [`${prefix}Delivery-Id`]: deliveryId,
  [`${prefix}Idempotency-Key`]: idempotencyKey,
  'webhook-id': idempotencyKey,
  ...(isTest ? { [`${prefix}Test`]: 'true' } : {}),
})

/**
 * All headers of one attempt, signed with the first of `secrets`. A second one is the secret from
 * before a rotation, which signs too while it is valid. They are our own headers, and those of
 * Standard Webhooks.
 */
export function signedHeaders(request: SignedRequest, secrets: readonly SigningSecret[], at: Date, body: string) {
  const [current, previous] = secrets
  if (current === undefined) throw new Error('the endpoint has no secret')
  const { prefix, idempotencyKey } = request
  return {
    ...lastingHeaders(request),
    [`${prefix}Timestamp`]: at.toISOString(),
    [`${prefix}Signature`]: signatureOf(current, at, body),
    ...(previous === undefined ? {} : { [`${prefix}Signature-Previous`]: signatureOf(previous, at, body) }),
    'webhook-timestamp': String(unixSeconds(at)),
    'webhook-signature': standardSignatureOf(secrets, idempotencyKey, at, body),
  }
}

import { createHmac } from 'node:crypto'

import { signatureOf } from '../../src/core/delivery/request.ts'
import type { SigningSecret } from '../../src/core/secrets/signing-secrets.ts'
import type { Reason } from '../../src/clients/receiver/verify.ts'

/** A request to a receiver with these `secrets`, at `now`, and the receiver's expected result. */
export interface WebhookVector {
  name: string
  valid: boolean
  why: string
  now: string
  secrets: string[]
  headers: Record<string, string>
  body: string
  /** `valid`, or the reason that `verifyWebhook` gives. */
  expected: 'valid' | Reason
}

const AT = new Date('2026-11-21T02:30:00.123Z')
const CURRENT: SigningSecret = { kid: '0a1b2c3d', secret: `whs_${'ab'.repeat(32)}` }
const PREVIOUS: SigningSecret = { kid: '4e5f6a7b', secret: `whs_${'cd'.repeat(32)}` }
const STRANGER: SigningSecret = { kid: '00000000', secret: `whs_${'ef'.repeat(32)}` }

const EVENT = {
  id: '01980000-0000-7000-8000-000000000001',
  type: 'discussion_locked',
  discussionId: '01980000-0000-7000-8000-000000000002',
  seq: 3,
  occurredAt: '2026-11-21T02:29:59.900Z',
  actor: { kind: 'moderator' },
  data: {
    discussion: { id: '01980000-0000-7000-8000-000000000002', externalId: 'article-1', title: 'Zoë & 😀 \u2028' },
  },
}
const BODY = JSON.stringify(EVENT)

const v1Of = (key: string | Buffer, signed: string): string => createHmac('sha256', key).update(signed).digest('hex')
const signature = (v1: string): string => `t=${Math.floor(AT.getTime() / 1000)},v1=${v1},kid=${CURRENT.kid}`

const signed = (body = BODY, at = AT, secret = CURRENT): Record<string, string> => ({
  'X-Service-Timestamp': at.toISOString(),
  'X-Service-Signature': signatureOf(secret, at, body),
})

const headersWith = (v1: string): Record<string, string> => ({ ...signed(), 'X-Service-Signature': signature(v1) })

interface Made {
  secrets?: readonly SigningSecret[]
  headers?: Record<string, string>
  body?: string
  /** Of the receiver's clock, from the time of the signature. */
  offsetSeconds?: number
}

function make(
  name: string,
  why: string,
  expected: WebhookVector['expected'],
  { secrets = [CURRENT], headers = signed(), body = BODY, offsetSeconds = 0 }: Made,
): WebhookVector {
  const now = new Date(AT.getTime() + offsetSeconds * 1000).toISOString()
  return {
    name,
    valid: expected === 'valid',
    why,
    now,
    secrets: secrets.map(({ secret }) => secret),
    headers,
    body,
    expected,
  }
}

const valid = (name: string, why: string, made: Made = {}): WebhookVector => make(name, why, 'valid', made)
const wrong = (name: string, why: string, made: Made): WebhookVector => make(name, why, 'wrong_signature', made)

const HANDSHAKE = JSON.stringify({
  type: 'verification',
  challenge: '0f'.repeat(32),
  timestamp: '2026-11-21T02:30:00.000Z',
})
const SPACED = `{ "type": "discussion_locked",\n  "seq": 3 }`
const ROTATED = { ...signed(), 'X-Service-Signature-Previous': signatureOf(PREVIOUS, AT, BODY) }

/** Valid and invalid requests, with fixed secrets and times. */
export const webhookVectors = (): WebhookVector[] => [
  valid('event', 'The HMAC-SHA256 of the timestamp header, a dot and the raw body, under the whole secret.'),
  valid('handshake', 'The first request to an endpoint is signed like any other.', {
    headers: signed(HANDSHAKE),
    body: HANDSHAKE,
  }),
  valid('body-with-white-space', 'The bytes as they came are signed, never parsed and printed again.', {
    headers: signed(SPACED),
    body: SPACED,
  }),
  valid('lower-case-header-names', 'Names of headers have no case.', {
    headers: Object.fromEntries(Object.entries(signed()).map(([name, value]) => [name.toLowerCase(), value])),
  }),
  valid('rotation-known-new', 'During a rotation the new secret signs X-Service-Signature.', { headers: ROTATED }),
  valid('rotation-known-old', 'During a rotation the old secret signs X-Service-Signature-Previous.', {
    headers: ROTATED,
    secrets: [PREVIOUS],
  }),
  valid('rotation-known-both', 'A receiver may know several secrets, in any order.', {
    headers: ROTATED,
    secrets: [STRANGER, PREVIOUS, CURRENT],
  }),
  valid('oldest-accepted', 'The timestamp may be 300 s ago.', { offsetSeconds: 300 }),
  valid('newest-accepted', 'The timestamp may be 300 s ahead.', { offsetSeconds: -300 }),

  make('too-old', 'A timestamp of 301 s ago may be a repeated request.', 'outside_tolerance', { offsetSeconds: 301 }),
  make('too-new', 'A timestamp 301 s ahead.', 'outside_tolerance', { offsetSeconds: -301 }),
  wrong('changed-body', 'One byte of the body differs.', { body: BODY.replace('"seq":3', '"seq":4') }),
  wrong('appended-byte', 'The body has one byte more.', { body: `${BODY} ` }),
  wrong('reprinted-body', 'The same JSON, printed again.', {
    headers: signed(SPACED),
    body: JSON.stringify(JSON.parse(SPACED)),
  }),
  wrong('changed-timestamp', 'The timestamp is signed too: it is another one of the same second here.', {
    headers: { ...signed(), 'X-Service-Timestamp': '2026-11-21T02:30:00.124Z' },
  }),
  wrong('another-secret', 'Signed with a secret that the receiver does not know.', {
    headers: signed(BODY, AT, STRANGER),
  }),
  wrong('previous-by-a-stranger', 'X-Service-Signature-Previous must fit a known secret as well.', {
    headers: { ...signed(BODY, AT, STRANGER), 'X-Service-Signature-Previous': signatureOf(STRANGER, AT, BODY) },
  }),
  wrong('secret-without-prefix', 'The key is the whole text of the secret, whs_ included.', {
    headers: headersWith(v1Of(CURRENT.secret.slice(4), `${AT.toISOString()}.${BODY}`)),
  }),
  wrong('secret-decoded', 'The key is the text, not the bytes that its hex stands for.', {
    headers: headersWith(v1Of(Buffer.from(CURRENT.secret.slice(4), 'hex'), `${AT.toISOString()}.${BODY}`)),
  }),
  wrong('body-alone-signed', 'The timestamp and a dot come before the body.', {
    headers: headersWith(v1Of(CURRENT.secret, BODY)),
  }),
  wrong('unix-seconds-signed', 'The value of the timestamp header is signed, not t.', {
    headers: headersWith(v1Of(CURRENT.secret, `${Math.floor(AT.getTime() / 1000)}.${BODY}`)),
  }),
  make('without-signature', 'X-Service-Signature is required.', 'missing_header', {
    headers: { 'X-Service-Timestamp': AT.toISOString() },
  }),
  make('without-timestamp', 'X-Service-Timestamp is required.', 'missing_header', {
    headers: { 'X-Service-Signature': signatureOf(CURRENT, AT, BODY) },
  }),
  make('upper-case-hex', 'v1 is in lower-case hex.', 'malformed_header', {
    headers: headersWith(v1Of(CURRENT.secret, `${AT.toISOString()}.${BODY}`).toUpperCase()),
  }),
  make('short-signature', 'v1 has 64 characters.', 'malformed_header', {
    headers: headersWith(v1Of(CURRENT.secret, `${AT.toISOString()}.${BODY}`).slice(0, 63)),
  }),
  make('empty-signature', 'v1 has 64 characters.', 'malformed_header', { headers: headersWith('') }),
  make('timestamp-without-time', 'The timestamp is an RFC 3339 instant in UTC.', 'malformed_header', {
    headers: { ...signed(), 'X-Service-Timestamp': '2026-11-21' },
  }),
]

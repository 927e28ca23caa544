import { signedHeaders, standardSignatureOf } from '../../src/core/delivery/request.ts'
import { type SigningSecret, shownOf } from '../../src/core/secrets/signing-secrets.ts'

/** A request to a receiver with the secret `standardSecret`, at `now`. */
export interface StandardVector {
  name: string
  valid: boolean
  why: string
  now: string
  standardSecret: string
  headers: Record<string, string>
  body: string
  expected: 'valid' | 'refused'
}

const AT = new Date('2026-11-21T02:30:00.123Z')
const CURRENT: SigningSecret = { kid: '0a1b2c3d', secret: `whs_${'ab'.repeat(32)}` }
const PREVIOUS: SigningSecret = { kid: '4e5f6a7b', secret: `whs_${'cd'.repeat(32)}` }
const STRANGER: SigningSecret = { kid: '00000000', secret: `whs_${'ef'.repeat(32)}` }
const ID = 'discussion_locked:01980000-0000-7000-8000-000000000001'
const BODY = JSON.stringify({ type: 'discussion_locked', seq: 3, data: { discussion: { title: 'Zoë & 😀 \u2028' } } })

const request = { prefix: 'X-Service-', event: 'discussion_locked', deliveryId: 'd', idempotencyKey: ID }

/** The three headers of Standard Webhooks, as a delivery has them. */
function headersOf(secrets: readonly SigningSecret[] = [CURRENT], body = BODY): Record<string, string> {
  const sent = Object.entries(signedHeaders(request, secrets, AT, body))
  return Object.fromEntries(sent.filter(([name]) => name.startsWith('webhook-')))
}

interface Made {
  secret?: SigningSecret
  headers?: Record<string, string>
  body?: string
  offsetSeconds?: number
}

function make(expected: StandardVector['expected'], name: string, why: string, made: Made = {}): StandardVector {
  const { secret = CURRENT, headers = headersOf(), body = BODY, offsetSeconds = 0 } = made
  // Of whole seconds: libraries compare with the timestamp of whole seconds.
  const now = new Date(Math.floor(AT.getTime() / 1000) * 1000 + offsetSeconds * 1000).toISOString()
  const { standardSecret } = shownOf(secret)
  return { name, valid: expected === 'valid', why, now, standardSecret, headers, body, expected }
}

const ROTATED = headersOf([CURRENT, PREVIOUS])
const altered = (name: string, value: string) => ({ headers: { ...headersOf(), [name]: value } })

/** Valid and invalid requests by Standard Webhooks, with fixed secrets and times. */
export const standardVectors = (): StandardVector[] => [
  make('valid', 'event', 'The HMAC-SHA256 of id, timestamp and raw body, joined by dots, under the decoded secret.'),
  make('valid', 'rotation-known-new', 'During a rotation both secrets sign.', { headers: ROTATED }),
  make('valid', 'rotation-known-old', 'During a rotation both secrets sign.', { headers: ROTATED, secret: PREVIOUS }),
  make('valid', 'oldest-accepted', 'The timestamp may be 300 s ago.', { offsetSeconds: 300 }),
  make('valid', 'newest-accepted', 'The timestamp may be 300 s ahead.', { offsetSeconds: -300 }),
  make('valid', 'other-version', 'Signatures of versions that a receiver does not know are passed over.', {
    ...altered('webhook-signature', `v1a,AAAA ${standardSignatureOf([CURRENT], ID, AT, BODY)}`),
  }),
  make('refused', 'too-old', 'A timestamp of 301 s ago may be a repeated request.', { offsetSeconds: 301 }),
  make('refused', 'too-new', 'A timestamp 301 s ahead.', { offsetSeconds: -301 }),
  make('refused', 'changed-body', 'One byte of the body differs.', { body: BODY.replace('3', '4') }),
  make('refused', 'changed-id', 'The id is signed.', altered('webhook-id', `${ID}0`)),
  make('refused', 'changed-timestamp', 'The timestamp is signed.', altered('webhook-timestamp', '1795228201')),
  make('refused', 'another-secret', 'Signed with a secret that the receiver does not know.', { secret: STRANGER }),
  make('refused', 'empty-signature', 'A signature is required.', altered('webhook-signature', '')),
  make('refused', 'hex-signature', 'The signature is in base64.', {
    ...altered(
      'webhook-signature',
      `v1,${Buffer.from(headersOf()['webhook-signature'] ?? '', 'base64').toString('hex')}`,
    ),
  }),
]

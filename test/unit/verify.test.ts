import fc from 'fast-check'
import { describe, expect, expectTypeOf, test } from 'vitest'

import { type EVENTS, WEBHOOK_EVENT_TYPES } from '../../src/core/events.ts'
import { exampleEvent } from '../../src/domains/webhooks/example.ts'
import { signedHeaders } from '../../src/core/delivery/request.ts'
import { newSigningSecret, shownOf } from '../../src/core/secrets/signing-secrets.ts'
import {
  type Reason,
  verifyGuestMail,
  verifyWebhook,
  type WebhookEvent,
  WebhookVerificationError,
} from '../../src/clients/receiver/verify.ts'

const at = new Date()
const [current, previous, stranger] = [newSigningSecret(), newSigningSecret(), newSigningSecret()]
const request = { prefix: 'X-Service-', event: 'comment_created', deliveryId: 'd', idempotencyKey: 'comment_created:e' }
const { body } = exampleEvent('comment_created')
const signed = (secrets = [current], when = at, text = body) => signedHeaders(request, secrets, when, text)

function reasonOf(run: () => unknown): Reason | undefined {
  try {
    run()
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.reason
    throw error
  }
  return undefined
}

describe('verifyWebhook returns the event', () => {
  test.each(WEBHOOK_EVENT_TYPES)('%s', (type) => {
    const example = exampleEvent(type).body
    expect(verifyWebhook(signed([current], at, example), example, current.secret)).toEqual(JSON.parse(example))
  })

  test('typed by its name, for each webhook event', () => {
    type Subscribable = { [Type in keyof typeof EVENTS]: (typeof EVENTS)[Type]['webhook'] extends true ? Type : never }
    expectTypeOf<WebhookEvent['type']>().toEqualTypeOf<Subscribable[keyof Subscribable] | 'verification'>()
    const event = verifyWebhook(signed(), body, current.secret)
    if (event.type !== 'comment_created') throw new Error('another event')
    expect(event.data.comment.author?.name).toBe('Ann Example')
  })

  test('with headers of Node, of fetch, in any case, and a body as bytes', () => {
    const headers = signed()
    const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
    for (const each of [headers, lower, new Headers(headers)]) {
      expect(verifyWebhook(each, Buffer.from(body), [current.secret])).toMatchObject({ type: 'comment_created' })
    }
  })

  test('during a rotation, with the new secret, the old one or both', () => {
    const headers = signed([current, previous])
    for (const known of [[current], [previous], [stranger, previous], [previous, current]]) {
      const secrets = known.map(({ secret }) => secret)
      expect(verifyWebhook(headers, body, secrets)).toMatchObject({ type: 'comment_created' })
    }
    expect(reasonOf(() => verifyWebhook(headers, body, stranger.secret))).toBe('wrong_signature')
  })

  test.each([
    ['from a file, with its line end', `${current.secret}\r\n`],
    ['between spaces', ` ${current.secret} `],
    ['as libraries of Standard Webhooks take it', shownOf(current).standardSecret],
    ['in that form from a file', `${shownOf(current).standardSecret}\n`],
  ])('with a secret %s', (_how, secret) => {
    expect(verifyWebhook(signed(), body, [stranger.secret, secret])).toMatchObject({ type: 'comment_created' })
    expect(reasonOf(() => verifyWebhook(signed([previous]), body, secret))).toBe('wrong_signature')
  })

  test('with another prefix', () => {
    const headers = signedHeaders({ ...request, prefix: 'X-Acme-' }, [current], at, body)
    expect(verifyWebhook(headers, body, current.secret, { prefix: 'X-Acme-' })).toMatchObject({ seq: 0 })
    expect(reasonOf(() => verifyWebhook(headers, body, current.secret))).toBe('missing_header')
  })
})

describe('verifyWebhook refuses', () => {
  const verify = (headers: Record<string, string>, text = body, options = {}) =>
    reasonOf(() => verifyWebhook(headers, text, current.secret, options))

  test.each(['X-Service-Timestamp', 'X-Service-Signature'])('a request without %s', (name) => {
    const { [name]: _, ...headers } = signed() as Record<string, string>
    expect(verify(headers)).toBe('missing_header')
  })

  test.each([
    ['now', 0, undefined],
    ['299 s ago', -299, undefined],
    ['301 s ago', -301, 'outside_tolerance'],
    ['in 301 s', 301, 'outside_tolerance'],
  ])('by its tolerance: %s', (_name, offsetSeconds, reason) => {
    const headers = signed([current], new Date(at.getTime() + offsetSeconds * 1000))
    expect(verify(headers, body, { now: at })).toBe(reason)
  })

  test('outside of a custom tolerance', () => {
    const headers = signed([current], new Date(at.getTime() - 11_000))
    expect(verify(headers, body, { now: at, toleranceSeconds: 10 })).toBe('outside_tolerance')
    expect(verify(headers, body, { now: at, toleranceSeconds: 12 })).toBeUndefined()
  })

  test('a changed byte of the body, anywhere', () => {
    const bytes = Buffer.from(body)
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (index, flip) => {
        const changed = Buffer.from(bytes)
        changed[index] = (changed[index] ?? 0) ^ flip
        expect(reasonOf(() => verifyWebhook(signed(), changed, current.secret))).toBe('wrong_signature')
      }),
    )
  })

  test('a body that was parsed and printed again, and says that this may be it', () => {
    const printed = JSON.stringify(JSON.parse(body), null, 1)
    expect(() => verifyWebhook(signed(), printed, current.secret)).toThrow('the body is not the bytes as they came')
  })

  test('another timestamp with the same signature', () => {
    const headers = signed()
    const later = new Date(at.getTime() + 1).toISOString()
    expect(['wrong_signature', 'malformed_header']).toContain(verify({ ...headers, 'X-Service-Timestamp': later }))
  })

  test.each([
    '',
    'nonsense',
    `t=1,v1=${'a'.repeat(64)},kid=00000000`,
    `t=${Math.floor(at.getTime() / 1000)},v1=${'a'.repeat(63)},kid=00000000`,
    `t=${Math.floor(at.getTime() / 1000)},v1=${'A'.repeat(64)},kid=00000000`,
    `t=${Math.floor(at.getTime() / 1000)},v1=,kid=00000000`,
  ])('a signature of another form: %j', (signature) => {
    expect(verify({ ...signed(), 'X-Service-Signature': signature })).toBe('malformed_header')
  })

  test.each(['yesterday', '2026-01-01', at.toUTCString(), ''])('a timestamp of another form: %j', (timestamp) => {
    expect(verify({ ...signed(), 'X-Service-Timestamp': timestamp })).toBe('malformed_header')
  })

  test.each(['', '[]', 'null', '{', '"x"'])('a genuine body that is not an event: %j', (text) => {
    expect(verify(signed([current], at, text), text)).toBe('malformed_body')
  })

  test('to work without a secret', () => {
    for (const secrets of ['', [], ['']]) expect(() => verifyWebhook(signed(), body, secrets)).toThrow(TypeError)
  })
})

describe('verifyGuestMail', () => {
  const mail = { email: 'gia@example.com', name: 'Gia', url: 'https://example.com/#engagement-guest=1' }
  const text = JSON.stringify(mail)

  test('returns the mail of a genuine request alone', () => {
    expect(verifyGuestMail(signed([current], at, text), text, [stranger.secret, current.secret])).toEqual(mail)
    expect(reasonOf(() => verifyGuestMail(signed([stranger], at, text), text, current.secret))).toBe('wrong_signature')
    const now = new Date(at.getTime() + 301_000)
    const old = () => verifyGuestMail(signed([current], at, text), text, current.secret, { now })
    expect(reasonOf(old)).toBe('outside_tolerance')
    expect(() => verifyGuestMail(signed([current], at, text), text, '')).toThrow(/^verifyGuestMail: secrets/)
  })

  test.each([body, '[]', 'null', '{', JSON.stringify({ ...mail, name: 1 })])('refuses another body: %j', (other) => {
    expect(reasonOf(() => verifyGuestMail(signed([current], at, other), other, current.secret))).toBe('malformed_body')
  })
})

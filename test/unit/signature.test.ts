import { randomBytes } from 'node:crypto'

import { describe, expect, test } from 'vitest'

import { signatureOf, signedHeaders } from '../../src/core/delivery/request.ts'
import { newSigningSecret, openSecrets, sealSecret } from '../../src/core/secrets/signing-secrets.ts'
import { snippetOf } from '../../src/worker/attempt.ts'

const at = new Date('2026-11-21T02:30:00.123Z')
const secret = { kid: '0a1b2c3d', secret: `whs_${'ab'.repeat(32)}` }
const request = { prefix: 'X-Service-', event: 'comment_created', deliveryId: 'd', idempotencyKey: 'comment_created:e' }

describe('the signature', () => {
  test('is HMAC-SHA256 of the timestamp, a dot and the body, under the whole secret', () => {
    // printf '%s' '2026-11-21T02:30:00.123Z.{"a":"ü"}' | openssl dgst -sha256 -hmac whs_abab…
    const expected = 'ae0c069437e57d2a4819128888c745da072290558937b20495c9d022d64cda4b'
    expect(signatureOf(secret, at, '{"a":"ü"}')).toBe(
      `t=${Math.floor(at.getTime() / 1000)},v1=${expected},kid=0a1b2c3d`,
    )
  })

  test('is sent with the timestamp that it signs', () => {
    const headers = signedHeaders(request, [secret], at, '{}')
    expect(headers).toMatchObject({
      'X-Service-Timestamp': at.toISOString(),
      'X-Service-Signature': signatureOf(secret, at, '{}'),
    })
    expect(Object.keys(headers)).not.toContain('X-Service-Signature-Previous')
  })

  test('is accompanied by that of the previous secret, while that is valid', () => {
    const previous = newSigningSecret()
    const headers = signedHeaders(request, [secret, previous], at, '{}')
    expect(headers).toMatchObject({ 'X-Service-Signature-Previous': signatureOf(previous, at, '{}') })
  })
})

describe('a signing secret', () => {
  test('is whs_ and 64 hex characters, its kid 8', () => {
    expect(newSigningSecret()).toEqual({
      kid: expect.stringMatching(/^[0-9a-f]{8}$/),
      secret: expect.stringMatching(/^whs_[0-9a-f]{64}$/),
    })
  })

  test('opens only for its own endpoint, under its own key', () => {
    const keys = { ENCRYPTION_KEY: randomBytes(32), ENCRYPTION_KEYS: [] }
    const sealed = [{ kid: secret.kid, sealed: sealSecret(keys, 'endpoint-1', secret).toString('base64') }]
    expect(openSecrets(keys, 'endpoint-1', sealed)).toEqual([secret])
    expect(openSecrets(keys, 'endpoint-2', sealed)).toBeNull()
    expect(openSecrets({ ...keys, ENCRYPTION_KEY: randomBytes(32) }, 'endpoint-1', sealed)).toBeNull()
    expect(openSecrets(keys, 'endpoint-1', null)).toBeNull()
  })
})

const json = (text: string): string => JSON.stringify(text).slice(1, -1)
const escaped = (text: string, characters: RegExp): string =>
  json(text).replaceAll(characters, (each) => `\\u00${each.charCodeAt(0).toString(16)}`)
const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#039;' }

/** How receivers write a value down. */
const WRITERS: Readonly<Record<string, (text: string) => string>> = {
  'it is': (text) => text,
  JSON: json,
  'the JSON of PHP': (text) => json(text).replaceAll('/', '\\/'),
  'the JSON of Go': (text) => escaped(text, /[<>&]/g),
  'the JSON of Gson': (text) => escaped(text, /[<>&=']/g),
  'part of a URL': encodeURIComponent,
  HTML: (text) => text.replaceAll(/[&<>"']/g, (each) => NAMED[each] ?? each),
}

describe('the stored beginning of an answer', () => {
  test('is at most 1 KiB of valid text, cut between characters', () => {
    const snippet = snippetOf(Buffer.from(`x${'ü'.repeat(2000)}`), {})
    expect(Buffer.byteLength(snippet ?? '')).toBeLessThanOrEqual(1024)
    expect(snippet).toMatch(/^xü+$/)
  })

  test('is text that the database can store, whatever was received', () => {
    expect(snippetOf(Buffer.from([0x61, 0, 0xff, 0x62]), {})).toBe('a\uFFFD\uFFFDb')
    expect(Buffer.byteLength(snippetOf(randomBytes(60_000), {}) ?? '')).toBeLessThanOrEqual(1024)
    expect(snippetOf(Buffer.alloc(0), {})).toBeNull()
  })

  test('contains no signature, even if the receiver echoes it', () => {
    const headers = signedHeaders(request, [secret, newSigningSecret()], at, '{}')
    const echo = Buffer.from(JSON.stringify(headers))
    expect(snippetOf(echo, headers)).not.toMatch(/[0-9a-f]{64}|[A-Za-z0-9+/]{43}=/)
  })

  test.each(Object.entries(WRITERS))('contains no secret that the receiver echoes as %s', (_, write) => {
    // Each of them has characters that are escaped somewhere.
    const own = { authorization: 'Bearer a/b+c="d"&<e>\'f\'', 'x-key': 'Zm9v/YmFy+cXV4==', 'x-path': 'C:\\keys\\one' }
    for (let i = 0; i < 50; i++) {
      const headers = signedHeaders(request, [newSigningSecret()], at, `{"i":${i}}`)
      const [, signature = ''] = headers['webhook-signature']?.split(',') ?? []
      for (const value of [...Object.values(own), signature]) {
        const snippet = snippetOf(Buffer.from(`<${write(value)}>`), headers, own)
        expect(snippet).toMatch(/^<(\[header\]|\[signature\])>$/)
      }
    }
  })
})

import { expect, test } from 'vitest'

import { checkRequest } from '../../src/console/pages/webhooks/check.ts'
import { signedHeaders } from '../../src/core/delivery/request.ts'
import { newSigningSecret, shownOf } from '../../src/core/secrets/signing-secrets.ts'

const at = new Date('2026-11-28T08:00:00.123Z')
const now = at.getTime()
const signing = newSigningSecret()
const previous = newSigningSecret()
const { secret, standardSecret } = shownOf(signing)
const body = JSON.stringify({ type: 'comment_created', data: { body: `It's "so", naïve\n👩‍👧` } })

function headersOf({ prefix = 'X-Service-', only = /./ } = {}): string {
  const about = { prefix, event: 'comment_created', deliveryId: 'd', idempotencyKey: 'comment_created:e' }
  return Object.entries(signedHeaders(about, [signing, previous], at, body))
    .filter(([name]) => only.test(name))
    .map(([name, value]) => `${name}: ${value}`)
    .join('\r\n')
}

const genuine = { isGenuine: true, words: 'The signature is right, and the request is recent.' }
const headers = headersOf()

test.each([
  ['our secret', { headers, body, secret }],
  ['its second form', { headers, body, secret: ` ${standardSecret}\n` }],
  ['the secret from before a rotation', { headers, body, secret: previous.secret }],
  ['another prefix', { headers: headersOf({ prefix: 'X-Acme-' }), body, secret }],
  ['names in lower case', { headers: headers.toLowerCase().replaceAll('t07', 'T07'), body, secret }],
  ['the headers of Standard Webhooks alone', { headers: headersOf({ only: /^webhook-/ }), body, secret }],
  ['the same by the other form', { headers: headersOf({ only: /^webhook-/ }), body, secret: standardSecret }],
  ['the same before a rotation', { headers: headersOf({ only: /^webhook-/ }), body, secret: previous.secret }],
])('a request is genuine by %s', async (name, given) => {
  // An instant in lower case is another text, which nothing has signed.
  const text =
    name === 'names in lower case' ? given.headers.replace(/2026-11-28t08:00:00.123z/, at.toISOString()) : given.headers
  expect(await checkRequest({ ...given, headers: text }, now)).toEqual(genuine)
})

test.each([
  ['another secret', { headers, body, secret: newSigningSecret().secret }, 'does not fit'],
  ['another body', { headers, body: body.replace('so', 'no'), secret }, 'does not fit'],
  ['another time', { headers: headers.replaceAll('00.123Z', '01.123Z'), body, secret }, 'does not fit'],
  ['a line break at the end', { headers, body: `${body}\n`, secret }, 'line break at the end'],
  ['formatted JSON', { headers, body: JSON.stringify(JSON.parse(body), null, 2), secret }, 'without its spaces'],
  ['no headers', { headers: '', body, secret }, 'A header is missing'],
  ['no timestamp', { headers: headersOf({ only: /Signature/ }), body, secret }, 'A header is missing'],
  ['a timestamp of words', { headers: headers.replace(at.toISOString(), 'now'), body, secret }, 'cannot be read'],
  ['no secret', { headers, body, secret: '' }, 'The secret must be'],
  ['a key of the API', { headers, body, secret: `ek_${'0'.repeat(64)}` }, 'The secret must be'],
])('a request is not genuine by %s', async (_name, given, words) => {
  const found = await checkRequest(given, now)
  expect(found.isGenuine).toBe(false)
  expect(found.words).toContain(words)
})

test('a request that is older than receivers allow says so', async () => {
  expect(await checkRequest({ headers, body, secret }, now + 300_000)).toEqual(genuine)
  for (const later of [300_001, -300_001]) {
    const found = await checkRequest({ headers, body, secret }, now + later)
    expect(found).toMatchObject({ isGenuine: false, words: expect.stringContaining('more than five minutes') })
  }
})

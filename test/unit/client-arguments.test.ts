import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { createBackend, fastifyPlugin, nodeHandler } from '../../src/clients/backend/backend.ts'
import { verifyWebhook } from '../../src/clients/receiver/verify.ts'
import { signedHeaders } from '../../src/core/delivery/request.ts'
import { newSigningSecret } from '../../src/core/secrets/signing-secrets.ts'
import { exampleEvent } from '../../src/domains/webhooks/example.ts'

const secret = newSigningSecret()
const { body } = exampleEvent('comment_created')
const request = { prefix: 'X-Service-', event: 'comment_created', deliveryId: 'd', idempotencyKey: 'comment_created:e' }
const headers = signedHeaders(request, [secret], new Date(), body)
const bytes = Buffer.from(body)

/** Values of every type that callers without types might give. */
const VALUES = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withTypedArray: true,
  withNullPrototype: true,
})

type Loose = (...args: unknown[]) => unknown

/** What a function throws is its own sentence, never one of Node or the language. */
function expectOwnError(run: () => unknown, caller: string): void {
  try {
    run()
  } catch (error) {
    const { name, message } = error as Error
    if (name === 'WebhookVerificationError') return
    expect([name, message]).toEqual(['TypeError', expect.stringMatching(new RegExp(`^${caller}: `))])
  }
}

const OPTIONS = {
  url: 'https://comments.example',
  apiKey: `ek_${'0'.repeat(64)}`,
  tenant: 'demo',
  identitySecret: 'ids_1',
  reader: () => null,
}
const CALLS: readonly [name: string, call: Loose, args: readonly unknown[]][] = [
  [
    'verifyWebhook',
    verifyWebhook as Loose,
    [headers, body, secret.secret, { toleranceSeconds: 300, prefix: 'X-Service-', now: new Date() }],
  ],
  ['createBackend', createBackend as Loose, [OPTIONS]],
  ['nodeHandler', nodeHandler as Loose, [createBackend(OPTIONS)]],
  ['fastifyPlugin', fastifyPlugin as Loose, [createBackend(OPTIONS)]],
]

test.each(CALLS)('%s says what it takes, whatever it is given', (name, call, args) => {
  expect(() => call(...args)).not.toThrow()
  fc.assert(
    fc.property(fc.nat(args.length - 1), VALUES, (at, value) =>
      expectOwnError(() => call(...args.with(at, value)), name),
    ),
    { numRuns: 2000 },
  )
  const last = args.at(-1)
  const names = [
    ...Object.keys(last as object),
    'isPage',
    'basePath',
    'origins',
    'headerPrefix',
    'timeoutMs',
    'onError',
  ]
  fc.assert(
    fc.property(fc.constantFrom(...names), VALUES, (field, value) => {
      if (name === 'nodeHandler' || name === 'fastifyPlugin') return
      expectOwnError(() => call(...args.with(args.length - 1, { ...(last as object), [field]: value })), name)
    }),
    { numRuns: 2000 },
  )
})

describe('verifyWebhook', () => {
  test.each([
    ['a string', body],
    ['a Buffer', bytes],
    ['a Uint8Array within a larger buffer', new Uint8Array([0, ...bytes, 0]).subarray(1, -1)],
    ['an ArrayBuffer', new Uint8Array(bytes).buffer],
    ['a DataView', new DataView(new Uint8Array(bytes).buffer)],
  ])('takes the body as %s', (_kind, given) => {
    expect(verifyWebhook(headers, given as string, secret.secret)).toEqual(JSON.parse(body))
  })

  test('takes Headers that are not those of this realm', () => {
    const map = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
    const foreign = { get: (name: string) => map.get(name.toLowerCase()) ?? null }
    expect(verifyWebhook(foreign as unknown as Headers, body, secret.secret)).toEqual(JSON.parse(body))
  })

  test.each([
    [
      'a parsed body',
      [headers, JSON.parse(body) as unknown, secret.secret],
      'rawBody must be the received bytes, unparsed: a string, Buffer, Uint8Array or ArrayBuffer, not an object (Object)',
    ],
    [
      'no secret',
      [headers, body, undefined],
      "secrets must be the endpoint's secret or a list of secrets, each a string that is not empty, not undefined",
    ],
    [
      'an empty list of secrets',
      [headers, body, []],
      "secrets must be the endpoint's secret or a list of secrets, each a string that is not empty, not an empty list",
    ],
    ...['', ' ', '\n', 'whs_', 'whsec_', ' whsec_\n', 'whsec_!'].map((empty): [string, unknown[], string] => [
      `a secret without a key: ${JSON.stringify(empty)}`,
      [headers, body, [secret.secret, empty]],
      "secrets must be the endpoint's secret or a list of secrets, each a string that is not empty, not an empty string",
    ]),
    [
      'no headers',
      [undefined, body, secret.secret],
      'headers must be an object of names and values, or the Headers of fetch, not undefined',
    ],
  ])('%s', (_what, args, message) => {
    expect(() => (verifyWebhook as Loose)(...args)).toThrow(new TypeError(`verifyWebhook: ${message}`))
  })
})

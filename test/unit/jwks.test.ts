import { generateKeyPairSync, type KeyObject } from 'node:crypto'

import { expect, test } from 'vitest'

import { filterKeySet } from '../../src/domains/readers/jwks.ts'

const jwk = (key: KeyObject): Record<string, unknown> => ({ ...key.export({ format: 'jwk' }), kid: 'k' })
const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength })
const good = jwk(generateKeyPairSync('ed25519').publicKey)

test('public RSA keys from 2048 bits, EC P-256 and Ed25519 keys are kept, without unknown fields', () => {
  const keys = [jwk(rsa(2048).publicKey), jwk(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey), good]
  expect(filterKeySet({ keys: keys.map((key) => ({ ...key, x5u: 'https://example.com' })), more: 1 })).toEqual({ keys })
})

test.each([
  ['a short RSA key', () => jwk(rsa(1024).publicKey)],
  ['a private key', () => jwk(generateKeyPairSync('ed25519').privateKey)],
  ['a secret', () => ({ kty: 'oct', k: 'c2VjcmV0', kid: 'k' })],
  ['a key on another curve', () => jwk(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey)],
  ['a point that is not on the curve', () => ({ kty: 'EC', crv: 'P-256', x: 'AQ', y: 'AQ' })],
  ['a key for encryption', () => ({ ...good, use: 'enc' })],
  ['a key of another algorithm than its kind’s', () => ({ ...good, alg: 'RS256' })],
  ['null', () => null],
])('%s is left out', (_name, make) => {
  expect(filterKeySet({ keys: [make(), good] })).toEqual({ keys: [good] })
})

test.each([[null], [[]], [{}], [{ keys: {} }], [{ keys: Array.from({ length: 51 }, () => good) }]])(
  '%# is refused as a whole',
  (answer) => {
    expect(() => filterKeySet(answer)).toThrow(/key set/i)
  },
)

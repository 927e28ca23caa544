import { createHmac, createPrivateKey, createPublicKey, sign } from 'node:crypto'

import { bodySha256, kidOf } from './identity.ts'

/**
 * An assertion with what the service must say of it. `now` is the time of the request, whose body
 * `body` is.
 */
export interface AssertionVector {
  name: string
  valid: boolean
  why: string
  now: string
  body: string
  header: object | null
  claims: object | null
  assertion: string
  /** What a valid one says of the reader, or the error code of an invalid one. */
  expected: { reader: Record<string, string | null> } | { code: 'invalid_identity' | 'expired_identity' }
}

const NOW = Date.parse('2026-11-21T02:30:00Z') / 1000
const ISSUER = 'https://www.example.com'
const SECRET = 'an-identity-secret-for-test-vectors-only'
const KID = kidOf(SECRET)

const ED25519 = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 7)]),
  format: 'der',
  type: 'pkcs8',
})
const ED25519_JWK = { ...createPublicKey(ED25519).export({ format: 'jwk' }), kid: 'ed-2026' }

// The signatures of ES256 are random, and a private RSA key would be long: public keys and
// signatures are recorded.
const EC_JWK = {
  kty: 'EC',
  crv: 'P-256',
  x: 'vp4rFt7NTQkguM2xFRCQVtoXlXBsofb98r8IIvgyp0Q',
  y: 'VQS2JfP0iuzRhVrYMG_BAf161drDQD8_azQ9q_5Jblc',
  kid: 'ec-2026',
}
const EC_SIGNATURE = 'j36y6dYxCqh78eq6x1mC3maPtohU_tJX7GwhSRIFsd3wTPZGLFTwdjcGOcewbFRduLYCaOvXAwzPTRUUq9PSzQ'
const RSA_JWK = {
  kty: 'RSA',
  n:
    'xGfpo1ayv8PjqCeKOk7w1VO5PY-r76XSNko77fTaOLE6xqWZacGItbnuGzxW3nK98mrwguvyJg1FgzPqbMfGYUfLEeIjfUqqW_Hs' +
    'lV14cKZpU7mPNP8I_esKP5Ulr6-GlpkC-0X4qQOgeKrC8SSUZJVMWZBYK6WghEWtMgi1FQKzXGc0xzKAP0DLl_6bh4al6EIMAUh6' +
    'KAb2f3Sedq5bOySngOdVKMzGQwpqteXibKylW9VRWchb7LDL56i2j-UI_COJzc4OIZL6CnZo8Tyy7Jfa_LyCxukcMNHIdsiD5YIu' +
    'ZmwPT38eytUElzY5NpkYzVoQJVlozI4_5Phyrfj9qQ',
  e: 'AQAB',
  kid: 'rsa-2026',
}
const RSA_SIGNATURE =
  'V-6nv3uAhkGtVl53vaRVcdZuTzV-Tggbc5snW_He8pTrjjHbAhk5gpqREcCRgEcQlCdjW_NhEDpJksrScL94gNrmV8NgpAhSd6Pd' +
  'pqnJN45gXMSSKEH32U-4e7MZBzIM6VRcVKQxxrmTZAPy5HewxFOm7sOv__uPtnQzYIYDZ6TL13QQgaWt7MWH_K0SNbWU5VqrTFbL' +
  'ofM9QjUL3u-WWD3lhZ2UFmXG8Km7oXxCo7cgDrm5RnysIIlkIOmjP-clBfJs7mjRuDWI7dGiCiKtMKW0DUk9FYDYOKfFCN1ARfj6' +
  'XrThQvjyD_ttZZw8q5lI6oNF1DjC4zQcLloIg-GXqA'

/** The tenant for whom the assertions are. */
export const TENANT = {
  slug: 'demo',
  issuer: ISSUER,
  identitySecrets: [{ kid: KID, secret: SECRET }],
  jwks: { keys: [ED25519_JWK, EC_JWK, RSA_JWK] },
}

type Claims = Record<string, unknown>
type Header = Record<string, unknown>

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const hs256 =
  (secret: string) =>
  (input: string): string =>
    createHmac('sha256', secret).update(input).digest('base64url')

const ed25519 = (input: string): string => sign(null, Buffer.from(input), ED25519).toString('base64url')

interface Made {
  header?: Header
  claims?: Claims
  signature?: (input: string) => string
  /** In the place of header, claims and signature. */
  assertion?: string
  body?: string
  /** Seconds from `NOW`. */
  offset?: number
}

const HS256_HEADER = { alg: 'HS256', kid: KID }
const CLAIMS = { sub: 'reader-1', aud: 'demo', iat: NOW, exp: NOW + 600 }
const PUBLIC_CLAIMS = { iss: ISSUER, ...CLAIMS }
const without = (claim: keyof typeof CLAIMS): Claims => {
  const { [claim]: _, ...rest } = CLAIMS
  return rest
}

function make(made: Made): Pick<AssertionVector, 'now' | 'body' | 'header' | 'claims' | 'assertion'> {
  const { header = HS256_HEADER, claims = CLAIMS, signature = hs256(SECRET), body = '', offset = 0 } = made
  const input = `${encode(header)}.${encode(claims)}`
  return {
    now: new Date((NOW + offset) * 1000).toISOString(),
    body,
    header: made.assertion === undefined ? header : null,
    claims: made.assertion === undefined ? claims : null,
    assertion: made.assertion ?? `${input}.${signature(input)}`,
  }
}

const READER = { externalId: 'reader-1', name: null, avatarUrl: null, profileUrl: null }

const valid = (name: string, why: string, made: Made = {}, reader: Record<string, string> = {}): AssertionVector => ({
  name,
  valid: true,
  why,
  ...make(made),
  expected: { reader: { ...READER, ...reader } },
})

const invalid = (
  name: string,
  why: string,
  made: Made,
  code: 'invalid_identity' | 'expired_identity' = 'invalid_identity',
): AssertionVector => ({ name, valid: false, why, ...make(made), expected: { code } })

const BODY = '{"body":"Hello"}'
const PROFILE = {
  name: 'Ann Example',
  avatarUrl: 'https://www.example.com/ann.png',
  profileUrl: 'https://www.example.com/readers/ann',
}

/** Valid and invalid assertions, with fixed keys and times. */
export const assertionVectors = (): AssertionVector[] => [
  valid('hs256-minimal', 'The four required claims, and the kid of a live secret.'),
  valid(
    'hs256-profile',
    "name, avatarUrl and profileUrl are the reader's profile.",
    { claims: { ...CLAIMS, ...PROFILE } },
    PROFILE,
  ),
  valid('non-ascii-name', 'Texts are UTF-8.', { claims: { ...CLAIMS, name: 'Zoë 😀' } }, { name: 'Zoë 😀' }),
  valid('null-claims', 'An optional claim that is null counts as absent.', {
    claims: { ...CLAIMS, name: null, bodySha256: null },
  }),
  valid('unknown-badges', 'Ids of badges that the settings do not have are ignored.', {
    claims: { ...CLAIMS, badges: ['nobody-has-this', '', '__proto__', 'x'.repeat(1000)] },
  }),
  valid('aud-list-of-one', 'aud may be a list of exactly one.', { claims: { ...CLAIMS, aud: ['demo'] } }),
  valid('unknown-claim', 'A claim that the service does not know is ignored.', {
    claims: { ...CLAIMS, role: 'editor' },
  }),
  valid('lifetime-1-h', 'exp may be 1 h after iat.', { claims: { ...CLAIMS, exp: NOW + 3600 } }),
  valid('expired-within-skew', 'Clocks may differ by 60 s.', { offset: 659 }),
  valid('issued-within-skew', 'Clocks may differ by 60 s.', { offset: -60 }),
  valid('body-digest', 'bodySha256 is the SHA-256 of the body in base64url.', {
    claims: { ...CLAIMS, bodySha256: bodySha256(BODY) },
    body: BODY,
  }),
  valid('eddsa', 'A public key of the tenant, and its issuer.', {
    header: { alg: 'EdDSA', kid: 'ed-2026' },
    claims: PUBLIC_CLAIMS,
    signature: ed25519,
  }),
  valid('eddsa-without-kid', 'Without a kid the only key of the algorithm is taken.', {
    header: { alg: 'EdDSA' },
    claims: PUBLIC_CLAIMS,
    signature: ed25519,
  }),
  valid('es256', 'The signature is r and s, 32 bytes each.', {
    header: { alg: 'ES256', kid: 'ec-2026' },
    claims: PUBLIC_CLAIMS,
    signature: () => EC_SIGNATURE,
  }),
  valid('rs256', 'RSASSA-PKCS1-v1_5 with SHA-256.', {
    header: { alg: 'RS256', kid: 'rsa-2026' },
    claims: PUBLIC_CLAIMS,
    signature: () => RSA_SIGNATURE,
  }),

  invalid('expired', 'exp is 60 s ago: the skew is used up.', { offset: 660 }, 'expired_identity'),
  invalid('issued-in-the-future', 'iat is 61 s ahead.', { offset: -61 }),
  invalid('not-before-in-the-future', 'nbf is 61 s ahead.', { claims: { ...CLAIMS, nbf: NOW + 61 } }),
  invalid('lifetime-over-1-h', 'exp is 3 601 s after iat.', { claims: { ...CLAIMS, exp: NOW + 3601 } }),
  invalid('exp-before-iat', 'exp must be after iat.', { claims: { ...CLAIMS, exp: NOW - 1 } }),
  invalid('without-iat', 'iat is required.', { claims: without('iat') }),
  invalid('without-exp', 'exp is required.', { claims: without('exp') }),
  invalid('times-in-milliseconds', 'Times are seconds since 1970.', {
    claims: { ...CLAIMS, iat: NOW * 1000, exp: (NOW + 600) * 1000 },
  }),
  invalid('times-as-texts', 'Times are numbers.', { claims: { ...CLAIMS, iat: String(NOW), exp: String(NOW + 600) } }),
  invalid('without-aud', 'aud is required.', { claims: without('aud') }),
  invalid('another-aud', 'aud is the slug of another tenant.', { claims: { ...CLAIMS, aud: 'other' } }),
  invalid('two-auds', 'The second audience could use the assertion here.', {
    claims: { ...CLAIMS, aud: ['demo', 'other'] },
  }),
  invalid('without-sub', 'sub is required.', { claims: without('sub') }),
  invalid('empty-sub', 'sub has at least 1 character.', { claims: { ...CLAIMS, sub: '' } }),
  invalid('long-sub', 'sub has at most 255 characters.', { claims: { ...CLAIMS, sub: 'x'.repeat(256) } }),
  invalid('sub-as-a-number', 'sub is a text.', { claims: { ...CLAIMS, sub: 1 } }),
  invalid('sub-with-nul', 'No text holds U+0000.', { claims: { ...CLAIMS, sub: 'reader\0' } }),
  invalid('long-name', 'name has at most 80 characters.', { claims: { ...CLAIMS, name: 'x'.repeat(81) } }),
  invalid('avatar-over-http', 'avatarUrl is an https URL.', {
    claims: { ...CLAIMS, avatarUrl: 'http://www.example.com/a.png' },
  }),
  invalid('badges-as-a-text', 'badges is a list.', { claims: { ...CLAIMS, badges: 'staff' } }),
  invalid('badges-as-an-object', 'badges is a list.', { claims: { ...CLAIMS, badges: { 0: 'staff', length: 1 } } }),
  invalid('badge-as-an-object', 'badges has texts.', { claims: { ...CLAIMS, badges: ['staff', { id: 'staff' }] } }),
  invalid('another-body', 'bodySha256 is that of another body.', {
    claims: { ...CLAIMS, bodySha256: bodySha256(BODY) },
    body: '{"body":"Hello!"}',
  }),
  invalid('another-secret', 'Signed with a secret that the tenant does not have.', {
    signature: hs256('another-identity-secret-for-test-vectors'),
  }),
  invalid('unknown-kid', 'No live secret has this kid.', { header: { alg: 'HS256', kid: '00000000' } }),
  invalid('hs256-without-kid', 'HS256 needs a kid.', { header: { alg: 'HS256' } }),
  invalid('alg-none', 'An assertion is always signed.', { header: { alg: 'none', kid: KID }, signature: () => '' }),
  invalid('alg-hs512', 'Only HS256, RS256, ES256 and EdDSA are accepted.', {
    header: { alg: 'HS512', kid: KID },
    signature: (input) => createHmac('sha512', SECRET).update(input).digest('base64url'),
  }),
  invalid('public-key-as-secret', 'HS256 with the text of a public key as its secret: the key decides the algorithm.', {
    header: { alg: 'HS256', kid: 'rsa-2026' },
    claims: PUBLIC_CLAIMS,
    signature: hs256(JSON.stringify(RSA_JWK)),
  }),
  invalid('another-issuer', 'With a public key iss must be the configured issuer.', {
    header: { alg: 'EdDSA', kid: 'ed-2026' },
    claims: { ...PUBLIC_CLAIMS, iss: 'https://other.example' },
    signature: ed25519,
  }),
  invalid('without-issuer', 'With a public key iss is required.', {
    header: { alg: 'EdDSA', kid: 'ed-2026' },
    signature: ed25519,
  }),
  invalid('changed-claims', 'The signature is that of other claims.', {
    claims: { ...CLAIMS, sub: 'reader-2' },
    signature: () => hs256(SECRET)(`${encode(HS256_HEADER)}.${encode(CLAIMS)}`),
  }),
  invalid('two-parts', 'A JWT has three parts.', { assertion: `${encode(HS256_HEADER)}.${encode(CLAIMS)}` }),
  invalid('claims-that-are-a-list', 'The claims are a JSON object.', {
    assertion: ((input) => `${input}.${hs256(SECRET)(input)}`)(`${encode(HS256_HEADER)}.${encode([CLAIMS])}`),
  }),
]

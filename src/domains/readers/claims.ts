import { timingSafeEqual } from 'node:crypto'

import type { Identity, Tenant } from '../../core/caller.ts'
import { sha256 } from '../../core/secrets/crypto.ts'
import { ServiceError } from '../../core/errors.ts'
import { isPlainJson } from '../../core/input/json-shape.ts'
import { readClaim } from '../../core/input/claims.ts'
import { hasAtMost, nameOrNull } from '../../core/input/texts.ts'
import { knownBadges } from './badges/known.ts'
import { claimedAs, MAX_NAME_LENGTH } from './fields.ts'
import { isGuestId } from './guest-ids.ts'

const MAX_LIFETIME_SECONDS = 3600
const CLOCK_SKEW_SECONDS = 60

/** The claims of a verified assertion. Times in seconds since the epoch. */
export interface Claims {
  identity: Identity
  expiresAt: number
  bodySha256: string | null
}

export const invalidIdentity = (detail: string): ServiceError => new ServiceError('invalid_identity', { detail })

/**
 * Reads the claims of an assertion with a valid signature. `issuer` is required of tokens signed
 * with a public key; null for others. `now` in seconds since the epoch. Throws `invalid_identity`,
 * `expired_identity`.
 */
export function readClaims(payload: Uint8Array, tenant: Tenant, issuer: string | null, now: number): Claims {
  const claims = parseObject(payload)
  if (!hasAudience(claims.aud, tenant.slug)) throw invalidIdentity("The claim aud must be the tenant's slug.")
  if (issuer !== null && claims.iss !== issuer) throw invalidIdentity('The claim iss must be the configured issuer.')
  const issuedAt = time(claims.iat, 'iat')
  const expiresAt = time(claims.exp, 'exp')
  if (expiresAt <= issuedAt) throw invalidIdentity('The claim exp must be after iat.')
  if (expiresAt - issuedAt > MAX_LIFETIME_SECONDS) throw invalidIdentity('The claim exp must be at most 1 h after iat.')
  if (issuedAt > now + CLOCK_SKEW_SECONDS) throw invalidIdentity('The claim iat must not be in the future.')
  if (claims.nbf !== undefined && time(claims.nbf, 'nbf') > now + CLOCK_SKEW_SECONDS) {
    throw invalidIdentity('The claim nbf must not be in the future.')
  }
  const identity = {
    externalId: subOf(claims),
    issuedAt: new Date(issuedAt * 1000),
    ...claimedAs(({ name, claim }) => {
      const value = claims[name]
      // A name of invisible characters would be a comment by nobody.
      return claim === 'name'
        ? nameOrNull(optional(value, (given) => text(given, name, MAX_NAME_LENGTH)))
        : optional(value, (given) => httpsUrl(given, name))
    }),
    badges: optional(claims.badges, (given) => knownBadges(tenant.settings.badges, texts(given, 'badges'))),
  }
  const bodySha256 = optional(claims.bodySha256, digest)
  checkExpiry(expiresAt, now)
  return { identity, expiresAt, bodySha256 }
}

/**
 * Reads the claims of a token of the tenant's issuer, with a valid signature. A profile that could
 * not be shown is left out: it is the issuer's, and keeps nobody from writing. Throws
 * `invalid_identity`, also for one that is too old.
 */
export function readTokenClaims(payload: Uint8Array, tenant: Tenant, issuer: string | null, now: number): Claims {
  const claims = parseObject(payload)
  const { audience, maxAgeSeconds, claims: names } = tenant.settings.identity
  if (issuer === null || claims.iss !== issuer) throw invalidIdentity('The claim iss must be the configured issuer.')
  const expected = audience ?? tenant.slug
  if (claims.aud !== expected && !(Array.isArray(claims.aud) && claims.aud.includes(expected)))
    throw invalidIdentity('The claim aud must have the configured audience.')
  // An assertion that was captured cannot sign other writes than its own.
  if (claims.bodySha256 !== undefined) throw invalidIdentity('A token with the claim bodySha256 is for one body alone.')
  const issuedAt = time(claims.iat, 'iat')
  const expiresAt = Math.min(time(claims.exp, 'exp'), issuedAt + maxAgeSeconds)
  if (issuedAt > now + CLOCK_SKEW_SECONDS) throw invalidIdentity('The claim iat must not be in the future.')
  if (claims.nbf !== undefined && time(claims.nbf, 'nbf') > now + CLOCK_SKEW_SECONDS)
    throw invalidIdentity('The claim nbf must not be in the future.')
  const identity = {
    externalId: subOf(claims),
    issuedAt: new Date(issuedAt * 1000),
    ...claimedAs(({ name, claim }) => {
      const value = readClaim(claims, names[name])
      if (claim === 'name') return nameOrNull(typeof value === 'string' ? cut(value, MAX_NAME_LENGTH) : null)
      return isHttpsUrl(value) ? value : null
    }),
    badges: null,
  }
  checkTokenExpiry(expiresAt, now)
  return { identity, expiresAt, bodySha256: null }
}

/** When a token is refused: after the allowed skew. In seconds. */
export const tokenEndsAt = (expiresAt: number): number => expiresAt + CLOCK_SKEW_SECONDS

/** Throws `invalid_identity` once a token is over, plus the allowed skew. All in seconds. */
export function checkTokenExpiry(expiresAt: number, now: number): void {
  if (now >= tokenEndsAt(expiresAt))
    throw invalidIdentity('The token has expired, or its iat is longer ago than identity.maxAgeSeconds allows.')
}

const cut = (given: string, max: number): string =>
  Array.from(given.replaceAll(/\0|\p{Surrogate}/gu, ''))
    .slice(0, max)
    .join('')

/** Throws `expired_identity` after `exp` plus the allowed skew, all in seconds since the epoch. */
export function checkExpiry(expiresAt: number, now: number): void {
  if (now >= expiresAt + CLOCK_SKEW_SECONDS) throw new ServiceError('expired_identity')
}

/**
 * Throws `invalid_identity` if the assertion was made for another body, so that a captured one
 * cannot sign another write.
 */
export function checkBody(bodySha256: string | null, rawBody: Uint8Array): void {
  if (bodySha256 === null) return
  const actual = Buffer.from(sha256(rawBody).toString('base64url'))
  const expected = Buffer.from(bodySha256)
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) {
    throw invalidIdentity('The claim bodySha256 must be the SHA-256 of the request body.')
  }
}

// Shared, because making a decoder costs more than a decoding.
const UTF_8 = new TextDecoder('utf-8', { fatal: true })

function parseObject(payload: Uint8Array): Record<string, unknown> {
  try {
    const claims: unknown = JSON.parse(UTF_8.decode(payload))
    // Of two claims of one name another reader of the token might take the first (RFC 7519, 4).
    const isObject = typeof claims === 'object' && claims !== null && !Array.isArray(claims)
    if (isObject && isPlainJson(payload, claims)) return claims as Record<string, unknown>
  } catch {
    // Refused below, with our own text.
  }
  throw invalidIdentity('The claims must be a JSON object that has each name once.')
}

// A list of several audiences is refused: the others could use the assertion here.
const hasAudience = (aud: unknown, slug: string): boolean =>
  aud === slug || (Array.isArray(aud) && aud.length === 1 && aud[0] === slug)

// The end of the year 9999: RFC 3339 cannot write later instants.
const LAST_SECOND = 253_402_300_799

function time(value: unknown, claim: string): number {
  if (typeof value === 'number' && value >= 0 && value <= LAST_SECOND) return value
  throw invalidIdentity(`The claim ${claim} is required, in seconds since 1970.`)
}

// PostgreSQL cannot store NUL, and would turn different lone surrogates into one character, so
// that two readers became one.
const UNSTORABLE = /\0|\p{Surrogate}/u

function text(value: unknown, claim: string, max: number): string {
  if (typeof value === 'string' && value !== '' && hasAtMost(value, max) && !UNSTORABLE.test(value)) return value
  throw invalidIdentity(`The claim ${claim} must be a text of 1 to ${max} characters.`)
}

/** The tenant's own id of the reader. Those of guests are the service's. */
function subOf({ sub }: Record<string, unknown>): string {
  const externalId = text(sub, 'sub', 255)
  if (isGuestId(externalId)) throw invalidIdentity('The claim sub must not be the id of a guest.')
  return externalId
}

function texts(value: unknown, claim: string): string[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value
  throw invalidIdentity(`The claim ${claim} must be a list of texts.`)
}

// The URL parser silently drops tabs and line breaks; the stored text must be the checked one.
const isHttpsUrl = (value: unknown): value is string =>
  typeof value === 'string' &&
  hasAtMost(value, 2048) &&
  /^https:\/\/[^\s\p{Cc}\p{Surrogate}]+$/iu.test(value) &&
  URL.canParse(value)

function httpsUrl(value: unknown, claim: string): string {
  if (isHttpsUrl(value)) return value
  throw invalidIdentity(`The claim ${claim} must be an https URL of at most 2048 characters.`)
}

function digest(value: unknown): string {
  if (typeof value === 'string' && /^[A-Za-z0-9_-]{43}$/.test(value)) return value
  throw invalidIdentity('The claim bodySha256 must be a SHA-256 in base64url.')
}

/** Backends often write null for unknown values, so it counts as absent. */
const optional = <T>(value: unknown, read: (value: unknown) => T): T | null => (value == null ? null : read(value))

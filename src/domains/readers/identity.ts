import { compactVerify, decodeProtectedHeader, errors, type ProtectedHeaderParameters } from 'jose'

import { bytesOfValue, roomOf } from '../../core/cache.ts'
import { isCompactJws } from '../../core/input/base64url.ts'
import { isPlainJson } from '../../core/input/json-shape.ts'
import { type App, perApp } from '../../core/app.ts'
import type { Identity, Tenant } from '../../core/caller.ts'
import {
  checkBody,
  checkExpiry,
  checkTokenExpiry,
  type Claims,
  invalidIdentity,
  readClaims,
  readTokenClaims,
  tokenEndsAt,
} from './claims.ts'
import { hastenKeys } from './key-sets.ts'
import {
  type Algorithm,
  forgetKeyring,
  type Keyring,
  loadKeyring,
  recallKeyring,
  type VerificationKey,
} from './keyring.ts'

const MAX_TOKEN_LENGTH = 8192
const MAX_SHOWN_KID = 64

/** What vouches for a reader. */
interface Kind {
  noun: string
  algorithms: readonly Algorithm[]
  read: (payload: Uint8Array, tenant: Tenant, issuer: string | null, now: number) => Claims
  checkExpiry: (expiresAt: number, now: number) => void
  /**
   * Whether a refusal says why the key set could not be fetched, and from which host. A backend is
   * the tenant's; anyone can send a token from a page, and the host may be of a private network.
   */
  saysWhy: boolean
  /** What of the tenant's settings the claims were read by, beside the issuer. */
  rules: (tenant: Tenant) => string
}

/** A backend's own word, in a header. */
const ASSERTION: Kind = {
  noun: 'assertion',
  algorithms: ['HS256', 'RS256', 'ES256', 'EdDSA'],
  read: readClaims,
  checkExpiry,
  saysWhy: true,
  rules: () => '',
}

/** A token of the tenant's issuer, which its pages have from a sign-in. */
const TOKEN: Kind = {
  noun: 'token',
  // An identity secret is for backends: no page has anything that is signed with it.
  algorithms: ['RS256', 'ES256', 'EdDSA'],
  read: readTokenClaims,
  checkExpiry: checkTokenExpiry,
  saysWhy: false,
  rules: ({ slug, settings: { identity } }) => JSON.stringify([slug, identity]),
}

interface Header {
  alg: Algorithm
  kid: string | null
}

interface Verified extends Claims {
  header: Header
  /** Identifies key and issuer: the verification is valid while these are the same. */
  fingerprint: string
  /** The tenant and keys with which it was last found valid, and when the key expires. */
  held?: { tenant: Tenant; ring: Keyring; until: number }
}

/** By kind, tenant and token. What holds it is shared with other entries, and is not counted. */
const verified = perApp((app) =>
  roomOf(
    app,
    'identities',
  )<string, Verified>({ part: 1, bytesOf: (claims) => bytesOfValue({ ...claims, held: null }) }),
)

/**
 * The reader in an assertion (docs/reference/choices/identity.md). `rawBody` has the request body's
 * bytes. Throws `invalid_identity`, `expired_identity`.
 */
export async function verifyIdentity(app: App, tenant: Tenant, token: string, rawBody: Uint8Array): Promise<Identity> {
  const claims = await verify(app, tenant, ASSERTION, token)
  checkBody(claims.bodySha256, rawBody)
  return claims.identity
}

/**
 * The reader in a token of the tenant's issuer, which a site's page sends
 * (docs/reference/choices/identity.md). Throws `invalid_identity`.
 */
export async function verifyIssuersToken(app: App, tenant: Tenant, token: string): Promise<Identity> {
  const { identity, expiresAt } = await verify(app, tenant, TOKEN, token)
  return { ...identity, expiresAt: tokenEndsAt(expiresAt) * 1000 }
}

async function verify(app: App, tenant: Tenant, kind: Kind, token: string): Promise<Verified> {
  if (token.length > MAX_TOKEN_LENGTH)
    throw invalidIdentity(`The ${kind.noun} has more than ${MAX_TOKEN_LENGTH} characters.`)
  const cache = verified(app)
  const cacheKey = keyOf(kind, tenant, token)
  let claims = cache.get(cacheKey)
  if (claims === undefined || !(await stillHolds(app, tenant, kind, claims))) {
    claims = await verifyToken(app, tenant, kind, token)
    cache.set(cacheKey, claims)
  }
  kind.checkExpiry(claims.expiresAt, Date.now() / 1000)
  return claims
}

const keyOf = ({ noun }: Kind, { id }: Tenant, token: string): string => `${noun} ${id} ${token}`

/**
 * The identity of an assertion, at once: if this process has verified it before, with keys that are
 * cached and still valid; else undefined.
 */
export function recallIdentity(app: App, tenant: Tenant, token: string): Identity | undefined {
  const claims = verified(app).get(keyOf(ASSERTION, tenant, token))
  if (claims?.held === undefined || claims.bodySha256 !== null) return undefined
  const { held, expiresAt, identity } = claims
  const isHeld = held.tenant === tenant && held.ring === recallKeyring(app, tenant)
  return isHeld && Date.now() < Math.min(held.until, expiresAt * 1000) ? identity : undefined
}

/**
 * Whether the key that verified it is still one of the tenant's: a cached verification never
 * outlives its key.
 */
async function stillHolds(app: App, tenant: Tenant, kind: Kind, claims: Verified): Promise<boolean> {
  const ring = await loadKeyring(app, tenant)
  const key = selectKey(ring, tenant, claims.header)
  if (key === undefined || fingerprintOf(kind, key, tenant) !== claims.fingerprint) return false
  claims.held = { tenant, ring, until: key.expiresAt ?? Infinity }
  return true
}

async function verifyToken(app: App, tenant: Tenant, kind: Kind, token: string): Promise<Verified> {
  const header = readHeader(kind, token)
  const key = await findKey(app, tenant, kind, header)
  const payload = await verifySignature(token, key)
  const claims = kind.read(payload, tenant, issuerFor(key, tenant), Date.now() / 1000)
  return { ...claims, header, fingerprint: fingerprintOf(kind, key, tenant) }
}

function readHeader({ noun, algorithms }: Kind, token: string): Header {
  const noJwt = `The ${noun} must be a compact JWT, each part in base64url without padding.`
  if (!isCompactJws(token)) throw invalidIdentity(noJwt)
  let header: ProtectedHeaderParameters
  try {
    header = decodeProtectedHeader(token)
  } catch {
    throw invalidIdentity(noJwt)
  }
  if (!isPlainJson(Buffer.from(token.slice(0, token.indexOf('.')), 'base64url'), header))
    throw invalidIdentity(`The header of the ${noun} must have each name once.`)
  const { alg, kid } = header
  const algorithm = algorithms.find((each) => each === alg)
  if (algorithm === undefined) throw invalidIdentity(`The algorithm must be one of ${algorithms.join(', ')}.`)
  if (kid !== undefined && typeof kid !== 'string') throw invalidIdentity('The header kid must be a text.')
  if (alg === 'HS256' && kid === undefined) throw invalidIdentity('The header kid must name the identity secret.')
  return { alg: algorithm, kid: kid ?? null }
}

// An unknown key may be new, so the keys are read again. Not too often, because anyone can make up
// a `kid`.
const LOOK_AGAIN_MS = 500

async function findKey(app: App, tenant: Tenant, kind: Kind, header: Header): Promise<VerificationKey> {
  let ring = await loadKeyring(app, tenant)
  const key = selectKey(ring, tenant, header)
  if (key !== undefined) return key
  if (performance.now() - ring.readAt > LOOK_AGAIN_MS) {
    forgetKeyring(app, tenant.id)
    ring = await loadKeyring(app, tenant)
    const found = selectKey(ring, tenant, header)
    if (found !== undefined) return found
  }
  if (header.alg === 'HS256') throw invalidIdentity(unknownKey(header))
  await hastenKeys(app, tenant)
  throw invalidIdentity(lackOfKeys(kind, tenant, ring) ?? unknownKey(header))
}

/** Why the keys of the identity provider are missing or old; null if the last fetch succeeded. */
function lackOfKeys({ saysWhy }: Kind, { settings }: Tenant, { fetched }: Keyring): string | null {
  const { jwksUrl } = settings.identity
  if (jwksUrl === null) return 'The tenant has no identity provider: identity.jwksUrl is not set.'
  if (fetched?.url !== jwksUrl || (fetched.fetchedAt === null && fetched.error === null))
    return "The key set of the tenant's identity provider has not been fetched yet. A worker does it within seconds."
  if (fetched.error === null) return null
  const failed = "The key set of the tenant's identity provider could not be fetched"
  return saysWhy
    ? `${failed} from ${new URL(jwksUrl).host}: ${fetched.error}.`
    : `${failed}. The page Identity of the console says why.`
}

/** Says which key is missing, so that a wrong secret of the backend shows in its log. */
function unknownKey({ alg, kid }: Header): string {
  if (kid === null) return `The tenant has no single live key of ${alg}: the header kid must name one.`
  const name = kid.slice(0, MAX_SHOWN_KID)
  return alg === 'HS256'
    ? `kid ${name} is no live identity secret of the tenant: is identitySecret right?`
    : `kid ${name} is no live ${alg} key of the tenant's identity provider.`
}

/** The key that the header names. Without a `kid`, the only key of the algorithm. */
function selectKey({ keys }: Keyring, tenant: Tenant, { alg, kid }: Header): VerificationKey | undefined {
  const now = Date.now()
  const fitting = keys.filter(
    (key) =>
      key.algorithm === alg &&
      (kid === null || key.kid === kid) &&
      (key.expiresAt === null || key.expiresAt > now) &&
      // After a change of `jwksUrl`, keys of the old address are no longer the tenant's.
      (key.url === null || key.url === tenant.settings.identity.jwksUrl),
  )
  return fitting.length === 1 ? fitting[0] : undefined
}

async function verifySignature(token: string, { key, algorithm }: VerificationKey): Promise<Uint8Array> {
  try {
    return (await compactVerify(token, key, { algorithms: [algorithm] })).payload
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError)
      throw invalidIdentity('The signature is not valid.')
    throw error
  }
}

const issuerFor = (key: VerificationKey, tenant: Tenant): string | null =>
  key.algorithm === 'HS256' ? null : tenant.settings.identity.issuer

const fingerprintOf = ({ rules }: Kind, key: VerificationKey, tenant: Tenant): string =>
  `${issuerFor(key, tenant) ?? ''} ${key.fingerprint}${rules(tenant)}`

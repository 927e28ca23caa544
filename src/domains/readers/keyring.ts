import { webcrypto } from 'node:crypto'

import { importJWK } from 'jose'

import { type App, perApp, type Tenant } from '../../core/context.ts'
import { unseal } from '../../core/crypto.ts'
import type { Id } from '../../core/ids.ts'
import { createReadCache, followCacheNews } from '../../core/read-cache.ts'
import { algorithmOf, type PublicJwk, readKeySet } from './jwks.ts'
import { findKeySet } from './key-set-sql.ts'
import { findLiveSecrets, type SecretRow } from './sql.ts'

export type Algorithm = 'HS256' | 'RS256' | 'ES256' | 'EdDSA'

/** A key that may have signed an assertion. The algorithm is the key's, never the token's word. */
export interface VerificationKey {
  algorithm: Algorithm
  kid: string | null
  key: webcrypto.CryptoKey
  /** The JWKS address that it comes from; null for a secret. */
  url: string | null
  /** Milliseconds since the epoch; null: for good. */
  expiresAt: number | null
  /** The same for the same key only, over every reading of it. */
  fingerprint: string
}

/** The keys with which a tenant's assertions may be signed, as they were read at one time. */
export interface Keyring {
  keys: readonly VerificationKey[]
  readAt: number
}

export const sealContext = (tenantId: Id, kid: string): string => `identity_secret:${tenantId}:${kid}`

const rings = perApp((app) => {
  const cache = createReadCache<Keyring>({ max: 10_000, read: (tenantId) => readKeyring(app, tenantId) })
  followCacheNews(app, { kind: 'tenant', forget: ({ tenantId }) => cache.forget(tenantId), clear: cache.clear })
  return cache
})

/** The tenant's live keys, at most 4 s old. */
export async function loadKeyring(app: App, tenant: Tenant): Promise<Keyring> {
  return rings(app).get(tenant.id)
}

/** Has the keys read again at the next use: a `kid` was not among them. */
export const forgetKeyring = (app: App, tenantId: Id): void => rings(app).forget(tenantId)

async function readKeyring(app: App, tenantId: Id): Promise<Keyring> {
  const readAt = performance.now()
  const [secrets, keySet] = await Promise.all([
    findLiveSecrets(app.db.query, tenantId, new Date()),
    findKeySet(app.db.query, tenantId),
  ])
  const keys = await Promise.all([
    ...secrets.map((secret) => secretKey(app, tenantId, secret)),
    ...readKeySet(keySet?.jwks).map((jwk) => publicKey(jwk, keySet?.url ?? null)),
  ])
  return { keys, readAt }
}

async function secretKey(app: App, tenantId: Id, row: SecretRow): Promise<VerificationKey> {
  const secret = unseal(app.settings.ENCRYPTION_KEY, row.sealed, sealContext(tenantId, row.kid))
  const key = await importHs256(secret)
  const expiresAt = row.expiresAt?.getTime() ?? null
  return { algorithm: 'HS256', kid: row.kid, key, url: null, expiresAt, fingerprint: `HS256 ${row.kid}` }
}

const importHs256 = (secret: string): Promise<webcrypto.CryptoKey> =>
  webcrypto.subtle.importKey('raw', Buffer.from(secret, 'utf8'), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])

async function publicKey(jwk: PublicJwk, url: string | null): Promise<VerificationKey> {
  const algorithm = algorithmOf(jwk)
  const key = await importJWK(jwk, algorithm)
  if (key instanceof Uint8Array) throw new Error('a public key came out as bytes')
  return {
    algorithm,
    kid: jwk.kid ?? null,
    key,
    url,
    expiresAt: null,
    fingerprint: `${algorithm} ${JSON.stringify(jwk)}`,
  }
}

import { webcrypto } from 'node:crypto'

import { importJWK } from 'jose'

import { type App, perApp } from '../../core/app.ts'
import type { Tenant } from '../../core/caller.ts'
import type { Id } from '../../core/ids.ts'
import { roomOf } from '../../core/cache.ts'
import { createReadCache, followCacheNews } from '../../core/read-cache.ts'
import { unseal } from '../../core/secrets/seals.ts'
import { algorithmOf, type PublicJwk, readKeySet } from './jwks.ts'
import { findKeySet, type StoredKeys } from './key-set-sql.ts'
import { KEPT_MS } from './key-set.ts'
import { findLiveSecrets, type LiveSecret } from './sql.ts'

export type Algorithm = 'HS256' | 'RS256' | 'ES256' | 'EdDSA'

/** A key that may have signed an assertion. The key decides the algorithm, never the token. */
export interface VerificationKey {
  algorithm: Algorithm
  kid: string | null
  key: webcrypto.CryptoKey
  /** The JWKS address of the key; null for a secret. */
  url: string | null
  /** Milliseconds since the epoch; null: never. */
  expiresAt: number | null
  /** Identifies the key over repeated reads. */
  fingerprint: string
}

/** All keys that may sign a tenant's assertions, as read at one time. */
export interface Keyring {
  keys: readonly VerificationKey[]
  /** How the key set of the identity provider was last fetched; null without one. */
  fetched: Pick<StoredKeys, 'url' | 'fetchedAt' | 'error'> | null
  readAt: number
}

export const identitySecretContext = (tenantId: Id, kid: string): string => `identity_secret:${tenantId}:${kid}`

const rings = perApp((app) => {
  const cache = createReadCache<Keyring>({
    room: roomOf(app, 'keyrings'),
    read: (tenantId) => readKeyring(app, tenantId),
  })
  followCacheNews(app, { kind: 'tenant', forget: ({ tenantId }) => cache.forget(tenantId), clear: cache.clear })
  return cache
})

/** The tenant's valid keys, at most 4 s old. */
export async function loadKeyring(app: App, tenant: Tenant): Promise<Keyring> {
  return rings(app).get(tenant.id)
}

/** The tenant's keyring if it is cached; else undefined. */
export const recallKeyring = (app: App, tenant: Tenant): Keyring | undefined => rings(app).peek(tenant.id)

/** Makes the next use read the keys again, because a `kid` was unknown. */
export const forgetKeyring = (app: App, tenantId: Id): void => rings(app).forget(tenantId)

async function readKeyring(app: App, tenantId: Id): Promise<Keyring> {
  const readAt = performance.now()
  const [secrets, keySet] = await Promise.all([
    findLiveSecrets(app.db.query, tenantId, new Date()),
    findKeySet(app.db.query, tenantId),
  ])
  const keys = await Promise.all([
    ...secrets.flatMap((secret) => secretKey(app, tenantId, secret)),
    ...(keySet === undefined ? [] : publicKeys(keySet)),
  ])
  return { keys, fetched: keySet ?? null, readAt }
}

/** None if the secret cannot be opened: the tenant's other keys still work. */
function secretKey(app: App, tenantId: Id, { kid, sealed, expiresAt }: LiveSecret): Promise<VerificationKey>[] {
  try {
    const secret = unseal(app.settings, sealed, identitySecretContext(tenantId, kid))
    const common = { algorithm: 'HS256', kid, url: null, fingerprint: `HS256 ${kid}` } as const
    return [importHs256(secret).then((key) => ({ ...common, key, expiresAt: expiresAt?.getTime() ?? null }))]
  } catch (error) {
    app.log.warn({ err: error, tenantId, kid }, 'an identity secret cannot be opened')
    return []
  }
}

const importHs256 = (secret: string): Promise<webcrypto.CryptoKey> =>
  webcrypto.subtle.importKey('raw', Buffer.from(secret, 'utf8'), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])

/** Each process computes when they expire: no worker has to notify it. */
function publicKeys({ url, jwks, fetchedAt }: StoredKeys): Promise<VerificationKey>[] {
  const expiresAt = (fetchedAt?.getTime() ?? 0) + KEPT_MS
  return readKeySet(jwks).map((jwk) => publicKey(jwk, url, expiresAt))
}

async function publicKey(jwk: PublicJwk, url: string, expiresAt: number): Promise<VerificationKey> {
  const algorithm = algorithmOf(jwk)
  const key = await importJWK(jwk, algorithm)
  if (key instanceof Uint8Array) throw new Error('a public key came out as bytes')
  return {
    algorithm,
    kid: jwk.kid ?? null,
    key,
    url,
    expiresAt,
    fingerprint: `${algorithm} ${JSON.stringify(jwk)}`,
  }
}

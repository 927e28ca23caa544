import { createPublicKey } from 'node:crypto'

import { z } from 'zod'

const MAX_KEYS = 50
const MIN_RSA_BITS = 2048

// At most an RSA modulus of 8192 bits: longer ones only cost time.
const base64url = z.string().regex(/^[A-Za-z0-9_-]{1,1366}$/)
const common = {
  kid: z.string().min(1).max(255).exactOptional(),
  use: z.literal('sig').exactOptional(),
  key_ops: z
    .array(z.string())
    .refine((ops) => ops.includes('verify'))
    .exactOptional(),
}

// Zod drops unknown fields. Private parts are refused before that.
const publicJwk = z.discriminatedUnion('kty', [
  z.object({ kty: z.literal('RSA'), n: base64url, e: base64url, alg: z.literal('RS256').exactOptional(), ...common }),
  z.object({
    kty: z.literal('EC'),
    crv: z.literal('P-256'),
    x: base64url,
    y: base64url,
    alg: z.literal('ES256').exactOptional(),
    ...common,
  }),
  z.object({
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519'),
    x: base64url,
    alg: z.enum(['EdDSA', 'Ed25519']).exactOptional(),
    ...common,
  }),
])

/** A public key of one of the three kinds that may sign assertions. */
export type PublicJwk = z.infer<typeof publicJwk>

const document = z.object({ keys: z.array(z.unknown()) })

/** The only algorithm that a key of this kind may verify. */
export function algorithmOf(jwk: PublicJwk): 'RS256' | 'ES256' | 'EdDSA' {
  if (jwk.kty === 'RSA') return 'RS256'
  return jwk.kty === 'EC' ? 'ES256' : 'EdDSA'
}

/**
 * The usable keys in the answer of a tenant's JWKS address: public RSA of at least 2048 bits, EC
 * P-256 and Ed25519. Others are left out, because a set may serve other purposes too. Throws if it
 * is not a key set at all.
 */
export function filterKeySet(fetched: unknown): { keys: PublicJwk[] } {
  const result = document.safeParse(fetched)
  if (!result.success) throw new Error('the answer is not a JSON Web Key Set')
  if (result.data.keys.length > MAX_KEYS) throw new Error(`the key set has more than ${MAX_KEYS} keys`)
  return { keys: result.data.keys.flatMap(usable) }
}

/** The keys of a stored set; none if nothing is stored. */
export const readKeySet = (stored: unknown): PublicJwk[] => (stored == null ? [] : filterKeySet(stored).keys)

const PRIVATE_PARTS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

function usable(candidate: unknown): PublicJwk[] {
  if (typeof candidate !== 'object' || candidate === null) return []
  // A published private key proves nothing.
  if (PRIVATE_PARTS.some((part) => part in candidate)) return []
  const { success, data } = publicJwk.safeParse(candidate)
  return success && isSound(data) ? [data] : []
}

function isSound(jwk: PublicJwk): boolean {
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    return jwk.kty !== 'RSA' || (key.asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS
  } catch {
    return false
  }
}

import { createHash } from 'node:crypto'

import { SignJWT } from 'jose'

export interface Signer {
  /** The tenant's slug. */
  tenant: string
  secret: string
}

/** What a tenant's backend does to vouch for a reader: a short-lived HS256 JWT. */
export async function signIdentity({ tenant, secret }: Signer, claims: Record<string, unknown>): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  return new SignJWT({ aud: tenant, iat: now, exp: now + 600, ...claims })
    .setProtectedHeader({ alg: 'HS256', kid: kidOf(secret) })
    .sign(new TextEncoder().encode(secret))
}

/** The `kid` of an identity secret: the first 8 hex of its SHA-256. */
export const kidOf = (secret: string): string => createHash('sha256').update(secret).digest('hex').slice(0, 8)

export const bodySha256 = (body: string): string => createHash('sha256').update(body).digest('base64url')

import type { Actor, App, Tenant } from '../core/context.ts'
import { ServiceError } from '../core/errors.ts'
import { findCallerByKey } from '../domains/keys/keys.ts'
import { verifyAdminToken } from '../domains/tenants/admins.ts'

export interface Credentials {
  tenant: Tenant
  actor: Actor
}

/**
 * Who sent `X-API-Key` or `Authorization: Bearer` (contract, section 3); null where neither was sent.
 * Throws `ambiguous_credentials` for both, and each refusal of a key or token.
 */
export async function authenticate(
  app: App,
  { apiKey, authorization }: { apiKey?: string | undefined; authorization?: string | undefined },
): Promise<Credentials | null> {
  if (apiKey !== undefined && authorization !== undefined) throw new ServiceError('ambiguous_credentials')
  if (apiKey !== undefined) return findCallerByKey(app, apiKey)
  if (authorization === undefined) return null
  // The scheme is case-insensitive (RFC 9110, section 11.1).
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1]
  if (token === undefined) throw new ServiceError('invalid_admin_token')
  return verifyAdminToken(app, token)
}

/** Who sent `?token=`, a raw API key or an admin token (contract, section 6). */
export const authenticateToken = (app: App, token: string): Promise<Credentials> =>
  token.startsWith('ek_') ? findCallerByKey(app, token) : verifyAdminToken(app, token)

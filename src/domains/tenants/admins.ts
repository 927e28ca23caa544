import { errors, jwtVerify, SignJWT } from 'jose'

import { isCompactJws } from '../../core/secrets/base64url.ts'
import { type Actor, type App, type Ctx, perApp, requireAdmin, requireCaller, type Tenant } from '../../core/context.ts'
import { deriveKey } from '../../core/secrets/crypto.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { rowPerRequest } from '../../core/per-request.ts'
import { createReadCache } from '../../core/read-cache.ts'
import type { Admin } from '../../generated/prisma/client.ts'
import { findAdmin } from './sql.ts'
import { loadTenant } from './tenants.ts'

const ISSUER = 'engagement-service'
const AUDIENCE = 'engagement-service/admin'
const TOKEN_HOURS = 12

const keyOf = perApp((app) => deriveKey(app.settings.ADMIN_JWT_SECRET, 'admin-token'))

const admins = perApp((app) =>
  createReadCache<Pick<Admin, 'email'> | null>({
    max: 10_000,
    read: async (key) => {
      const [tenantId = '', id = '', credentialId = ''] = key.split('/')
      return (await findAdmin(app.db.query, { tenantId, id, credentialId })) ?? null
    },
    keep: (admin) => admin !== null,
  }),
)

/** A token for an admin after the password was checked, valid for 12 h. */
export async function mintAdminToken(
  app: App,
  admin: { tenantId: Id; id: Id; credentialId: Id },
): Promise<{ token: string; expiresAt: Date }> {
  const seconds = Math.floor(Date.now() / 1000)
  const exp = seconds + TOKEN_HOURS * 3600
  const token = await new SignJWT({ tenantId: admin.tenantId, credentialId: admin.credentialId })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject(admin.id)
    .setIssuedAt(seconds)
    .setExpirationTime(exp)
    .sign(keyOf(app))
  return { token, expiresAt: new Date(exp * 1000) }
}

/**
 * The tenant and actor of an admin token. `beforeLookUp` runs before the database is queried for an
 * admin that this process has never found, and may refuse. Throws `invalid_admin_token`, also after
 * the admin was deleted or got another password.
 */
export async function verifyAdminToken(
  app: App,
  token: string,
  beforeLookUp?: () => void,
): Promise<{ tenant: Tenant; actor: Actor }> {
  const { tenantId, id, credentialId, expiresAt } = await readToken(app, token)
  const key = `${tenantId}/${id}/${credentialId}`
  if (admins(app).isNew(key)) beforeLookUp?.()
  const admin = await admins(app).get(key)
  if (admin === null) throw new ServiceError('invalid_admin_token')
  const actor: Actor = { kind: 'admin', id, credentialId, email: admin.email, expiresAt }
  return { tenant: await loadTenant(app, tenantId), actor }
}

interface Claims {
  tenantId: Id
  id: Id
  credentialId: Id
  expiresAt: Date
}

async function readToken(app: App, token: string): Promise<Claims> {
  if (!isCompactJws(token)) throw new ServiceError('invalid_admin_token')
  try {
    const { payload } = await jwtVerify<{ tenantId: unknown; credentialId: unknown }>(token, keyOf(app), {
      algorithms: ['HS256'],
      issuer: ISSUER,
      audience: AUDIENCE,
      requiredClaims: ['sub', 'iat', 'exp', 'tenantId'],
    })
    // Until the admin's first change of password, the credential has the admin's own id.
    const { sub: id, exp, tenantId, credentialId = id } = payload
    if (isIdText(id) && isIdText(tenantId) && isIdText(credentialId) && exp !== undefined) {
      return { tenantId, id, credentialId, expiresAt: new Date(exp * 1000) }
    }
  } catch (error) {
    if (!(error instanceof errors.JOSEError) && !(error instanceof TypeError)) throw error
  }
  throw new ServiceError('invalid_admin_token')
}

const isIdText = (claim: unknown): claim is Id => typeof claim === 'string' && isId(claim)

export interface SignedInAdmin {
  id: Id
  email: string
  tenant: { id: Id; slug: string }
  /** When the token expires. */
  expiresAt: Date
}

/** The admin of the request's token. Throws `admin_only`. */
export function findMe(ctx: Ctx): SignedInAdmin {
  const { id, email, expiresAt } = requireAdmin(ctx)
  const { tenant } = requireCaller(ctx)
  return { id, email, tenant: { id: tenant.id, slug: tenant.slug }, expiresAt }
}

/**
 * An admin's id and e-mail address; null if there is no such admin. One statement serves all that
 * one request asks for.
 */
export const findAdminOf = rowPerRequest<Pick<Admin, 'id' | 'email'>>((ctx, where) =>
  ctx.app.prisma.admin.findMany({ where, select: { id: true, email: true } }),
)

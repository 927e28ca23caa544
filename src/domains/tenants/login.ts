import { z } from 'zod'

import type { App, Ctx } from '../../core/context.ts'
import { DUMMY_PASSWORD_HASH, verifyPassword } from '../../core/secrets/crypto.ts'
import { ServiceError } from '../../core/errors.ts'
import { atMost, noNul } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import { mintAdminToken } from './admins.ts'
import { withinLoginLimits } from './login-limits.ts'

export const loginSchema = z.object({
  email: noNul(atMost(320, z.string().min(1))),
  password: noNul(atMost(1024, z.string().min(1))),
})

export interface LoginInput {
  email: string
  password: string
}

/**
 * A token for the console, valid for 12 h (docs/guides/console.md). Throws `invalid_admin_token`,
 * with the same text for a wrong address and a wrong password, and `rate_limited`.
 */
export async function login(ctx: Ctx, input: LoginInput): Promise<{ token: string; expiresAt: Date }> {
  const { email, password } = validate(loginSchema, input)
  const { app, address } = ctx
  const lowerCase = email.trim().toLowerCase()
  const admin = await withinLoginLimits(app, { email: lowerCase, address }, () =>
    checkPassword(app, lowerCase, password),
  )
  if (admin === null)
    throw new ServiceError('invalid_admin_token', { detail: 'The e-mail address or the password is wrong.' })
  return mintAdminToken(app, admin)
}

/** Does the same work whether or not the address exists, so that the time reveals nothing. */
async function checkPassword(app: App, email: string, password: string) {
  // E-mail addresses are unique over all tenants, because login names no tenant.
  const admin = await app.prisma.admin.findUnique({ where: { email } })
  const matches = await verifyPassword(password, admin?.passwordHash ?? DUMMY_PASSWORD_HASH)
  if (admin === null || !matches) return null
  const { tenantId, id, credentialId } = admin
  return { tenantId, id, credentialId: credentialId ?? id }
}

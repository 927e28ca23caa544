import { z } from 'zod'

import type { App, Ctx } from '../../core/context.ts'
import { DUMMY_PASSWORD_HASH, verifyPassword } from '../../core/crypto.ts'
import { ServiceError } from '../../core/errors.ts'
import { noNul } from '../../core/texts.ts'
import { validate } from '../../core/validate.ts'
import { mintAdminToken } from './admins.ts'
import { withinLoginLimits } from './login-limits.ts'
import { type AdminRow, findAdminByEmail } from './sql.ts'

export const loginSchema = z.object({
  email: noNul(z.string().min(1).max(320)),
  password: noNul(z.string().min(1).max(1024)),
})

export interface LoginInput {
  email: string
  password: string
}

/**
 * A token for the console, good for 12 h (contract, section 3).
 * Throws `invalid_admin_token`, with the same words whichever of the two was wrong, and `rate_limited`.
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

/** The same work is done whether or not the address exists, so that the time does not tell. */
async function checkPassword(app: App, email: string, password: string): Promise<AdminRow | null> {
  const admin = await findAdminByEmail(app.db.query, email)
  const matches = await verifyPassword(password, admin?.passwordHash ?? DUMMY_PASSWORD_HASH)
  return admin !== undefined && matches ? admin : null
}

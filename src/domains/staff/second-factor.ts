import { Secret, TOTP } from 'otpauth'
import { z } from 'zod'

import { recordAudit, type Recorder } from '../../core/audit.ts'
import { requireCaller, requireMember } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { atMost, noNul } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import { randomHex, sha256 } from '../../core/secrets/crypto.ts'
import { seal, unseal } from '../../core/secrets/seals.ts'
import type { TxSql } from '../../core/database/database.ts'
import { lockAccount, requireAccount } from './accounts.ts'
import { withinLoginLimits } from './login-limits.ts'
import {
  type AdminToken,
  announceEnded,
  beginSignIn,
  type EndedSignIns,
  endSignIns,
  requireSignedIn,
} from './sign-ins.ts'

/** The only kind of second factor: an app that shows codes (RFC 6238). */
const TOTP_KIND = 'totp'
const PERIOD_SECONDS = 30
/** How many steps the clock of the app may be away, in either direction. */
const DRIFT_STEPS = 1
const RECOVERY_CODES = 10
/** What the app shows. The library throws at six characters of more bytes. */
const CODE = /^\d{6}$/

export const codeSchema = noNul(atMost(50, z.string().min(1)))

/**
 * A code without what apps, keyboards and clipboards add: spaces, hyphens, invisible characters,
 * digits in full width, and those of Arabic and Persian.
 */
const asShown = (code: string): string =>
  code
    .normalize('NFKC')
    .replaceAll(/[\s\p{Pd}\p{Cf}]/gu, '')
    .replaceAll(/[٠-٩۰-۹]/g, (digit) => String(digit.charCodeAt(0) & 15))
    .toLowerCase()

/** The sealing context of a second factor. */
export const secondFactorContext = (accountId: Id, kind: string): string => `second-factor:${accountId}:${kind}`

const keyOf = (accountId: Id) => ({ accountId_kind: { accountId, kind: TOTP_KIND } })

const totpOf = (secret: Secret, label: string): TOTP =>
  new TOTP({ issuer: 'Engagement Service', label, secret, algorithm: 'SHA1', digits: 6, period: PERIOD_SECONDS })

/**
 * How a code counts: in the transaction of what it allows, which has locked the account. False if
 * it was used meanwhile.
 */
export type UseCode = (sql: TxSql) => Promise<boolean>

/**
 * Checks the code of a login, where the account has a second factor. Throws
 * `second_factor_required`, `invalid_second_factor`.
 */
export async function checkSecondFactor(app: App, accountId: Id, code: string | null): Promise<UseCode> {
  const factor = await app.prisma.secondFactor.findUnique({ where: keyOf(accountId) })
  if (factor === null || factor.confirmedAt === null) return withoutFactor(accountId)
  if (code === null) throw new ServiceError('second_factor_required')
  const given = asShown(code)
  if (!CODE.test(given)) return checkRecoveryCode(app, accountId, given)
  const step = stepOf(app, accountId, factor.sealed, given)
  if (step === null || step <= factor.lastStep) throw new ServiceError('invalid_second_factor')
  return async ({ prisma }) => {
    const where = { accountId, kind: TOTP_KIND, lastStep: { lt: step } }
    return (await prisma.secondFactor.updateMany({ where, data: { lastStep: step } })).count === 1
  }
}

/** No code, unless a second factor was confirmed meanwhile. Throws `second_factor_required`. */
const withoutFactor =
  (accountId: Id): UseCode =>
  async (sql) => {
    if (await hasSecondFactor(sql, accountId)) throw new ServiceError('second_factor_required')
    return true
  }

export const hasSecondFactor = async ({ prisma }: Pick<App, 'prisma'>, accountId: Id): Promise<boolean> =>
  (await prisma.secondFactor.count({ where: { accountId, confirmedAt: { not: null } } })) > 0

async function checkRecoveryCode({ prisma }: App, accountId: Id, code: string): Promise<UseCode> {
  const which = { accountId, digest: sha256(code) }
  if ((await prisma.recoveryCode.count({ where: which })) === 0) throw new ServiceError('invalid_second_factor')
  return async (sql) => (await sql.prisma.recoveryCode.deleteMany({ where: which })).count === 1
}

/** The step of a code that the app shows about now; null for another code. */
function stepOf({ settings }: App, accountId: Id, sealed: Uint8Array, code: string): bigint | null {
  if (!CODE.test(code)) return null
  const secret = Secret.fromBase32(unseal(settings, sealed, secondFactorContext(accountId, TOTP_KIND)))
  const now = Date.now()
  const delta = totpOf(secret, '').validate({ token: code, timestamp: now, window: DRIFT_STEPS })
  return delta === null ? null : BigInt(Math.floor(now / 1000 / PERIOD_SECONDS) + delta)
}

/**
 * Makes the secret for an app, in place of one that was not confirmed. Throws `invalid_transition`
 * if there is a second factor already.
 */
export async function beginTotp(ctx: Ctx): Promise<{ secret: string; otpauthUrl: string }> {
  const { app } = ctx
  const accountId = requireAccount(ctx)
  const { email, id } = requireMember(ctx)
  const secret = new Secret({ size: 20 })
  const sealed = seal(app.settings, secret.base32, secondFactorContext(accountId, TOTP_KIND))
  const data = { accountId, kind: TOTP_KIND, sealed }
  await app.db.transaction(async (sql) => {
    await sql.prisma.secondFactor.deleteMany({ where: { accountId, kind: TOTP_KIND, confirmedAt: null } })
    const { count } = await sql.prisma.secondFactor.createMany({ data, skipDuplicates: true })
    if (count === 0) {
      throw new ServiceError('invalid_transition', { detail: 'There is a second factor: remove it first.' })
    }
    await recordAudit(sql, ctx, { action: 'member.begin_totp', targetId: id })
  })
  return { secret: secret.base32, otpauthUrl: totpOf(secret, `${requireCaller(ctx).tenant.slug}: ${email}`).toString() }
}

export const confirmSchema = z.object({ code: codeSchema })

/**
 * Confirms the secret by a first code, and ends all sign-ins of the account; the answer has the
 * token of a new one, and codes for the day when the app is lost. Throws `invalid_second_factor`,
 * `invalid_transition`, `rate_limited`.
 */
export async function confirmTotp(
  ctx: Ctx,
  input: { code: string },
): Promise<AdminToken & { recoveryCodes: string[] }> {
  const { code } = validate(confirmSchema, input)
  const { app, address } = ctx
  const { tenant } = requireCaller(ctx)
  const accountId = requireAccount(ctx)
  const { email, id } = requireMember(ctx)
  const factor = await app.prisma.secondFactor.findUnique({ where: keyOf(accountId) })
  if (factor === null || factor.confirmedAt !== null) {
    throw new ServiceError('invalid_transition', { detail: 'There is no secret to confirm.' })
  }
  const lastStep = await withinLoginLimits(app, { email, address }, async () =>
    stepOf(app, accountId, factor.sealed, asShown(code)),
  )
  if (lastStep === null) throw new ServiceError('invalid_second_factor')
  const recoveryCodes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode)
  const { token, ended } = await app.db.transaction(async (sql) => {
    await lockAccount(sql, accountId)
    await requireSignedIn(sql, ctx)
    const { count } = await sql.prisma.secondFactor.updateMany({
      where: { accountId, kind: TOTP_KIND, confirmedAt: null, sealed: factor.sealed },
      data: { confirmedAt: new Date(), lastStep },
    })
    if (count === 0) throw new ServiceError('invalid_transition', { detail: 'The secret was replaced meanwhile.' })
    await sql.prisma.recoveryCode.deleteMany({ where: { accountId } })
    const digests = recoveryCodes.map((each) => ({ accountId, digest: sha256(each.replaceAll('-', '')) }))
    await sql.prisma.recoveryCode.createMany({ data: digests })
    const signIns = await endSignIns(sql, { member: { accountId } })
    await recordAudit(sql, ctx, { action: 'member.confirm_totp', targetId: id })
    const { signInHours } = tenant.settings.staff
    return { token: await beginSignIn(sql, app, { tenantId: tenant.id, id }, signInHours), ended: signIns }
  })
  announceEnded(app, ended)
  return { ...token, recoveryCodes }
}

/** `xxxx-xxxx-xxxx-xxxx`, of hex digits. Never six digits alone, as the codes of an app are. */
const newRecoveryCode = (): string => (randomHex(8).match(/.{4}/g) ?? []).join('-')

/** Removes the second factor of the token's member, and ends all their sign-ins. */
export async function removeTotp(ctx: Ctx): Promise<void> {
  const accountId = requireAccount(ctx)
  const { id } = requireMember(ctx)
  const ended = await ctx.app.db.transaction(async (sql) => {
    await lockAccount(sql, accountId)
    await requireSignedIn(sql, ctx)
    return removeSecondFactor(sql, accountId, id, (tx, record) => recordAudit(tx, ctx, record))
  })
  announceEnded(ctx.app, ended)
}

/** Without one it changes nothing. */
export async function removeSecondFactor(
  sql: TxSql,
  accountId: Id,
  memberId: Id,
  record: Recorder,
): Promise<EndedSignIns[]> {
  const { count } = await sql.prisma.secondFactor.deleteMany({ where: { accountId } })
  await sql.prisma.recoveryCode.deleteMany({ where: { accountId } })
  if (count === 0) return []
  await record(sql, { action: 'member.remove_totp', targetId: memberId })
  return endSignIns(sql, { member: { accountId } })
}

import { errors, jwtVerify, SignJWT } from 'jose'

import { requireCaller, requireMember } from '../../core/access.ts'
import { type App, perApp } from '../../core/app.ts'
import type { MemberActor, Tenant } from '../../core/caller.ts'
import { type Capability, ROLES } from '../../core/capabilities.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { grouped } from '../../core/grouped.ts'
import { type Id, isId, newId } from '../../core/ids.ts'
import { roomOf } from '../../core/cache.ts'
import { announceChange, createReadCache, followCacheNews } from '../../core/read-cache.ts'
import { isCompactJws } from '../../core/input/base64url.ts'
import { deriveKey } from '../../core/secrets/crypto.ts'
import type { TxSql } from '../../core/database/database.ts'
import type { Prisma, SignIn } from '../../generated/prisma/client.ts'
import { admitTenant } from '../tenants/tenants.ts'
import { membersSeen } from './seen.ts'
import { findSignIn, type MemberOfSignIn } from './sql.ts'

const ISSUER = 'engagement-service'
// Not that of an earlier release, whose processes would look at no sign-in.
const AUDIENCE = 'engagement-service/member'

const keyOf = perApp((app) => deriveKey(app.settings.ADMIN_JWT_SECRET, 'admin-token'))

type KnownSignIn = MemberOfSignIn & Pick<MemberActor, 'capabilities'>

const signIns = perApp((app) => {
  const cache = createReadCache<KnownSignIn | null>({
    room: roomOf(app, 'signIns'),
    read: async (key) => {
      const [tenantId = '', id = ''] = key.split('/')
      const member = await findSignIn(app.db.query, tenantId, id)
      // A role that only a newer release knows may do nothing here.
      return member === undefined ? null : { ...member, capabilities: new Set<Capability>(ROLES[member.role] ?? []) }
    },
    keep: (member) => member !== null,
  })
  followCacheNews(app, {
    kind: 'sign_in',
    forget: ({ tenantId, signInIds }) => signInIds.forEach((id) => cache.forget(`${tenantId}/${id}`)),
    clear: cache.clear,
  })
  return cache
})

/** A token, and when it ends. */
export interface AdminToken {
  token: string
  expiresAt: Date
}

/** Begins a sign-in of a member, whose tenant's setting says how long it lasts. */
export async function beginSignIn(
  sql: TxSql,
  app: App,
  { tenantId, id: memberId }: { tenantId: Id; id: Id },
  hours: number,
  { bySignOn = false } = {},
): Promise<AdminToken> {
  // A token has whole seconds.
  const expiresAt = new Date(Math.floor(Date.now() / 1000) * 1000 + hours * 3_600_000)
  const signIn = { tenantId, id: newId(), memberId, bySignOn, expiresAt }
  await sql.prisma.signIn.deleteMany({ where: { tenantId, memberId, expiresAt: { lte: new Date() } } })
  await sql.prisma.signIn.create({ data: signIn })
  return { token: await tokenOf(app, signIn), expiresAt }
}

/**
 * Refuses a caller whose sign-in has ended since the request began, or a moment before, which other
 * processes may not know yet: it must not bring forth another one. Locks the member, so that a
 * change of them ends what begins now. Lock the account first. Throws `invalid_admin_token`.
 */
export async function requireSignedIn(sql: TxSql, ctx: Ctx): Promise<void> {
  const { id: tenantId } = requireCaller(ctx).tenant
  const { id, signInId } = requireMember(ctx)
  const locked = await sql.prisma.member.updateMany({ where: { tenantId, id }, data: { lastSeenAt: new Date() } })
  const left = await sql.prisma.signIn.count({ where: { tenantId, id: signInId } })
  if (locked.count === 0 || left === 0) throw new ServiceError('invalid_admin_token')
}

export const tokenOf = (
  app: App,
  { tenantId, id, memberId, expiresAt }: Omit<SignIn, 'bySignOn' | 'createdAt'>,
): Promise<string> =>
  new SignJWT({ tenantId, signInId: id })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject(memberId)
    .setIssuedAt()
    .setExpirationTime(expiresAt)
    .sign(keyOf(app))

/** The answer with a new token: the console gets it as a cookie, and not in the answer. */
export function handOver<Made extends AdminToken>(
  { setCookie }: Ctx,
  made: Made,
): Omit<Made, 'token'> & { token: string | null } {
  setCookie?.(made)
  return { ...made, token: setCookie === undefined ? made.token : null }
}

const FORGOTTEN_AFTER_MS = 3_600_000

/** Deletes the sign-ins that ended an hour ago: their members may never return. */
export async function deleteOldSignIns({ prisma }: App): Promise<void> {
  await prisma.signIn.deleteMany({ where: { expiresAt: { lt: new Date(Date.now() - FORGOTTEN_AFTER_MS) } } })
}

/** Sign-ins of one tenant that a transaction has ended. */
export interface EndedSignIns {
  tenantId: Id
  signInIds: Id[]
}

/** Ends sign-ins. Announce them after the commit (`announceEnded`). */
export async function endSignIns(sql: TxSql, where: Prisma.SignInWhereInput): Promise<EndedSignIns[]> {
  const ended = await sql.prisma.signIn.findMany({ where, select: { tenantId: true, id: true } })
  await sql.prisma.signIn.deleteMany({ where })
  const byTenant = grouped(ended, ({ tenantId }) => tenantId)
  return [...byTenant].map(([tenantId, some]) => ({ tenantId, signInIds: some.map(({ id }) => id) }))
}

/** Ends tokens, streams and client tokens of these sign-ins on every node, within 1 s. */
export function announceEnded(app: App, ended: readonly EndedSignIns[]): void {
  for (const { tenantId, signInIds } of ended) announceChange(app, { kind: 'sign_in', tenantId, signInIds })
}

/**
 * The tenant and actor of an admin token. `beforeLookUp` runs before the database is queried for a
 * sign-in that this process has never found, and may refuse. Throws `invalid_admin_token`, also
 * after the sign-in was ended, and `tenant_suspended`.
 */
export async function findCallerBySignIn(
  app: App,
  token: string,
  beforeLookUp?: () => void,
): Promise<{ tenant: Tenant; actor: MemberActor }> {
  const { tenantId, memberId, signInId } = await readToken(app, token)
  const key = `${tenantId}/${signInId}`
  if (signIns(app).isNew(key)) beforeLookUp?.()
  const member = await signIns(app).get(key)
  if (member === null || member.id !== memberId || member.expiresAt.getTime() <= Date.now())
    throw new ServiceError('invalid_admin_token')
  const tenant = await admitTenant(app, tenantId)
  membersSeen(app).note(tenantId, memberId)
  const { twoFactor, ...own } = member
  // A sign-on has no account here: its provider asks for a second factor, or not.
  const lacksSecondFactor = tenant.settings.staff.requireTwoFactor && !twoFactor && own.accountId !== null
  return { tenant, actor: { kind: 'admin', ...own, signInId, lacksSecondFactor } }
}

async function readToken(app: App, token: string): Promise<{ tenantId: Id; memberId: Id; signInId: Id }> {
  if (!isCompactJws(token)) throw new ServiceError('invalid_admin_token')
  try {
    const { payload } = await jwtVerify<{ tenantId: unknown; signInId: unknown }>(token, keyOf(app), {
      algorithms: ['HS256'],
      issuer: ISSUER,
      audience: AUDIENCE,
      requiredClaims: ['sub', 'iat', 'exp', 'tenantId', 'signInId'],
    })
    const { sub: memberId, tenantId, signInId } = payload
    if (isIdText(memberId) && isIdText(tenantId) && isIdText(signInId)) return { tenantId, memberId, signInId }
  } catch (error) {
    if (!(error instanceof errors.JOSEError) && !(error instanceof TypeError)) throw error
  }
  throw new ServiceError('invalid_admin_token')
}

const isIdText = (claim: unknown): claim is Id => typeof claim === 'string' && isId(claim)

import { z } from 'zod'

import { type App, perApp } from '../../core/app.ts'
import { roomOf } from '../../core/cache.ts'
import type { Identity, Tenant } from '../../core/caller.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, newId } from '../../core/ids.ts'
import { validate } from '../../core/input/validate.ts'
import { announceChange, createReadCache, followCacheNews } from '../../core/read-cache.ts'
import { addressBucket } from '../../core/limits.ts'
import { newGuestToken, sha256, sha256Hex } from '../../core/secrets/crypto.ts'
import type { TxSql } from '../../core/database/database.ts'
import { NO_CLAIMS } from '../readers/fields.ts'
import { newGuestId } from '../readers/guest-ids.ts'
import { lockReader } from '../readers/records.ts'
import type { Site } from '../sites/sites.ts'
import { keepsGuests, requireGuests } from './mailer.ts'
import { type GuestRequest, LINK_MS } from './requests.ts'

const RAW_TOKEN = /^gt_[0-9a-f]{64}$/

/** Whether a Bearer is for this domain. */
export const isGuestToken = (token: string): boolean => token.startsWith('gt_')

const DAY_MS = 24 * 3_600_000
/** How long a token is valid after its last use, and at most. */
const IDLE_MS = 30 * DAY_MS
const LIFE_MS = 90 * DAY_MS

const endOf = (createdAt: Date, now: number): Date => new Date(Math.min(now + IDLE_MS, createdAt.getTime() + LIFE_MS))

interface Stored {
  readerId: Id
  externalId: string
  name: string | null
  createdAt: Date
  expiresAt: Date
}

const whereOf = (tenantId: Id, digest: string) => ({
  tenantId_digest: { tenantId, digest: Buffer.from(digest, 'hex') },
})

const tokens = perApp((app) => {
  const cache = createReadCache<Stored | null>({
    room: roomOf(app, 'guestTokens'),
    read: async (key) => {
      const [tenantId = '', digest = ''] = key.split(' ')
      const found = await app.prisma.guestToken.findUnique({
        where: whereOf(tenantId, digest),
        select: {
          readerId: true,
          createdAt: true,
          expiresAt: true,
          guest: { select: { reader: { select: { externalId: true, name: true } } } },
        },
      })
      if (found === null) return null
      const { guest, ...token } = found
      return { ...token, ...guest.reader }
    },
    // As with client tokens.
    keep: (token) => token !== null,
    groupOf: (_key, token) => token?.readerId,
  })
  followCacheNews(app, { kind: 'guest', forget: ({ readerId }) => cache.forgetGroup(readerId), clear: cache.clear })
  return cache
})

const NEVER = new Date(0)

/**
 * The guest of a raw token at a site, which is renewed. Throws `invalid_identity`, also where the
 * site has guests off.
 */
export async function findGuest(app: App, site: Site, tenant: Tenant, rawToken: string): Promise<Identity> {
  if (!RAW_TOKEN.test(rawToken)) throw ended()
  if (!keepsGuests(site, tenant)) throw new ServiceError('invalid_identity', { detail: 'The site takes no guests.' })
  const digest = sha256Hex(rawToken)
  const key = `${tenant.id} ${digest}`
  const token = await tokens(app).get(key)
  const now = Date.now()
  if (token === null || token.expiresAt.getTime() <= now) throw ended()
  const { readerId, externalId, name, createdAt, expiresAt } = token
  const end = endOf(createdAt, now)
  // Once a day is enough.
  const isRenewed = end.getTime() - expiresAt.getTime() > DAY_MS
  if (isRenewed) {
    const where = { tenantId: tenant.id, digest: Buffer.from(digest, 'hex'), expiresAt: { lt: end } }
    await app.prisma.guestToken.updateMany({ where, data: { expiresAt: end } })
    tokens(app).forget(key)
  }
  const until = (isRenewed ? end : expiresAt).getTime()
  return { externalId, issuedAt: NEVER, ...NO_CLAIMS, name, badges: null, readerId, expiresAt: until }
}

const ended = (): ServiceError =>
  new ServiceError('invalid_identity', { detail: 'The token of the guest is unknown, or has ended.' })

const confirmSchema = z.strictObject({ token: z.string() })

const LINK_TOKEN = /^[0-9a-f]{64}$/

interface Confirmed {
  /** Shown once. */
  token: string
  expiresAt: Date
  reader: { id: Id; name: string | null }
}

/** Ten at once, and then ten a minute, of one address of the internet at a site. */
const CONFIRMATIONS = { perSecond: 1 / 6, burst: 10 }

/**
 * Spends the token of a mail's link: the address is confirmed, and its guest gets a token of their
 * own. An address that was confirmed at the tenant before is that guest, with the name of then: who
 * asks with the address of somebody else must not write over their name.
 * Throws `guests_disabled`, `validation_failed`, `rate_limited`, `invalid_guest_token`,
 * `unavailable`.
 */
export async function confirmGuest(
  app: App,
  { site, tenant, address }: GuestRequest,
  body: unknown,
): Promise<Confirmed> {
  requireGuests(app, site, tenant)
  const { token: linked } = validate(confirmSchema, body)
  if (!LINK_TOKEN.test(linked)) throw new ServiceError('invalid_guest_token')
  const name = `${site.id}/${addressBucket(address)}`
  const { isAllowed, retryAfterSeconds } = app.limits.take('guestLink', name, CONFIRMATIONS)
  if (!isAllowed) throw new ServiceError('rate_limited', { retryAfterSeconds })
  return confirmOnce(app, tenant.id, sha256(linked)).catch((error: unknown) => {
    // Another link of the address has just made its guest, or the digests of the address have just
    // changed: the second attempt finds the guest. It also finds that the link was spent.
    if (error instanceof HasChanged) return confirmOnce(app, tenant.id, sha256(linked))
    throw error
  })
}

/** What an attempt has read is no longer so. */
class HasChanged extends ServiceError {
  constructor() {
    super('unavailable', { detail: 'The guest is being changed.', retryAfterSeconds: 1 })
  }
}

async function confirmOnce(app: App, tenantId: Id, tokenDigest: Buffer<ArrayBuffer>): Promise<Confirmed> {
  const now = new Date()
  const createdAt = { gt: new Date(now.getTime() - LINK_MS) }
  const request = await app.prisma.guestRequest.findFirst({ where: { tenantId, tokenDigest, createdAt } })
  // A wrong token locks nothing.
  if (request === null) throw new ServiceError('invalid_guest_token')
  const { id, name } = request
  const addressDigest = Buffer.from(request.addressDigest)
  const known = await app.prisma.guest.findUnique({ where: { tenantId_addressDigest: { tenantId, addressDigest } } })
  const token = newGuestToken()
  return app.db.transaction(async (sql) => {
    // The reader before the request: as merges and erasures lock them.
    const former = known === null ? null : await lockGuest(sql, tenantId, known.readerId)
    // Of two at once, one spends it.
    const spent = { tokenDigest: null, sealed: null, name: null }
    const { count } = await sql.prisma.guestRequest.updateMany({
      where: { tenantId, id, tokenDigest, addressDigest },
      data: spent,
    })
    if (count === 0) throw new HasChanged()
    const reader = former ?? (await makeGuest(sql, tenantId, addressDigest, name, now))
    const expiresAt = endOf(now, now.getTime())
    const row = { tenantId, digest: sha256(token), readerId: reader.id, createdAt: now, expiresAt }
    await sql.prisma.guestToken.create({ data: row })
    return { token, expiresAt, reader }
  })
}

const GUEST = { id: true, name: true } as const

/** Throws `HasChanged` if the guest is being erased or merged. */
async function lockGuest(sql: TxSql, tenantId: Id, id: Id): Promise<Confirmed['reader']> {
  if (!(await lockReader(sql, tenantId, id))) throw new HasChanged()
  return sql.prisma.reader.findUniqueOrThrow({ where: { tenantId_id: { tenantId, id } }, select: GUEST })
}

/** Throws `HasChanged` if the address has a guest meanwhile. */
async function makeGuest(
  { prisma }: TxSql,
  tenantId: Id,
  addressDigest: Buffer<ArrayBuffer>,
  name: string | null,
  now: Date,
): Promise<Confirmed['reader']> {
  const data = { tenantId, id: newId(), externalId: newGuestId(), name, profileIssuedAt: now, createdAt: now }
  const made = await prisma.reader.create({ data, select: GUEST })
  const guest = { tenantId, readerId: made.id, addressDigest }
  const { count } = await prisma.guest.createMany({ data: guest, skipDuplicates: true })
  if (count === 0) throw new HasChanged()
  return made
}

/** Ends a guest's own token: they have signed out. One that is unknown has ended before. */
export async function endGuestToken(app: App, tenantId: Id, rawToken: string, readerId: Id): Promise<void> {
  await app.prisma.guestToken.deleteMany({ where: { tenantId, digest: sha256(rawToken) } })
  announceChange(app, { kind: 'guest', readerId })
}

const OLD_BATCH = 1000

/** Deletes tokens that have expired. Returns whether there may be more. */
export async function deleteExpiredGuestTokens({ prisma }: App, now = new Date()): Promise<boolean> {
  const { count } = await prisma.guestToken.deleteMany({ where: { expiresAt: { lte: now } }, limit: OLD_BATCH })
  return count === OLD_BATCH
}

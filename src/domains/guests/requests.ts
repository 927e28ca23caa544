import { z } from 'zod'

import type { App } from '../../core/app.ts'
import { CHANNELS } from '../../core/bus.ts'
import type { Tenant } from '../../core/caller.ts'
import type { TxSql } from '../../core/database/database.ts'
import { isDuplicate } from '../../core/database/locks.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import { type Id, newId } from '../../core/ids.ts'
import { atMost, nameOrNull, noNul } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import { addressBucket, type RateLimitResult } from '../../core/limits.ts'
import { randomHex, sha256 } from '../../core/secrets/crypto.ts'
import { seal, type SealKeys, unseal } from '../../core/secrets/seals.ts'
import { wrong } from '../../core/input/schemas.ts'
import { SearchedText, wordFilter } from '../comments/text/words.ts'
import { MAX_NAME_LENGTH } from '../readers/fields.ts'
import { isPageOf } from '../sites/pages.ts'
import type { Site } from '../sites/sites.ts'
import { lockTenant } from '../tenants/tenants.ts'
import { type Digests, digestsOf, formerDigestsOf } from './address.ts'
import { requireGuests } from './mailer.ts'
import { checkProof, spendProof } from './proof.ts'

/** How long a link can be confirmed. */
export const LINK_MS = 30 * 60_000

/**
 * The mails to all spellings of a mailbox in `RECENT_MS`; further ones are not sent, which nobody
 * is told.
 */
const MAX_RECENT = 3
const RECENT_MS = 3_600_000

/** One address of the internet cannot use up all mails of a mailbox, and so keep its owner out. */
const MAX_BY_ONE = MAX_RECENT - 1

/** Ten at once, and then one in two minutes, of one address of the internet at a site. */
const REQUESTS = { perSecond: 1 / 120, burst: 10 }

const isAddress = z.email()

/** What mail programs make a link of, which a stranger would have the owner of an address open. */
const LOOKS_LIKE_LINK = /:\/\/|www[.。．｡]|[\p{L}\p{N}][.。．｡]\p{L}{2}/iu

const requestSchema = z.strictObject({
  name: noNul(atMost(MAX_NAME_LENGTH, z.string()))
    .refine((name) => nameOrNull(name) !== null, {
      message: 'must show something',
      params: { code: 'required' },
      abort: true,
    })
    .refine(
      (name) => !LOOKS_LIKE_LINK.test(nameOrNull(name) ?? ''),
      wrong('not_allowed', 'must not look like the address of a web page'),
    ),
  email: atMost(254, z.string())
    .trim()
    // Bounded before the expression runs.
    .refine(
      (text) => text.length <= 254 && isAddress.safeParse(text).success,
      wrong('invalid_email', 'must be an e-mail address'),
    ),
  pageUrl: atMost(2048, z.string()),
  proof: z.unknown(),
})

/**
 * Whether the path of a page has another address in it, encoded or not. Many sites have a page that
 * sends its visitors on to such an address: a browser would take the token of the link there. What
 * is still encoded after four rounds counts as one.
 */
export function namesAnother(pageUrl: string): boolean {
  let path = new URL(pageUrl).pathname
  for (let round = 0; round < 4; round++) path = decoded(path)
  return /\/\/|\\|https?:/i.test(path) || decoded(path) !== path
}

/** Without spaces and control characters, which browsers leave out of addresses. */
const decoded = (text: string): string =>
  text
    .replace(/%([0-7][0-9a-f])/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/[\0-\x20\x7f]/g, '')

export interface GuestRequest {
  site: Site
  tenant: Tenant
  /** Of the internet. */
  address: string
}

/**
 * Has a mail with a link sent to an address. The answer is the same for any address. Nothing is
 * queried before the proof of work holds. Returns until when the link can be confirmed. Throws
 * `guests_disabled`, `invalid_proof`, `validation_failed`, `rate_limited`, `unavailable`.
 */
export async function requestMail(app: App, { site, tenant, address }: GuestRequest, body: unknown): Promise<Date> {
  requireGuests(app, site, tenant)
  const asker = `${site.id}/${addressBucket(address)}`
  // What is refused for another reason takes no token.
  requireToken(app.limits.take('guest', asker, REQUESTS, 0))
  const proof = await checkProof(app, site, (body as { proof?: unknown } | null | undefined)?.proof)
  const { name, email, pageUrl } = validate(requestSchema, body)
  if (!isPageOf(site, pageUrl)) throw invalid('/pageUrl', 'not_allowed', 'must be the address of a page of the site')
  if (namesAnother(pageUrl))
    throw invalid('/pageUrl', 'not_allowed', 'must have no other address in its path: such a page may lead there')
  const words = wordFilter(tenant.settings.bannedWords)
  if (words.matches(new SearchedText([name])))
    throw invalid('/name', 'banned_word', 'has a word that is not allowed here')
  requireToken(app.limits.take('guest', asker, REQUESTS))
  const digests = await digestsOf(app, tenant.id, email, address)
  await spendProof(app, site, proof)
  const now = new Date()
  await storeRequest(app, tenant.id, { name: nameOrNull(name) ?? '', email, pageUrl }, digests, now)
  app.bus.publish(CHANNELS.work, '')
  return new Date(now.getTime() + LINK_MS)
}

function requireToken({ isAllowed, retryAfterSeconds }: RateLimitResult): void {
  if (!isAllowed) throw new ServiceError('rate_limited', { retryAfterSeconds })
}

interface Given {
  name: string
  email: string
  pageUrl: string
}

/**
 * Stores a request, unless the mailbox has had its mails of the hour, or those that one asker may
 * have sent there.
 */
export async function storeRequest(app: App, tenantId: Id, given: Given, digests: Digests, now: Date): Promise<void> {
  const { name, email, pageUrl } = given
  if (await hasHadItsMails(app, tenantId, digests, now)) return
  await moveFormer(app, tenantId, email, digests)
  const token = randomHex(32)
  const link = new URL(pageUrl)
  // A page that sends its visitors on to an address in its query would send the token there.
  link.search = ''
  link.hash = `engagement-guest=${token}`
  await app.db.transaction(async (sql) => {
    // Of two at once, the second sees the first.
    await lockTenant(sql, tenantId)
    if (await hasHadItsMails(sql, tenantId, digests, now)) return
    const id = newId()
    // As the parser writes it, and without quotes, it ends no attribute of a mail in HTML.
    const mail: Mail = { email, name, url: link.href.replaceAll("'", '%27') }
    const sealed = seal(app.settings, JSON.stringify(mail), contextOf(tenantId, id))
    const data = { tenantId, id, ...digests, name, sealed, tokenDigest: sha256(token), dueAt: now, createdAt: now }
    await sql.prisma.guestRequest.create({ data })
  })
}

async function hasHadItsMails(
  { prisma }: Pick<App, 'prisma'>,
  tenantId: Id,
  { mailboxDigest, askerDigest }: Digests,
  now: Date,
): Promise<boolean> {
  const where = { tenantId, mailboxDigest, createdAt: { gt: new Date(now.getTime() - RECENT_MS) } }
  const recent = await prisma.guestRequest.findMany({ where, select: { askerDigest: true }, take: MAX_RECENT })
  const byAsker = recent.filter((each) => each.askerDigest !== null && askerDigest.equals(each.askerDigest))
  return recent.length >= MAX_RECENT || byAsker.length >= MAX_BY_ONE
}

/**
 * Writes the guest and the requests of an address that the release before has stored under the
 * digests of now. It does not look whether there are any: who is known must not be told by the
 * time that the answer takes.
 */
async function moveFormer(
  { db, settings }: App,
  tenantId: Id,
  email: string,
  { addressDigest, mailboxDigest }: Digests,
): Promise<void> {
  const where = { tenantId, addressDigest: { in: formerDigestsOf({ settings }, tenantId, email) } }
  const moveRequests = ({ prisma }: TxSql): Promise<unknown> =>
    prisma.guestRequest.updateMany({ where, data: { addressDigest, mailboxDigest } })
  try {
    // Both at once, so that a confirmation finds the guest of its request, and makes no second one.
    await db.transaction(async (sql) => {
      await moveRequests(sql)
      await sql.prisma.guest.updateMany({ where, data: { addressDigest }, limit: 1 })
    })
  } catch (error) {
    // The address has a guest under the digest of now as well, who stays.
    if (!isDuplicate(error)) throw error
    await db.transaction(moveRequests)
  }
}

/** What the tenant's mailer gets. */
export interface Mail {
  email: string
  name: string
  url: string
}

const contextOf = (tenantId: Id, id: Id): string => `guest:${tenantId}:${id}`

/** The mail of a request; null if it cannot be opened, because its key is missing. */
export function openMail(keys: SealKeys, tenantId: Id, id: Id, sealed: Uint8Array): Mail | null {
  try {
    return JSON.parse(unseal(keys, sealed, contextOf(tenantId, id))) as Mail
  } catch {
    return null
  }
}

/** Mails are handed out no longer: in a link's last minutes nobody would reach it. */
export const HAND_OUT_MS = 25 * 60_000

/** The most rows that one turn changes. */
const BATCH = 1000

/**
 * Forgets addresses that were not handed out in time, and requests of an hour ago, which counted
 * for the mails of an address until then.
 */
export async function forgetOldRequests({ prisma }: App, now = new Date()): Promise<boolean> {
  const before = (ms: number): { lt: Date } => ({ lt: new Date(now.getTime() - ms) })
  await prisma.guestRequest.updateMany({
    where: { sealed: { not: null }, createdAt: before(HAND_OUT_MS) },
    data: { sealed: null },
    limit: BATCH,
  })
  await prisma.guestRequest.updateMany({
    where: { name: { not: null }, createdAt: before(LINK_MS) },
    data: { name: null, tokenDigest: null },
    limit: BATCH,
  })
  const { count } = await prisma.guestRequest.deleteMany({ where: { createdAt: before(RECENT_MS) }, limit: BATCH })
  return count === BATCH
}

import { z } from 'zod'

import type { App } from '../../core/app.ts'
import { CHANNELS } from '../../core/bus.ts'
import type { Tenant } from '../../core/caller.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import { type Id, newId } from '../../core/ids.ts'
import { atMost, nameOrNull, noNul } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import { addressBucket } from '../../core/limits.ts'
import { randomHex, sha256 } from '../../core/secrets/crypto.ts'
import { seal, type SealKeys, unseal } from '../../core/secrets/seals.ts'
import { MAX_NAME_LENGTH } from '../readers/fields.ts'
import { isPageOf } from '../sites/pages.ts'
import type { Site } from '../sites/sites.ts'
import { lockTenant } from '../tenants/tenants.ts'
import { digestsOf, mailboxOf } from './address.ts'
import { checkProof, spendProof } from './proof.ts'

/** How long a link can be confirmed. */
export const LINK_MS = 30 * 60_000

/** The mails of an address in `RECENT_MS`; further ones are not sent, which nobody is told. */
const MAX_RECENT = 3
const RECENT_MS = 3_600_000

/** Of all spellings of a mailbox; two of the three for one address of the internet. */
const MAILS = { perSecond: 1 / 3600, burst: MAX_RECENT }
const MAILS_OF_ONE = { ...MAILS, burst: MAX_RECENT - 1 }

/** Ten at once, and then one in two minutes, of one address of the internet at a site. */
const REQUESTS = { perSecond: 1 / 120, burst: 10 }

/** Whether people without a sign-in can write on the pages of a site. */
export const takesGuests = ({ posting, guests }: Site, { settings }: Pick<Tenant, 'settings'>): boolean =>
  posting && guests === 'email' && settings.guests.mailUrl !== null

/** Throws `guests_disabled`. */
export function requireGuests(site: Site, tenant: Tenant): void {
  if (!takesGuests(site, tenant)) throw new ServiceError('guests_disabled')
}

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
    .refine((name) => !LOOKS_LIKE_LINK.test(nameOrNull(name) ?? ''), {
      message: 'must not look like the address of a web page',
      params: { code: 'not_allowed' },
    }),
  email: atMost(254, z.string())
    .trim()
    // Bounded before the expression runs.
    .refine((text) => text.length <= 254 && isAddress.safeParse(text).success, {
      message: 'must be an e-mail address',
      params: { code: 'invalid_email' },
    }),
  pageUrl: atMost(2048, z.string()),
  proof: z.unknown(),
})

export interface GuestRequest {
  site: Site
  tenant: Tenant
  /** Of the internet. */
  address: string
}

/**
 * Has a mail with a link sent to an address. The answer is the same for any address. Nothing is
 * queried before the proof of work holds. Returns until when the link can be confirmed. Throws
 * `guests_disabled`, `invalid_proof`, `validation_failed`, `rate_limited`.
 */
export async function requestMail(app: App, { site, tenant, address }: GuestRequest, body: unknown): Promise<Date> {
  requireGuests(site, tenant)
  const proof = await checkProof(app, site, (body as { proof?: unknown } | null | undefined)?.proof)
  const { name, email, pageUrl } = validate(requestSchema, body)
  if (!isPageOf(site, pageUrl)) throw invalid('/pageUrl', 'not_allowed', 'must be the address of a page of the site')
  const { isAllowed, retryAfterSeconds } = app.limits.take('guest', `${site.id}/${addressBucket(address)}`, REQUESTS)
  if (!isAllowed) throw new ServiceError('rate_limited', { retryAfterSeconds })
  await spendProof(app, site, proof)
  const now = new Date()
  if (await takeMail(app, tenant.id, email, address))
    await storeRequest(app, tenant.id, { name: nameOrNull(name) ?? '', email, pageUrl }, now)
  app.bus.publish(CHANNELS.work, '')
  return new Date(now.getTime() + LINK_MS)
}

/**
 * Whether a mailbox may get another mail. Nobody can use up all of its mails from one address of
 * the internet, and so keep its owner out.
 */
async function takeMail({ limits, settings }: App, tenantId: Id, email: string, address: string): Promise<boolean> {
  const mailbox = digestsOf({ settings }, tenantId, mailboxOf(email))[0].toString('hex')
  const ofOne = await limits.takeExactly('guestMail', `${mailbox} ${addressBucket(address)}`, MAILS_OF_ONE)
  return ofOne.isAllowed && (await limits.takeExactly('guestMail', mailbox, MAILS)).isAllowed
}

interface Given {
  name: string
  email: string
  pageUrl: string
}

/** Stores a request, unless the address has had its mails of the hour. */
export function storeRequest(app: App, tenantId: Id, { name, email, pageUrl }: Given, now: Date): Promise<void> {
  const [addressDigest, ...older] = digestsOf(app, tenantId, email)
  const token = randomHex(32)
  // A page that sends its visitors on to an address in its query would send the token there.
  const [page = ''] = pageUrl.split(/[?#]/, 1)
  return app.db.transaction(async (sql) => {
    const { guest, guestRequest } = sql.prisma
    // Of two at once, the second sees the first.
    await lockTenant(sql, tenantId)
    // By then the address is not known any more: the guest is found by the current key. A process
    // that did not have it yet may have made another guest meanwhile.
    if (older.length > 0) {
      const known = await guest.findMany({ where: { tenantId, addressDigest: { in: [addressDigest, ...older] } } })
      const isFound = known.some((each) => addressDigest.equals(each.addressDigest))
      const [first] = known
      if (first !== undefined && !isFound)
        await guest.updateMany({ where: { tenantId, readerId: first.readerId }, data: { addressDigest } })
    }
    const since = new Date(now.getTime() - RECENT_MS)
    const where = { tenantId, addressDigest: { in: [addressDigest, ...older] }, createdAt: { gt: since } }
    if ((await guestRequest.count({ where })) >= MAX_RECENT) return
    const id = newId()
    const mail: Mail = { email, name, url: `${page}#engagement-guest=${token}` }
    const sealed = seal(app.settings, JSON.stringify(mail), contextOf(tenantId, id))
    const data = { tenantId, id, addressDigest, name, sealed, tokenDigest: sha256(token), dueAt: now, createdAt: now }
    await guestRequest.create({ data })
  })
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

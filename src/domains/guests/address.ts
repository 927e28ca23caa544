import { createHmac } from 'node:crypto'

import type { App } from '../../core/app.ts'
import type { Id } from '../../core/ids.ts'
import { addressBucket } from '../../core/limits.ts'
import { randomHex } from '../../core/secrets/crypto.ts'
import { deriveKeys, seal, unseal } from '../../core/secrets/seals.ts'

type Digest = Buffer<ArrayBuffer>

const DOTLESS = /^(gmail|googlemail)\.com$/

/**
 * The mailbox of an address: one has many spellings, with `+tag`, and with dots at Google. Only for
 * limits: whose mailbox an address with a tag is, is for its host to say.
 */
export function mailboxOf(address: string): string {
  const [local = '', domain = ''] = address.toLowerCase().split('@', 2)
  const name = local.split('+', 1)[0] || local
  return DOTLESS.test(domain) ? `${name.replaceAll('.', '')}@gmail.com` : `${name}@${domain}`
}

/** The keyed digests that are stored of a request for a mail. */
export interface Digests {
  /** Of the address, by which its guest is found. Letters count in any case. */
  addressDigest: Digest
  mailboxDigest: Digest
  /** Of the asker's address of the internet. */
  askerDigest: Digest
}

/**
 * Without the tenant's key nobody finds an address by trying those that there are. Throws
 * `unavailable` where the process cannot open it.
 */
export async function digestsOf(app: App, tenantId: Id, email: string, asker: string): Promise<Digests> {
  const key = await digestKeyOf(app, tenantId)
  const digest = (kind: string, text: string): Digest =>
    Buffer.from(createHmac('sha256', key).update(`${kind} ${text}`).digest())
  return {
    addressDigest: digest('address', email.toLowerCase()),
    mailboxDigest: digest('mailbox', mailboxOf(email)),
    askerDigest: digest('asker', addressBucket(asker)),
  }
}

/** The digests of an address that releases stored before tenants had keys of their own. */
export const formerDigestsOf = ({ settings }: Pick<App, 'settings'>, tenantId: Id, email: string): Digest[] =>
  deriveKeys(settings, 'guest address').map(({ key }) =>
    Buffer.from(createHmac('sha256', key).update(`${tenantId} ${email.toLowerCase()}`).digest()),
  )

const KIND = 'digest'

export const guestKeyContext = (tenantId: Id): string => `guest-key:${tenantId}`

/**
 * The key of a tenant's digests, which is made for the first guest. It is stored sealed, so that a
 * rotation of ENCRYPTION_KEY changes no digest.
 */
async function digestKeyOf(app: App, tenantId: Id): Promise<string> {
  const { prisma, settings } = app
  const context = guestKeyContext(tenantId)
  const stored = await prisma.guestKey.findUnique({ where: { tenantId_kind: { tenantId, kind: KIND } } })
  if (stored !== null) return unseal(settings, stored.sealed, context)
  const data = { tenantId, kind: KIND, sealed: seal(settings, randomHex(32), context) }
  await prisma.guestKey.createMany({ data, skipDuplicates: true })
  // Of two at once, both take the one that was stored.
  return digestKeyOf(app, tenantId)
}

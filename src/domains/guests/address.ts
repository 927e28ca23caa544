import { createHmac } from 'node:crypto'

import type { App } from '../../core/app.ts'
import type { Id } from '../../core/ids.ts'
import { deriveKeys } from '../../core/secrets/seals.ts'

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

/**
 * The keyed digests of an address at a tenant, that of the current key first: without a key nobody
 * finds an address by trying those that there are. Letters count in any case.
 */
export function digestsOf({ settings }: Pick<App, 'settings'>, tenantId: Id, address: string): [Digest, ...Digest[]] {
  const digest = ({ key }: { key: Buffer }): Digest =>
    Buffer.from(createHmac('sha256', key).update(`${tenantId} ${address.toLowerCase()}`).digest())
  const [current, ...others] = deriveKeys(settings, 'guest address')
  return [digest(current), ...others.map(digest)]
}

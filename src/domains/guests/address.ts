import { createHmac } from 'node:crypto'

import type { App } from '../../core/app.ts'
import type { Id } from '../../core/ids.ts'
import { deriveKeys } from '../../core/secrets/seals.ts'

type Digest = Buffer<ArrayBuffer>

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

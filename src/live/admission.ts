import { requireCaller } from '../core/access.ts'
import { isBrowser, readerOfBrowser } from '../core/caller.ts'
import type { Ctx } from '../core/context.ts'
import { ServiceError } from '../core/errors.ts'
import { addressBucket } from '../core/limits.ts'
import { admitStream, type BrowserUse } from './caps.ts'
import { credentialOf, expiryOf } from './credentials.ts'
import type { Session } from './sessions.ts'

/** The browser that asks; null for other callers. */
export function browserOf({ caller, address: given }: Pick<Ctx, 'caller' | 'address'>): BrowserUse | null {
  if (caller === null || !isBrowser(caller.actor)) return null
  const address = given ?? ''
  const { actor, tenant } = caller
  const readerId = readerOfBrowser(actor)
  // All pages of a site have the same key: there each reader, or else each address, counts.
  const id = actor.kind === 'client' ? actor.id : `${actor.id}/${readerId ?? addressBucket(address)}`
  return { tenantId: tenant.id, id, readerId, address, isOfSite: actor.kind === 'site' }
}

/**
 * Counts a connection of the caller; it is ended with its credentials, or at a shutdown. Call the
 * result when the connection is over. Throws `too_many_streams`, `unavailable`.
 */
export async function admitConnection(ctx: Ctx, stream: Pick<Session, 'end' | 'tick'>): Promise<() => void> {
  const caller = requireCaller(ctx)
  const { tenant } = caller
  let isEnded = false
  const session: Session = {
    tenantId: tenant.id,
    credential: credentialOf(caller),
    endsAt: expiryOf(caller) ?? Infinity,
    end: () => {
      isEnded = true
      stream.end()
    },
    tick: (now) => stream.tick?.(now) ?? Infinity,
  }
  const release = await admitStream(ctx.app, session, tenant, browserOf(ctx))
  if (!isEnded) return release
  release()
  throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
}

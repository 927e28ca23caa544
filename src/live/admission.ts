import { requireCaller } from '../core/access.ts'
import type { Ctx } from '../core/context.ts'
import { ServiceError } from '../core/errors.ts'
import { admitStream, type BrowserUse } from './caps.ts'
import { credentialOf } from './credentials.ts'
import type { Session } from './sessions.ts'

/** The browser that asks by a client token; null for other callers. */
export function browserOf({ caller, address }: Pick<Ctx, 'caller' | 'address'>): BrowserUse | null {
  if (caller?.actor.kind !== 'client') return null
  const { id, readerId } = caller.actor
  return { tenantId: caller.tenant.id, id, readerId, address: address ?? '' }
}

/**
 * Counts a connection of the caller; it is ended with its credentials, or at a shutdown. Call the
 * result when the connection is over. Throws `too_many_streams`, `unavailable`.
 */
export async function admitConnection(ctx: Ctx, stream: Pick<Session, 'end' | 'tick'>): Promise<() => void> {
  const { tenant, actor } = requireCaller(ctx)
  let isEnded = false
  const session: Session = {
    tenantId: tenant.id,
    credential: credentialOf(actor, tenant.id),
    endsAt: actor.expiresAt?.getTime() ?? Infinity,
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

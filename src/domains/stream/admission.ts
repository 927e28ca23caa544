import { type Actor, type Ctx, requireCaller } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { admitStream } from './caps.ts'
import type { Session } from './sessions.ts'
import type { Credential } from './sql.ts'

/** With what a stream of this actor ends. */
export const credentialOf = (actor: Actor, tenantId: Id): Credential => ({
  kind: actor.kind,
  tenantId,
  id: actor.kind === 'admin' ? actor.credentialId : actor.id,
})

/**
 * Counts a connection of the caller in; it is ended with its credentials, or at a shutdown. Whoever asks calls the
 * result when it is over. Throws `too_many_streams`, `unavailable`.
 */
export async function admitConnection(ctx: Ctx, stream: Pick<Session, 'end' | 'tick'>): Promise<() => void> {
  const { tenant, actor } = requireCaller(ctx)
  let isEnded = false
  const session: Session = {
    tenantId: tenant.id,
    credential: credentialOf(actor, tenant.id),
    readerId: null,
    endsAt: actor.expiresAt?.getTime() ?? Infinity,
    end: () => {
      isEnded = true
      stream.end()
    },
    tick: (now) => stream.tick?.(now) ?? Infinity,
  }
  const release = await admitStream(ctx.app, session, tenant)
  if (!isEnded) return release
  release()
  throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
}

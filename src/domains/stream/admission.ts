import { type Actor, type App, type Ctx, requireCaller, type Tenant } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { hubOf } from './hub.ts'
import type { Caps } from './sessions.ts'

/** How many streams may be open (contract, section 6, "Caps"). */
export const capsOf = (app: App, { settings }: Tenant): Caps => ({
  perProcess: app.settings.STREAM_MAX_PER_PROCESS,
  perTenant: settings.stream.maxStreams,
  perReader: settings.stream.maxStreamsPerReader,
})

/** The key whose revocation ends a stream of this actor. */
export const keyIdOf = (actor: Actor): Id | null => (actor.kind === 'key' ? actor.id : null)

/**
 * Counts a connection of the caller in; it is ended with its credentials, or at a shutdown. Whoever asks calls the
 * result when it is over. Throws `too_many_streams`.
 */
export function admitConnection(ctx: Ctx, end: () => void): () => void {
  const { tenant, actor } = requireCaller(ctx)
  const endsAt = actor.expiresAt?.getTime() ?? Infinity
  const session = { tenantId: tenant.id, keyId: keyIdOf(actor), readerId: null, endsAt, end }
  return hubOf(ctx.app).sessions.admit(session, capsOf(ctx.app, tenant))
}

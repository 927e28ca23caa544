import type { Actor, App, Tenant } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import type { Caps } from './sessions.ts'

/** How many streams may be open (contract, section 6, "Caps"). */
export const capsOf = (app: App, { settings }: Tenant): Caps => ({
  perProcess: app.settings.STREAM_MAX_PER_PROCESS,
  perTenant: settings.stream.maxStreams,
  perReader: settings.stream.maxStreamsPerReader,
})

/** The key whose revocation ends a stream of this actor. */
export const keyIdOf = (actor: Actor): Id | null => (actor.kind === 'key' ? actor.id : null)

import { setTimeout } from 'node:timers/promises'

import type { App, Tenant } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { hubOf } from './hub.ts'
import type { Session } from './sessions.ts'

/** A client that comes back at once may be here before its old stream is known to be over, perhaps by another process. */
const SECOND_LOOK_MS = 100
const RETRY_AFTER_SECONDS = 5

/**
 * Counts a stream in against the caps of the process, its tenant and its ticket's reader (contract, section 6, "Caps").
 * The caller calls the result when it is over, and looks whether it was ended meanwhile. Throws `too_many_streams`,
 * `unavailable`.
 */
export async function admitStream(app: App, session: Session, tenant: Tenant): Promise<() => void> {
  const release = await enter(app, session, tenant)
  if (release !== null) return release
  await setTimeout(SECOND_LOOK_MS)
  const late = await enter(app, session, tenant)
  if (late === null) throw new ServiceError('too_many_streams', { retryAfterSeconds: RETRY_AFTER_SECONDS })
  return late
}

/** Null where a cap is reached. */
async function enter(app: App, session: Session, { settings }: Tenant): Promise<(() => void) | null> {
  const { sessions } = hubOf(app)
  if (sessions.size >= app.settings.STREAM_MAX_PER_PROCESS) return null
  const { tenantId, readerId } = session
  const { maxStreams: perTenant, maxStreamsPerReader: perReader } = settings.stream
  // It takes its room of the process before anything is waited for, and hears of a key revoked meanwhile.
  sessions.enter(session)
  const giveBack = await app.places.take({ tenantId, readerId, perTenant, perReader })
  if (giveBack === null) {
    sessions.leave(session)
    return null
  }
  return () => {
    if (sessions.leave(session)) giveBack()
  }
}

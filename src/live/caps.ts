import { setTimeout } from 'node:timers/promises'

import type { App, Tenant } from '../core/context.ts'
import { ServiceError } from '../core/errors.ts'
import { addressBucket } from '../core/limits.ts'
import type { Quota } from '../core/stream-places.ts'
import { hubOf } from './hub.ts'
import type { Session } from './sessions.ts'
import type { Ticket } from './tickets.ts'

/**
 * A client that comes back at once may be here before its old stream is known to be over, perhaps
 * by another process.
 */
const SECOND_LOOK_MS = 100
const RETRY_AFTER_SECONDS = 5

/** A stream that was opened with a ticket: which one, and from where. */
export interface TicketUse {
  ticket: Ticket
  address: string
}

/**
 * Counts a stream in against the caps of the process and its tenant, and one with a ticket against
 * those of tickets (docs/reference/choices.md). The caller calls the result when it is over, and
 * looks whether it was ended meanwhile. Throws `too_many_streams`, `unavailable`.
 */
export async function admitStream(
  app: App,
  session: Session,
  tenant: Tenant,
  use: TicketUse | null,
): Promise<() => void> {
  const quotas = use === null ? [] : quotasOf(tenant, use)
  const release = await enter(app, session, tenant, quotas)
  if (release !== null) return release
  await setTimeout(SECOND_LOOK_MS)
  const late = await enter(app, session, tenant, quotas)
  if (late === null) throw new ServiceError('too_many_streams', { retryAfterSeconds: RETRY_AFTER_SECONDS })
  return late
}

/**
 * What streams with tickets count against beside their tenant's cap: anyone who sees a page has a
 * ticket.
 */
function quotasOf({ settings }: Tenant, { ticket, address }: TicketUse): Quota[] {
  const { maxStreams, maxStreamsPerReader, maxStreamsPerTicket, maxStreamsPerAddress } = settings.stream
  const quotas = [
    // A tenth is left to the streams of the tenant's own keys.
    { name: 'tickets', cap: Math.max(1, maxStreams - Math.ceil(maxStreams / 10)) },
    { name: `ticket:${ticket.id}`, cap: maxStreamsPerTicket },
    { name: `address:${addressBucket(address)}`, cap: maxStreamsPerAddress },
  ]
  return ticket.readerId === null
    ? quotas
    : [...quotas, { name: `reader:${ticket.readerId}`, cap: maxStreamsPerReader }]
}

/** Null where a cap is reached. */
async function enter(
  app: App,
  session: Session,
  { settings }: Tenant,
  quotas: readonly Quota[],
): Promise<(() => void) | null> {
  const { sessions } = hubOf(app)
  if (sessions.size >= app.settings.STREAM_MAX_PER_PROCESS) return null
  // It takes its room of the process before anything is waited for, and hears of a key revoked
  // meanwhile.
  sessions.enter(session)
  const giveBack = await app.places.take({
    tenantId: session.tenantId,
    perTenant: settings.stream.maxStreams,
    quotas,
  })
  if (giveBack === null) {
    sessions.leave(session)
    return null
  }
  return () => {
    if (sessions.leave(session)) giveBack()
  }
}

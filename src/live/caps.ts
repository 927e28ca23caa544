import { setTimeout } from 'node:timers/promises'

import type { App } from '../core/app.ts'
import type { Tenant } from '../core/caller.ts'
import { ServiceError } from '../core/errors.ts'
import type { Id } from '../core/ids.ts'
import { addressBucket } from '../core/limits.ts'
import type { Quota } from '../core/stream-places.ts'
import { hubOf } from './hub.ts'
import type { Session } from './sessions.ts'

/**
 * A client that reconnects at once may arrive before its old stream is known to be over, perhaps at
 * another process.
 */
const SECOND_LOOK_MS = 100
const RETRY_AFTER_SECONDS = 5

/** A browser that opens a stream: by which ticket or client token, and from which address. */
export interface BrowserUse {
  tenantId: Id
  /** Of the ticket or the token. */
  id: string
  readerId: Id | null
  address: string
  /** Whether all pages of a site have the same credential: then no cap is on it. */
  isOfSite?: boolean
}

/**
 * Counts a stream against the caps of the process and its tenant, and against those of browsers if
 * one opens it (docs/reference/choices/streams.md). Call the result when the stream is over, and
 * check whether it was ended meanwhile. Throws `too_many_streams`, `unavailable`.
 */
export async function admitStream(
  app: App,
  session: Session,
  tenant: Tenant,
  use: BrowserUse | null,
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
 * Further caps on streams of browsers, beside that of the tenant: anyone who sees a page has a
 * ticket or a token.
 */
function quotasOf({ settings }: Tenant, { id, readerId, address, isOfSite = false }: BrowserUse): Quota[] {
  const { maxStreams, maxStreamsPerReader, maxStreamsPerTicket, maxStreamsPerAddress } = settings.stream
  const quotas = [
    // A tenth stays free for the tenant's own keys.
    { name: 'tickets', cap: Math.max(1, maxStreams - Math.ceil(maxStreams / 10)) },
    ...(isOfSite ? [] : [{ name: `ticket:${id}`, cap: maxStreamsPerTicket }]),
    { name: `address:${addressBucket(address)}`, cap: maxStreamsPerAddress },
  ]
  return readerId === null ? quotas : [...quotas, { name: `reader:${readerId}`, cap: maxStreamsPerReader }]
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
  // Enters the process's sessions before it waits for anything, so that a key revoked meanwhile
  // ends it.
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

import { errors, jwtVerify, SignJWT } from 'jose'

import { type App, perApp, type Tenant } from '../../core/context.ts'
import { deriveKey } from '../../core/crypto.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'

/** What a ticket is bound to. It is signed and stateless: nothing of it is stored. */
export interface Ticket {
  tenantId: Id
  discussionId: Id
  /** The reader whose notifications it lets through; null for none. */
  readerId: Id | null
  /** Milliseconds since 1970. */
  mintedAt: number
}

// Its own type and key: no other token of the service passes for a ticket, nor a ticket for one.
const TYPE = 'stream-ticket'
const MAX_LENGTH = 1024

const keyOf = perApp((app) => deriveKey(app.settings.ENCRYPTION_KEY, 'stream-ticket'))

export async function signTicket(app: App, { tenantId, discussionId, readerId, mintedAt }: Ticket): Promise<string> {
  const claims = { t: tenantId, d: discussionId, ...(readerId === null ? {} : { r: readerId }), iat: mintedAt / 1000 }
  return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: TYPE }).sign(keyOf(app))
}

/** What a ticket is bound to, whatever its age. Throws `invalid_ticket`. */
export async function readTicket(app: App, text: string): Promise<Ticket> {
  if (text.length > MAX_LENGTH) throw new ServiceError('invalid_ticket')
  try {
    const { payload } = await jwtVerify<{ t: unknown; d: unknown; r?: unknown }>(text, keyOf(app), {
      algorithms: ['HS256'],
      typ: TYPE,
    })
    const { t: tenantId, d: discussionId, r: readerId = null, iat } = payload
    if (
      isIdText(tenantId) &&
      isIdText(discussionId) &&
      (readerId === null || isIdText(readerId)) &&
      iat !== undefined
    ) {
      return { tenantId, discussionId, readerId, mintedAt: iat * 1000 }
    }
  } catch (error) {
    if (!(error instanceof errors.JOSEError) && !(error instanceof TypeError)) throw error
  }
  throw new ServiceError('invalid_ticket')
}

const isIdText = (value: unknown): value is Id => typeof value === 'string' && isId(value)

/** When the first connection must have been made. */
export const firstConnectionBy = (ticket: Ticket, tenant: Tenant): Date =>
  new Date(ticket.mintedAt + tenant.settings.ticket.connectSeconds * 1000)

/**
 * Checks a ticket's age (contract, section 6, "Ticket"): a browser's own reconnect, which carries `Last-Event-ID`, has
 * longer than a first connection. Throws `expired_ticket`.
 */
export function checkTicketAge(
  ticket: Ticket,
  tenant: Tenant,
  { isReconnect, now }: { isReconnect: boolean; now: number },
): void {
  const { connectSeconds, reconnectSeconds } = tenant.settings.ticket
  const seconds = isReconnect ? Math.max(connectSeconds, reconnectSeconds) : connectSeconds
  if (now > ticket.mintedAt + seconds * 1000) throw new ServiceError('expired_ticket')
}

import { randomBytes } from 'node:crypto'

import { errors, jwtVerify, SignJWT } from 'jose'

import { isCompactJws } from '../core/input/base64url.ts'
import { type App, perApp } from '../core/app.ts'
import type { Tenant } from '../core/caller.ts'
import { ServiceError } from '../core/errors.ts'
import { type Id, isId } from '../core/ids.ts'
import { deriveKeys } from '../core/secrets/seals.ts'
import type { Credential } from './credentials.ts'

/** What a ticket is bound to. It is signed and stateless: nothing of it is stored. */
export interface TicketClaims {
  tenantId: Id
  /** The discussion that it opens; null for a ticket for several. */
  discussionId: Id | null
  /** Of a ticket for several, in the order of their cursors; else that one. */
  discussionIds: readonly Id[]
  /** The reader whose notifications it shows; null for none. */
  readerId: Id | null
  /**
   * The credential that minted it, with which it ends. Null in tickets of a release that did not
   * name it, which only age ends.
   */
  minter: Minter | null
  /** Milliseconds since 1970. */
  mintedAt: number
}

/** A credential, and when it expires by itself (ms since 1970); null if it does not. */
export interface Minter extends Credential {
  kind: 'key' | 'admin' | 'site'
  expiresAt: number | null
}

export interface Ticket extends TicketClaims {
  /**
   * Identifies the ticket, so that its streams can be counted. It is derived from the signed part.
   */
  id: string
}

// Its own type and key: no other token of the service is accepted as a ticket, nor a ticket as
// one.
const TYPE = 'stream-ticket'
// A ticket for 50 discussions has 1 810 characters.
const MAX_LENGTH = 2048
const MINTED_BY = { key: 'k', admin: 'a', site: 's' } as const

const keysOf = perApp((app) => deriveKeys(app.settings, 'stream-ticket'))

export async function signTicket(
  app: App,
  { tenantId, discussionId, discussionIds, readerId, minter, mintedAt }: TicketClaims,
): Promise<string> {
  const claims = {
    t: tenantId,
    ...(discussionId === null ? { ds: packed(discussionIds) } : { d: discussionId }),
    ...(readerId === null ? {} : { r: readerId }),
    ...(minter === null ? {} : { [MINTED_BY[minter.kind]]: minter.id }),
    ...(minter?.expiresAt == null ? {} : { x: minter.expiresAt }),
    ...(minter?.guestId === undefined ? {} : { g: 1 }),
    iat: mintedAt / 1000,
  }
  const [{ id, key }] = keysOf(app)
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', typ: TYPE, kid: id })
    .setJti(randomBytes(9).toString('base64url'))
    .sign(key)
}

/** The key that a ticket names, perhaps one from before a rotation. */
function keyNamed(app: App, { kid }: { kid?: string }): Buffer {
  const named = keysOf(app).find(({ id }) => id === kid)
  if (named === undefined) throw new errors.JWKSNoMatchingKey()
  return named.key
}

/** The claims of a ticket, also of one that has expired. Throws `invalid_ticket`. */
export async function readTicket(app: App, text: string): Promise<Ticket> {
  if (text.length > MAX_LENGTH || !isCompactJws(text)) throw new ServiceError('invalid_ticket')
  try {
    const { payload } = await jwtVerify<Payload>(text, (header) => keyNamed(app, header), {
      algorithms: ['HS256'],
      typ: TYPE,
    })
    const { t: tenantId, d, ds, r: readerId = null, iat, jti } = payload
    const discussionIds = isIdText(d) ? [d] : unpacked(ds)
    const [first] = discussionIds
    if (isIdText(tenantId) && first !== undefined && (readerId === null || isIdText(readerId)) && iat !== undefined) {
      const discussionId = isIdText(d) ? d : null
      const minter = minterOf(tenantId, readerId, payload)
      const id = jti ?? `${first} ${iat}`
      return { id, tenantId, discussionId, discussionIds, readerId, minter, mintedAt: iat * 1000 }
    }
  } catch (error) {
    if (!(error instanceof errors.JOSEError) && !(error instanceof TypeError)) throw error
  }
  throw new ServiceError('invalid_ticket')
}

interface Payload {
  t: unknown
  d?: unknown
  ds?: unknown
  r?: unknown
  k?: unknown
  a?: unknown
  s?: unknown
  x?: unknown
  /** 1 where the reader is a guest, with whose tokens it ends. */
  g?: unknown
}

function minterOf(tenantId: Id, readerId: Id | null, { k, a, s, x, g }: Payload): Minter | null {
  const expiresAt = typeof x === 'number' ? x : null
  if (isIdText(k)) return { kind: 'key', tenantId, id: k, expiresAt }
  const guest = g === 1 && readerId !== null ? { guestId: readerId } : null
  if (isIdText(s)) return { kind: 'site', tenantId, id: s, expiresAt, ...guest }
  return isIdText(a) ? { kind: 'admin', tenantId, id: a, expiresAt } : null
}

const ID_BYTES = 16

/** The bytes of ids: 22 characters for each instead of 39. */
const packed = (ids: readonly Id[]): string =>
  Buffer.from(ids.map((id) => id.replaceAll('-', '')).join(''), 'hex').toString('base64url')

function unpacked(text: unknown): Id[] {
  if (typeof text !== 'string') return []
  const bytes = Buffer.from(text, 'base64url')
  return Array.from({ length: bytes.length / ID_BYTES }, (_, n) =>
    bytes
      .subarray(n * ID_BYTES, (n + 1) * ID_BYTES)
      .toString('hex')
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
  )
}

const isIdText = (value: unknown): value is Id => typeof value === 'string' && isId(value)

/** The deadline for the first connection. */
export const firstConnectionBy = (ticket: TicketClaims, tenant: Tenant): Date =>
  new Date(ticket.mintedAt + tenant.settings.ticket.connectSeconds * 1000)

/**
 * Checks a ticket's age (docs/reference/choices/streams.md): a browser's own reconnect, which has
 * `Last-Event-ID`, is allowed later than a first connection. Throws `expired_ticket`.
 */
export function checkTicketAge(
  ticket: Ticket,
  tenant: Tenant,
  { isReconnect, now }: { isReconnect: boolean; now: number },
): void {
  const { connectSeconds, reconnectSeconds } = tenant.settings.ticket
  const seconds = isReconnect ? Math.max(connectSeconds, reconnectSeconds) : connectSeconds
  // What a page of a site has sent is stored nowhere: nothing but its time tells that it is over.
  const isOver = ticket.minter?.kind === 'site' && now >= (ticket.minter.expiresAt ?? Infinity)
  if (isOver || now > ticket.mintedAt + seconds * 1000) throw new ServiceError('expired_ticket')
}

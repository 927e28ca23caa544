import { requireCaller } from '../../core/access.ts'
import { isBrowser, readerOfBrowser } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { sha256 } from '../../core/secrets/crypto.ts'
import { seal, unseal } from '../../core/secrets/seals.ts'
import { credentialOf } from '../../live/credentials.ts'

/** A reserved stream can be opened within this time. */
const RESERVATION_MS = 30_000
const SEALED = 'graphql-sse reservation'
const MAX_LENGTH = 512

/** A reserved stream: to whom it belongs, and until when it can be opened (ms since 1970). */
interface Reservation {
  tenantId: Id
  owner: Id
  until: number
}

/** Reserves a stream. The token holds all of it, so that every process understands it. */
export function reserveStream(ctx: Ctx): string {
  const { tenant } = requireCaller(ctx)
  const reservation: Reservation = { tenantId: tenant.id, owner: ownerOf(ctx), until: Date.now() + RESERVATION_MS }
  return seal(ctx.app.settings, JSON.stringify(reservation), SEALED).toString('base64url')
}

/**
 * The reservation that a token holds; null if the token is not ours, or belongs to another caller.
 * Throws `missing_credentials`.
 */
export function reservationOf(ctx: Ctx, token: string): Reservation | null {
  const { tenant } = requireCaller(ctx)
  const owner = ownerOf(ctx)
  if (token.length > MAX_LENGTH) return null
  try {
    const sealed = Buffer.from(token, 'base64url')
    const reservation = JSON.parse(unseal(ctx.app.settings, sealed, SEALED)) as Reservation
    return reservation.tenantId === tenant.id && reservation.owner === owner ? reservation : null
  } catch {
    return null
  }
}

/**
 * Takes the only place of a reserved stream, among all processes; null where one of them has it.
 * Call the result when the stream is over. The place of a killed process is free after its lease.
 */
export function claimStream(ctx: Ctx, token: string): Promise<(() => void) | null> {
  return ctx.app.places.take({
    // Its count is not that of the tenant's streams, which has the stream already.
    tenantId: `${requireCaller(ctx).tenant.id}:shared`,
    perTenant: Number.MAX_SAFE_INTEGER,
    quotas: [{ name: sha256(token).toString('base64url'), cap: 1 }],
  })
}

/**
 * To whom a reserved stream belongs: to the credential that has reserved it, or to the reader of a
 * client token, whose browser gets another token before that one expires.
 */
function ownerOf(ctx: Ctx): Id {
  const { tenant, actor } = requireCaller(ctx)
  return (isBrowser(actor) ? readerOfBrowser(actor) : null) ?? credentialOf({ tenant, actor }).id
}

import { type Ctx, requireCaller } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
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

/** The reservation of a token; null where it is none, or is another caller's. */
export function reservationOf(ctx: Ctx, token: string): Reservation | null {
  if (token.length > MAX_LENGTH) return null
  try {
    const sealed = Buffer.from(token, 'base64url')
    const reservation = JSON.parse(unseal(ctx.app.settings, sealed, SEALED)) as Reservation
    const isOwn = reservation.tenantId === requireCaller(ctx).tenant.id && reservation.owner === ownerOf(ctx)
    return isOwn ? reservation : null
  } catch {
    return null
  }
}

/**
 * To whom a reserved stream belongs: to the credential that has reserved it, or to the reader of a
 * client token, whose browser gets another token before that one expires.
 */
function ownerOf(ctx: Ctx): Id {
  const { tenant, actor } = requireCaller(ctx)
  return (actor.kind === 'client' ? actor.readerId : null) ?? credentialOf(actor, tenant.id).id
}

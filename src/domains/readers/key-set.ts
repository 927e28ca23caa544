import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { IdentityKeySet } from '../../generated/prisma/client.ts'
import { readKeySet } from './jwks.ts'

/**
 * How long keys stay valid if they cannot be fetched again: the tenant may have withdrawn one of
 * them meanwhile.
 */
export const KEPT_MS = 24 * 3_600_000

export const KEY_SET_STATES = {
  none: { description: 'The setting identity.jwksUrl is null.' },
  waiting: { description: 'The keys have not been fetched yet.' },
  ready: { description: 'The last fetch succeeded.' },
  failing: { description: 'The last fetch failed. Keys that were fetched before are valid until `expiresAt`.' },
  dropped: {
    description:
      'The keys could not be fetched for 24 h. Assertions signed with them are refused until a fetch succeeds.',
  },
} as const

/** The public keys of the tenant's identity provider, and the state of fetching them. */
export interface KeySet {
  url: string | null
  state: keyof typeof KEY_SET_STATES
  /** The number of valid keys. */
  keyCount: number
  fetchedAt: Date | null
  /** When the keys are dropped unless they are fetched again; null without keys. */
  expiresAt: Date | null
  failingSince: Date | null
  error: string | null
}

const NONE: KeySet = {
  url: null,
  state: 'none',
  keyCount: 0,
  fetchedAt: null,
  expiresAt: null,
  failingSince: null,
  error: null,
}

/** The tenant's stored key set. */
export async function getKeySet(ctx: Ctx): Promise<KeySet> {
  const { tenant } = requireCaller(ctx)
  const row = await ctx.app.prisma.identityKeySet.findUnique({ where: { tenantId: tenant.id } })
  return row === null ? NONE : toKeySet(row, Date.now())
}

function toKeySet({ url, jwks, fetchedAt, failingSince, error }: IdentityKeySet, now: number): KeySet {
  const expiresAt = fetchedAt === null ? null : new Date(fetchedAt.getTime() + KEPT_MS)
  const isOver = expiresAt !== null && expiresAt.getTime() <= now
  const state = isOver ? 'dropped' : failingSince !== null ? 'failing' : fetchedAt === null ? 'waiting' : 'ready'
  const keyCount = isOver ? 0 : readKeySet(jwks).length
  return { url, state, keyCount, fetchedAt, expiresAt: isOver ? null : expiresAt, failingSince, error }
}

import { z } from 'zod'

import { baseUrl } from '../../core/address.ts'
import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { noSuch } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { externalIdSchema } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import type { DiscussionState } from '../../generated/prisma/enums.ts'
import { namedInput } from '../client-tokens/tokens.ts'
import { ensureDiscussion, findDiscussion, findDiscussionIds } from '../discussions/discussions.ts'
import { ensureReader } from '../readers/readers.ts'
import { credentialOf, expiryOf } from '../../live/credentials.ts'
import { Cursors, inCursorOrder } from '../../live/streams/cursor.ts'
import { firstConnectionBy, signTicket } from '../../live/tickets.ts'

export interface StreamTicketInput {
  discussionId?: Id | null | undefined
  externalId?: string | null | undefined
  discussionIds?: readonly Id[] | null | undefined
  externalIds?: readonly string[] | null | undefined
}

/** A discussion that a ticket opens. */
export interface TicketDiscussion {
  discussionId: Id
  /** As the request has named it, perhaps by a former one. */
  externalId: string
  discussionState: DiscussionState
  /** Its present position. */
  lastEventId: string
}

/**
 * A credential for one browser's stream, with everything that the browser needs to open it
 * (docs/reference/choices/streams.md).
 */
export interface StreamTicket {
  ticket: string
  /** Of several the first. */
  discussionId: Id
  /** The deadline for the first connection. */
  expiresAt: Date
  /** Of several that of the first. */
  discussionState: DiscussionState
  /** In the order of the positions in a cursor. */
  discussions: readonly TicketDiscussion[]
  /** The present position: of several discussions a cursor. */
  lastEventId: string
  streamUrl: string
  /** The reader whose notifications the stream shows; null without an identity. */
  recipient: { readerId: Id; externalId: string } | null
}

export const ticketInput = z.object({
  discussionId: z.string().nullish(),
  externalId: externalIdSchema.nullish(),
  ...namedInput.shape,
})

/**
 * Mints a ticket for one discussion, or for several, each named by one of its ids; an unknown
 * external id creates the discussion, but not for a site. With an identity, the stream also shows
 * that reader's notifications. A replay has `earlier`, the discussions of the first ticket: it
 * creates none. Throws `not_found`, `validation_failed`.
 */
export async function createStreamTicket(
  ctx: Ctx,
  input: StreamTicketInput,
  earlier?: readonly Pick<TicketDiscussion, 'discussionId' | 'externalId'>[],
): Promise<StreamTicket> {
  const { app } = ctx
  const { tenant, identity, actor } = requireCaller(ctx)
  if (actor.kind === 'client') throw new Error('a client token mints no tickets')
  const { discussionId, externalId, discussionIds, externalIds } = validate(ticketInput, input)
  const isForSeveral = discussionIds != null || externalIds != null
  const names = isForSeveral ? externalIds : externalId == null ? null : [externalId]
  const named =
    names == null ? new Map<Id, string>() : earlier === undefined ? await idsOf(ctx, names) : namesIn(earlier)
  const ids = names == null ? (discussionIds ?? [discussionId ?? '']) : [...named.keys()]
  const discussions = await readDiscussions(ctx, ids, named)
  const reader = identity === null ? null : await ensureReader(app, tenant, identity)
  const minter = { ...credentialOf({ tenant, actor, identity }), expiresAt: expiryOf({ actor, identity }) }
  const [first] = discussions
  if (first === undefined) throw noSuch('discussion')
  const bound = {
    tenantId: tenant.id,
    discussionId: isForSeveral ? null : first.discussionId,
    discussionIds: discussions.map((each) => each.discussionId),
    readerId: reader?.id ?? null,
    minter,
    mintedAt: Date.now(),
  }
  const ticket = await signTicket(app, bound)
  const positions = discussions.map(({ lastEventId }) => Number(lastEventId))
  return {
    ticket,
    discussionId: first.discussionId,
    expiresAt: firstConnectionBy(bound, tenant),
    discussionState: first.discussionState,
    discussions,
    lastEventId: isForSeveral ? new Cursors(bound.discussionIds).encode(positions) : first.lastEventId,
    streamUrl: `${baseUrl(app)}/api/v1/stream${isForSeveral ? '' : `/${first.discussionId}`}?ticket=${ticket}`,
    recipient: reader && { readerId: reader.id, externalId: reader.externalId },
  }
}

const namesIn = (discussions: readonly Pick<TicketDiscussion, 'discussionId' | 'externalId'>[]) =>
  new Map(discussions.map(({ discussionId, externalId }) => [discussionId, externalId]))

/** The discussions in the order of cursors. Throws `not_found` if one is missing. */
async function readDiscussions(
  ctx: Ctx,
  ids: readonly Id[],
  named: ReadonlyMap<Id, string>,
): Promise<TicketDiscussion[]> {
  const found = ids.every(isId) ? await Promise.all(inCursorOrder(ids).map((id) => findDiscussion(ctx, id))) : []
  if (found.length === 0 || found.includes(null)) throw noSuch('discussion')
  return found.flatMap((discussion) => {
    if (discussion === null) return []
    const { id, externalId, state, lastEventId } = discussion
    return { discussionId: id, externalId: named.get(id) ?? externalId, discussionState: state, lastEventId }
  })
}

/**
 * The discussions of pages, with these pages' external ids. Anyone can name any page of a site:
 * only its first comment begins a discussion, and until then the page is left out.
 */
async function idsOf(ctx: Ctx, externalIds: readonly string[]): Promise<ReadonlyMap<Id, string>> {
  const found = new Map(await findDiscussionIds(ctx, externalIds))
  // One after the other, and in one order for all requests: many new pages must not take all
  // connections of the pool.
  const missing = requireCaller(ctx).actor.kind === 'site' ? [] : externalIds.filter((each) => !found.has(each))
  for (const externalId of missing.toSorted()) found.set(externalId, await ensureDiscussion(ctx, externalId))
  // Of two names of one discussion the first counts.
  const named = new Map<Id, string>()
  for (const externalId of externalIds) {
    const id = found.get(externalId)
    if (id !== undefined && !named.has(id)) named.set(id, externalId)
  }
  return named
}

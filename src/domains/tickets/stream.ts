import { z } from 'zod'

import { baseUrl } from '../../core/address.ts'
import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { noSuch } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { externalIdSchema } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import type { DiscussionState } from '../../generated/prisma/enums.ts'
import { ensureDiscussion, findDiscussionId } from '../discussions/discussions.ts'
import { selectDiscussion } from '../discussions/row.ts'
import { ensureReader } from '../readers/readers.ts'
import { credentialOf } from '../../live/credentials.ts'
import { firstConnectionBy, signTicket } from '../../live/tickets.ts'

export interface StreamTicketInput {
  discussionId?: Id | null | undefined
  externalId?: string | null | undefined
}

/**
 * A credential for one browser's stream, with everything that the browser needs to open it
 * (docs/reference/choices/streams.md).
 */
export interface StreamTicket {
  ticket: string
  discussionId: Id
  /** The deadline for the first connection. */
  expiresAt: Date
  discussionState: DiscussionState
  /** The discussion's present position. */
  lastEventId: string
  streamUrl: string
}

export const ticketInput = z.object({ discussionId: z.string().nullish(), externalId: externalIdSchema.nullish() })

/**
 * Mints a ticket for one discussion, named by exactly one of its ids; an unknown external id
 * creates the discussion, but not for a site. With an identity, the stream also shows that reader's
 * notifications. Throws `not_found`, `validation_failed`.
 */
export async function createStreamTicket(ctx: Ctx, input: StreamTicketInput): Promise<StreamTicket> {
  const { app } = ctx
  const { tenant, identity, actor } = requireCaller(ctx)
  if (actor.kind === 'client') throw new Error('a client token mints no tickets')
  const discussionId = await discussionOf(ctx, input)
  const discussion = isId(discussionId) ? await selectDiscussion(app.db.query, tenant.id, discussionId) : undefined
  if (discussion === undefined) throw noSuch('discussion')
  const readerId = identity === null ? null : (await ensureReader(app, tenant, identity)).id
  const minter = { ...credentialOf(actor, tenant.id), expiresAt: actor.expiresAt?.getTime() ?? null }
  const bound = { tenantId: tenant.id, discussionId, readerId, minter, mintedAt: Date.now() }
  const ticket = await signTicket(app, bound)
  return {
    ticket,
    discussionId,
    expiresAt: firstConnectionBy(bound, tenant),
    discussionState: discussion.state,
    lastEventId: String(discussion.seq),
    streamUrl: `${baseUrl(app)}/api/v1/stream/${discussionId}?ticket=${ticket}`,
  }
}

async function discussionOf(ctx: Ctx, input: StreamTicketInput): Promise<Id> {
  const { discussionId, externalId } = validate(ticketInput, input)
  if (discussionId != null) return discussionId
  if (requireCaller(ctx).actor.kind !== 'site') return ensureDiscussion(ctx, externalId ?? '')
  // Anyone can name any page of a site: only its first comment begins a discussion.
  const found = await findDiscussionId(ctx, externalId ?? '')
  if (found === null) throw noSuch('discussion')
  return found
}

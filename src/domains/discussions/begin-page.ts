import { requireCaller, requireIdentity } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { webUrl } from '../../core/input/texts.ts'
import { createDiscussion } from './discussions.ts'

/** Five at once, and then one in twelve minutes: in no hour more than ten. */
const BEGINNINGS = { perSecond: 5 / 3600, burst: 5 }

/** A discussion, and whether this call has created it: another reader may have been first. */
interface Begun {
  id: Id
  isNew: boolean
}

/**
 * Begins the discussion of a site's page, for its first comment. Each reader begins few: a page is
 * any address of the site, whether or not it exists. Throws `rate_limited`.
 */
export async function beginPage(ctx: Ctx, externalId: string): Promise<Begun> {
  const { tenant } = requireCaller(ctx)
  const { limits } = ctx.app
  const name = `${tenant.id}/${requireIdentity(ctx).externalId}`
  const { isAllowed, retryAfterSeconds } = await limits.takeExactly('beginning', name, BEGINNINGS)
  if (!isAllowed) {
    const detail = 'The reader has begun as many discussions as there can be in an hour.'
    throw new ServiceError('rate_limited', { detail, retryAfterSeconds })
  }
  const url = webUrl.safeParse(externalId).success ? externalId : null
  const input = { externalId, ...(url !== null && { url }) }
  let created = false
  try {
    const found = await createDiscussion(ctx, input, { isForReader: true })
    created = found.created
    return { id: found.discussion.id, isNew: created }
  } finally {
    // Another reader was first, or it failed.
    if (!created) await limits.giveBackExactly('beginning', name, BEGINNINGS, 1)
  }
}

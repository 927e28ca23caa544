import { isDeepStrictEqual } from 'node:util'

import { z } from 'zod'

import { recordAudit } from '../../../core/audit.ts'
import { requireCaller } from '../../../core/access.ts'
import type { Ctx } from '../../../core/context.ts'
import { validationFailed } from '../../../core/errors.ts'
import type { Id } from '../../../core/ids.ts'
import { validate } from '../../../core/input/validate.ts'
import { announceChange } from '../../../core/read-cache.ts'
import { MAX_BADGES } from '../../../core/settings/tenant.ts'
import type { Reader as ReaderRecord } from '../../../generated/prisma/client.ts'
import { touchPages } from '../../tenants/tenants.ts'
import { lockReaderIn } from '../records.ts'
import { knownBadges, shownBadges } from './known.ts'

export const setBadgesSchema = z.object({ badges: z.array(z.string()).max(MAX_BADGES) })

interface SetBadges {
  readerId: Id
  badges: readonly string[]
}

/**
 * Replaces the badges that moderators have given a reader. Those that the identity claims stay.
 * Throws `not_found`, `validation_failed`.
 */
export async function setReaderBadges(ctx: Ctx, { readerId: id, ...input }: SetBadges): Promise<ReaderRecord> {
  const { tenant } = requireCaller(ctx)
  const { badges } = validate(setBadgesSchema, input)
  const assigned = knownBadges(tenant.settings.badges, badges)
  const [first, ...others] = badges.flatMap((badge, index) =>
    assigned.includes(badge)
      ? []
      : [{ pointer: `/badges/${index}`, code: 'not_allowed', message: 'must be the id of a badge in the settings' }],
  )
  if (first !== undefined) throw validationFailed([first, ...others])
  const { changed, isChanged } = await ctx.app.db.transaction(async (sql) => {
    const before = await lockReaderIn(sql, ctx, id)
    if (isDeepStrictEqual(before.assignedBadges, assigned)) return { changed: before, isChanged: false }
    const shown = shownBadges(assigned, before.claimedBadges)
    const where = { tenantId_id: { tenantId: tenant.id, id } }
    const after = await sql.prisma.reader.update({ where, data: { assignedBadges: assigned, badges: shown } })
    await recordAudit(sql, ctx, {
      action: 'reader.set_badges',
      targetId: id,
      before: { badges: before.assignedBadges },
      after: { badges: assigned },
    })
    if (!isDeepStrictEqual(before.badges, shown)) await touchPages(sql, tenant.id)
    return { changed: after, isChanged: true }
  })
  if (isChanged) announceChange(ctx.app, { kind: 'reader', tenantId: tenant.id, externalId: changed.externalId })
  return changed
}

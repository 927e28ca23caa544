import { requireCaller } from '../../../core/access.ts'
import type { Ctx } from '../../../core/context.ts'
import { newId } from '../../../core/ids.ts'
import type { TenantSettings } from '../../../core/settings/tenant.ts'
import { copiesDetail, type HoldDetail } from '../hold-details.ts'
import { isHeldForText, type Judgement } from '../rules.ts'
import { digestOf, normalizeBody } from '../text/normalize.ts'
import { countPostedText, findCopies, takePostedTextBack } from './posted-texts-sql.ts'

/**
 * Posts a text by `write`, with the judgement of `holdRepeatedText` on it: whether readers of the
 * tenant have posted it as often as that within 24 hours. It counts once it is posted: not where
 * `write` throws.
 *
 * Tenants without the setting pay nothing. A count of its own, and not a search among the comments,
 * because it must see what other processes are about to post, and comments need no index for it.
 */
export async function countingText<T>(
  ctx: Ctx,
  judgement: Judgement,
  write: (judged: Judgement) => Promise<T>,
): Promise<T> {
  const { id: tenantId, settings } = requireCaller(ctx).tenant
  const { textDigest } = judgement
  if (settings.holdRepeatedText === 0 || textDigest === null || isHeldForText(judgement)) return write(judgement)
  const id = newId()
  const copies = await countPostedText(ctx.app.db.query, { tenantId, textDigest }, id)
  const isRepeated = copies >= settings.holdRepeatedText
  try {
    return await write(
      isRepeated ? { ...judgement, reason: 'repeated_text', details: [copiesDetail(copies)] } : judgement,
    )
  } catch (error) {
    // In the transaction of the whole request it may fail as well, and then takes nothing to undo.
    await takePostedTextBack(ctx.app.db.query, { tenantId, textDigest }, id).catch(() => undefined)
    throw error
  }
}

/** The objection of `holdRepeatedText` to a text, as it is counted so far; null without one. */
export async function findHeldCopies(
  ctx: Ctx,
  body: string,
  { holdRepeatedText }: Pick<TenantSettings, 'holdRepeatedText'>,
): Promise<HoldDetail[] | null> {
  const textDigest = digestOf(normalizeBody(body))
  if (holdRepeatedText === 0 || textDigest === null) return null
  const copies = await findCopies(ctx.app.prisma, { tenantId: requireCaller(ctx).tenant.id, textDigest })
  return copies < holdRepeatedText ? null : [copiesDetail(copies)]
}

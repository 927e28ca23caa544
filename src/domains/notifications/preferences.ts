import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { validate } from '../../core/input/validate.ts'
import type { Prisma } from '../../core/database/database.ts'
import { NotificationKind } from '../../generated/prisma/enums.ts'
import type { Reader } from '../readers/fields.ts'
import { asReader } from '../readers/readers.ts'
import { getViewer } from '../readers/records.ts'

const CHOICES = ['all', 'none'] as const

export type Choice = (typeof CHOICES)[number]

const KINDS = Object.values(NotificationKind)

/** Which notifications a reader gets. */
export type Preferences = Record<NotificationKind, Choice>

const choice = z.enum(CHOICES).optional()

export const preferencesInput = z.object({ reply: choice, mention: choice, decision: choice })

export async function readPreferences(
  { notificationOptOut }: Prisma,
  tenantId: Id,
  readerId: Id,
): Promise<Preferences> {
  const rows = await notificationOptOut.findMany({ where: { tenantId, readerId } })
  const off = new Set(rows.map(({ kind }) => kind))
  return Object.fromEntries(KINDS.map((kind) => [kind, off.has(kind) ? 'none' : 'all'])) as Preferences
}

/** The preferences of the asserted reader; null of anyone else. */
export const preferencesOf = async (ctx: Ctx, reader: Reader): Promise<Preferences | null> =>
  'isViewer' in reader ? readPreferences(ctx.app.prisma, requireCaller(ctx).tenant.id, reader.id) : null

/**
 * Changes which notifications the asserted reader gets from now on. Throws `validation_failed`,
 * `identity_required`.
 */
export async function updatePreferences(ctx: Ctx, input: object): Promise<Reader> {
  const chosen = validate(preferencesInput, input)
  const { tenant } = requireCaller(ctx)
  await asReader(ctx, ({ id: readerId }) =>
    ctx.app.db.transaction(async (sql) => {
      const { notificationOptOut } = sql.prisma
      const chose = (wanted: Choice) => KINDS.filter((kind) => chosen[kind] === wanted)
      await notificationOptOut.deleteMany({ where: { tenantId: tenant.id, readerId, kind: { in: chose('all') } } })
      const data = chose('none').map((kind) => ({ tenantId: tenant.id, readerId, kind }))
      await notificationOptOut.createMany({ data, skipDuplicates: true })
    }),
  )
  return getViewer(ctx)
}

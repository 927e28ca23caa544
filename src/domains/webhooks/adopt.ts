import { recordAuditOfImport } from '../../core/audit.ts'
import type { App } from '../../core/app.ts'
import type { Id } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'
import { policyOverridesSchema, tenantSettings } from '../../core/settings/tenant.ts'
import { validate } from '../../core/input/validate.ts'
import type { Prisma } from '../../generated/prisma/client.ts'
import { endpointFields } from './input.ts'
import { effectivePolicy } from './rules/policy.ts'

interface AdoptedEndpoint {
  id: Id
  url: string
  description: string | null
  eventTypes: string[]
  discussionIds: string[] | undefined
  policy: Record<string, unknown>
  createdAt: Date
}

/**
 * Imports an endpoint from another service. Without secrets it cannot sign, so it is disabled until
 * an admin gives it a new one. False if it exists already. Throws `validation_failed`.
 */
export async function adoptEndpoint(
  { settings }: Pick<App, 'settings'>,
  sql: TxSql,
  of: { tenantId: Id; importId: Id },
  { id, createdAt, description, ...given }: AdoptedEndpoint,
): Promise<boolean> {
  const { tenantId } = of
  const {
    url = '',
    eventTypes = [],
    discussionIds,
  } = validate(endpointFields(settings).omit({ policy: true }), {
    ...given,
    description,
  })
  const policy = validate(policyOverridesSchema, given.policy) as Prisma.InputJsonObject
  const { count } = await sql.prisma.webhookEndpoint.createMany({
    data: {
      tenantId,
      id,
      url,
      description,
      eventTypes,
      discussionIds: discussionIds ?? [],
      policy,
      state: 'disabled',
      disabledReason: 'It was imported without its secrets: rotate its secret, then enable it.',
      createdAt,
      updatedAt: createdAt,
    },
    skipDuplicates: true,
  })
  if (count === 0) return false
  const publicForm = { url, description, eventTypes, discussionIds: discussionIds ?? [], state: 'disabled', kids: [] }
  const tenant = await sql.prisma.tenant.findUnique({ where: { id: tenantId }, select: { settings: true } })
  await recordAuditOfImport(sql, of, {
    action: 'webhook.create',
    targetId: id,
    after: { ...publicForm, policy: effectivePolicy(tenantSettings(tenant?.settings), policy) },
  })
  return true
}

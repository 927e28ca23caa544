import type { App } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import type { TxSql } from '../../core/sql.ts'
import { policyOverridesSchema } from '../../core/tenant-settings.ts'
import { validate } from '../../core/validate.ts'
import type { Prisma } from '../../generated/prisma/client.ts'
import { endpointFields } from './input.ts'

interface AdoptedEndpoint {
  id: Id
  url: string
  description: string | null
  eventTypes: string[]
  policy: Record<string, unknown>
  createdAt: Date
}

/**
 * Takes an endpoint over from another service. Without its secrets it cannot sign: it is disabled
 * until an admin gives it a new one. False where it is there. Throws `validation_failed`.
 */
export async function adoptEndpoint(
  { settings }: Pick<App, 'settings'>,
  sql: TxSql,
  tenantId: Id,
  { id, createdAt, description, ...given }: AdoptedEndpoint,
): Promise<boolean> {
  const { url = '', eventTypes = [] } = validate(endpointFields(settings).omit({ policy: true }), {
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
      policy,
      state: 'disabled',
      disabledReason: 'It was imported without its secrets: rotate its secret, then enable it.',
      createdAt,
      updatedAt: createdAt,
    },
    skipDuplicates: true,
  })
  return count === 1
}

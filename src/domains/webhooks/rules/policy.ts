import { readStored } from '../../../core/stored.ts'
import { policyOverridesSchema, type TenantSettings, type WebhookPolicy } from '../../../core/settings/tenant.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'

/** The values that an endpoint overrides; the others are the tenant's. */
export type PolicyOverrides = Partial<WebhookPolicy>

/** The overrides as stored, perhaps by a newer release with more fields. */
export type StoredPolicy = Prisma.JsonObject

export const storedPolicy = (json: Prisma.JsonValue): StoredPolicy =>
  typeof json === 'object' && json !== null && !Array.isArray(json) ? json : {}

/** The stored overrides that this release knows. */
export const readOverrides = (stored: unknown): PolicyOverrides => readStored(policyOverridesSchema, stored)

/** The policy in force at an endpoint. */
export function effectivePolicy({ webhookPolicy }: TenantSettings, stored: unknown): WebhookPolicy {
  const policy = { ...webhookPolicy, ...readOverrides(stored) }
  // The tenant's values may have changed since the endpoint's were checked against them.
  return { ...policy, disableThreshold: Math.max(policy.disableThreshold, policy.breakerThreshold) }
}

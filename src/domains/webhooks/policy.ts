import type { TenantSettings, WebhookPolicy } from '../../core/tenant-settings.ts'

/** What an endpoint sets by itself; the rest is the tenant's. */
export type PolicyOverrides = Partial<WebhookPolicy>

/** The policy in force at an endpoint (contract, section 4). */
export function effectivePolicy({ webhookPolicy }: TenantSettings, overrides: PolicyOverrides): WebhookPolicy {
  const policy = { ...webhookPolicy, ...overrides }
  // The tenant's half may have changed since the endpoint's was checked against it.
  return { ...policy, disableThreshold: Math.max(policy.disableThreshold, policy.breakerThreshold) }
}

/**
 * Milliseconds to wait after failed attempt `n` (1-based); null when none is left. `chance` in [0, 1).
 * 1 s × 2^(n−1), plus up to 50 % jitter (specification, section 8).
 */
export function retryDelayMs(n: number, policy: WebhookPolicy, chance: number): number | null {
  if (n >= policy.maxAttempts) return null
  return Math.round(policy.backoffBaseMs * 2 ** (n - 1) * (1 + chance / 2))
}

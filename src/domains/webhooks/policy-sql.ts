import { storedNumber } from '../../core/stored.ts'
import { tenantSettings, webhookPolicySchema, type WebhookPolicy } from '../../core/tenant-settings.ts'

const DEFAULTS = tenantSettings({}).webhookPolicy

/**
 * One value of the policy in force, as SQL: the endpoint's own (`e`), the tenant's (`t`), the
 * default. A statement needs it where what it decides must hold over all workers.
 */
export function policyValue(name: keyof WebhookPolicy): string {
  const bounds = webhookPolicySchema.shape[name].unwrap()
  const own = storedNumber('e.policy', name, bounds)
  return `coalesce(${own}, ${storedNumber('t.settings', `webhookPolicy.${name}`, bounds)}, ${DEFAULTS[name]})`
}

/** As `effectivePolicy` has it: never before the circuit opens. */
export const DISABLE_THRESHOLD = `greatest(${policyValue('disableThreshold')}, ${policyValue('breakerThreshold')})`

/** Seconds after which a recovered endpoint may have twice the attempts in flight. */
const RAMP_STEP_SECONDS = 2
const RAMP_SECONDS = 14

/**
 * Attempts that may be in flight at the endpoint `e` over all workers, as SQL. Half open: one, the
 * probe. Else as many as failures are left before the circuit opens, so that it opens on exactly
 * the last of them; and after a recovery 1, 2, 4, … for a while, so that a receiver that has just
 * come back is not met by its whole backlog at once.
 */
export const SLOTS = `CASE
  WHEN e.circuit_open_until IS NOT NULL THEN 1
  ELSE greatest(1, least(
    ${policyValue('breakerThreshold')} - e.consecutive_failures,
    CASE WHEN e.recovered_at > now() - interval '${RAMP_SECONDS} seconds'
      THEN (2 ^ floor(extract(epoch FROM now() - e.recovered_at) / ${RAMP_STEP_SECONDS}))::int ELSE 1000 END))
END`

import { storedBoolean, storedNumber } from '../../core/stored.ts'
import { tenantSettings, webhookPolicySchema, type WebhookPolicy } from '../../core/settings/tenant.ts'

const DEFAULTS = tenantSettings({}).webhookPolicy

/**
 * SQL for one value of the policy in force: the endpoint's own (`e`), the tenant's (`t`), or the
 * default. For statements whose decisions must hold over all workers.
 */
export function policyValue(name: Exclude<keyof WebhookPolicy, 'schedule' | 'ordered'>): string {
  const bounds = webhookPolicySchema.shape[name].unwrap()
  const own = storedNumber('e.policy', name, bounds)
  return `coalesce(${own}, ${storedNumber('t.settings', `webhookPolicy.${name}`, bounds)}, ${DEFAULTS[name]})`
}

/** SQL for `ordered` of the policy in force. */
export const ORDERED = `coalesce(${storedBoolean('e.policy', 'ordered')}, ${storedBoolean('t.settings', 'webhookPolicy.ordered')}, ${DEFAULTS.ordered})`

/** As in `effectivePolicy`: never before the circuit opens. */
export const DISABLE_THRESHOLD = `greatest(${policyValue('disableThreshold')}, ${policyValue('breakerThreshold')})`

/** Seconds after which a recovered endpoint may have twice as many attempts in flight. */
const RAMP_STEP_SECONDS = 2
const RAMP_SECONDS = 14
const RECOVERED = 'greatest(e.recovered_at, e.paused_until)'

/**
 * SQL for the number of attempts that endpoint `e` may have in flight over all workers. Half open:
 * one, the probe. Otherwise the number of failures left before the circuit opens, so that it opens
 * on exactly the last of them; after a recovery or a pause 1, 2, 4, … for a while, so that a
 * returning receiver is not flooded by its backlog.
 */
export const SLOTS = `CASE
  WHEN e.circuit_open_until IS NOT NULL THEN 1
  ELSE greatest(1, least(
    ${policyValue('breakerThreshold')} - e.consecutive_failures,
    CASE WHEN ${RECOVERED} > now() - interval '${RAMP_SECONDS} seconds'
      THEN (2 ^ greatest(0, floor(extract(epoch FROM now() - ${RECOVERED}) / ${RAMP_STEP_SECONDS})))::int ELSE 1000 END))
END`

import type { EndpointFragment } from '../../../generated/console.ts'
import table from '../../../generated/settings.json' with { type: 'json' }
import type { Labels } from '../../api/errors.ts'
import { textOf } from '../settings/labels.ts'

export type PolicyName = keyof EndpointFragment['ownPolicy']

const LABELS: Readonly<Record<PolicyName, string>> = {
  maxAttempts: 'Attempts',
  backoffBaseMs: 'First wait, ms',
  timeoutMs: 'Timeout, ms',
  breakerThreshold: 'Failures to a pause',
  breakerCooldownMs: 'Pause, ms',
  disableThreshold: 'Failures to disabling',
}

/** In the form of `EndpointForm`. */
export const POLICY_LABELS: Labels = Object.fromEntries(
  Object.entries(LABELS).map(([name, label]) => [`policy.${name}`, label]),
)

export const POLICY_NAMES = Object.keys(LABELS) as PolicyName[]

interface PolicyField {
  label: string
  description: string
  min: number
  max: number
}

/**
 * The parts of a delivery policy, with the bounds and texts of the tenant's own in the settings.
 */
export const POLICY: Readonly<Record<PolicyName, PolicyField>> = mapPolicy((name) => {
  const field = table.fields.find(({ path }) => path === `webhookPolicy.${name}`)
  const { minimum = -Infinity, maximum = Infinity }: { minimum?: number; maximum?: number } = field?.bounds ?? {}
  return {
    label: LABELS[name],
    description: textOf(`webhookPolicy.${name}`, field?.description ?? ''),
    min: minimum,
    max: maximum,
  }
})

/** The content of a number field: empty is the tenant's own value. */
export type PolicyValues = Record<PolicyName, number | ''>

export const policyValues = (own?: EndpointFragment['ownPolicy']): PolicyValues =>
  mapPolicy((name): number | '' => own?.[name] ?? '')

export const policyInput = (values: PolicyValues): Record<PolicyName, number | null> =>
  mapPolicy((name) => {
    const value = values[name]
    return value === '' ? null : value
  })

/** The errors of the values, by the form's field names. */
export function policyErrors(values: PolicyValues): Record<string, string> {
  const wrong = POLICY_NAMES.filter((name) => {
    const value = values[name]
    return value !== '' && !(Number.isInteger(value) && value >= POLICY[name].min && value <= POLICY[name].max)
  })
  return Object.fromEntries(
    wrong.map((name) => [`policy.${name}`, `A whole number, ${POLICY[name].min} to ${POLICY[name].max}.`]),
  )
}

function mapPolicy<Value>(valueOf: (name: PolicyName) => Value): Record<PolicyName, Value> {
  return Object.fromEntries(POLICY_NAMES.map((name) => [name, valueOf(name)])) as Record<PolicyName, Value>
}

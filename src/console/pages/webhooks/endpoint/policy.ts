import type { EndpointFragment } from '../../../../generated/console.ts'
import type { Labels } from '../../../api/errors.ts'
import { durationWords, type Unit } from '../../../ui/durations.ts'
import { FIELDS } from '../../settings/table.ts'

type OwnPolicy = EndpointFragment['ownPolicy']

/** The parts that are numbers. */
export type PolicyName = Exclude<keyof OwnPolicy, 'schedule' | 'ordered'>

const LABELS: Readonly<Record<PolicyName, string>> = {
  maxAttempts: 'Attempts',
  backoffBaseMs: 'First wait',
  timeoutMs: 'Timeout',
  breakerThreshold: 'Failures to an open circuit',
  breakerCooldownMs: 'Circuit open',
  disableThreshold: 'Failures to disabling',
}

const CHOICE_LABELS = { schedule: 'Waits between attempts', ordered: 'Order' }

/** The parts that are chosen from a list; empty is the tenant's own value. */
export const POLICY_CHOICES = {
  schedule: {
    label: CHOICE_LABELS.schedule,
    options: [
      { value: '', label: "The tenant's" },
      { value: 'short', label: 'Short: as the fields above say' },
      { value: 'days', label: 'Days: ten attempts in some three days' },
    ],
  },
  ordered: {
    label: CHOICE_LABELS.ordered,
    options: [
      { value: '', label: "The tenant's" },
      { value: 'no', label: 'Deliveries do not wait for each other' },
      { value: 'yes', label: 'One at a time in each discussion' },
    ],
  },
} as const

/** In the form of `EndpointForm`. */
export const POLICY_LABELS: Labels = Object.fromEntries(
  Object.entries({ ...LABELS, ...CHOICE_LABELS }).map(([name, label]) => [`policy.${name}`, label]),
)

export const POLICY_NAMES = Object.keys(LABELS) as PolicyName[]

interface PolicyField {
  label: string
  description: string
  min: number
  max: number
  /** Of a length of time. */
  unit: Unit | null
}

/**
 * The parts of a delivery policy, with the bounds and texts of the tenant's own in the settings.
 */
export const POLICY: Readonly<Record<PolicyName, PolicyField>> = mapPolicy((name) => {
  const field = FIELDS.find(({ path }) => path === `webhookPolicy.${name}`)
  const { minimum = -Infinity, maximum = Infinity } = field?.bounds ?? {}
  return {
    label: LABELS[name],
    description: field?.description ?? '',
    min: minimum,
    max: maximum,
    unit: field?.unit ?? null,
  }
})

/** The content of the fields: empty is the tenant's own value. */
export type PolicyValues = Record<PolicyName, number | ''> & {
  schedule: NonNullable<OwnPolicy['schedule']> | ''
  ordered: 'yes' | 'no' | ''
}

export const policyValues = (own?: OwnPolicy): PolicyValues => ({
  ...mapPolicy((name): number | '' => own?.[name] ?? ''),
  schedule: own?.schedule ?? '',
  ordered: own?.ordered == null ? '' : own.ordered ? 'yes' : 'no',
})

export const policyInput = ({ schedule, ordered, ...values }: PolicyValues) => ({
  ...mapPolicy((name) => {
    const value = values[name]
    return value === '' ? null : value
  }),
  schedule: schedule === '' ? null : schedule,
  ordered: ordered === '' ? null : ordered === 'yes',
})

/** The errors of the values, by the form's field names. */
export function policyErrors(values: PolicyValues): Record<string, string> {
  const wrong = POLICY_NAMES.filter((name) => {
    const value = values[name]
    return value !== '' && !(Number.isInteger(value) && value >= POLICY[name].min && value <= POLICY[name].max)
  })
  return Object.fromEntries(
    wrong.map((name) => [
      `policy.${name}`,
      `Give ${POLICY[name].unit === null ? 'a whole number' : 'a time'} from ${policyWords(name, POLICY[name].min)} to ${policyWords(name, POLICY[name].max)}.`,
    ]),
  )
}

/** A number of a policy in words. */
export function policyWords(name: PolicyName, value: number): string {
  const { unit } = POLICY[name]
  return unit === null ? String(value) : durationWords(value, unit)
}

function mapPolicy<Value>(valueOf: (name: PolicyName) => Value): Record<PolicyName, Value> {
  return Object.fromEntries(POLICY_NAMES.map((name) => [name, valueOf(name)])) as Record<PolicyName, Value>
}

import type { EndpointFragment } from '../../../../generated/console.ts'
import type { EndpointValues } from './form.tsx'
import { headerLines, headersOf } from './header-lines.ts'
import { policyInput, policyValues } from './policy.ts'

type Fields = Pick<EndpointFragment, 'url' | 'description' | 'eventTypes' | 'discussionIds' | 'headers' | 'ownPolicy'>

/**
 * The fields that differ from `before`, the form's initial values. The others are left out, because
 * someone else may have changed them.
 */
export function changedFields(
  { url, description, eventTypes, discussionIds, headers, ownPolicy }: Fields,
  { policy, ...after }: EndpointValues,
): Partial<Omit<EndpointValues, 'policy'>> & { policy?: Partial<EndpointValues['policy']> } {
  const kept = headersOf(headerLines(headers))
  const before = {
    url,
    description: description ?? null,
    eventTypes,
    discussionIds: discussionIds ?? null,
    headers: kept,
  }
  const fields = differing(before, after)
  const own = differing(policyInput(policyValues(ownPolicy)), policy)
  return Object.keys(own).length === 0 ? fields : { ...fields, policy: own }
}

const differing = <Values extends object>(before: Values, after: Values): Partial<Values> =>
  Object.fromEntries(
    Object.entries(after).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof Values]),
    ),
  ) as Partial<Values>

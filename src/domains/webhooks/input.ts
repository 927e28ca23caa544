import { z } from 'zod'

import type { Tenant } from '../../core/caller.ts'
import { ServiceError, validationFailed } from '../../core/errors.ts'
import { WEBHOOK_EVENT_TYPES } from '../../core/events.ts'
import { isId } from '../../core/ids.ts'
import type { Settings } from '../../core/settings/settings.ts'
import { webhookPolicySchema } from '../../core/settings/tenant.ts'
import { atMost, noNul } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import { isDistinct, wrong } from '../../core/input/schemas.ts'
import { readOverrides, type StoredPolicy } from './rules/policy.ts'
import { ownHeaders } from './rules/headers.ts'
import { outboundUrl, type UrlSettings } from './rules/urls.ts'

/** The fields of an endpoint that callers set, at registration and later. */
export const endpointFields = (settings: UrlSettings & Pick<Settings, 'HEADER_PREFIX'>) =>
  z.object({
    url: outboundUrl(settings).optional(),
    eventTypes: eventTypes.optional(),
    description: noNul(atMost(500, z.string())).nullable().optional(),
    headers: ownHeaders(settings).optional(),
    discussionIds: discussionIds.nullable().optional(),
    policy: z.record(z.string(), policyValue.nullable().optional()).nullable().optional(),
  })

const discussionIds = z
  .array(z.string().refine(isId, wrong('wrong_format', 'must be an id')))
  .min(1)
  .max(100)

/** The bounds of each value are those of the resulting policy (`changePolicy`). */
const policyValue = z.union([z.number(), z.string(), z.boolean()])

const SUBSCRIBABLE: ReadonlySet<string> = new Set(['*', ...WEBHOOK_EVENT_TYPES])

const eventTypes = z
  .array(
    z
      .string()
      .refine((type) => SUBSCRIBABLE.has(type), wrong('not_allowed', `must be one of ${[...SUBSCRIBABLE].join(', ')}`)),
  )
  .min(1)
  .refine(isDistinct, wrong('repeated', 'must not repeat an event type'))

/**
 * The fields of an endpoint for the reference: without what this process's settings allow in
 * addition, and with the bounds of the policy.
 */
export const documentedFields = (): z.ZodType => {
  const bounds = Object.entries(webhookPolicySchema.shape).map(([name, value]) => [name, value.unwrap().nullish()])
  const policy: z.ZodType = z.strictObject(Object.fromEntries(bounds) as Record<string, z.ZodType>)
  const closed = {
    WEBHOOK_ALLOW_HTTP: false,
    WEBHOOK_ALLOWED_CIDRS: [],
    WEBHOOK_ALLOWED_PORTS: [],
    HEADER_PREFIX: 'X-Service-',
  }
  return endpointFields(closed).extend({ policy: policy.nullish() })
}

/** The event types, as an input by themselves. */
export const eventTypesSchema = z.object({ eventTypes })

type PolicyValue = z.infer<typeof policyValue>
type PolicyPatch = Readonly<Record<string, PolicyValue | null | undefined>> | null | undefined

/**
 * The stored overrides after a change: given values replace old ones, null returns to the tenant's
 * value. Values stored by a newer release stay. Throws `validation_failed` below `/policy` if the
 * resulting policy violates its bounds.
 */
export function changePolicy({ settings }: Tenant, stored: StoredPolicy, patch: PolicyPatch): StoredPolicy {
  if (patch === undefined) return stored
  if (patch === null) return {}
  const given = withoutNull(patch)
  const known = withoutNull({ ...readOverrides(stored), ...patch })
  try {
    validate(webhookPolicySchema, { ...settings.webhookPolicy, ...known })
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { errors = [] } = error.extras
    throw validationFailed(errors.map((entry) => ({ ...entry, pointer: `/policy${entry.pointer}` })))
  }
  const kept = Object.entries(stored).filter(([name]) => !Object.hasOwn(patch, name))
  return { ...Object.fromEntries(kept), ...given }
}

const withoutNull = (values: Readonly<Record<string, PolicyValue | null | undefined>>): Record<string, PolicyValue> =>
  Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value == null ? [] : [[name, value]])))

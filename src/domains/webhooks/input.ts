import { z } from 'zod'

import type { Tenant } from '../../core/context.ts'
import { ServiceError, validationFailed } from '../../core/errors.ts'
import { WEBHOOK_EVENT_TYPES } from '../../core/events.ts'
import type { Settings } from '../../core/settings.ts'
import { type WebhookPolicy, webhookPolicySchema } from '../../core/tenant-settings.ts'
import { isCleanUrl, noNul } from '../../core/texts.ts'
import { validate } from '../../core/validate.ts'
import { createAddressRule, createPortRule, literalAddress } from './addresses.ts'
import type { PolicyOverrides } from './policy.ts'

type UrlSettings = Pick<Settings, 'WEBHOOK_ALLOW_HTTP' | 'WEBHOOK_ALLOWED_CIDRS' | 'WEBHOOK_ALLOWED_PORTS'>

/** What can be said of an endpoint, at registration and later (contract, sections 4, 5 and 7). */
export const endpointFields = (settings: UrlSettings) =>
  z.object({
    url: webhookUrl(settings).optional(),
    eventTypes: eventTypes.optional(),
    description: noNul(z.string()).max(500).nullable().optional(),
    policy: z.record(z.string(), z.number().nullable().optional()).nullable().optional(),
  })

const SUBSCRIBABLE: ReadonlySet<string> = new Set(['*', ...WEBHOOK_EVENT_TYPES])

const eventTypes = z
  .array(
    z.string().refine((type) => SUBSCRIBABLE.has(type), {
      message: `must be one of ${[...SUBSCRIBABLE].join(', ')}`,
      params: { code: 'not_allowed' },
    }),
  )
  .min(1)
  .refine((types) => new Set(types).size === types.length, {
    message: 'must not repeat an event type',
    params: { code: 'repeated' },
  })

/** The same for the reference: without what the process's own settings open, and with the bounds of the policy. */
export const documentedFields = (): z.ZodType => {
  const bounds = Object.entries(webhookPolicySchema.shape).map(([name, value]) => [name, value.unwrap().nullish()])
  const policy: z.ZodType = z.strictObject(Object.fromEntries(bounds) as Record<string, z.ZodType>)
  const closed = { WEBHOOK_ALLOW_HTTP: false, WEBHOOK_ALLOWED_CIDRS: [], WEBHOOK_ALLOWED_PORTS: [] }
  return endpointFields(closed).extend({ policy: policy.nullish() })
}

const MAX_URL_LENGTH = 2048

function webhookUrl(settings: UrlSettings): z.ZodType<string> {
  return z
    .string()
    .max(MAX_URL_LENGTH)
    .superRefine((text, issues) => {
      const refusal = refuseUrl(text, settings)
      if (refusal !== null) issues.addIssue({ code: 'custom', message: refusal[1], params: { code: refusal[0] } })
    })
}

/** What is wrong with a URL, as code and words. A host name is judged when it is connected to: what it resolves to may change. */
function refuseUrl(text: string, settings: UrlSettings): [code: string, message: string] | null {
  if (!isCleanUrl(text) || !URL.canParse(text)) return ['invalid_url', 'must be a URL']
  const url = new URL(text)
  const { protocol, username, password, hostname } = url
  const isHttp = protocol === 'http:' && settings.WEBHOOK_ALLOW_HTTP
  if (protocol !== 'https:' && !isHttp) return ['https_required', 'must be an https URL']
  if (username !== '' || password !== '') return ['credentials_not_allowed', 'must not hold credentials']
  if (!createPortRule(settings)(url)) return ['port_not_allowed', 'must not point to a port of another service']
  const address = literalAddress(hostname)
  if (address !== null && !createAddressRule(settings.WEBHOOK_ALLOWED_CIDRS)(address)) {
    return ['address_not_allowed', 'must not point to a private or reserved address']
  }
  return null
}

/** Which events, where they are asked for by themselves. */
export const eventTypesSchema = z.object({ eventTypes })

type PolicyPatch = Readonly<Record<string, number | null | undefined>> | null | undefined

/** Overrides after a change: what is given replaces, null takes back to the tenant's. */
export function mergePolicy(overrides: PolicyOverrides, patch: PolicyPatch): PolicyOverrides {
  if (patch === undefined) return overrides
  if (patch === null) return {}
  return Object.fromEntries(Object.entries({ ...overrides, ...patch }).filter(([, value]) => value != null))
}

/** Overrides whose policy in force keeps the contract's bounds. Throws `validation_failed` below `/policy`. */
export function requirePolicy({ settings }: Tenant, overrides: PolicyOverrides): PolicyOverrides {
  try {
    validate(webhookPolicySchema, { ...settings.webhookPolicy, ...overrides } satisfies WebhookPolicy)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { errors = [] } = error.extras
    throw validationFailed(errors.map((entry) => ({ ...entry, pointer: `/policy${entry.pointer}` })))
  }
  return overrides
}

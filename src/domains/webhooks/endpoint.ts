import type { Tenant } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import type { WebhookPolicy } from '../../core/tenant-settings.ts'
import type { EndpointState } from '../../generated/prisma/enums.ts'
import { effectivePolicy, type PolicyOverrides } from './policy.ts'
import type { EndpointRow } from './sql.ts'

/** A webhook endpoint (contract, section 4). */
export interface WebhookEndpoint {
  id: Id
  url: string
  description: string | null
  eventTypes: string[]
  state: EndpointState
  circuit: 'closed' | 'open' | 'half_open'
  circuitOpenUntil: Date | null
  consecutiveFailures: number
  disabledReason: string | null
  policy: WebhookPolicy
  ownPolicy: PolicyOverrides
  secrets: { kid: string; createdAt: Date; expiresAt: Date | null }[]
  /** Whether a handshake is due or under way: how it ends will be in `lastVerification`. */
  verificationPending: boolean
  lastVerification: { at: Date; ok: boolean; error: string | null } | null
  createdAt: Date
  updatedAt: Date
}

/** What an audit entry keeps of an endpoint: what people set, not what changes by itself. Of secrets, their names. */
export function auditForm(row: EndpointRow, tenant: Tenant) {
  const { url, description, eventTypes, state, policy, secrets } = endpointOf(row, tenant)
  return { url, description, eventTypes, state, policy, kids: secrets.map(({ kid }) => kid) }
}

/** An endpoint as the contract shows it. */
export function endpointOf(row: EndpointRow, tenant: Tenant): WebhookEndpoint {
  const { lastVerificationAt: at, lastVerificationOk: ok, lastVerificationError: error, circuitOpenUntil } = row
  return {
    id: row.id,
    url: row.url,
    description: row.description,
    eventTypes: row.eventTypes,
    state: row.state,
    circuit: circuitOpenUntil === null ? 'closed' : circuitOpenUntil.getTime() > Date.now() ? 'open' : 'half_open',
    circuitOpenUntil,
    consecutiveFailures: row.consecutiveFailures,
    disabledReason: row.disabledReason,
    policy: effectivePolicy(tenant.settings, row.policy),
    ownPolicy: row.policy,
    secrets: row.secrets.map(({ kid, createdAt, expiresAt }) => ({
      kid,
      createdAt: new Date(createdAt),
      expiresAt: expiresAt === null ? null : new Date(expiresAt),
    })),
    verificationPending: row.challenge !== null,
    lastVerification: at === null || ok === null ? null : { at, ok, error },
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

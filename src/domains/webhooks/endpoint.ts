import type { Tenant } from '../../core/caller.ts'
import type { Id } from '../../core/ids.ts'
import { PUBLIC_SECRET } from '../../core/secrets/secrets.ts'
import type { Prisma, WebhookEndpoint as EndpointRow } from '../../generated/prisma/client.ts'
import { effectivePolicy } from './rules/policy.ts'

/** The public fields of an own header: its value is never shown. */
const PUBLIC_HEADER = { name: true } as const

/** A webhook endpoint, with its valid secrets. */
export type WebhookEndpoint = Prisma.WebhookEndpointGetPayload<{
  include: { secrets: { select: typeof PUBLIC_SECRET }; headers: { select: typeof PUBLIC_HEADER } }
}>

/** The names of its headers. */
export const HEADERS = { select: PUBLIC_HEADER, orderBy: { name: 'asc' } } as const

/** Its secrets that are valid at `now`, newest first. */
export const validSecrets = (now: Date) =>
  ({
    select: PUBLIC_SECRET,
    where: { OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
    orderBy: [{ expiresAt: { sort: 'desc', nulls: 'first' } }, { kid: 'asc' }],
  }) satisfies Prisma.WebhookEndpoint$secretsArgs

/** Includes both. */
export const withSecrets = () =>
  ({ headers: HEADERS, secrets: validSecrets(new Date()) }) satisfies Prisma.WebhookEndpointInclude

export const endpointWhere = (tenantId: Id, id: Id) => ({ tenantId_id: { tenantId, id } })

/**
 * The form of an endpoint in the audit log: the fields that people set, and the names of its
 * secrets.
 */
export function auditForm(endpoint: WebhookEndpoint, tenant: Tenant) {
  const { url, description, eventTypes, discussionIds, state, pausedAt, secrets, headers } = endpoint
  const policy = effectivePolicy(tenant.settings, endpoint.policy)
  const names = { kids: secrets.map(({ kid }) => kid), headers: headers.map(({ name }) => name) }
  return { url, description, eventTypes, discussionIds, state, pausedAt, policy, ...names }
}

/** The state of an endpoint's circuit breaker. */
export function circuitOf({ circuitOpenUntil }: EndpointRow): 'closed' | 'open' | 'half_open' {
  if (circuitOpenUntil === null) return 'closed'
  return circuitOpenUntil.getTime() > Date.now() ? 'open' : 'half_open'
}

/** Until when an endpoint's receiver asks for no deliveries; null if it does not, or no longer. */
export const pausedUntilOf = ({ pausedUntil }: EndpointRow): Date | null =>
  pausedUntil !== null && pausedUntil.getTime() > Date.now() ? pausedUntil : null

/** The last failed attempt at an endpoint's present URL; null without one. */
export const lastFailureOf = ({ lastFailureAt: at, lastFailure: error }: EndpointRow) =>
  at === null || error === null ? null : { at, error }

/** The result of an endpoint's last handshake; null without one. */
export function lastVerificationOf(endpoint: EndpointRow): { at: Date; ok: boolean; error: string | null } | null {
  const { lastVerificationAt: at, lastVerificationOk: ok, lastVerificationError: error } = endpoint
  return at === null || ok === null ? null : { at, ok, error }
}

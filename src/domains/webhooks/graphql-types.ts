import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import { ofRequest } from '../../core/context.ts'
import { policyOverridesSchema, type WebhookPolicy, webhookPolicySchema } from '../../core/settings/tenant.ts'
import { builder, type ObjectFields } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { ONLY_WHERE_NAMED } from '../../graphql/in-rest.ts'
import { NodeRef } from '../../graphql/node.ts'
import { inputFields, outputFields } from '../../graphql/checked.ts'
import { MEASURED } from '../../graphql/plan.ts'
import { secretType } from '../../graphql/secret-type.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { findDiscussion } from '../discussions/discussions.ts'
import { DiscussionRef } from '../discussions/graphql.ts'
import {
  attemptsOf,
  countHeldDeliveries,
  deliveryHeaders,
  getBody,
  headersOf,
  HELD_LIMIT,
  type ListedAttempt,
  nextAttemptOf,
} from './deliveries.ts'
import {
  circuitOf,
  HEADERS,
  lastFailureOf,
  lastVerificationOf,
  pausedUntilOf,
  validSecrets,
  type WebhookEndpoint,
} from './endpoint.ts'
import { findWebhookEndpoint } from './webhooks.ts'
import { effectivePolicy, type PolicyOverrides, readOverrides } from './rules/policy.ts'

const EndpointStateEnum = addEnum('WebhookEndpointState', 'Whether an endpoint gets deliveries.', {
  unverified: 'Its ownership handshake has not succeeded. It gets no deliveries.',
  verified: 'It gets deliveries.',
  disabled: 'Too many attempts failed in a row, or it answered 410. Only an admin can enable it.',
})

const CircuitEnum = addEnum('WebhookCircuit', 'The circuit breaker of an endpoint.', {
  closed: 'Deliveries are attempted.',
  open: 'No deliveries are attempted.',
  half_open: 'The next attempt decides whether it closes or opens.',
})

export const DeliveryStatusEnum = addEnum('DeliveryStatus', 'The status of a delivery.', {
  pending: 'It waits for its next attempt.',
  delivering: 'An attempt is under way.',
  delivered: 'The receiver answered 2xx.',
  failed: 'No attempt is left.',
  held: 'Its endpoint is disabled.',
})

export const DeliveryAnswerEnum = builder.enumType('DeliveryAnswer', {
  description: "What the last attempt of a delivery got: the class of the answer's HTTP status.",
  values: {
    http_2xx: { value: 2, description: 'A status from 200 to 299.' },
    http_3xx: { value: 3, description: 'A status from 300 to 399.' },
    http_4xx: { value: 4, description: 'A status from 400 to 499.' },
    http_5xx: { value: 5, description: 'A status from 500 on.' },
    none: { value: 0, description: 'There was no answer.' },
  },
})

const PolicyRef = builder.objectRef<WebhookPolicy>('WebhookPolicy').implement({
  description: 'How deliveries are attempted and retried: the values in force.',
  fields: (t) => outputFields(t, webhookPolicySchema.shape),
})

const OwnPolicyRef = builder.objectRef<PolicyOverrides>('WebhookOwnPolicy').implement({
  description: "The values that an endpoint sets itself. For null, the tenant's value applies.",
  fields: (t) => outputFields(t, policyOverridesSchema.shape),
})

export const PolicyInput = builder.inputType('WebhookPolicyInput', {
  description: "The values that an endpoint sets itself. For null or an absent field, the tenant's value applies.",
  fields: (t) => inputFields(t, policyOverridesSchema.shape),
})

const SecretRef = secretType('WebhookSecret', {
  description: 'The public part of a signing secret.',
  kid: 'Names the secret in signatures: 8 hex characters.',
  expiresAt: 'When it expires. Null until a newer secret replaces it.',
})

const HeaderRef = builder.objectRef<{ name: string }>('WebhookHeader').implement({
  description: 'A header that deliveries to an endpoint carry. Its value is never shown.',
  fields: (t) => ({ name: t.exposeString('name', { description: 'Its name, in lower case.' }) }),
})

export const HeaderInput = builder.inputType('WebhookHeaderInput', {
  description: 'A header that deliveries to an endpoint carry.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name, at most 100 characters.' }),
    value: t.string({
      description: 'Its value, visible ASCII, at most 4 096 characters. Null keeps the stored one of this name.',
    }),
  }),
})

const VerificationRef = builder
  .objectRef<NonNullable<ReturnType<typeof lastVerificationOf>>>('WebhookVerification')
  .implement({
    description: 'How an ownership handshake ended.',
    fields: (t) => ({
      at: t.expose('at', { type: 'DateTime', description: 'When it ended.' }),
      ok: t.exposeBoolean('ok', { description: 'Whether it succeeded.' }),
      error: t.exposeString('error', { nullable: true, description: 'Why it failed.' }),
    }),
  })

const FailureRef = builder.objectRef<NonNullable<ReturnType<typeof lastFailureOf>>>('WebhookFailure').implement({
  description: 'A failed attempt at a delivery.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When it was made.' }),
    error: t.exposeString('error', { description: 'Why it failed.' }),
  }),
})

/** One for a request: Pothos reads once for several fields only where they select the same. */
const nowIn = ofRequest(() => new Date())

export const WebhookEndpointRef = builder.prismaObject('WebhookEndpoint', {
  description: 'An address that receives events as signed JSON.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Its id.' }),
    url: t.exposeString('url', { description: 'Where deliveries go.' }),
    description: t.exposeString('description', { nullable: true, description: "The tenant's own note." }),
    eventTypes: t.exposeStringList('eventTypes', { description: 'The event types that it gets. `*` means all.' }),
    discussionIds: t.field({
      type: ['ID'],
      nullable: true,
      description: 'The discussions whose events it gets. Null means all.',
      resolve: ({ discussionIds }) => (discussionIds.length === 0 ? null : discussionIds),
    }),
    headers: t.field({
      type: [HeaderRef],
      description: 'The headers of its own, without their values.',
      select: { headers: HEADERS },
      resolve: ({ headers }) => headers,
    }),
    state: t.expose('state', { type: EndpointStateEnum, description: 'Whether it gets deliveries.' }),
    circuit: t.field({ type: CircuitEnum, description: 'Its circuit breaker.', resolve: circuitOf }),
    circuitOpenUntil: t.expose('circuitOpenUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'When the open circuit lets an attempt through.',
    }),
    pausedAt: t.expose('pausedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was paused: its deliveries wait until it is resumed. Null if it is not paused.',
    }),
    pausedUntil: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Until when no deliveries are attempted, because the receiver asked for it with `Retry-After`.',
      resolve: pausedUntilOf,
    }),
    consecutiveFailures: t.exposeInt('consecutiveFailures', { description: 'Failed attempts since the last success.' }),
    lastFailure: t.field({
      type: FailureRef,
      nullable: true,
      description: 'The last failed attempt at its present URL.',
      resolve: lastFailureOf,
    }),
    disabledReason: t.exposeString('disabledReason', {
      nullable: true,
      description: 'Why it is disabled; `gone` if it answered 410.',
    }),
    policy: t.field({
      type: PolicyRef,
      description: "The policy in force: its own values, then the tenant's.",
      resolve: ({ policy }, _args, ctx) => effectivePolicy(requireCaller(ctx).tenant.settings, policy),
    }),
    ownPolicy: t.field({
      type: OwnPolicyRef,
      description: 'The values that the endpoint sets itself.',
      extensions: ONLY_WHERE_NAMED,
      resolve: ({ policy }) => readOverrides(policy),
    }),
    secrets: t.field({
      type: [SecretRef],
      description: 'Its signing secrets, newest first, without the secrets.',
      select: (_args, ctx) => ({ secrets: validSecrets(nowIn(ctx)) }),
      resolve: ({ secrets }) => secrets,
    }),
    deliveriesHeld: t.int({
      description: `Deliveries that wait for it to be enabled. Counted up to ${HELD_LIMIT.toLocaleString('en').replace(',', ' ')}: that number means that many or more.`,
      extensions: ONLY_WHERE_NAMED,
      resolve: ({ id }, _args, ctx) => countHeldDeliveries(ctx, id),
    }),
    verificationPending: t.boolean({
      description: 'Whether a handshake is due or running. lastVerification has its result.',
      extensions: ONLY_WHERE_NAMED,
      resolve: ({ challenge }) => challenge !== null,
    }),
    lastVerification: t.field({
      type: VerificationRef,
      nullable: true,
      description: 'How the last handshake ended.',
      resolve: lastVerificationOf,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was registered.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
  }),
})

export const ENDPOINT_ID = 'The id of the endpoint.'

/** The endpoint in the payload of a mutation. It has all columns, so that nothing is read again. */
export const changedEndpoint = (t: ObjectFields<{ webhookEndpoint: WebhookEndpoint }>, description = 'The endpoint.') =>
  t.prismaField({
    type: WebhookEndpointRef,
    description,
    resolve: (_query, { webhookEndpoint }) => webhookEndpoint,
  })

const HEADERS_SHAPE = z.record(z.string(), z.string())

const AttemptRef = builder.objectRef<ListedAttempt>('DeliveryAttempt').implement({
  description: 'One attempt to deliver.',
  fields: (t) => ({
    n: t.exposeInt('n', { description: '1 for the first.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When it began.' }),
    durationMs: t.exposeInt('durationMs', { description: 'The duration in milliseconds.' }),
    statusCode: t.exposeInt('statusCode', {
      nullable: true,
      description: 'The HTTP status of the answer. Null if nothing answered.',
    }),
    error: t.exposeString('error', { nullable: true, description: 'Why it failed. Null if it succeeded.' }),
    responseSnippet: t.exposeString('responseSnippet', {
      nullable: true,
      description: "The first part of the answer's body, at most 1 KiB.",
    }),
    requestHeaders: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'The headers that were sent, without signatures. The values of own headers are `[redacted]`. They stand here also where no connection was made: see `error`. Null if there was nothing to send, and for attempts of earlier releases.',
      extensions: { ...shapedBy(HEADERS_SHAPE), ...MEASURED, ...ONLY_WHERE_NAMED },
      resolve: async (attempt, _args, ctx) => (await headersOf(ctx, attempt))?.sent ?? null,
    }),
    responseHeaders: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'The headers of the answer: the first 30, of 2 KiB together. The values of cookies are `[redacted]`. Null where `requestHeaders` is.',
      extensions: { ...shapedBy(HEADERS_SHAPE), ...MEASURED, ...ONLY_WHERE_NAMED },
      resolve: async (attempt, _args, ctx) => (await headersOf(ctx, attempt))?.answered ?? null,
    }),
  }),
})

export const DeliveryRef = builder.prismaObject('Delivery', {
  description: 'The delivery of one event to one endpoint.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the delivery, the same at each attempt.' }),
    endpointId: t.exposeID('endpointId', { description: 'The id of the endpoint.' }),
    endpoint: t.field({
      type: WebhookEndpointRef,
      nullable: true,
      description: 'The endpoint. Null for a moment after its deletion.',
      extensions: ONLY_WHERE_NAMED,
      resolve: ({ endpointId }, _args, ctx) => findWebhookEndpoint(ctx, endpointId),
    }),
    eventId: t.exposeID('eventId', { description: 'The id of the event.' }),
    eventType: t.exposeString('eventType', { description: 'The type of the event.' }),
    discussionId: t.exposeID('discussionId', {
      description: 'The id of the discussion that the event happened in; of a test, an invented one.',
    }),
    discussion: t.field({
      type: DiscussionRef,
      nullable: true,
      description: 'That discussion. Null for a test.',
      extensions: ONLY_WHERE_NAMED,
      resolve: ({ discussionId }, _args, ctx) => findDiscussion(ctx, discussionId),
    }),
    status: t.expose('status', { type: DeliveryStatusEnum, description: 'The status of the delivery.' }),
    attempts: t.field({
      type: [AttemptRef],
      description: 'The attempts, oldest first.',
      resolve: ({ id }, _args, ctx) => attemptsOf(ctx, id),
    }),
    nextAttemptAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'When the next attempt is due, after an open circuit and the pause that its receiver asked for. Null while none can be made.',
      resolve: (delivery, _args, ctx) => nextAttemptOf(ctx, delivery),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the event was written.' }),
    deliveredAt: t.expose('deliveredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the receiver accepted it.',
    }),
    body: t.string({
      nullable: true,
      description:
        'The body that an attempt would send now, without texts that were withdrawn since. Null once the event has left the event log.',
      extensions: MEASURED,
      resolve: (delivery, _args, ctx) => getBody(ctx, delivery),
    }),
    headers: t.field({
      type: 'JSON',
      description: 'The headers that each attempt sends, except timestamp and signature.',
      extensions: { ...shapedBy(HEADERS_SHAPE), ...MEASURED },
      resolve: (delivery, _args, ctx) => deliveryHeaders(ctx, delivery),
    }),
  }),
})

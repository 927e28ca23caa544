import { builder } from '../../graphql/builder.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { SHOWN_ONCE, shownOnce } from '../../graphql/shown-once.ts'
import * as deliveries from './deliveries.ts'
import { documentedFields } from './input.ts'
import {
  changedEndpoint,
  DeliveryAnswerEnum,
  DeliveryRef,
  DeliveryStatusEnum,
  ENDPOINT_ID,
  HeaderInput,
  PolicyInput,
  WebhookEndpointRef,
} from './graphql-types.ts'
import * as webhooks from './webhooks.ts'

builder.queryField('webhookEndpoint', (t) =>
  t.prismaField({
    type: WebhookEndpointRef,
    access: 'manage_webhooks',
    description: 'Returns a webhook endpoint.',
    args: { id: t.arg.id({ required: true, description: ENDPOINT_ID }) },
    // It always has all: the same row serves other fields of the request.
    resolve: (_query, _root, args, ctx) => webhooks.getWebhookEndpoint(ctx, args),
  }),
)

builder.queryField('webhookEndpoints', (t) =>
  t.prismaPage({
    type: WebhookEndpointRef,
    list: 'webhooks',
    access: 'manage_webhooks',
    description: 'Returns the webhook endpoints of the tenant, newest first.',
    resolve: (query, ctx) => webhooks.listWebhookEndpoints(ctx, query),
  }),
)

builder.queryField('webhookDeliveries', (t) =>
  t.connection({
    type: DeliveryRef,
    access: 'manage_webhooks',
    description: 'Returns the deliveries to an endpoint, newest first.',
    args: {
      id: t.arg.id({ required: true, description: ENDPOINT_ID }),
      status: t.arg({ type: DeliveryStatusEnum, description: 'Only deliveries with this status.' }),
      eventType: t.arg.string({ description: 'Only deliveries of this event type.' }),
      eventId: t.arg.id({ description: 'Only deliveries of this event, redeliveries included.' }),
      commentId: t.arg.id({ description: 'Only deliveries of events about this comment.' }),
      answer: t.arg({ type: DeliveryAnswerEnum, description: 'Only deliveries whose last attempt got this.' }),
      from: t.arg({ type: 'DateTime', description: 'Only deliveries created from this instant on.' }),
      to: t.arg({ type: 'DateTime', description: 'Only deliveries created before this instant.' }),
    },
    resolve: (_root, args, ctx) => deliveries.listDeliveries(ctx, args),
  }),
)

builder.queryField('deliveries', (t) =>
  t.connection({
    type: DeliveryRef,
    access: 'manage_webhooks',
    description: 'Returns the deliveries to all endpoints, newest first.',
    args: {
      eventId: t.arg.id({ description: 'Only deliveries of this event, redeliveries included.' }),
      commentId: t.arg.id({ description: 'Only deliveries of events about this comment.' }),
    },
    resolve: (_root, args, ctx) => deliveries.listAllDeliveries(ctx, args),
  }),
)

builder.queryField('webhookDelivery', (t) =>
  t.field({
    type: DeliveryRef,
    access: 'manage_webhooks',
    description: 'Returns a delivery with its body, headers and attempts.',
    args: {
      id: t.arg.id({ required: true, description: ENDPOINT_ID }),
      deliveryId: t.arg.id({ required: true, description: 'The id of the delivery.' }),
    },
    resolve: (_root, args, ctx) => deliveries.getDelivery(ctx, args),
  }),
)

const FIELDS = {
  url: 'The https address that receives deliveries, at most 2 048 characters.',
  eventTypes: 'Names of events, or `*` for all of them.',
  description: 'A note of your own, at most 500 characters.',
  policy: 'How deliveries are attempted and retried.',
  headers: 'Headers of your own that each request carries, at most 10. Their values are never shown.',
  discussionIds: 'Only events of these discussions, at most 100. Null means all.',
} as const

addMutation('createWebhookEndpoint', {
  shape: documentedFields(),
  input: (t) => ({
    url: t.string({ required: true, description: FIELDS.url }),
    eventTypes: t.stringList({ description: `${FIELDS.eventTypes} The default is all.` }),
    description: t.string({ description: FIELDS.description }),
    headers: t.field({ type: [HeaderInput], description: FIELDS.headers }),
    discussionIds: t.idList({ description: FIELDS.discussionIds }),
    policy: t.field({ type: PolicyInput, description: FIELDS.policy }),
  }),
  access: 'manage_webhooks',
  throws: ['endpoint_budget_exhausted'],
  description: 'Registers an endpoint and starts its ownership handshake.',
  resolve: (input, ctx) => webhooks.createWebhookEndpoint(ctx, input),
  output: (t) => ({
    webhookEndpoint: changedEndpoint(t),
    secret: t.string({ ...shownOnce('secret'), description: `Its signing secret. ${SHOWN_ONCE}` }),
    standardSecret: t.string({
      ...shownOnce('standardSecret'),
      description: `The same secret for libraries of Standard Webhooks. ${SHOWN_ONCE}`,
    }),
    kid: t.exposeString('kid', { description: 'The id of the secret, as signatures name it.' }),
  }),
})

addMutation('updateWebhookEndpoint', {
  shape: documentedFields(),
  input: (t) => ({
    id: t.id({ required: true, description: ENDPOINT_ID }),
    url: t.string({ description: `${FIELDS.url} A new address must be verified again.` }),
    eventTypes: t.stringList({ description: FIELDS.eventTypes }),
    description: t.string({ description: `${FIELDS.description} Null removes it.` }),
    headers: t.field({
      type: [HeaderInput],
      description: `${FIELDS.headers} They replace the present ones, which another origin of the address drops.`,
    }),
    discussionIds: t.idList({ description: FIELDS.discussionIds }),
    policy: t.field({ type: PolicyInput, description: `${FIELDS.policy} Absent fields do not change.` }),
  }),
  access: 'manage_webhooks',
  description: 'Changes the given fields of an endpoint.',
  resolve: async (input, ctx) => ({ webhookEndpoint: await webhooks.updateWebhookEndpoint(ctx, input) }),
  output: (t) => ({
    webhookEndpoint: changedEndpoint(t),
  }),
})

addMutation('deleteWebhookEndpoint', {
  input: (t) => ({ id: t.id({ required: true, description: ENDPOINT_ID }) }),
  access: 'manage_webhooks',
  description: 'Deletes an endpoint and cancels its deliveries. No further attempts are made.',
  resolve: async (input, ctx) => ({ webhookEndpoint: await webhooks.deleteWebhookEndpoint(ctx, input) }),
  output: (t) => ({
    webhookEndpoint: changedEndpoint(t, 'The endpoint as it was.'),
    deletedWebhookEndpointId: t.id({
      description: 'The id of the endpoint.',
      resolve: ({ webhookEndpoint }) => webhookEndpoint.id,
    }),
  }),
})

import { builder } from '../../schema/builder.ts'
import { SHOWN_ONCE, shownOnce } from '../../schema/shown-once.ts'
import { rotateWebhookSecret } from './rotation.ts'
import { redeliverDelivery, replayWebhookEvents, testWebhookEndpoint } from './sending.ts'
import { DeliveryRef, WebhookEndpointRef } from './types.ts'
import { enableWebhookEndpoint, verifyWebhookEndpoint } from './verification.ts'

const ENDPOINT_ID = 'The id of the endpoint.'

builder.relayMutationField(
  'verifyWebhookEndpoint',
  { inputFields: (t) => ({ id: t.id({ required: true, description: ENDPOINT_ID }) }) },
  {
    access: 'manage_webhooks',
    description: 'Starts the ownership handshake of an endpoint again. A disabled one stays disabled.',
    resolve: async (_root, { input }, ctx) => ({ webhookEndpoint: await verifyWebhookEndpoint(ctx, input) }),
  },
  {
    outputFields: (t) => ({
      webhookEndpoint: t.expose('webhookEndpoint', {
        type: WebhookEndpointRef,
        description: 'The endpoint, unverified, its handshake under way.',
      }),
    }),
  },
)

builder.relayMutationField(
  'enableWebhookEndpoint',
  { inputFields: (t) => ({ id: t.id({ required: true, description: ENDPOINT_ID }) }) },
  {
    access: 'admin',
    throws: ['invalid_transition'],
    description: 'Puts a disabled endpoint on again and queues its held deliveries.',
    resolve: async (_root, { input }, ctx) => ({ webhookEndpoint: await enableWebhookEndpoint(ctx, input) }),
  },
  {
    outputFields: (t) => ({
      webhookEndpoint: t.expose('webhookEndpoint', {
        type: WebhookEndpointRef,
        description: 'The endpoint; unverified where its present URL has yet to prove itself.',
      }),
    }),
  },
)

builder.relayMutationField(
  'rotateWebhookSecret',
  {
    inputFields: (t) => ({
      id: t.id({ required: true, description: ENDPOINT_ID }),
      force: t.boolean({
        description: 'Ends the older secret of a rotation that is still under way, instead of being refused.',
      }),
    }),
  },
  {
    access: 'manage_webhooks',
    throws: ['invalid_transition'],
    description: 'Gives an endpoint a new signing secret. The present one signs as well for 24 hours.',
    resolve: (_root, { input }, ctx) => rotateWebhookSecret(ctx, input),
  },
  {
    outputFields: (t) => ({
      webhookEndpoint: t.expose('webhookEndpoint', { type: WebhookEndpointRef, description: 'The endpoint.' }),
      secret: t.string({ ...shownOnce('secret'), description: `Its new signing secret. ${SHOWN_ONCE}` }),
      kid: t.exposeString('kid', { description: 'The id of the new secret, as signatures name it.' }),
    }),
  },
)

builder.relayMutationField(
  'testWebhookEndpoint',
  {
    inputFields: (t) => ({
      id: t.id({ required: true, description: ENDPOINT_ID }),
      eventType: t.string({ required: true, description: 'The event that an example is made of.' }),
    }),
  },
  {
    access: 'manage_webhooks',
    throws: ['invalid_transition'],
    description: 'Sends an example event to a verified endpoint. Its `seq` is 0, and a header marks it as a test.',
    resolve: async (_root, { input }, ctx) => ({ delivery: await testWebhookEndpoint(ctx, input) }),
  },
  { outputFields: (t) => ({ delivery: t.expose('delivery', { type: DeliveryRef, description: 'Its delivery.' }) }) },
)

builder.relayMutationField(
  'redeliverDelivery',
  {
    inputFields: (t) => ({
      id: t.id({ required: true, description: ENDPOINT_ID }),
      deliveryId: t.id({ required: true, description: 'The id of the delivery to repeat.' }),
    }),
  },
  {
    access: 'manage_webhooks',
    throws: ['invalid_transition'],
    description:
      'Delivers once more what a delivery carried, without texts that were withdrawn since, under the same idempotency key.',
    resolve: async (_root, { input }, ctx) => ({ delivery: await redeliverDelivery(ctx, input) }),
  },
  {
    outputFields: (t) => ({ delivery: t.expose('delivery', { type: DeliveryRef, description: 'The new delivery.' }) }),
  },
)

builder.relayMutationField(
  'replayWebhookEvents',
  {
    inputFields: (t) => ({
      id: t.id({ required: true, description: ENDPOINT_ID }),
      from: t.field({ type: 'DateTime', required: true, description: 'From when on events happened.' }),
      to: t.field({ type: 'DateTime', description: 'Until when they happened; now where it is left out.' }),
      eventTypes: t.stringList({ description: 'Which events; those that the endpoint gets where it is left out.' }),
    }),
  },
  {
    access: 'manage_webhooks',
    throws: ['invalid_transition'],
    description:
      'Queues the events of a span that were neither delivered to an endpoint nor are on their way to it, at most ' +
      '200 000 at once, oldest first. They go out behind everything else.',
    resolve: (_root, { input }, ctx) => replayWebhookEvents(ctx, input),
  },
  { outputFields: (t) => ({ queued: t.exposeInt('queued', { description: 'How many were queued.' }) }) },
)

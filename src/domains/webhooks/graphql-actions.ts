import type { Access } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { ErrorCode } from '../../core/error-table.ts'
import type { Id } from '../../core/ids.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { SHOWN_ONCE, shownOnce } from '../../graphql/shown-once.ts'
import { revokeWebhookSecret, rotateWebhookSecret } from './rotation.ts'
import {
  redeliverDeliveries,
  redeliverDelivery,
  redeliverInput,
  replayWebhookEvents,
  testWebhookEndpoint,
} from './sending/sending.ts'
import type { WebhookEndpoint } from './endpoint.ts'
import { changedEndpoint, DeliveryRef, ENDPOINT_ID } from './graphql-types.ts'
import { pauseWebhookEndpoint, resumeWebhookEndpoint } from './pause.ts'
import { probeWebhookEndpoint } from './probe.ts'
import { enableWebhookEndpoint, verifyWebhookEndpoint } from './verification.ts'

/** Adds a mutation that changes the endpoint of an id, and answers the endpoint. */
function addEndpointMutation(
  name: string,
  change: (ctx: Ctx, input: { id: Id }) => Promise<WebhookEndpoint>,
  { answer, ...field }: { access: Access; throws?: readonly ErrorCode[]; description: string; answer: string },
): void {
  addMutation(name, {
    input: (t) => ({ id: t.id({ required: true, description: ENDPOINT_ID }) }),
    ...field,
    resolve: async (input, ctx) => ({ webhookEndpoint: await change(ctx, input) }),
    output: (t) => ({ webhookEndpoint: changedEndpoint(t, answer) }),
  })
}

addEndpointMutation('verifyWebhookEndpoint', verifyWebhookEndpoint, {
  access: 'manage_webhooks',
  description: 'Restarts the ownership handshake of an endpoint. A disabled endpoint stays disabled.',
  answer: 'The endpoint, unverified while its handshake runs.',
})

addEndpointMutation('enableWebhookEndpoint', enableWebhookEndpoint, {
  access: 'admin',
  throws: ['invalid_transition'],
  description: 'Enables a disabled endpoint and queues its held deliveries.',
  answer: 'The endpoint. It is unverified if its present URL has not passed the handshake.',
})

addEndpointMutation('pauseWebhookEndpoint', pauseWebhookEndpoint, {
  access: 'manage_webhooks',
  description:
    'Pauses an endpoint: nothing is sent to it, and its deliveries wait. An endpoint that is paused already stays as it is.',
  answer: 'The paused endpoint.',
})

addEndpointMutation('resumeWebhookEndpoint', resumeWebhookEndpoint, {
  access: 'manage_webhooks',
  description:
    'Resumes a paused endpoint: its deliveries go out, at first a few at once. An endpoint that is not paused stays as it is.',
  answer: 'The resumed endpoint.',
})

addEndpointMutation('probeWebhookEndpoint', probeWebhookEndpoint, {
  access: 'manage_webhooks',
  throws: ['invalid_transition'],
  description:
    'Lets an endpoint whose circuit is open try now: the delivery that waits longest is attempted, and decides ' +
    'whether the circuit closes. If none waits, the next one decides.',
  answer: 'The endpoint, half open until the attempt ends.',
})

addMutation('rotateWebhookSecret', {
  input: (t) => ({
    id: t.id({ required: true, description: ENDPOINT_ID }),
    force: t.boolean({
      description:
        'Ends the previous rotation early instead of refusing this one: its older secret stops signing at once.',
    }),
  }),
  access: 'manage_webhooks',
  throws: ['invalid_transition'],
  description: 'Creates a signing secret for an endpoint. The previous secret also signs for 24 hours.',
  resolve: (input, ctx) => rotateWebhookSecret(ctx, input),
  output: (t) => ({
    webhookEndpoint: changedEndpoint(t),
    secret: t.string({ ...shownOnce('secret'), description: `Its new signing secret. ${SHOWN_ONCE}` }),
    standardSecret: t.string({
      ...shownOnce('standardSecret'),
      description: `The same secret for libraries of Standard Webhooks. ${SHOWN_ONCE}`,
    }),
    kid: t.exposeString('kid', { description: 'The id of the new secret, as signatures name it.' }),
  }),
})

addMutation('revokeWebhookSecret', {
  input: (t) => ({
    id: t.id({ required: true, description: ENDPOINT_ID }),
    kid: t.id({ required: true, description: 'The id of the secret to end.' }),
  }),
  access: 'manage_webhooks',
  throws: ['not_found'],
  description:
    'Ends a signing secret of an endpoint at once. This is final. Without another one its deliveries wait until the secret is rotated.',
  resolve: async (input, ctx) => ({ webhookEndpoint: await revokeWebhookSecret(ctx, input) }),
  output: (t) => ({
    webhookEndpoint: changedEndpoint(t),
  }),
})

addMutation('testWebhookEndpoint', {
  input: (t) => ({
    id: t.id({ required: true, description: ENDPOINT_ID }),
    eventType: t.string({ required: true, description: 'The event type of the example.' }),
  }),
  access: 'manage_webhooks',
  throws: ['invalid_transition'],
  description: 'Sends an example event to a verified endpoint. Its `seq` is 0, and a header marks it as a test.',
  resolve: async (input, ctx) => ({ delivery: await testWebhookEndpoint(ctx, input) }),
  output: (t) => ({ delivery: t.expose('delivery', { type: DeliveryRef, description: 'Its delivery.' }) }),
})

addMutation('redeliverDelivery', {
  input: (t) => ({
    id: t.id({ required: true, description: ENDPOINT_ID }),
    deliveryId: t.id({ required: true, description: 'The id of the delivery to repeat.' }),
  }),
  access: 'manage_webhooks',
  throws: ['invalid_transition'],
  description:
    'Delivers the event of a delivery again with the same idempotency key, without texts that were withdrawn since.',
  resolve: async (input, ctx) => ({ delivery: await redeliverDelivery(ctx, input) }),
  output: (t) => ({ delivery: t.expose('delivery', { type: DeliveryRef, description: 'The new delivery.' }) }),
})

addMutation('redeliverDeliveries', {
  shape: redeliverInput,
  input: (t) => ({
    id: t.id({ required: true, description: ENDPOINT_ID }),
    deliveryIds: t.idList({ required: true, description: 'The ids of the deliveries to repeat, 1 to 100.' }),
  }),
  access: 'manage_webhooks',
  throws: ['invalid_transition'],
  description:
    'Delivers the events of several deliveries to an endpoint again, each once: all of them, or none. ' +
    'They keep their idempotency keys, and have no texts that were withdrawn since.',
  resolve: async (input, ctx) => ({ deliveries: await redeliverDeliveries(ctx, input) }),
  output: (t) => ({
    deliveries: t.expose('deliveries', { type: [DeliveryRef], description: 'The new deliveries, oldest first.' }),
  }),
})

addMutation('replayWebhookEvents', {
  input: (t) => ({
    id: t.id({ required: true, description: ENDPOINT_ID }),
    from: t.field({ type: 'DateTime', required: true, description: 'Only events from this instant on.' }),
    to: t.field({ type: 'DateTime', description: 'Only events before this instant. The default is now.' }),
    eventTypes: t.stringList({ description: 'Only these event types. The default is those of the endpoint.' }),
  }),
  access: 'manage_webhooks',
  throws: ['invalid_transition'],
  description:
    'Queues the events of a time span that were not delivered to an endpoint and are not queued for it, oldest first, ' +
    'at most 200 000 per request. They are sent after all other deliveries.',
  resolve: (input, ctx) => replayWebhookEvents(ctx, input),
  output: (t) => ({ queued: t.exposeInt('queued', { description: 'The number of queued events.' }) }),
})

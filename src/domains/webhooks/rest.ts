import type { RouteDefinition } from '../../graphql/route.ts'

/** The one delivery, with what its attempts send. */
export const fragments = [
  'fragment DeliveryDetailFields on Delivery { ...DeliveryFields attempts { ...DeliveryAttemptDetailFields } body headers }',
  'fragment DeliveryAttemptDetailFields on DeliveryAttempt { ...DeliveryAttemptFields requestHeaders responseHeaders }',
]

export const routes: readonly RouteDefinition[] = [
  { route: 'POST /webhooks', summary: 'Create a webhook endpoint', field: 'createWebhookEndpoint', status: 201 },
  { route: 'GET /webhooks', summary: 'List webhook endpoints', field: 'webhookEndpoints' },
  {
    route: 'GET /webhooks/:id',
    summary: 'Retrieve a webhook endpoint',
    field: 'webhookEndpoint',
    select: '...WebhookEndpointFields deliveriesHeld verificationPending',
  },
  { route: 'PATCH /webhooks/:id', summary: 'Update a webhook endpoint', field: 'updateWebhookEndpoint' },
  { route: 'DELETE /webhooks/:id', summary: 'Delete a webhook endpoint', field: 'deleteWebhookEndpoint', status: 204 },
  {
    route: 'GET /webhooks/:id/health',
    summary: "Retrieve a webhook endpoint's health",
    field: 'webhookEndpointHealth',
  },
  {
    route: 'POST /webhooks/:id/verify',
    summary: 'Verify a webhook endpoint',
    field: 'verifyWebhookEndpoint',
    status: 202,
  },
  { route: 'POST /webhooks/:id/pause', summary: 'Pause a webhook endpoint', field: 'pauseWebhookEndpoint' },
  { route: 'POST /webhooks/:id/resume', summary: 'Resume a webhook endpoint', field: 'resumeWebhookEndpoint' },
  {
    route: 'POST /webhooks/:id/probe',
    summary: 'Try a webhook endpoint now',
    field: 'probeWebhookEndpoint',
    status: 202,
  },
  {
    route: 'POST /webhooks/:id/rotate-secret',
    summary: "Rotate a webhook endpoint's secret",
    field: 'rotateWebhookSecret',
  },
  {
    route: 'DELETE /webhooks/:id/secrets/:kid',
    summary: "End a webhook endpoint's secret",
    field: 'revokeWebhookSecret',
    status: 204,
  },
  { route: 'POST /webhooks/:id/test', summary: 'Send a test event', field: 'testWebhookEndpoint', status: 202 },
  {
    route: 'POST /webhooks/:id/replay',
    summary: 'Replay undelivered events',
    field: 'replayWebhookEvents',
    status: 202,
    // A copy has its own name in OpenAPI.
    answer: ({ replayWebhookEvents }: { replayWebhookEvents: object }) => ({ ...replayWebhookEvents }),
  },
  { route: 'POST /admin/webhooks/:id/enable', summary: 'Enable a webhook endpoint', field: 'enableWebhookEndpoint' },
  { route: 'GET /webhooks/:id/deliveries', summary: 'List webhook deliveries', field: 'webhookDeliveries' },
  { route: 'GET /deliveries', summary: 'List webhook deliveries to all endpoints', field: 'deliveries' },
  {
    route: 'GET /webhooks/:id/deliveries/:deliveryId',
    summary: 'Retrieve a webhook delivery',
    field: 'webhookDelivery',
    select: '...DeliveryDetailFields',
  },
  {
    route: 'POST /webhooks/:id/deliveries/:deliveryId/redeliver',
    summary: 'Redeliver a webhook delivery',
    field: 'redeliverDelivery',
    status: 202,
  },
  {
    route: 'POST /webhooks/:id/redeliver',
    summary: 'Redeliver several webhook deliveries',
    field: 'redeliverDeliveries',
    status: 202,
  },
]

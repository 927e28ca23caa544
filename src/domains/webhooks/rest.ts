import type { RouteDefinition } from '../../graphql/route.ts'

/** The one delivery, with what its attempts send. */
export const fragments = ['fragment DeliveryDetailFields on Delivery { ...DeliveryFields body headers }']

export const routes: readonly RouteDefinition[] = [
  {
    method: 'POST',
    path: '/webhooks',
    summary: 'Create a webhook endpoint',
    field: 'createWebhookEndpoint',
    status: 201,
  },
  { method: 'GET', path: '/webhooks', summary: 'List webhook endpoints', field: 'webhookEndpoints', status: 200 },
  {
    method: 'GET',
    path: '/webhooks/:id',
    summary: 'Retrieve a webhook endpoint',
    field: 'webhookEndpoint',
    select: '...WebhookEndpointFields deliveriesHeld verificationPending',
    status: 200,
  },
  {
    method: 'PATCH',
    path: '/webhooks/:id',
    summary: 'Update a webhook endpoint',
    field: 'updateWebhookEndpoint',
    status: 200,
  },
  {
    method: 'DELETE',
    path: '/webhooks/:id',
    summary: 'Delete a webhook endpoint',
    field: 'deleteWebhookEndpoint',
    status: 204,
  },
  {
    method: 'POST',
    path: '/webhooks/:id/verify',
    summary: 'Verify a webhook endpoint',
    field: 'verifyWebhookEndpoint',
    status: 202,
  },
  {
    method: 'POST',
    path: '/webhooks/:id/pause',
    summary: 'Pause a webhook endpoint',
    field: 'pauseWebhookEndpoint',
    status: 200,
  },
  {
    method: 'POST',
    path: '/webhooks/:id/resume',
    summary: 'Resume a webhook endpoint',
    field: 'resumeWebhookEndpoint',
    status: 200,
  },
  {
    method: 'POST',
    path: '/webhooks/:id/rotate-secret',
    summary: "Rotate a webhook endpoint's secret",
    field: 'rotateWebhookSecret',
    status: 200,
  },
  {
    method: 'DELETE',
    path: '/webhooks/:id/secrets/:kid',
    summary: "End a webhook endpoint's secret",
    field: 'revokeWebhookSecret',
    status: 204,
  },
  {
    method: 'POST',
    path: '/webhooks/:id/test',
    summary: 'Send a test event',
    field: 'testWebhookEndpoint',
    status: 202,
  },
  {
    method: 'POST',
    path: '/webhooks/:id/replay',
    summary: 'Replay undelivered events',
    field: 'replayWebhookEvents',
    status: 202,
    // A copy has its own name in OpenAPI.
    answer: ({ replayWebhookEvents }: { replayWebhookEvents: object }) => ({ ...replayWebhookEvents }),
  },
  {
    method: 'POST',
    path: '/admin/webhooks/:id/enable',
    summary: 'Enable a webhook endpoint',
    field: 'enableWebhookEndpoint',
    status: 200,
  },
  {
    method: 'GET',
    path: '/webhooks/:id/deliveries',
    summary: 'List webhook deliveries',
    field: 'webhookDeliveries',
    status: 200,
  },
  {
    method: 'GET',
    path: '/webhooks/:id/deliveries/:deliveryId',
    summary: 'Retrieve a webhook delivery',
    field: 'webhookDelivery',
    select: '...DeliveryDetailFields',
    status: 200,
  },
  {
    method: 'POST',
    path: '/webhooks/:id/deliveries/:deliveryId/redeliver',
    summary: 'Redeliver a webhook delivery',
    field: 'redeliverDelivery',
    status: 202,
  },
]

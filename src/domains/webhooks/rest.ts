import {
  CreateWebhookEndpointDocument,
  DeleteWebhookEndpointDocument,
  UpdateWebhookEndpointDocument,
  VerifyWebhookEndpointDocument,
  WebhookDeliveriesDocument,
  WebhookDeliveryDocument,
  WebhookEndpointDocument,
  WebhookEndpointsDocument,
} from '../../generated/documents.ts'
import { type Route, route } from '../../rest/route.ts'

export const routes: Route[] = [
  route({
    method: 'POST',
    path: '/webhooks',
    summary: 'Register a webhook endpoint',
    document: CreateWebhookEndpointDocument,
    status: 201,
    answer: ({ createWebhookEndpoint: { webhookEndpoint, secret, kid } }) => ({ ...webhookEndpoint, secret, kid }),
  }),
  route({
    method: 'GET',
    path: '/webhooks',
    summary: 'List webhook endpoints',
    document: WebhookEndpointsDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/webhooks/:id',
    summary: 'Get a webhook endpoint',
    document: WebhookEndpointDocument,
    status: 200,
  }),
  route({
    method: 'PATCH',
    path: '/webhooks/:id',
    summary: 'Change a webhook endpoint',
    document: UpdateWebhookEndpointDocument,
    status: 200,
  }),
  route({
    method: 'DELETE',
    path: '/webhooks/:id',
    summary: 'Delete a webhook endpoint and cancel its deliveries',
    document: DeleteWebhookEndpointDocument,
    status: 204,
  }),
  route({
    method: 'POST',
    path: '/webhooks/:id/verify',
    summary: 'Start the ownership handshake anew',
    document: VerifyWebhookEndpointDocument,
    status: 202,
  }),
  route({
    method: 'GET',
    path: '/webhooks/:id/deliveries',
    summary: 'List the deliveries to a webhook endpoint',
    document: WebhookDeliveriesDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/webhooks/:id/deliveries/:deliveryId',
    summary: 'Get a delivery with its body, headers and attempts',
    document: WebhookDeliveryDocument,
    status: 200,
  }),
]

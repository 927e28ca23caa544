import type { GraphQLSchema } from 'graphql'

import { EVENTS, WEBHOOK_EVENT_TYPES } from '../../core/events.ts'
import type { Settings } from '../../core/settings/settings.ts'
import { eventPayload, HANDSHAKE } from './event-payloads.ts'
import type { Components, Schema } from './json-schema.ts'
import { deliveryHeaders, VERIFYING } from './signatures.ts'

/** `webhooks` of OpenAPI: the request to an endpoint for each type of event, and the handshake. */
export function webhookItems(schema: GraphQLSchema, settings: Settings, components: Components) {
  const events = WEBHOOK_EVENT_TYPES.map((type) => {
    const { payload, example } = eventPayload(schema, type, components)
    const description = `${EVENTS[type].help}\n\n${VERIFYING}`
    return [type, webhookItem(settings, type, { description, payload, example, responses: TAKEN })] as const
  })
  const { summary: description, payload, example } = HANDSHAKE
  const handshake = webhookItem(settings, 'verification', { description, payload, example, responses: PASSED })
  return Object.fromEntries([...events, ['verification', handshake] as const])
}

interface Delivery {
  description: string
  payload: Schema
  example: object
  responses: object
}

const webhookItem = (settings: Settings, event: string, { description, payload, example, responses }: Delivery) => ({
  post: {
    tags: ['webhooks'],
    summary: event,
    description,
    security: [],
    parameters: headerParameters(deliveryHeaders(settings, event)),
    requestBody: { required: true, content: { 'application/json': { schema: payload, example } } },
    responses,
  },
})

/** Without `Content-Type`, which OpenAPI has as the media type of the body. */
const headerParameters = ({ properties = {}, required }: Schema) =>
  Object.entries(properties)
    .filter(([name]) => name !== 'Content-Type')
    .map(([name, { description, ...schema }]) => ({
      name,
      in: 'header',
      required: (required as readonly string[]).includes(name),
      description,
      schema,
    }))

const TAKEN = {
  '2XX': { description: 'The endpoint has taken the delivery.' },
  default: { description: 'The attempt failed. A timeout is a failure as well. Redirects are not followed.' },
}

const PASSED = {
  200: {
    description: 'The endpoint is verified.',
    content: { 'application/json': { schema: HANDSHAKE.answer, example: HANDSHAKE.answerExample } },
  },
  default: { description: 'The endpoint is not verified.' },
}

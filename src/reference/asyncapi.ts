import { type GraphQLSchema, isObjectType } from 'graphql'

import { EVENT_TYPES, EVENTS, type EventType, WEBHOOK_EVENT_TYPES } from '../core/events.ts'
import type { Settings } from '../core/settings.ts'
import { API_BASE } from '../rest/route.ts'
import { eventDocument } from '../rest/routes.ts'
import { selectionSchema } from './answers.ts'
import { type Components, createComponents, type Schema } from './json-schema.ts'
import { deliveryHeaders, VERIFYING } from './signatures.ts'
import { exampleOf, type Schemas } from './examples.ts'

const ID = { type: 'string', format: 'uuid' }

/** AsyncAPI 3 of the stream and the webhooks: made from the catalogue of events and the types of GraphQL. */
export function asyncApiDocument(schema: GraphQLSchema, settings: Settings, baseUrl: string) {
  const components = createComponents()
  const events = EVENT_TYPES.map((type) => [type, eventMessage(schema, type, components)] as const)
  const messages = Object.fromEntries(events)
  const deliveries = WEBHOOK_EVENT_TYPES.map((type) => [type, deliveryMessage(type, settings, messages)] as const)
  const { host, protocol, pathname } = new URL(baseUrl)
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Engagement Service: events',
      version: '1',
      description: `One event, one JSON: on the stream, in webhooks and in GraphQL subscriptions. \`seq\` counts 1, 2, 3, … per discussion without a hole, in commit order.\n\nThe requests of the API are described in [openapi.json](openapi.json).`,
      license: { name: 'MIT' },
    },
    defaultContentType: 'application/json',
    servers: {
      service: {
        host,
        protocol: protocol.replace(':', ''),
        ...(pathname === '/' ? {} : { pathname }),
        description: 'Where streams are opened.',
      },
    },
    channels: { stream: streamChannel(), webhook: webhookChannel() },
    operations: {
      follow: {
        action: 'send',
        channel: { $ref: '#/channels/stream' },
        summary: 'The service sends the events of a discussion to those who follow it.',
        messages: [...EVENT_TYPES, ...Object.keys(FRAMING)].map((name) => ({
          $ref: `#/channels/stream/messages/${name}`,
        })),
      },
      deliver: {
        action: 'send',
        channel: { $ref: '#/channels/webhook' },
        summary: 'The service posts each event to the verified endpoints that subscribe to it, until a 2xx answers it.',
        messages: [...WEBHOOK_EVENT_TYPES, 'verification'].map((name) => ({
          $ref: `#/channels/webhook/messages/${name}`,
        })),
      },
    },
    components: {
      schemas: components.schemas,
      messages: {
        ...messages,
        ...FRAMING,
        ...Object.fromEntries(deliveries.map(([type, message]) => [`delivery_${type}`, message])),
        verification: verificationMessage(settings),
      },
    },
  }
}

const messageRefs = (entries: readonly (readonly [string, string])[]) =>
  Object.fromEntries(entries.map(([name, component]) => [name, { $ref: `#/components/messages/${component}` }]))

const streamChannel = () => ({
  address: `${API_BASE}/stream/{discussionId}`,
  title: 'Stream',
  description: STREAM,
  servers: [{ $ref: '#/servers/service' }],
  parameters: { discussionId: { description: 'The discussion.' } },
  messages: messageRefs([...EVENT_TYPES, ...Object.keys(FRAMING)].map((name) => [name, name])),
})

const STREAM = `Server-sent events. The \`id:\` of an event is its \`seq\`, its \`event:\` its type, its \`data:\` the JSON below. \`Last-Event-ID\`, or \`lastEventId\` in the query, resumes strictly after it.

The first frame is \`retry:\` and \`connected\`. Framing events carry no \`id:\`. A comment line comes every 15 s of silence.`

const webhookChannel = () => ({
  address: null,
  title: 'Webhook',
  description: `A POST to the address of each endpoint. ${VERIFYING}`,
  messages: messageRefs([
    ...WEBHOOK_EVENT_TYPES.map((type) => [type, `delivery_${type}`] as const),
    ['verification', 'verification'] as const,
  ]),
})

function eventMessage(schema: GraphQLSchema, type: EventType, components: Components) {
  const data = schema.getType(EVENTS[type].data)
  if (!isObjectType(data)) throw new Error(`${type}: ${EVENTS[type].data} is no type of the schema`)
  const actor = components.refTo('EventActor', ACTOR)
  const payload = eventSchema(type, actor, selectionSchema(data, eventDocument, components))
  return {
    name: type,
    contentType: 'application/json',
    payload: components.refTo(`${type}_event`, payload),
    examples: [{ name: type, payload: eventExample(payload, components.schemas) }],
  }
}

const eventExample = (payload: Schema, schemas: Schemas): object => exampleOf(payload, schemas, 'Event') as object

const eventSchema = (type: EventType, actor: Schema, data: Schema): Schema => ({
  type: 'object',
  properties: {
    id: { ...ID, description: 'The id of the event, the same everywhere.' },
    type: { type: 'string', enum: [type] },
    discussionId: { ...ID, description: 'Where it happened.' },
    seq: { type: 'integer', minimum: 1, description: '1, 2, 3, … per discussion, in commit order.' },
    occurredAt: { type: 'string', format: 'date-time', description: 'When it happened.' },
    actor,
    data,
  },
  required: ['id', 'type', 'discussionId', 'seq', 'occurredAt', 'actor', 'data'],
})

const kindOf = (kind: string): Schema => ({ type: 'string', enum: [kind] })

const ACTOR: Schema = {
  description: 'Who did it. Only of a reader is more said.',
  anyOf: [
    {
      type: 'object',
      properties: { kind: kindOf('reader'), readerId: ID, externalId: { type: 'string' } },
      required: ['kind', 'readerId', 'externalId'],
    },
    { type: 'object', properties: { kind: kindOf('moderator') }, required: ['kind'] },
    { type: 'object', properties: { kind: kindOf('system') }, required: ['kind'] },
  ],
}

const lastEventId = { type: 'string', description: 'The position that the stream has reached.' }

/** Events of the stream itself. */
const FRAMING = {
  connected: {
    name: 'connected',
    contentType: 'application/json',
    summary: 'The stream is open, and what was missed follows.',
    payload: {
      type: 'object',
      properties: {
        lastEventId,
        replayed: { type: 'integer', description: 'How many missed events follow.' },
        complete: {
          type: 'boolean',
          description: 'Whether these are all. If not, what was asked for is too old: load the data anew.',
        },
      },
      required: ['lastEventId', 'replayed', 'complete'],
    },
    examples: [{ payload: { lastEventId: '42', replayed: 0, complete: true } }],
  },
  'connection-timeout': {
    name: 'connection-timeout',
    contentType: 'application/json',
    summary: 'The stream ends in good order: connect again with this position.',
    payload: { type: 'object', properties: { lastEventId }, required: ['lastEventId'] },
    examples: [{ payload: { lastEventId: '42' } }],
  },
}

const deliveryMessage = (type: EventType, settings: Settings, messages: Record<string, { payload: Schema }>) => ({
  name: type,
  contentType: 'application/json',
  headers: deliveryHeaders(settings, type),
  payload: messages[type]?.payload ?? {},
})

const verificationMessage = (settings: Settings) => ({
  name: 'verification',
  contentType: 'application/json',
  summary: 'The handshake: answer 200 with a JSON object that has the same `challenge`.',
  headers: deliveryHeaders(settings, 'verification'),
  payload: {
    type: 'object',
    properties: {
      type: kindOf('verification'),
      challenge: { type: 'string', pattern: '^[0-9a-f]{64}$' },
      timestamp: { type: 'string', format: 'date-time' },
    },
    required: ['type', 'challenge', 'timestamp'],
  },
  examples: [{ payload: { type: 'verification', challenge: '0f'.repeat(32), timestamp: '2026-11-21T02:30:00.000Z' } }],
})

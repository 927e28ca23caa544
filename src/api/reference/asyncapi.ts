import type { GraphQLSchema } from 'graphql'

import { EVENT_TYPES, type EventType, WEBHOOK_EVENT_TYPES } from '../../core/events.ts'
import type { Settings } from '../../core/settings/settings.ts'
import { API_BASE } from '../../graphql/route.ts'
import { eventPayload, HANDSHAKE } from './event-payloads.ts'
import { type Components, createComponents, type Schema } from './json-schema.ts'
import { deliveryHeaders, VERIFYING } from './signatures.ts'

/**
 * The AsyncAPI 3 document of the stream and the webhooks, made from the catalogue of events and the
 * GraphQL types.
 */
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
        description: 'The address of the streams.',
      },
    },
    channels: { stream: streamChannel(), streamOfSeveral: streamOfSeveralChannel(), webhook: webhookChannel() },
    operations: {
      follow: {
        action: 'send',
        channel: { $ref: '#/channels/stream' },
        summary: 'The service sends the events of a discussion to its streams.',
        messages: [...EVENT_TYPES, ...Object.keys(FRAMING)].map((name) => ({
          $ref: `#/channels/stream/messages/${name}`,
        })),
      },
      followSeveral: {
        action: 'send',
        channel: { $ref: '#/channels/streamOfSeveral' },
        summary: 'The service sends the events of several discussions to a stream of all of them.',
        messages: [...EVENT_TYPES, ...Object.keys(FRAMING_OF_SEVERAL)].map((name) => ({
          $ref: `#/channels/streamOfSeveral/messages/${name}`,
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
        ...componentsOfSeveral(),
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

const streamOfSeveralChannel = () => ({
  address: `${API_BASE}/stream`,
  title: 'Stream of several discussions',
  description: STREAM_OF_SEVERAL,
  servers: [{ $ref: '#/servers/service' }],
  messages: messageRefs([
    ...EVENT_TYPES.map((name) => [name, name] as const),
    ...Object.keys(FRAMING_OF_SEVERAL).map((name) => [name, ofSeveral(name)] as const),
  ]),
})

/** The component of a framing event of a stream of several discussions. */
const ofSeveral = (name: string): string => (name === 'connected' ? 'connected-several' : name)

const componentsOfSeveral = () =>
  Object.fromEntries(Object.entries(FRAMING_OF_SEVERAL).map(([name, message]) => [ofSeveral(name), message]))

const STREAM_OF_SEVERAL = `Server-sent events of the discussions of a ticket, those of each discussion in order. The \`id:\` of an event is a cursor: the position in every discussion. \`Last-Event-ID\`, or \`lastEventId\` in the query, resumes all of them strictly after it.`

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
  const { payload, example } = eventPayload(schema, type, components)
  return { name: type, contentType: 'application/json', payload, examples: [{ name: type, payload: example }] }
}

const lastEventId = { type: 'string', description: 'The position that the stream has reached.' }

/** Events of the stream itself. */
const FRAMING = {
  connected: {
    name: 'connected',
    contentType: 'application/json',
    summary: 'The stream is open. The missed events follow.',
    payload: {
      type: 'object',
      properties: {
        lastEventId,
        replayed: { type: 'integer', description: 'How many missed events follow.' },
        complete: {
          type: 'boolean',
          description: 'Whether the replay is complete. If not, the position is too old: load the data again.',
        },
      },
      required: ['lastEventId', 'replayed', 'complete'],
    },
    examples: [{ payload: { lastEventId: '42', replayed: 0, complete: true } }],
  },
  'connection-timeout': {
    name: 'connection-timeout',
    contentType: 'application/json',
    summary: 'The stream ends as planned. Connect again with this position.',
    payload: { type: 'object', properties: { lastEventId }, required: ['lastEventId'] },
    examples: [{ payload: { lastEventId: '42' } }],
  },
}

const idsOf = (description: string) => ({ type: 'array', items: { type: 'string', format: 'uuid' }, description })

/** The same of a stream of several discussions. */
const FRAMING_OF_SEVERAL = {
  ...FRAMING,
  connected: {
    ...FRAMING.connected,
    payload: {
      type: 'object',
      properties: {
        ...FRAMING.connected.payload.properties,
        incomplete: idsOf('The discussions whose position is too old: load their data again.'),
        gone: idsOf('The discussions that were deleted.'),
      },
      required: [...FRAMING.connected.payload.required, 'incomplete', 'gone'],
    },
    examples: [
      { payload: { lastEventId: '8f3a01c2-12.0.407', replayed: 0, complete: true, incomplete: [], gone: [] } },
    ],
  },
  'discussion-gone': {
    name: 'discussion-gone',
    contentType: 'application/json',
    summary: 'A discussion was deleted. The stream goes on with the others.',
    payload: {
      type: 'object',
      properties: { discussionId: { type: 'string', format: 'uuid', description: 'The discussion.' } },
      required: ['discussionId'],
    },
    examples: [{ payload: { discussionId: '01980000-0000-7000-8000-000000000001' } }],
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
  summary: HANDSHAKE.summary,
  headers: deliveryHeaders(settings, 'verification'),
  payload: HANDSHAKE.payload,
  examples: [{ payload: HANDSHAKE.example }],
})

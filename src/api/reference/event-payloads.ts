import { type GraphQLSchema, isObjectType } from 'graphql'

import { EVENTS, type EventType } from '../../core/events.ts'
import { eventDocument } from '../rest/routes.ts'
import { selectionSchema } from './answers.ts'
import { exampleOf } from './examples.ts'
import { type Components, described, type Schema } from './json-schema.ts'

const ID = { type: 'string', format: 'uuid' }

const kindOf = (kind: string): Schema => ({ type: 'string', enum: [kind] })

/** The schema of an event's JSON, as a component, and an example of it. */
export function eventPayload(schema: GraphQLSchema, type: EventType, components: Components) {
  const data = schema.getType(EVENTS[type].data)
  if (!isObjectType(data)) throw new Error(`${type}: ${EVENTS[type].data} is no type of the schema`)
  const actor = components.refTo('EventActor', ACTOR)
  const payload = eventSchema(type, actor, selectionSchema(data, eventDocument, components))
  return {
    payload: components.refTo(`${type}_event`, payload),
    example: exampleOf(payload, components.schemas, 'Event') as object,
  }
}

const eventSchema = (type: EventType, actor: Schema, data: Schema): Schema => ({
  type: 'object',
  properties: {
    id: { ...ID, description: 'The id of the event, the same everywhere.' },
    type: { ...kindOf(type), description: 'The type of the event.' },
    discussionId: { ...ID, description: 'The discussion of the event.' },
    seq: {
      type: 'integer',
      minimum: 0,
      description: '1, 2, 3, … per discussion, in commit order; 0 in a test delivery.',
    },
    occurredAt: { type: 'string', format: 'date-time', description: 'When it happened.' },
    actor: described(actor, 'Who did it.'),
    data: described(data, 'What the event is about.'),
  },
  required: ['id', 'type', 'discussionId', 'seq', 'occurredAt', 'actor', 'data'],
})

const ACTOR: Schema = {
  description: 'Who did it. A reader has ids, until they are erased.',
  anyOf: [
    {
      type: 'object',
      properties: { kind: kindOf('reader'), readerId: ID, externalId: { type: 'string' } },
      required: ['kind'],
    },
    { type: 'object', properties: { kind: kindOf('moderator') }, required: ['kind'] },
    { type: 'object', properties: { kind: kindOf('system') }, required: ['kind'] },
  ],
}

const challenge = {
  type: 'string',
  pattern: '^[0-9a-f]{64}$',
  description: 'The text that the answer must repeat.',
}

/** The handshake that verifies an endpoint: its request, and the expected answer. */
export const HANDSHAKE = {
  summary: 'The handshake: answer 200 with a JSON object that has the same `challenge`.',
  payload: {
    type: 'object',
    properties: {
      type: { ...kindOf('verification'), description: 'Tells the handshake from an event.' },
      challenge,
      timestamp: { type: 'string', format: 'date-time', description: 'When it was sent.' },
    },
    required: ['type', 'challenge', 'timestamp'],
  },
  example: { type: 'verification', challenge: '0f'.repeat(32), timestamp: '2026-11-21T02:30:00.000Z' },
  answer: { type: 'object', properties: { challenge }, required: ['challenge'] },
  answerExample: { challenge: '0f'.repeat(32) },
}

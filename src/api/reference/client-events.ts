import type { GraphQLSchema } from 'graphql'

import { EVENT_TYPES, EVENTS, type EventType, WEBHOOK_EVENT_TYPES } from '../../core/events.ts'
import { eventPayload } from './event-payloads.ts'
import { createComponents, type Schema, withoutNull } from './json-schema.ts'

/** Names of types for clients, where they differ from the schema. */
const NAMES: Readonly<Record<string, string>> = {
  EventActor: 'Actor',
  ReactionEventData: 'Reaction',
  ReplyNotificationData: 'ReplyNotification',
}

const HEAD = `// Events as they are sent, for backends (\`engagement-service/webhooks\`) and pages
// (\`engagement-service/client\`). Made from the schema by \`npm run generate\`: edit that.
`

const TAIL = `
type EventsOf<Data> = { [Type in keyof Data]: EventOf<Type, Data[Type]> }[keyof Data]

/** What a stream and a webhook both bring; \`type\` tells which. */
export type CommonEvent = EventsOf<CommonData>

/** What a stream brings: also replies to the reader whom its ticket names. */
export type StreamEvent = EventsOf<StreamData>
`

/**
 * The types of events for clients, as the text of a module: AsyncAPI in TypeScript. A client has no
 * imports, so it has them as a file of its own.
 */
export function eventTypes(schema: GraphQLSchema): string {
  const components = createComponents()
  for (const name of EVENT_TYPES) eventPayload(schema, name, components)
  const { schemas } = components
  const parts = Object.entries(schemas)
    .filter(([name, { enum: values }]) => !name.endsWith('_event') && values === undefined)
    .map(([name, shape]) => declaration(name, shape, schemas))
  const { properties = {} } = schemas[`${EVENT_TYPES[0]}_event`] ?? {}
  const { type, data } = properties
  const envelope = { ...properties, type: { ...type, $ref: 'Type' }, data: { ...data, $ref: 'Data' } }
  return [
    HEAD,
    ...parts,
    `interface EventOf<Type, Data> ${membersOf({ properties: envelope, required: Object.keys(envelope) }, schemas)}`,
    `/** The data of each event that streams and webhooks bring. */\ninterface CommonData ${dataOf(WEBHOOK_EVENT_TYPES)}`,
    `/** The data of each event that streams bring. */\ninterface StreamData extends CommonData ${dataOf(
      EVENT_TYPES.filter((name) => !EVENTS[name].webhook),
    )}`,
    TAIL,
  ].join('\n\n')
}

const EVENT_NAMES = /(EVENT_TYPES: readonly StreamEvent\['type'\]\[\] = )\[[^\]]*\]/

/** The browser client's module, with the list of events that it listens for. */
export function withEventNames(module: string): string {
  if (!EVENT_NAMES.test(module)) throw new Error('the client of the browser has no list of the events')
  return module.replace(EVENT_NAMES, `$1[${EVENT_TYPES.map((type) => `'${type}'`).join(', ')}]`)
}

const dataOf = (types: readonly EventType[]): string =>
  `{\n${types.map((type) => `${comment(EVENTS[type].help)}${type}: ${nameOf(EVENTS[type].data)}`).join('\n')}\n}`

function declaration(name: string, type: Schema, schemas: Schemas): string {
  const about = comment(type.description)
  return type.properties === undefined
    ? `${about}export type ${nameOf(name)} = ${typeOf(type, schemas)}`
    : `${about}export interface ${nameOf(name)} ${membersOf(type, schemas)}`
}

type Schemas = Readonly<Record<string, Schema>>

function membersOf({ properties = {}, required = [] }: Schema & { required?: string[] }, schemas: Schemas): string {
  const members = Object.entries(properties).map(([name, type]) => {
    const { shape, hasNull } = withoutNull(type)
    const mark = required.includes(name) ? '' : '?'
    return `${comment(type.description)}${name}${mark}: ${typeOf(shape, schemas)}${hasNull ? ' | null' : ''};`
  })
  // The formatter keeps objects on one line if their first member is beside the brace.
  return Object.values(properties).some(({ description }) => description !== undefined)
    ? `{\n${members.join('\n')}\n}`
    : `{ ${members.join(' ')} }`
}

/** The type for an event's JSON Schema. Throws for a form that no event has had before. */
function typeOf(schema: Schema, schemas: Schemas): string {
  const { $ref, anyOf, enum: values, type, properties, items, additionalProperties } = schema
  if (typeof $ref === 'string') {
    const name = $ref.split('/').at(-1) ?? ''
    // An enumeration is written out, because readers want to see its values.
    const named = schemas[name]
    return named?.enum === undefined ? nameOf(name) : typeOf(named, schemas)
  }
  if (Array.isArray(anyOf)) return anyOf.map((choice) => typeOf(choice as Schema, schemas)).join(' | ')
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(' | ')
  if (Array.isArray(type)) return type.map((each) => typeOf({ ...schema, type: each as string }, schemas)).join(' | ')
  if (properties !== undefined) return membersOf(schema, schemas)
  if (type === 'object') return `Record<string, ${typeOf(additionalProperties as Schema, schemas)}>`
  if (type === 'array') return `(${typeOf(items as Schema, schemas)})[]`
  if (type === 'integer') return 'number'
  if (type === 'string' || type === 'boolean' || type === 'null') return type
  throw new Error(`src/api/reference/client-events.ts knows no TypeScript type for ${JSON.stringify(schema)}`)
}

const nameOf = (name: string): string => NAMES[name] ?? name

/** A description as a comment before a member, in lines of at most 100 columns. */
function comment(description: unknown): string {
  if (typeof description !== 'string') return ''
  if (description.length <= 91) return `/** ${description} */\n`
  const lines = ['']
  for (const word of description.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`
    if (longer.length > 96) lines.push(` ${word}`)
    else lines.splice(-1, 1, longer)
  }
  return `/**\n${lines.map((line) => ` *${line}\n`).join('')} */\n`
}

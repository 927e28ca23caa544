import { type GraphQLSchema, isObjectType, Kind, visit } from 'graphql'

import { ERRORS, type ErrorCode } from '../../../core/error-table.ts'
import { EVENT_TYPES, EVENTS } from '../../../core/events.ts'
import { readSettings } from '../../../core/settings/settings.ts'
import { PUBLIC_SETTINGS } from '../../../core/settings/tenant.ts'
import { eventDocument } from '../../rest/routes.ts'
import { asyncApiDocument } from '../asyncapi.ts'
import { environmentPage } from './environment.ts'
import { graphqlPage } from './graphql.ts'
import { code, page, table } from './markdown.ts'
import { metricsPage } from './metrics.ts'
import { openApiDocument } from '../openapi.ts'
import { restPages } from './rest.ts'
import { type SettingField, settingsTable } from './settings.ts'

const SETTINGS = readSettings({}, () => ({ ADMIN_JWT_SECRET: '', ENCRYPTION_KEY: Buffer.alloc(32) }))
const BASE_URL = 'https://comments.example.com'

/** The generated pages of `docs/reference`, by file name. */
export const referencePages = (schema: GraphQLSchema): Record<string, string> => ({
  'environment.md': environmentPage(),
  'settings.md': settingsPage(schema),
  'errors.md': errorsPage(schema),
  'events.md': eventsPage(schema),
  'graphql.md': graphqlPage(schema),
  'metrics.md': metricsPage(),
  ...restPages(schema, SETTINGS, BASE_URL),
})

const PUBLIC = new Intl.ListFormat('en-GB').format(PUBLIC_SETTINGS.map(code))

function settingsPage(schema: GraphQLSchema): string {
  const { groups, fields } = settingsTable(schema)
  const of = (group: string | null): string =>
    table(
      ['Setting', 'Default', 'Values', 'Meaning'],
      fields
        .filter((field) => field.group === group)
        .map((field) => [code(field.path), code(field.default), valuesOf(field), field.meaning]),
    )
  return page('Tenant settings', '`src/core/settings/tenant.ts`', [
    `The settings of a tenant: \`GET\` and \`PATCH /api/v1/settings\`, in GraphQL \`settings\` and \`updateSettings\`, and the console. They need \`manage_settings\`. \`GET /api/v1/settings/public\` gives any key the settings that a page for readers needs: ${PUBLIC}. The settings of a process are in [environment](environment.md). The service follows a change within seconds; a page that is open shows it when it is next loaded.`,
    of(null),
    ...groups.flatMap(({ name, description, isNullable }) => [
      `## ${code(name)}`,
      isNullable ? `${description} ${code(name)} is null unless it is set.` : description,
      of(name),
    ]),
  ])
}

function valuesOf({ type, isNullable, values, bounds, itemBounds, items, unit }: SettingField): string {
  const parts = [
    values?.map((each) => `${code(each.value)}: ${each.description}`).join(' ') ?? range(bounds, unit),
    itemBounds === null && items === null
      ? ''
      : range({ minimum: bounds.minItems, maximum: bounds.maxItems }, 'entries'),
    ...(items ?? []).map((item) => `${code(item.path)}: ${item.meaning} ${valuesOf(item)}`),
    itemBounds === null ? '' : textBounds(itemBounds),
    type === 'text' ? textBounds(bounds) : '',
    type === 'switch' ? '`true`, `false`' : '',
    isNullable ? '`null`' : '',
  ]
  return parts.filter((part) => part !== '').join('; ')
}

function range({ minimum, maximum }: Record<string, unknown>, unit: string | null): string {
  if (typeof maximum !== 'number') return ''
  return `${typeof minimum === 'number' ? minimum : 0} to ${maximum}${unit === null ? '' : ` ${unit}`}`
}

function textBounds({ maxLength, pattern, format }: Record<string, unknown>): string {
  const length = typeof maxLength === 'number' ? `at most ${maxLength} characters` : ''
  const form = format === 'uri' ? 'a URL' : typeof pattern === 'string' ? code(pattern) : ''
  return [form, length].filter((part) => part !== '').join(', ')
}

function errorsPage(schema: GraphQLSchema): string {
  const answered = routesByError(schema)
  const most = Math.max(...[...answered.values()].map((routes) => routes.length))
  return page('Errors', '`src/core/error-table.ts`', [
    'Every error is a problem document (RFC 9457), in GraphQL an error whose `message` says what was refused and whose `extensions` have `code`, `status`, `requestId`, `errors` and `retryAfterSeconds`. A request at `/graphql` that is refused before it runs, such as one with a wrong key, gets such an error too. At `/graphql/stream`, whose clients read problem documents, only if its `Accept` prefers `application/graphql-response+json`. Programs go by `code`, which is stable; `title` and `detail` may change. `detail` says what was wrong with this request, or what to do. `requestId` is the `X-Request-Id` of the answer, which the log has too.',
    `\`\`\`json\n${JSON.stringify(openApi(schema).components.examples.validation_failed?.value, null, 2)}\n\`\`\``,
    ...(Object.keys(ERRORS) as ErrorCode[]).flatMap((name) => [
      `## ${code(name)}`,
      `**${ERRORS[name].status}** ${ERRORS[name].title}.`,
      ERRORS[name].help,
      whereOf(answered.get(name) ?? [], most),
    ]),
  ])
}

/** Up to this many routes are named one by one. */
const FEW = 12

function whereOf(routes: readonly string[], most: number): string {
  if (routes.length === 0) return 'Answered before a route is found.'
  if (routes.length === most) return 'Answered by every route.'
  // No number, which would change with every route.
  if (routes.length > FEW) return `Answered by ${routes.length > 0.75 * most ? 'most' : 'many'} routes.`
  return `Answered by ${routes.map(code).join(', ')}.`
}

interface Described {
  responses?: Record<string, { $ref?: string }>
}

const openApi = (schema: GraphQLSchema) => openApiDocument(schema, SETTINGS, BASE_URL)

/** For each error, the routes that answer with it, such as `POST /comments/{id}/reports`. */
function routesByError(schema: GraphQLSchema): Map<string, string[]> {
  const { paths, components } = openApi(schema)
  const responses = components.responses as Record<string, { content?: Record<string, { examples?: object }> }>
  const found = new Map<string, string[]>()
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const refs = Object.values((operation as Described).responses ?? {}).flatMap(({ $ref }) => $ref ?? [])
      for (const ref of refs) {
        const examples = responses[ref.split('/').at(-1) ?? '']?.content?.['application/problem+json']?.examples ?? {}
        for (const name of Object.keys(examples)) {
          found.set(name, [...(found.get(name) ?? []), `${method.toUpperCase()} ${path}`])
        }
      }
    }
  }
  return found
}

function eventsPage(schema: GraphQLSchema): string {
  const { components } = asyncApiDocument(schema, SETTINGS, BASE_URL)
  const messages = components.messages as unknown as Record<string, Message>
  const example = (name: string): string =>
    `\`\`\`json\n${JSON.stringify(messages[name]?.examples?.[0]?.payload, null, 2)}\n\`\`\``
  const framing = Object.entries(messages).filter(
    ([name, { summary }]) => summary !== undefined && name !== 'verification',
  )
  const { properties = {} } = messages.verification?.headers ?? {}
  return page('Events', '`src/core/events.ts` and the GraphQL schema', [
    'One event has one JSON, on the stream and in webhooks; GraphQL subscriptions have the same events, with the comment as it is now. `seq` counts 1, 2, 3, … per discussion without a hole, in commit order. `GET /api/v1/asyncapi.json` describes all of it for programs.',
    example('comment_created'),
    '## Types',
    table(
      ['Type', 'Webhooks', 'Data', 'When'],
      EVENT_TYPES.map((type) => {
        const { webhook, data, help } = EVENTS[type]
        return [code(type), webhook ? 'yes' : 'no', `[${code(data)}](#${data.toLowerCase()})`, help]
      }),
    ),
    '## Data',
    ...[...new Set(EVENT_TYPES.map((type) => EVENTS[type].data))].flatMap((name) => [
      `### ${code(name)}`,
      dataOf(schema, name),
    ]),
    'A `Comment`, `Discussion` and `Reader` have the fields of the REST answers. Replays leave out texts that were withdrawn since: [limits and choices](choices/streams.md#replays) has the rules.',
    '## Events of the stream itself',
    ...framing.flatMap(([key, { name, summary = '' }]) => [
      // Streams of several discussions have another `connected`.
      `### ${code(name)}${key === name ? '' : ' of several discussions'}`,
      summary,
      example(key),
    ]),
    '## Webhooks',
    'Endpoints subscribe to types, or to `*` for all that webhooks can carry. The headers of every request:',
    table(
      ['Header', 'Meaning'],
      Object.entries(properties).map(([name, { description = '', enum: values = [] }]) => [
        code(name),
        description || (name.endsWith('Event') ? 'The type of the event.' : values.map(code).join(', ')),
      ]),
    ),
    '### Handshake',
    messages.verification?.summary ?? '',
    example('verification'),
  ])
}

interface Message {
  name: string
  summary?: string
  headers?: { properties?: Record<string, { description?: string; enum?: string[] }> }
  examples?: { payload: object }[]
}

/** The fields of an event's data that its JSON has: some are GraphQL's alone. */
function shownOf(name: string): Set<string> {
  const shown = new Set<string>()
  visit(eventDocument, {
    InlineFragment({ typeCondition, selectionSet }) {
      if (typeCondition?.name.value !== name) return
      for (const selection of selectionSet.selections) {
        if (selection.kind === Kind.FIELD) shown.add(selection.name.value)
      }
    },
  })
  return shown
}

function dataOf(schema: GraphQLSchema, name: string): string {
  const type = schema.getType(name)
  if (!isObjectType(type)) throw new Error(`${name} is no type of the schema`)
  const shown = shownOf(name)
  const fields = Object.values(type.getFields()).filter((field) => shown.has(field.name))
  const rows = fields.map((field) => [code(field.name), code(String(field.type)), field.description ?? ''])
  return table(['Field', 'Type', 'Meaning'], rows)
}

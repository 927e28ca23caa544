import type { GraphQLSchema } from 'graphql'

import type { Settings } from '../../core/settings/settings.ts'
import { API_BASE } from '../../graphql/route.ts'
import { ROUTES_BY_TAG } from '../rest/routes.ts'
import { HEADER_PARAMETERS, HEADERS } from './headers.ts'
import { addTypes, createComponents } from './json-schema.ts'
import { operationId, operationObject, pathName } from './operations.ts'
import { outsidePaths } from './outside.ts'
import { PROBLEM, PROBLEM_EXAMPLES } from './refusals.ts'
import { webhookItems } from './webhooks.ts'

/** The descriptions of the tags. */
const TAGS: Readonly<Record<keyof typeof ROUTES_BY_TAG | 'service', string>> = {
  discussions: 'A discussion holds the comments of one page. The page names it by an external id.',
  comments: 'Readers post, reply, edit and delete. Lists have cursors and a choice of orders.',
  reactions: 'A reader holds at most one reaction to a comment, of a type that the tenant allows.',
  moderation: 'The queues of comments that wait for a moderator, decisions on them, and reports.',
  readers:
    'The readers of your site, whom identity assertions of your backend create; bans; and the secrets that sign assertions.',
  privacy: 'A reader is exported as one document, or erased.',
  stream: 'Tickets for the streams of browsers, and the number of open streams.',
  webhooks: 'Endpoints of your servers, their deliveries and attempts, replays and tests.',
  overview: 'Work that waits for a person, in one answer.',
  analytics: 'Numbers by hour and day, and the busiest discussions and readers.',
  keys: 'API keys of the tenant, each with its capabilities.',
  settings: 'The settings of a tenant, and their defaults.',
  notices: 'Channels of Slack, Discord, Microsoft Teams or your own, where staff are told what waits for them.',
  sites: 'Pages that show comments without a backend: they ask the service by the public key of a site.',
  audit: 'Every write by a key or an admin.',
  exports: "A copy of all that is the tenant's but secrets, as a file.",
  imports: 'What was moved in, with its reports; and the upload of a file with comments of another system.',
  documents: 'GraphQL documents that clients run by their ids.',
  classifier: 'Your own service that judges comments before they appear.',
  guests: 'The secrets that sign the mails of guests, who write on sites with a confirmed e-mail address.',
  staff: 'The members: the people who sign in to the console.',
  service: 'Health, readiness, metrics and the documents of the service itself.',
}

/**
 * The OpenAPI 3.1 document of the REST API, made from the route table and the schema, so that it
 * matches the service.
 */
export function openApiDocument(schema: GraphQLSchema, settings: Settings, baseUrl: string) {
  const components = createComponents()
  components.refTo('Problem', PROBLEM)
  const paths: Record<string, Record<string, unknown>> = {}
  const taken = new Set<string>()
  for (const [tag, routes] of Object.entries(ROUTES_BY_TAG)) {
    for (const route of routes) {
      const path = API_BASE + route.path.replace(/:(\w+)/g, (_, name: string) => `{${pathName(route, name)}}`)
      const id = operationId(route, taken)
      taken.add(id)
      const operation = { operationId: id, ...operationObject(schema, route, tag, components) }
      paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation }
    }
  }
  Object.assign(paths, outsidePaths(components))
  const webhooks = webhookItems(schema, settings, components)
  addTypes([paths, webhooks, components.schemas, components.responses], components.schemas)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Engagement Service',
      version: '1',
      summary: 'Comments, reactions, a real-time stream and signed webhooks for publishers.',
      description: description(settings, baseUrl),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    externalDocs: { description: 'Guides', url: `${baseUrl}/docs/guides/` },
    tags: Object.entries(TAGS).map(([name, text]) => ({ name, description: text })),
    paths,
    webhooks,
    components: {
      schemas: components.schemas,
      responses: components.responses,
      headers: HEADERS,
      parameters: HEADER_PARAMETERS,
      examples: PROBLEM_EXAMPLES,
      securitySchemes: securitySchemes(settings),
    },
  }
}

const securitySchemes = ({ HEADER_PREFIX }: Settings) => ({
  ApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: "A key of the tenant's backend: `ek_` and 64 hex characters.",
  },
  AdminToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: `From \`POST ${API_BASE}/admin/auth/login\`. A member has the capabilities of their role.`,
  },
  Identity: {
    type: 'apiKey',
    in: 'header',
    name: `${HEADER_PREFIX}Identity`,
    description: 'A short-lived JWT that names the reader on whose behalf the backend calls.',
  },
  Ticket: {
    type: 'apiKey',
    in: 'query',
    name: 'ticket',
    description: `From \`POST ${API_BASE}/stream/ticket\`, for a browser's EventSource.`,
  },
  Token: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description: 'Deprecated: a raw API key or an admin token.',
  },
})

const description = ({ HEADER_PREFIX }: Settings, baseUrl: string): string => `## Authentication

A backend sends its API key in \`X-API-Key\`. To act for a reader it adds \`${HEADER_PREFIX}Identity\`:

\`\`\`sh
curl ${baseUrl}${API_BASE}/discussions/by-external/article-1/comments \\
  -H "X-API-Key: $API_KEY" \\
  -H "${HEADER_PREFIX}Identity: $ASSERTION" \\
  -H 'Content-Type: application/json' \\
  -d '{"body":"First!"}'
\`\`\`

- **API key**: \`ek_\` and 64 hex characters. It belongs to one tenant, and stays in the backend.
- **Reader assertion**: a JWT of at most an hour that names the reader, signed with the tenant's identity secret or by its identity provider. [The guides](${baseUrl}/docs/guides/) show how to make one.
- **Admin token**: what \`POST ${API_BASE}/admin/auth/login\` returns. A member sends it as \`Authorization: Bearer …\`, in place of an API key.

Each operation says which of them it needs.

## Conventions

- Lists are \`{"data": [...], "nextCursor", "hasMore"}\`: pass \`nextCursor\` as \`cursor\` for the next page.
- Errors are problem documents (RFC 9457) with a stable \`code\`. A path that takes other methods answers 405 with \`Allow\`.
- Unknown fields and parameters, and wrong types, are refused with 422, never ignored.
- Lengths count Unicode code points; a text that is trimmed is measured after it.
- Every POST, PUT, PATCH and DELETE but the login takes an \`Idempotency-Key\`.
- Each operation exists in GraphQL too, at \`/graphql\`.
- [asyncapi.json](${baseUrl}${API_BASE}/asyncapi.json) describes the events of the stream and the webhooks.`

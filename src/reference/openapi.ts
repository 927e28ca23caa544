import type { GraphQLSchema } from 'graphql'

import type { Settings } from '../core/settings.ts'
import { API_BASE } from '../rest/route.ts'
import { ROUTES_BY_DOMAIN } from '../rest/routes.ts'
import { HEADER_PARAMETERS, HEADERS } from './headers.ts'
import { createComponents } from './json-schema.ts'
import { operationId, operationObject, pathName } from './operations.ts'
import { outsidePaths } from './outside.ts'
import { PROBLEM, PROBLEM_EXAMPLES } from './refusals.ts'

/** OpenAPI 3.1 of the REST API: made from the route table and the schema, so that it says what the service does. */
export function openApiDocument(schema: GraphQLSchema, settings: Settings, baseUrl: string) {
  const components = createComponents()
  components.refTo('Problem', PROBLEM)
  const paths: Record<string, Record<string, unknown>> = {}
  const taken = new Set<string>()
  for (const [domain, routes] of Object.entries(ROUTES_BY_DOMAIN)) {
    for (const route of routes) {
      const path = API_BASE + route.path.replace(/:(\w+)/g, (_, name: string) => `{${pathName(route, name)}}`)
      const id = operationId(route, taken)
      taken.add(id)
      const operation = { operationId: id, ...operationObject(schema, route, domain, components) }
      paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation }
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Engagement Service',
      version: '1',
      summary: 'Comments, reactions, a real-time stream and signed webhooks for publishers.',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    tags: [...Object.keys(ROUTES_BY_DOMAIN), 'service'].map((name) => ({ name })),
    paths: { ...paths, ...outsidePaths(components) },
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
    description: `From \`POST ${API_BASE}/admin/auth/login\`. An admin holds every capability.`,
  },
  Identity: {
    type: 'apiKey',
    in: 'header',
    name: `${HEADER_PREFIX}Identity`,
    description: 'A short-lived JWT by which the backend vouches for the reader on whose behalf it calls.',
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

const DESCRIPTION = `All of it exists in GraphQL too, at \`/graphql\`: each operation here is one there.

- Lists are \`{"data": [...], "nextCursor", "hasMore"}\`: pass \`nextCursor\` as \`cursor\` for the next page.
- Errors are problem documents (RFC 9457) with a stable \`code\`. A path that takes other methods answers 405 with \`Allow\`.
- Unknown fields and parameters, and wrong types, are refused with 422, never ignored.
- Lengths count UTF-16 units, as JavaScript does; a text that is trimmed is measured after it.
- Every POST, PUT, PATCH and DELETE but the login takes an \`Idempotency-Key\`.
- The stream's events and the webhooks are described in [asyncapi.json](asyncapi.json).`

import type { ErrorCode } from '../../core/error-table.ts'
import { API_BASE } from '../../graphql/route.ts'
import { refusalHeaders } from './headers.ts'
import type { Components } from './json-schema.ts'
import { securityOf } from './operations.ts'
import { headerRefs, inOrder, refusalResponses } from './refusals.ts'

/** Paths outside of the route table: the stream, the documents, and the health of the process. */
export const outsidePaths = (components: Components) => ({
  [`${API_BASE}/stream`]: { get: streamOfSeveralOperation(components) },
  [`${API_BASE}/stream/{discussionId}`]: { get: streamOperation(components) },
  [`${API_BASE}/exports/{id}/file`]: { get: exportFileOperation(components) },
  [`${API_BASE}/import-uploads/{id}/parts/{n}`]: { put: uploadPartOperation(components) },
  [`${API_BASE}/admin/auth/oidc/start`]: { get: signOnOperation('startSignOn', 'Start single sign on', START) },
  [`${API_BASE}/admin/auth/oidc/callback`]: { get: signOnOperation('finishSignOn', 'Finish single sign on', FINISH) },
  [`${API_BASE}/openapi.json`]: { get: documentOperation('openApiDocument', 'Retrieve the OpenAPI document') },
  [`${API_BASE}/asyncapi.json`]: { get: documentOperation('asyncApiDocument', 'Retrieve the AsyncAPI document') },
  '/healthz': { get: plainOperation('healthz', 'Check liveness', 'Answers while the process runs.', HEALTH) },
  '/readyz': {
    get: plainOperation(
      'readyz',
      'Check readiness',
      'Whether the process can serve requests, and whether the bus is up.',
      READY,
      refusals(['unavailable'], components),
    ),
  },
  '/metrics': {
    get: plainOperation(
      'metrics',
      'Retrieve metrics',
      'The metrics of the process, for Prometheus. Where METRICS_TOKEN is set, send it as `Authorization: Bearer`.',
      METRICS,
      refusals(['missing_credentials', 'rate_limited'], components),
    ),
  },
})

const refusals = (codes: readonly ErrorCode[], components: Components) =>
  refusalResponses(inOrder(codes), (code) => refusalHeaders(code, false, false), components)

const HEALTH = {
  'application/json': {
    schema: { type: 'object', properties: { status: { type: 'string', enum: ['ok'] } }, required: ['status'] },
    example: { status: 'ok' },
  },
}

const READY = {
  'application/json': {
    schema: {
      type: 'object',
      properties: { status: { type: 'string', enum: ['ok'] }, bus: { type: 'string', enum: ['up', 'down'] } },
      required: ['status', 'bus'],
    },
    example: { status: 'ok', bus: 'up' },
  },
}

const METRICS = {
  'text/plain': { schema: { type: 'string' }, example: 'process_cpu_seconds_total 1.5\n' },
}

const plainOperation = (
  operationId: string,
  summary: string,
  description: string,
  content: object,
  refused: object = {},
) => ({
  operationId,
  tags: ['service'],
  summary,
  description,
  security: [],
  responses: {
    200: { description: 'Success.', headers: headerRefs(['X-Request-Id']), content },
    ...refused,
  },
})

const documentOperation = (operationId: string, summary: string) => ({
  operationId,
  tags: ['service'],
  summary,
  'x-access': 'public',
  security: [],
  parameters: [{ $ref: '#/components/parameters/If-None-Match' }],
  responses: {
    200: {
      description: 'Success.',
      headers: headerRefs(['X-Request-Id', 'ETag']),
      content: { 'application/json': { schema: { type: 'object' }, example: {} } },
    },
    304: { description: 'Not changed.', headers: headerRefs(['X-Request-Id', 'ETag']) },
  },
})

/** Errors of every request with credentials. */
const ANYWHERE: readonly ErrorCode[] = [
  'ambiguous_credentials',
  'missing_credentials',
  'tenant_suspended',
  'validation_failed',
  'rate_limited',
  'internal',
  'unavailable',
]
const OF_KEYS: readonly ErrorCode[] = ['invalid_api_key', 'expired_api_key', 'revoked_api_key']
const OF_MEMBERS: readonly ErrorCode[] = ['invalid_admin_token', 'second_factor_setup_required']
const OF_TICKETS: readonly ErrorCode[] = [
  ...ANYWHERE,
  'invalid_ticket',
  'expired_ticket',
  'origin_not_allowed',
  'not_found',
]

const query = (name: string, description: string, more: object = {}) => ({
  name,
  in: 'query',
  required: false,
  description,
  schema: { type: 'string' },
  ...more,
})

const idInPath = (name: string, description: string) => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string', format: 'uuid' },
  example: '01980000-0000-7000-8000-000000000001',
})

const START = {
  description:
    'A page for browsers: leads to the identity provider of the tenant, or back to the console with `#sign-on=` and the reason of a refusal. The answer sets a cookie for the way back.',
  parameters: [{ ...query('tenant', 'The slug of the tenant.'), required: true, example: 'default' }],
}

const FINISH = {
  description:
    'A page for browsers: the provider leads here. Sets the cookie of the console and leads to it, with `#sign-on=done`, or the reason of a refusal.',
  parameters: [
    query('code', 'The code of the provider.'),
    query('state', 'The state with which the sign-on began.'),
    query('iss', 'The issuer (RFC 9207).'),
    query('error', 'The error of the provider (RFC 6749, section 4.1.2.1).'),
  ],
}

const signOnOperation = (
  operationId: string,
  summary: string,
  texts: { description: string; parameters: object[] },
) => ({
  operationId,
  tags: ['staff'],
  summary,
  ...texts,
  'x-access': 'public',
  security: [],
  responses: {
    303: {
      description: 'Leads on.',
      headers: {
        ...headerRefs(['X-Request-Id']),
        Location: { description: 'Where the browser goes.', schema: { type: 'string', format: 'uri' } },
      },
    },
  },
})

const streamOperation = (components: Components) => ({
  operationId: 'stream',
  tags: ['stream'],
  summary: "Stream a discussion's events",
  description: `Server-sent events: what was missed since \`lastEventId\`, then what comes, each once and in order. \`GET ${API_BASE}/asyncapi.json\` describes the messages.

An API key or an admin token sees all events; a ticket the public ones, and the notifications of its reader.`,
  'x-access': 'key',
  security: [...securityOf('key').filter((one) => !('Identity' in one)), { Ticket: [] }, { Token: [] }],
  parameters: [
    idInPath('discussionId', 'The discussion.'),
    query('lastEventId', 'Resume strictly after this position. `0` replays all events that are kept.'),
    LAST_EVENT_ID,
  ],
  responses: {
    200: openedStream(['X-Request-Id', 'Deprecation', 'Sunset'], '{"lastEventId":"42","replayed":0,"complete":true}'),
    ...refusals([...OF_TICKETS, ...OF_KEYS, ...OF_MEMBERS, 'too_many_streams'], components),
  },
})

const LAST_EVENT_ID = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'The position that an EventSource sends when it reconnects. It takes precedence over `lastEventId`.',
  schema: { type: 'string' },
}

const openedStream = (headers: Parameters<typeof headerRefs>[0], connected: string) => ({
  description: 'The stream. A ticket over a cap gets `connection-timeout` and `retry: 30000` at once.',
  headers: headerRefs(headers),
  content: {
    'text/event-stream': {
      schema: { type: 'string' },
      example: `retry: 3172\nevent: connected\ndata: ${connected}\n\n`,
    },
  },
})

const streamOfSeveralOperation = (components: Components) => ({
  operationId: 'streamOfSeveral',
  tags: ['stream'],
  summary: 'Stream the events of several discussions',
  description: `Server-sent events of the discussions that a ticket names: those of each in order, each once. The \`id:\` of an event is a cursor, the position in all of them. \`GET ${API_BASE}/asyncapi.json\` describes the messages.`,
  'x-access': 'key',
  security: [{ Ticket: [] }],
  parameters: [
    query('lastEventId', "Resume strictly after this cursor: an event's `id:`, or `lastEventId` of the ticket."),
    LAST_EVENT_ID,
  ],
  responses: {
    200: openedStream(
      ['X-Request-Id'],
      '{"lastEventId":"8f3a01c2-12.0.407","replayed":0,"complete":true,"incomplete":[],"gone":[]}',
    ),
    ...refusals(OF_TICKETS, components),
  },
})

const exportFileOperation = (components: Components) => ({
  operationId: 'exportFile',
  tags: ['exports'],
  summary: 'Download an export',
  description:
    'The file of a completed export: JSON Lines, compressed with gzip. An export that is not completed has no file, which is `not_found`.',
  'x-access': 'admin',
  security: securityOf('admin'),
  parameters: [idInPath('id', 'The export.')],
  responses: {
    200: {
      description: 'The file.',
      headers: headerRefs(['X-Request-Id']),
      content: { 'application/gzip': { schema: { type: 'string' }, example: '…' } },
    },
    ...refusals([...ANYWHERE, ...OF_KEYS, ...OF_MEMBERS, 'admin_only', 'not_found'], components),
  },
})

const DIGEST = 'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:'

/** The upload of a part. It is bytes, and so no route of the table. */
const uploadPartOperation = (components: Components) => ({
  operationId: 'putImportUploadPart',
  tags: ['imports'],
  summary: 'Upload a part of a file',
  description:
    'A part has the `partBytes` of the upload, and the last one what is left. Parts come in any order. A part that is sent again replaces the earlier one, until the upload is completed.',
  'x-access': 'admin',
  security: securityOf('admin'),
  parameters: [
    idInPath('id', 'The upload.'),
    {
      name: 'n',
      in: 'path',
      required: true,
      description: 'The number of the part, from 0.',
      schema: { type: 'integer', minimum: 0 },
      example: 0,
    },
    {
      name: 'Content-Digest',
      in: 'header',
      description: 'The digest of the part (RFC 9530). With `sha-256` a part that was damaged on its way is refused.',
      schema: { type: 'string' },
      example: DIGEST,
    },
  ],
  requestBody: {
    required: true,
    content: { 'application/octet-stream': { schema: { type: 'string' }, example: '…' } },
  },
  responses: {
    204: { description: 'The part is stored.', headers: headerRefs(['X-Request-Id']) },
    ...refusals(
      [
        ...ANYWHERE,
        ...OF_KEYS,
        ...OF_MEMBERS,
        'admin_only',
        'not_found',
        'invalid_transition',
        'body_too_large',
        'unsupported_media_type',
      ],
      components,
    ),
  },
})

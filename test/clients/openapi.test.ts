import { Validator } from '@seriousme/openapi-schema-validator'
import { print } from 'graphql'
import { beforeAll, describe, expect, test, vi } from 'vitest'

import { ERRORS } from '../../src/core/error-table.ts'
import { WEBHOOK_EVENT_TYPES } from '../../src/core/events.ts'
import { newId } from '../../src/core/ids.ts'
import type { Schema } from '../../src/api/reference/json-schema.ts'
import { projectionOf } from '../../src/api/rest/handler.ts'
import { makeEveryEvent } from '../harness/events.ts'
import {
  type Checker,
  createChecker,
  expectDocumented,
  follow,
  type OpenApi,
  type Operation,
  operationOf,
  type Parameter,
} from '../harness/openapi.ts'
import { callerFor, furnish, keyOf, READER, resourceOf, sampleIn, type Side } from '../harness/resources.ts'
import { asInput, type DescribedRoute, DESCRIBED_ROUTES, requestOf, sampleOf } from '../harness/routes.ts'
import { unnamed } from '../harness/sql.ts'
import { type Headers, type TestResponse, useService } from '../harness/service.ts'
import { listen } from '../harness/sse.ts'

const service = useService()
/** Two tenants with the same content: a write to one shows the answer that the other would give. */
let one: Side
let other: Side
let document: OpenApi
let checker: Checker

beforeAll(async () => {
  one = await furnish(service, service, 'furnished')
  other = await furnish(service, await service.addTenant('other'), 'furnished')
  document = (await service.call('GET', '/openapi.json', { headers: { 'x-api-key': '' } })).json as OpenApi
  checker = createChecker(document)
})

const named = (routes: readonly DescribedRoute[]) => routes.map((described) => [described.title, described] as const)
const operations = (): Operation[] => Object.values(document.paths).flatMap((path) => Object.values(path))

/** Credentials that may do everything in a tenant. */
async function allowed(described: DescribedRoute, side: Side): Promise<Headers> {
  const { access, route } = described
  if (access === 'public') return { 'x-api-key': '' }
  const caller = await callerFor(service, side, described)
  // With an identity only the author may delete; the furnished comments are the reader's own, which
  // only others may report.
  const reader = route.path.endsWith('/report') ? 'a-reporting-reader' : READER
  return route.path.startsWith('/admin/') ? caller : { ...caller, ...(await side.as(reader)) }
}

const requestFor = (described: DescribedRoute, side: Side) =>
  requestOf(described, (slot) => {
    if (slot.isId) return side.ids[resourceOf(described, slot)]
    return sampleIn(side, described, slot)
  })

/** The bounds of a route's own parameters, at their maximum, instead of other query parameters. */
const mostOf = ({ route }: DescribedRoute): Record<string, number> =>
  Object.fromEntries(Object.entries(route.bounds ?? {}).map(([name, { max }]) => [name, max]))

/** The path with `most` as its query, where there is any. */
const pathWith = (path: string, most: Record<string, number>): string =>
  Object.keys(most).length === 0
    ? path
    : `${path.split('?')[0]}?${new URLSearchParams(Object.entries(most).map(([name, value]) => [name, String(value)]))}`

async function ask(described: DescribedRoute, side: Side, most: Record<string, number>): Promise<TestResponse> {
  const headers = await allowed(described, side)
  const { path, body } = requestFor(described, side)
  return service.call(described.route.method, pathWith(path, most), { body, headers })
}

/** The operation that the route runs, sent to `/graphql`; its data as the route would show them. */
async function askGraphQL(described: DescribedRoute, side: Side, most: Record<string, number>): Promise<unknown> {
  const { route, slots } = described
  const headers = await allowed(described, side)
  const { path, body } = requestFor(described, side)
  const inPath = slots
    .filter((slot) => slot.in === 'path')
    .map((slot) => [slot.name, pathValue(route.path, path, slot.name)])
  const inQuery = [...new URL(pathWith(path, most), 'http://-').searchParams]
  const given = { ...(Object.fromEntries([...inPath, ...inQuery]) as object), ...body, ...most }
  const isLighter = route.lighter?.serves(given as never) === true
  const query = print(isLighter && route.lighter !== undefined ? route.lighter.document : route.document)
  const variables = query.includes('$input') ? { input: asInput(described, given) } : given
  const answer = await service.call('POST', '/../../graphql', { headers, body: { query, variables } })
  expect(answer.json.errors, answer.text).toBeUndefined()
  return projectionOf(route)(answer.json.data)
}

function pathValue(template: string, path: string, name: string): string {
  const index = template.split('/').indexOf(`:${name}`)
  return decodeURIComponent(path.split('?')[0]?.split('/')[index] ?? '')
}

describe('GET /openapi.json', () => {
  test('is valid OpenAPI 3.1, also by a maintained validator', async () => {
    const result = await new Validator().validate(structuredClone(document) as unknown as Record<string, unknown>)
    expect(result).toEqual({ valid: true })
  })

  test('begins with how to authenticate', () => {
    expect(document.info.description).toMatch(/^## Authentication\n/)
    const [authentication] = document.info.description.split('\n## ', 1)
    for (const header of ['X-API-Key', 'X-Service-Identity', 'Authorization: Bearer', `curl ${service.url}/api/v1/`])
      expect(authentication).toContain(header)
  })

  test('every reference has a target', () => {
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref ?? '')
    expect(refs.length).toBeGreaterThan(100)
    for (const $ref of new Set(refs)) follow(document, { $ref })
  })

  test('describes every route, by the operation of GraphQL that it runs, each once', () => {
    const ids = operations().map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const described of DESCRIBED_ROUTES) {
      const name = /(?:query|mutation) (\w+)/.exec(print(described.route.document))?.[1] ?? ''
      expect(operationOf(document, described).operationId.toLowerCase()).toContain(name.toLowerCase())
    }
  })

  test('no two paths differ only by the names of their parameters', () => {
    const shapes = Object.keys(document.paths).map((path) => path.replace(/\{\w+\}/g, '{}'))
    expect(new Set(shapes).size).toBe(shapes.length)
  })

  test('every title is a verb and its object, in at most six words', () => {
    for (const { operationId, summary } of operations()) {
      expect(summary, operationId).toMatch(/^[A-Z][a-z]+( [\w']+){1,5}$/)
    }
    const titles = operations().map(({ summary }) => summary)
    expect(new Set(titles).size).toBe(titles.length)
  })

  test('every tag has a description of its operations', () => {
    const said = document.tags.map(({ name, description }) => [name, /\w/.test(description)])
    expect(Object.fromEntries(said)).toEqual(
      Object.fromEntries(operations().flatMap(({ tags }) => tags.map((tag) => [tag, true]))),
    )
  })

  test('every operation, parameter and field has a description', () => {
    for (const operation of operations()) {
      for (const parameter of operation.parameters ?? []) {
        const { name, in: place, description } = follow<Parameter>(document, parameter)
        expect(description, `${operation.operationId} ${place} ${name}`).toMatch(/\w/)
      }
    }
    const silent = Object.entries(document.components.schemas).flatMap(([schema, { properties = {} }]) =>
      Object.entries(properties)
        .filter(([, { description }]) => typeof description !== 'string')
        .map(([field]) => `${schema}.${field}`),
    )
    expect(silent).toEqual([])
  })

  test('every example is valid under its schema, and every success and body has one', () => {
    for (const { operationId, requestBody, responses } of operations()) {
      const body = requestBody?.content['application/json']
      if (body !== undefined) {
        expect(body.example, operationId).toBeDefined()
        expect(checker.errorsOf(body.schema, body.example), `the body of ${operationId}`).toBeNull()
      }
      for (const [status, response] of Object.entries(responses)) {
        for (const media of Object.values(follow(document, response).content ?? {})) {
          if (Number(status) < 400) {
            expect(media.example, `${operationId} ${status}`).toBeDefined()
            expect(checker.errorsOf(media.schema, media.example), `${operationId} ${status}`).toBeNull()
          }
        }
      }
    }
    for (const [code, { value }] of Object.entries(document.components.examples)) {
      expect(checker.errorsOf({ $ref: '#/components/schemas/Problem' }, value), code).toBeNull()
    }
    expect(Object.keys(document.components.examples)).toEqual(Object.keys(ERRORS))
  })

  test('every property and choice says its types, or Scalar shows nothing of its object', () => {
    const untyped: string[] = []
    const look = (name: string, schema: Schema): void => {
      const { $ref, type, anyOf, properties, items } = schema
      if ($ref === undefined && type === undefined) untyped.push(name)
      if (Array.isArray(anyOf)) anyOf.forEach((choice) => look(name, choice as Schema))
      for (const [field, each] of Object.entries(properties ?? {})) look(`${name}.${field}`, each)
      if (items !== undefined) look(`${name}[]`, items as Schema)
    }
    for (const [name, schema] of Object.entries(document.components.schemas)) look(name, schema)
    expect(untyped).toEqual([])
  })

  test('has the bounds that operations check', () => {
    const { CreateCommentBody, UpdateSettingsBody, CreateWebhookEndpointBody } = document.components.schemas
    expect(CreateCommentBody?.properties?.body).toMatchObject({ minLength: 1, maxLength: 10_000 })
    expect(UpdateSettingsBody?.properties?.maxDepth).toMatchObject({ type: 'integer', minimum: 0, maximum: 100 })
    expect(CreateWebhookEndpointBody?.properties?.url).toMatchObject({ type: 'string', maxLength: 2048 })
    expect(document.components.schemas.WebhookPolicyInput?.properties?.maxAttempts).toMatchObject({ maximum: 10 })
  })

  test('is the same bytes for everyone, 304 for a client that has them, and 405 for another method', async () => {
    const path = '/openapi.json'
    const first = await service.call('GET', path, { headers: { 'x-api-key': '' } })
    expect(first.headers.get('content-type')).toMatch(/^application\/json/)
    const etag = first.headers.get('etag') ?? ''
    const again = await service.call('GET', path, { headers: { 'x-api-key': '', 'if-none-match': etag } })
    expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag])
    const post = await service.call('POST', path, { body: {} })
    expect([post.status, post.json.code, post.headers.get('allow')]).toEqual([405, 'method_not_allowed', 'GET'])
  })

  test('names the address of the settings', () => {
    expect(document.servers).toEqual([{ url: service.url }])
  })
})

describe('webhooks', () => {
  const deliveryOf = (event: string): Operation => {
    const operation = document.webhooks[event]?.post
    if (operation === undefined) throw new Error(`${event} is not in the document`)
    return operation
  }
  const bodyOf = (event: string) => deliveryOf(event).requestBody?.content['application/json'] ?? { schema: {} }

  test('describe each event that an endpoint can get, and the handshake', () => {
    expect(Object.keys(document.webhooks)).toEqual([...WEBHOOK_EVENT_TYPES, 'verification'])
  })

  test.each([...WEBHOOK_EVENT_TYPES, 'verification'])(
    '%s has signed headers, a valid example and its answers',
    (event) => {
      const { parameters = [], responses } = deliveryOf(event)
      const names = parameters.flatMap((each) =>
        'in' in each && each.in === 'header' && each.required ? each.name : [],
      )
      expect(names).toEqual([
        ...['Event', 'Delivery-Id', 'Idempotency-Key', 'Timestamp', 'Signature'].map((name) => `X-Service-${name}`),
        ...['id', 'timestamp', 'signature'].map((name) => `webhook-${name}`),
      ])
      const { schema, example } = bodyOf(event)
      expect(checker.errorsOf(schema, example)).toBeNull()
      expect(Object.keys(responses)).toEqual([event === 'verification' ? '200' : '2XX', 'default'])
    },
  )

  test('the schema of each accepts a real event', async () => {
    const tenant = await service.addTenant('events')
    const discussionId = await makeEveryEvent(service, tenant)
    const stream = await listen(`${service.url}/api/v1/stream/${discussionId}?lastEventId=0`, keyOf(tenant))
    const sent = () => stream.received.filter(({ type }) => type in document.webhooks)
    const types = () => new Set(sent().map(({ type }) => type))
    await vi.waitFor(() => expect(types()).toEqual(new Set(WEBHOOK_EVENT_TYPES)))
    stream.close()
    for (const { type, data } of sent()) {
      expect(checker.errorsOf(bodyOf(type).schema, JSON.parse(data)), data).toBeNull()
    }
  })
})

/** What removes things comes last, the deepest first: a comment takes its reactions along. */
const isRemoval = ({ route }: DescribedRoute): boolean => route.method === 'DELETE'
const ORDERED = [
  ...DESCRIBED_ROUTES.filter((described) => !isRemoval(described)),
  ...DESCRIBED_ROUTES.filter(isRemoval).toSorted((a, b) => b.route.path.length - a.route.path.length),
]

describe('a refusal is described in the document', () => {
  test.each(named(DESCRIBED_ROUTES))('%s', async (_title, described) => {
    const { method } = described.route
    const operation = operationOf(document, described)
    const nothing = requestOf(described, (slot) => (slot.isId ? newId() : sampleOf(slot)))
    const all = await allowed(described, one)
    const requests: [Headers, { path?: string; body?: unknown }][] = [
      [{ 'x-api-key': '' }, {}],
      [{ 'x-api-key': 'ek_' }, {}],
      [{ 'x-api-key': one.apiKey, authorization: `Bearer ${one.adminToken}` }, {}],
      [{ ...all, 'x-service-identity': 'x' }, {}],
      [keyOf(one), {}],
      [all, { path: `${nothing.path}${nothing.path.includes('?') ? '&' : '?'}surprise=1` }],
      [all, {}],
    ]
    if (method !== 'GET')
      requests.push([all, { body: '{' }], [all, { body: 'x'.repeat(300_000) }], [all, { body: { surprise: 1 } }])
    for (const [headers, change] of requests) {
      const answer = await service.call(method, change.path ?? nothing.path, {
        headers,
        body: change.body ?? nothing.body,
      })
      expectDocumented(document, checker, operation, answer)
    }
  })
})

/** Names and instants that differ from one making to the next. */
const masked = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value ?? null)
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<instant>')
      .replaceAll(/(ek|pk|whs|whsec|in)_[\w+/=]+/g, '<secret>')
      .replaceAll(
        /"(kid|secret|otpauthUrl|token|ticket|streamUrl|nextCursor|email)":"[^"]*"/g,
        '"$1":"<one of its own>"',
      )
      .replaceAll(/"recoveryCodes":\[[^\]]*\]/g, '"recoveryCodes":[]')
      .replaceAll(/"(slug)":"[^"]*"/g, '"$1":"<its own>"'),
  )

/** Without the instant of the request, and audit entries of earlier exports. */
const untimed = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value).replaceAll(/"(asOf|lastSeenAt|expiresAt)":"[^"]*"/g, '"$1":"<now>"'),
    (_name, each: unknown) =>
      Array.isArray(each)
        ? each.filter((entry) => (entry as { action?: string } | null)?.action !== 'reader.export')
        : each,
  )

/** Another one is refused until the last one has ended. */
const NO_UPLOADS = unnamed('DELETE FROM import_uploads WHERE ended_at IS NULL')

describe('a success matches the document, and the operation of GraphQL', () => {
  test.each(named(ORDERED))('%s', async (_title, described) => {
    const { method, status } = described.route
    const most = mostOf(described)
    for (const given of Object.keys(most).length === 0 ? [{}] : [{}, most]) {
      if (described.field === 'createImportUpload') await service.app.db.query(NO_UPLOADS)
      const answer = await ask(described, one, given)
      expect(answer.status, answer.text).toBeLessThan(300)
      expectDocumented(document, checker, operationOf(document, described), answer)
      // For reads the same tenant, else one with the same content.
      const data = await askGraphQL(described, method === 'GET' ? one : other, given)
      if (status === 204) return
      if (method === 'GET') expect(untimed(answer.json)).toEqual(untimed(data))
      else expect(masked(answer.json)).toEqual(masked(data))
    }
  })
})

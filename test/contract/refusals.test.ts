import { print } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { CAPABILITIES, type Capability } from '../../src/core/context.ts'
import { ERRORS, type ErrorCode } from '../../src/core/error-table.ts'
import { newId } from '../../src/core/ids.ts'
import { refusalIn } from '../harness/refusal.ts'
import { addMember, bearing, type TestMember, tokenFor } from '../harness/members.ts'
import { asInput, type DescribedRoute, DESCRIBED_ROUTES, requestOf, sampleOf } from '../harness/routes.ts'
import { startService, type TestResponse, type TestService } from '../harness/service.ts'

type Headers = Record<string, string>

interface Refusal {
  code: ErrorCode
  detail?: string
}

const STREAM = '/stream/01980000-0000-7000-8000-000000000000'
const NOBODY: Headers = { 'x-api-key': '' }

let service: TestService
/** Keys with exactly these capabilities. */
const keys = new Map<Capability | 'none', Headers>()
let admin: Headers
/** An owner whose sign-ins some routes end. */
let self: TestMember

beforeAll(async () => {
  service = await startService({ worker: false })
  for (const name of ['none', ...CAPABILITIES] as const) {
    const capabilities = name === 'none' ? [] : [name]
    const { json } = await service.call('POST', '/keys', { body: { label: name, capabilities } })
    keys.set(name, { 'x-api-key': json.key as string })
  }
  admin = bearing(await tokenFor(service, service.admin))
  self = await addMember(service, service, 'owner')
})
afterAll(() => service.close())

const named = (routes: readonly DescribedRoute[]) => routes.map((described) => [described.title, described] as const)
const BOUND = DESCRIBED_ROUTES.filter(({ access }) => access !== 'public')
const isCapability = (access: string): access is Capability => (CAPABILITIES as readonly string[]).includes(access)

const asAdmin = async ({ access }: DescribedRoute): Promise<Headers> =>
  access === 'member' ? bearing(await tokenFor(service, self)) : admin

/** A well-formed request whose ids do not exist. */
const requestFor = (described: DescribedRoute) => requestOf(described, (slot) => (slot.isId ? newId() : sampleOf(slot)))

function send(described: DescribedRoute, headers: Headers): Promise<TestResponse> {
  const { path, body } = requestFor(described)
  return service.call(described.route.method, path, { headers, body })
}

/** The route's own operation, sent to `/graphql`. */
async function sendOperation(described: DescribedRoute, headers: Headers): Promise<TestResponse> {
  const { route, slots } = described
  const query = print(route.document)
  const values = Object.fromEntries(
    slots.map((slot) => {
      const value = slot.isId ? newId() : sampleOf(slot)
      return [slot.name, slot.isId && slot.isList ? [value] : value]
    }),
  )
  const variables = query.includes('$input') ? { input: asInput(described, values) } : values
  return service.call('POST', '/../../graphql', { headers, body: { query, variables } })
}

/**
 * A problem document (RFC 9457) with the code's status, and the headers that go with it
 * (docs/reference/errors.md).
 */
function expectProblem(answer: TestResponse, { code, detail }: Refusal): void {
  const { status, title } = ERRORS[code]
  expect(answer.json, answer.text).toMatchObject({ code, status, title })
  expect(answer.status).toBe(status)
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/)
  expect(answer.json.type).toEqual(expect.stringMatching(/^\w+:/))
  expect(answer.json.requestId).toBe(answer.headers.get('x-request-id'))
  expect(answer.json.detail).toEqual(
    detail === undefined ? expect.stringMatching(/\w/) : expect.stringContaining(detail),
  )
  expect(Object.keys(answer.json as object).filter((name) => !PROBLEM.has(name))).toEqual([])
  expect(answer.headers.get('www-authenticate') !== null).toBe(status === 401)
}

const PROBLEM = new Set(['type', 'title', 'status', 'detail', 'code', 'requestId', 'errors'])

/** The same refusal as an error of GraphQL. */
function expectGraphQLError(answer: TestResponse, { code, detail = '' }: Refusal): void {
  const [error] = (answer.json as { errors?: { message: string; extensions: object }[] }).errors ?? []
  expect(error?.extensions, answer.text).toMatchObject({ code, status: ERRORS[code].status })
  expect(error?.message).toContain(detail)
  // A nullable field is null; otherwise there is no data at all.
  expect(Object.values((answer.json.data ?? {}) as object).filter((value) => value !== null)).toEqual([])
}

describe('without credentials: 401 missing_credentials', () => {
  test.each(named(BOUND))('%s', async (_title, described) => {
    expectProblem(await send(described, NOBODY), { code: 'missing_credentials' })
    expectGraphQLError(await sendOperation(described, NOBODY), { code: 'missing_credentials' })
  })

  test('GET /stream/{discussionId}', async () => {
    expectProblem(await service.call('GET', STREAM, { headers: NOBODY }), { code: 'missing_credentials' })
  })
})

describe('a key without the capability: 403 missing_capability that names it', () => {
  test.each(named(BOUND.filter(({ access, route }) => isCapability(access) && !route.path.startsWith('/admin/'))))(
    '%s',
    async (_title, described) => {
      const { access } = described
      if (!isCapability(access)) throw new Error('no capability')
      const refusal: Refusal = { code: 'missing_capability', detail: access }
      // All other capabilities do not help.
      for (const [name, headers] of keys) {
        if (name !== access) expectProblem(await send(described, headers), refusal)
      }
      expectGraphQLError(await sendOperation(described, keys.get('none') ?? NOBODY), refusal)
      for (const headers of [keys.get(access) ?? NOBODY, admin]) {
        const { json } = await send(described, headers)
        expect(json?.code).not.toBe('missing_capability')
      }
    },
  )
})

describe('an API key below /admin/: 403 admin_only', () => {
  test.each(named(BOUND.filter(({ route }) => route.path.startsWith('/admin/'))))('%s', async (_title, described) => {
    // The tenant's first key holds every capability.
    expectProblem(await send(described, {}), { code: 'admin_only' })
    expect((await send(described, await asAdmin(described))).json?.code).not.toBe('admin_only')
  })
})

describe("a write on a reader's behalf without an identity: 403 identity_required", () => {
  const writes = BOUND.filter(({ access }) => access === 'reader')
  test.each(named(writes))('%s', async (_title, described) => {
    for (const headers of [keys.get('none') ?? NOBODY, admin]) {
      expectProblem(await send(described, headers), { code: 'identity_required' })
      expectGraphQLError(await sendOperation(described, headers), { code: 'identity_required' })
    }
    const { json } = await send(described, await service.as('reader'))
    expect(json?.code).not.toBe('identity_required')
  })
})

describe('an API key and an admin token together: 400 ambiguous_credentials', () => {
  const both = () => ({ ...admin, 'x-api-key': service.apiKey })
  test.each(named(DESCRIBED_ROUTES))('%s', async (_title, described) => {
    expectProblem(await send(described, both()), { code: 'ambiguous_credentials' })
  })

  test.each(['', '?ticket=x', '?token=x'])('GET /stream/{discussionId}%s', async (query) => {
    const headers = query === '' ? both() : {}
    expectProblem(await service.call('GET', STREAM + query, { headers }), { code: 'ambiguous_credentials' })
  })

  test.each(['/graphql', '/graphql/stream'])('POST %s', async (path) => {
    const response = await fetch(service.url + path, {
      method: 'POST',
      headers: { ...both(), 'content-type': 'application/json' },
      body: '{"query":"{ __typename }"}',
    })
    expect(response.status).toBe(400)
    expect(refusalIn(await response.json())).toMatchObject({ code: 'ambiguous_credentials' })
  })
})

describe('unknown parameters and fields are refused: 422 validation_failed', () => {
  /** Credentials that may do everything. */
  const allowed = async (described: DescribedRoute): Promise<Headers> =>
    described.access === 'public'
      ? NOBODY
      : { ...(described.needsToken ? await asAdmin(described) : {}), ...(await service.as('reader')) }

  test.each(named(DESCRIBED_ROUTES))('%s: an unknown query parameter', async (_title, described) => {
    const { path, body } = requestFor(described)
    const separator = path.includes('?') ? '&' : '?'
    const headers = await allowed(described)
    const answer = await service.call(described.route.method, `${path}${separator}surprise=1`, { headers, body })
    expectProblem(answer, { code: 'validation_failed' })
    expect(answer.json.errors).toEqual([
      { pointer: '/surprise', code: 'unknown_parameter', message: expect.any(String) },
    ])
  })

  const withBody = DESCRIBED_ROUTES.filter(({ route }) => route.method !== 'GET')
  test.each(named(withBody))('%s: an unknown field of the body', async (_title, described) => {
    const { path, body } = requestFor(described)
    const headers = await allowed(described)
    const answer = await service.call(described.route.method, path, { headers, body: { ...body, surprise: 1 } })
    expectProblem(answer, { code: 'validation_failed' })
    expect(answer.json.errors).toEqual([{ pointer: '/surprise', code: 'unknown_field', message: expect.any(String) }])
  })

  test('GET /stream/{discussionId}: an unknown query parameter', async () => {
    expectProblem(await service.call('GET', `${STREAM}?surprise=1`), { code: 'validation_failed' })
  })
})

describe('a method that the path does not take: 405 method_not_allowed, with Allow', () => {
  const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
  const shapeOf = (path: string): string => path.replace(/:\w+/g, ':')
  const shapes = new Map<string, { described: DescribedRoute; methods: Set<string> }>()
  for (const described of DESCRIBED_ROUTES) {
    const shape = shapeOf(described.route.path)
    const known = shapes.get(shape) ?? { described, methods: new Set() }
    shapes.set(shape, { ...known, methods: known.methods.add(described.route.method) })
  }

  test.each([...shapes])('%s', async (_shape, { described, methods }) => {
    const [path = ''] = requestFor(described).path.split('?')
    for (const method of METHODS.filter((name) => !methods.has(name))) {
      const answer = await service.call(method, path)
      expectProblem(answer, { code: 'method_not_allowed' })
      expect(new Set(answer.headers.get('allow')?.split(', '))).toEqual(methods)
    }
  })

  test('/stream/{discussionId}', async () => {
    const answer = await service.call('POST', STREAM)
    expectProblem(answer, { code: 'method_not_allowed' })
    expect(answer.headers.get('allow')).toBe('GET')
  })
})

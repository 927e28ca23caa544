import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { encodeCursor } from '../../src/core/input/cursor.ts'
import { effort } from '../harness/effort.ts'
import { asText, encoded, mutated, valid } from '../harness/fuzz.ts'
import {
  type Checker,
  createChecker,
  expectDocumented,
  follow,
  type OpenApi,
  operationOf,
  type Parameter,
} from '../harness/openapi.ts'
import { furnish, keyOf, READER, type Side } from '../harness/resources.ts'
import { type DescribedRoute, DESCRIBED_ROUTES } from '../harness/routes.ts'
import { SEED } from '../harness/seed.ts'
import { startService, type TestResponse, type TestService } from '../harness/service.ts'

/** Requests per route; FUZZ_RUNS=1000 for a long one, FUZZ_SEED=<seed> to see one again. */
const RUNS = Number(process.env.FUZZ_RUNS ?? effort(20, 3))
const FUZZ_SEED = Number(process.env.FUZZ_SEED ?? SEED)

/** A request that takes longer hangs. */
const PATIENCE_MS = 30_000

let service: TestService
let side: Side
/** For requests that would change the answers to all others. */
let settingsSide: Side
let document: OpenApi
let checker: Checker

beforeAll(async () => {
  console.log(`fuzz: FUZZ_SEED=${FUZZ_SEED} FUZZ_RUNS=${RUNS}`)
  service = await startService({ worker: false })
  side = await furnish(service, service, 'fuzzed')
  settingsSide = await furnish(service, await service.addTenant('settings'), 'fuzzed')
  document = (await service.call('GET', '/openapi.json', { headers: { 'x-api-key': '' } })).json as OpenApi
  checker = createChecker(document)
})
afterAll(() => service.close())

/** How often each status was answered. */
const answered = new Map<number, number>()

interface FuzzedRequest {
  path: string
  headers: Record<string, string>
  body: string | undefined
}

const sideOf = ({ route }: DescribedRoute): Side => (route.path === '/settings' ? settingsSide : side)

/** Requests of a route: half of them as documented, half with something wrong anywhere. */
function requests(described: DescribedRoute, identity: Record<string, string>): fc.Arbitrary<FuzzedRequest> {
  const { route, access, needsToken } = described
  const operation = operationOf(document, described)
  const tenant = sideOf(described)
  const ids = Object.values(tenant.ids)
  const parameters = (operation.parameters ?? []).map((parameter) => follow<Parameter>(document, parameter))
  const inPath = parameters.filter((parameter) => parameter.in === 'path')
  const inQuery = parameters.filter((parameter) => parameter.in === 'query')
  const caller = needsToken
    ? { authorization: `Bearer ${tenant.adminToken}` }
    : access === 'public'
      ? {}
      : keyOf(tenant)
  const body = operation.requestBody?.content['application/json'].schema
  return fc
    .record({
      path: fc.tuple(
        ...inPath.map(({ schema, name }) =>
          name === 'externalId' ? fc.oneof(fc.constant('shared-page'), values(schema, ids)) : values(schema, ids),
        ),
      ),
      query: fc.tuple(...inQuery.map(({ name, schema }) => maybe(2, name === 'cursor' ? CURSOR : values(schema, ids)))),
      extra: maybe(12, fc.tuple(fc.constantFrom('surprise', '__proto__', 'limit[]', 'first'), fc.string())),
      headers: fc.oneof({ weight: 6, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: HEADERS }),
      hasIdentity: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
      body: route.method === 'GET' ? fc.constant(undefined) : bodies(body, ids),
    })
    .map((given) => {
      let index = 0
      const path = route.path.replace(/:\w+/g, () => encoded(asText(given.path[index++])) || '-')
      const query = given.query.flatMap((value, at) =>
        value === undefined ? [] : [`${inQuery[at]?.name}=${encoded(asText(value))}`],
      )
      if (given.extra !== undefined) query.push(given.extra.map(encoded).join('='))
      return {
        path: query.length > 0 ? `${path}?${query.join('&')}` : path,
        headers: { ...caller, ...(given.hasIdentity ? identity : {}), ...given.headers },
        body: given.body,
      }
    })
}

/** Given once in `rarity + 1` times. */
const maybe = <T>(rarity: number, value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: rarity, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })

const values = (schema: Parameter['schema'], ids: readonly string[]): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 2, arbitrary: valid(document, schema, ids) },
    { weight: 1, arbitrary: mutated(document, schema, ids) },
  )

function bodies(schema: Parameter['schema'] | undefined, ids: readonly string[]): fc.Arbitrary<string | undefined> {
  const json = fc.oneof(
    values(schema ?? { type: 'object', properties: {} }, ids),
    ...(schema === undefined ? [fc.constant({})] : []),
  )
  return fc.oneof(
    { weight: 10, arbitrary: json.map((value) => JSON.stringify(value)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        undefined,
        '',
        '{',
        '[',
        '\0',
        '"',
        '{"a":1',
        '\ufeff{}',
        'nul',
        '['.repeat(50_000),
        '{"body":"\\ud800"}',
      ),
    },
  )
}

const CURSOR: fc.Arbitrary<string> = fc.oneof(
  fc.string(),
  fc.constantFrom('e30', 'bnVsbA', 'WyJyZWNlbnQiXQ', '%00', 'a'.repeat(5000)),
  fc
    .tuple(
      fc.constantFrom(
        'recent',
        'active',
        'newest',
        'oldest',
        'top',
        'api-keys',
        'webhooks',
        'deliveries',
        'readers',
        'identity-secrets',
        'pending',
        'reported',
        'rejected',
      ),
      fc.array(
        fc.oneof(
          fc.constantFrom<(string | number)[]>(
            '',
            'ffffffff-ffff-ffff-ffff-ffffffffffff',
            '\0',
            'x',
            -1,
            1e300,
            '2026-01-01T00:00:00.000Z',
            '-000001-01-01T00:00:00Z',
          ),
          fc.string(),
          fc.double({ noNaN: true }),
        ),
        { maxLength: 3 },
      ),
    )
    .map(([sort, key]) => encodeCursor(sort, ...key)),
)

/** Values that a header can have at all. */
const HEADERS: fc.Arbitrary<Record<string, string>> = fc.dictionary(
  fc.constantFrom(
    'x-request-id',
    'idempotency-key',
    'if-none-match',
    'x-service-identity',
    'content-type',
    'accept',
    'accept-encoding',
    'last-event-id',
    'origin',
    'x-forwarded-for',
    'x-api-key',
    'authorization',
    'cookie',
    'prefer',
  ),
  fc.oneof(
    fc.constantFrom(
      '',
      '*',
      'text/plain',
      'application/json; charset=utf-16',
      'multipart/form-data; boundary=x',
      'Bearer x',
      `ek_${'0'.repeat(64)}`,
      'a.b.c',
      'eyJhbGciOiJub25lIn0.e30.',
      'null',
      'x'.repeat(4000),
    ),
    fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)), maxLength: 300 }),
  ),
  { minKeys: 1, maxKeys: 3 },
)

async function send(method: string, { path, headers, body }: FuzzedRequest): Promise<TestResponse> {
  const response = await fetch(`${service.url}/api/v1${path}`, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    signal: AbortSignal.timeout(PATIENCE_MS),
    ...(body === undefined ? {} : { body }),
  })
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined }
}

// Words of stack traces, queries, drivers and libraries.
const INSIDE =
  /node_modules|\bat \S+ \(|\.ts:\d+|SELECT .* FROM|INSERT INTO|UPDATE .* SET|violates|relation "|syntax error at|Prisma|PGlite|ZodError|TypeError|ECONN|FST_ERR/

describe(`every request gets a documented answer (seed ${FUZZ_SEED})`, () => {
  // A seed of its own for each: from one, all routes would draw the same few shapes of requests.
  const named = DESCRIBED_ROUTES.map((described, n) => [described.title, described, FUZZ_SEED + n] as const)
  test.each(named)(
    '%s',
    async (_title, described, seed) => {
      const { method } = described.route
      const operation = operationOf(document, described)
      const identity = described.access === 'public' ? {} : await sideOf(described).as(READER)
      // Each login costs 50 ms of CPU, and few are let through.
      const numRuns = described.field === 'login' ? Math.min(RUNS, 10) : RUNS
      await fc.assert(
        fc.asyncProperty(requests(described, identity), async (request) => {
          const answer = await send(method, request)
          answered.set(answer.status, (answered.get(answer.status) ?? 0) + 1)
          expect(answer.status, answer.text).toBeLessThan(500)
          expectDocumented(document, checker, operation, answer)
          // The text of a comment may say anything.
          if (answer.status >= 400) expect(answer.text).not.toMatch(INSIDE)
          expect(answer.headers.get('x-request-id')).toMatch(/^[\x21-\x7e]{1,128}$/)
        }),
        { numRuns, seed, endOnFailure: true },
      )
    },
    60_000 + RUNS * 200,
  )
})

test('many of these requests are valid, and many are invalid in different ways', () => {
  const of = (low: number) => [...answered].filter(([status]) => Math.trunc(status / 100) === low)
  const total = (entries: [number, number][]) => entries.reduce((sum, [, count]) => sum + count, 0)
  expect(total(of(2))).toBeGreaterThan(total([...answered]) / 8)
  expect(of(4).map(([status]) => status)).toEqual(expect.arrayContaining([400, 401, 404, 422]))
})

import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'

import { profileOf } from '../../src/clients/backend/readers.ts'
import { ERRORS } from '../../src/core/error-table.ts'
import { newId } from '../../src/core/ids.ts'
import { hasAtMost } from '../../src/core/input/texts.ts'
import { expectDetailOf } from '../harness/assertions.ts'
import { effort } from '../harness/effort.ts'
import { faults } from '../harness/faults.ts'
import { requests } from '../harness/fuzz.ts'
import type { OpenApi } from '../harness/openapi.ts'
import { refusalIn } from '../harness/refusal.ts'
import { furnish, READER, type Side } from '../harness/resources.ts'
import { type DescribedRoute, DESCRIBED_ROUTES, requestOf } from '../harness/routes.ts'
import { SEED } from '../harness/seed.ts'
import { type TestResponse, useService } from '../harness/service.ts'
import {
  absent,
  BESIDE,
  fillIn,
  headersOf,
  INPUTS,
  lengthOf,
  openWorld,
  requestWith,
  RULES,
  send,
  sendOperation,
  textOf,
  WIDE,
  type World,
  type Wrong,
} from '../harness/wrong-requests.ts'

const service = useService()
let world: World
beforeAll(async () => {
  world = await openWorld(service)
})

const named = (routes: readonly DescribedRoute[]) => routes.map((described) => [described.title, described] as const)
type Expected = Pick<Wrong, 'what' | 'detail' | 'error' | 'allow'> & { code: keyof typeof ERRORS }

/**
 * A problem document (RFC 9457) with the code's status, and the headers that go with it
 * (docs/reference/errors.md).
 */
function expectProblem(answer: TestResponse, { code, what = code, detail, error, allow }: Expected): void {
  const { status, title } = ERRORS[code]
  const said = `${what}: ${answer.text}`
  expect(answer.json, said).toMatchObject({ code, status, title })
  expect(answer.status).toBe(status)
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/)
  expect(answer.json.type).toEqual(expect.stringMatching(/^\w+:/))
  expect(answer.json.requestId).toBe(answer.headers.get('x-request-id'))
  expect(answer.json.detail, said).toEqual(
    detail === undefined ? expect.stringMatching(/\w/) : expect.stringContaining(detail),
  )
  expect(Object.keys(answer.json as object).filter((name) => !PROBLEM.has(name))).toEqual([])
  expect(answer.headers.get('www-authenticate') !== null).toBe(status === 401)
  if (allow !== undefined) expect(new Set(answer.headers.get('allow')?.split(', ')), said).toEqual(allow)
  if (code === 'validation_failed') expectDetailOf(answer)
  if (error === undefined) return
  const errors = (answer.json.errors as { pointer: string; code: string; message: string }[]).map(
    ({ pointer, ...rest }) => ({ name: pointer.split('/')[1], ...rest }),
  )
  expect(errors, said).toContainEqual(expect.objectContaining(error))
  expect(new Set(errors.map(({ name }) => name)), said).toEqual(new Set([error.name]))
}

const PROBLEM = new Set(['type', 'title', 'status', 'detail', 'code', 'requestId', 'errors'])

/** The same refusal as an error of GraphQL. */
function expectGraphQLError(answer: TestResponse, { code, what = code, detail = '' }: Expected): void {
  const [error] = (answer.json as { errors?: { message: string; extensions: object }[] }).errors ?? []
  expect(error?.extensions, `${what}: ${answer.text}`).toMatchObject({ code, status: ERRORS[code].status })
  expect(error?.message).toContain(detail)
  // A nullable field is null; otherwise there is no data at all.
  expect(Object.values((answer.json.data ?? {}) as object).filter((value) => value !== null)).toEqual([])
}

describe.each(RULES.map((rule) => [rule.title, rule] as const))('%s', (_rule, { code, routes, wrong, allowed }) => {
  test.each(named(routes))('%s', async (_title, described) => {
    for (const each of await wrong(world, described)) {
      expectProblem(await send(service, described, each), { ...each, code })
      if (each.asOperation !== true) continue
      expectGraphQLError(await sendOperation(service, described, each), { ...each, code })
    }
    for (const headers of (await allowed?.(world, described)) ?? []) {
      const { json } = await send(service, described, { ...absent(described), headers })
      expect(json?.code).not.toBe(code)
    }
  })

  test('is asked of routes', () => expect(routes.length).toBeGreaterThan(10))
})

test.each(BESIDE)('%s: %s', async (what, code, method, path, request) => {
  const answer = await service.call(method, path, request)
  expectProblem(answer, { what, code, ...(code === 'method_not_allowed' && { allow: new Set(['GET']) }) })
})

test.each(['/graphql', '/graphql/stream', '/api/v1/stream/x'])(
  'an API key and a token of a member together: %s',
  async (path) => {
    const response = await fetch(service.url + path, {
      ...(path.startsWith('/api') ? {} : { method: 'POST', body: '{"query":"{ __typename }"}' }),
      headers: { ...world.admin, 'x-api-key': service.apiKey, 'content-type': 'application/json' },
    })
    expect(response.status).toBe(400)
    expect(refusalIn(await response.json())).toMatchObject({ code: 'ambiguous_credentials' })
  },
)

// PostgreSQL refuses NUL in any text.
test.each(named(DESCRIBED_ROUTES.filter(({ slots }) => slots.length > 0)))(
  'NUL in a text fails nothing: %s',
  async (_title, described) => {
    const headers = await headersOf(world, described)
    const fill = fillIn(world, described)
    for (const wrong of described.slots.filter(({ isId, isList }) => isId || !isList)) {
      const request = requestOf(described, (slot) => (slot === wrong ? 'a\0b' : fill(slot)))
      const answer = await send(service, described, { ...request, headers })
      expect(answer.status, `${wrong.name}: ${answer.text}`).toBeLessThan(500)
      // Lists of ids are answered id by id.
      if (!wrong.isList) expect(answer.status, `${wrong.name}: ${answer.text}`).toBeGreaterThanOrEqual(400)
    }
  },
)

/** Some bounds of docs/reference/choices/requests.md: of these, a text that is as long is taken. */
const LENGTHS: Readonly<Record<string, number>> = {
  'POST /discussions/by-external/:externalId/comments body': 10_000,
  'POST /discussions externalId': 512,
  'POST /discussions title': 500,
  'POST /keys label': 100,
  'POST /webhooks description': 500,
  'POST /comments/:commentId/report note': 1000,
  'POST /readers/:readerId/ban reason': 500,
  'PATCH /settings suspectWords': 100,
  'PATCH /settings bannedWords': 100,
  'GET /readers search': 255,
}

describe('lengths are counted in characters, as PostgreSQL does', () => {
  let taken: World
  beforeAll(async () => {
    taken = { ...world, side: await furnish(service, await service.addTenant('lengths'), 'lengths') }
  })

  const texts = [...INPUTS]
    .flatMap(([described, inputs]) =>
      inputs.flatMap((input) => {
        const most = lengthOf(input)
        return most === undefined ? [] : [[`${described.title} ${input.name}`, most, described, input] as const]
      }),
    )
    // Others delete what these are about.
    .toSorted(([one], [other]) => Number(Object.hasOwn(LENGTHS, other)) - Number(Object.hasOwn(LENGTHS, one)))

  test.each(texts)('%s: a text of %i characters is not too long', async (title, most, described, input) => {
    const request = requestWith(taken, described, { input, value: textOf(input, most) })
    // Some of these requests ban who has written everything.
    const headers = await headersOf(taken, described, newId())
    const answer = await send(service, described, { ...request, headers })
    expect(answer.status, answer.text).toBeLessThan(500)
    expect(answer.json?.errors ?? [], answer.text).not.toContainEqual(expect.objectContaining({ code: 'too_long' }))
    if (Object.hasOwn(LENGTHS, title)) expect([most, answer.status < 300], answer.text).toEqual([LENGTHS[title], true])
  })

  test('there are such texts', () => {
    expect(texts.map(([title]) => title)).toEqual(expect.arrayContaining(Object.keys(LENGTHS)))
  })

  test('hasAtMost counts code points', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), fc.nat(50), (text, max) => {
        expect(hasAtMost(text, max)).toBe(Array.from(text).length <= max)
      }),
    )
  })

  test('an assertion may have a sub of 255 characters and a name of 80', async () => {
    const assert = async (sub: string, name: string) =>
      service.call('POST', '/discussions/by-external/claims/comments', {
        body: { body: 'Mine' },
        headers: await service.as(sub, { name }),
      })
    const [sub, name] = [WIDE.repeat(255), WIDE.repeat(80)]
    const { status, json } = await assert(sub, name)
    expect([status, json.author]).toMatchObject([201, { externalId: sub, name }])
    expect((await assert(`${sub}x`, 'Ann')).json.code).toBe('invalid_identity')
    expect((await assert('ann', `${name}x`)).json.code).toBe('invalid_identity')
  })

  test('the backend library cuts a name after 80 characters, and refuses an id of 256', () => {
    expect(profileOf({ id: WIDE.repeat(255), name: WIDE.repeat(81) })).toMatchObject({ name: WIDE.repeat(80) })
    expect(() => profileOf({ id: WIDE.repeat(256) })).toThrow(TypeError)
  })
})

/** Requests per route; FUZZ_RUNS=1000 for a long one, FUZZ_SEED=<seed> to see one again. */
const RUNS = Number(process.env.FUZZ_RUNS ?? effort(20, 3))
const FUZZ_SEED = Number(process.env.FUZZ_SEED ?? SEED)

// Words of stack traces, queries, drivers and libraries.
const INSIDE =
  /node_modules|\bat \S+ \(|\.ts:\d+|SELECT .* FROM|INSERT INTO|UPDATE .* SET|violates|relation "|syntax error at|Prisma|PGlite|ZodError|TypeError|ECONN|FST_ERR/

describe(`every random request gets a documented answer (FUZZ_SEED=${FUZZ_SEED} FUZZ_RUNS=${RUNS})`, () => {
  let side: Side
  /** For requests that would change the answers to all others. */
  let settingsSide: Side
  let document: OpenApi
  beforeAll(async () => {
    side = await furnish(service, await service.addTenant('fuzzed'), 'fuzzed')
    settingsSide = await furnish(service, await service.addTenant('settings'), 'settings')
    document = (await service.call('GET', '/openapi.json', { headers: { 'x-api-key': '' } })).json as OpenApi
  })

  /** How often each status was answered. */
  const answered = new Map<number, number>()

  // A seed of its own for each: from one, all routes would draw the same few shapes of requests.
  test.each(DESCRIBED_ROUTES.map((described, n) => [described.title, described, FUZZ_SEED + n] as const))(
    '%s',
    async (_title, described, seed) => {
      const { method, path } = described.route
      const tenant = path === '/settings' ? settingsSide : side
      const identity = described.access === 'public' ? {} : await tenant.as(READER)
      // Each login costs 50 ms of CPU, and few are let through.
      const numRuns = described.field === 'login' ? Math.min(RUNS, 10) : RUNS
      await fc.assert(
        fc.asyncProperty(requests(document, tenant, described, identity), async ({ path: url, headers, body }) => {
          const answer = await service.call(method, url, { body, headers: { 'x-api-key': '', ...headers } })
          answered.set(answer.status, (answered.get(answer.status) ?? 0) + 1)
          expect(answer.status, answer.text).toBeLessThan(500)
          // What the document does not say of it.
          expect(faults.splice(0)).toEqual([])
          // The text of a comment may say anything.
          if (answer.status >= 400) expect(answer.text).not.toMatch(INSIDE)
          expect(answer.headers.get('x-request-id')).toMatch(/^[\x21-\x7e]{1,128}$/)
        }),
        { numRuns, seed, endOnFailure: true },
      )
    },
    60_000 + RUNS * 200,
  )

  test('many of these requests are valid, and many are invalid in different ways', () => {
    const of = (low: number) => [...answered].filter(([status]) => Math.trunc(status / 100) === low)
    const total = (entries: [number, number][]) => entries.reduce((sum, [, count]) => sum + count, 0)
    expect(total(of(2))).toBeGreaterThan(total([...answered]) / 8)
    expect(of(4).map(([status]) => status)).toEqual(expect.arrayContaining([400, 401, 404, 422]))
  })
})

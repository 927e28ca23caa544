import { createClient } from 'graphql-sse'
import { beforeAll, describe, expect, test } from 'vitest'

import { schema } from '../../src/api/execution/schema.ts'
import { createServer } from '../../src/api/http/server.ts'
import { signIdentity } from '../harness/identity.ts'
import { callerFor, furnish, keyOf, READER, resourceOf, sampleIn, type Side } from '../harness/resources.ts'
import { type DescribedRoute, DESCRIBED_ROUTES, requestOf, sampleOf, type Slot } from '../harness/routes.ts'
import { type Headers, type TestResponse, useService } from '../harness/service.ts'
import { digestOf } from '../harness/tenant-rows.ts'

/** Part of everything that the first tenant writes. */
const MARK = 'of-the-first-tenant'

const service = useService()
let theirs: Side
let mine: Side
let theirRows: Record<string, unknown>

beforeAll(async () => {
  theirs = await furnish(service, service, MARK)
  mine = await furnish(service, await service.addTenant('second'), 'of-another-tenant')
  theirRows = await digestOf(service.app.db, theirs.tenant.id)
})

const tokenOf = ({ adminToken }: Side): Headers => ({ authorization: `Bearer ${adminToken}` })

const idSlots = ({ slots }: DescribedRoute): Slot[] => slots.filter(({ isId }) => isId)

/**
 * Sends a route's request as the second tenant, with ids of the first one in the slots of
 * `foreign`, its own elsewhere.
 */
async function ask(described: DescribedRoute, headers: Headers, foreign: readonly Slot[]): Promise<TestResponse> {
  const { path, body } = requestOf(described, (slot) =>
    slot.isId
      ? (foreign.includes(slot) ? theirs : mine).ids[resourceOf(described, slot)]
      : sampleIn(mine, described, slot),
  )
  return service.call(described.route.method, path, { body, headers })
}

/** Nothing in the answer comes from the first tenant. */
function expectNothingOfTheirs({ text }: TestResponse): void {
  expect(text).not.toContain(MARK)
  for (const secret of [...Object.values(theirs.ids), theirs.tenant.id, theirs.admin.email])
    expect(text).not.toContain(secret)
}

const named = (routes: readonly DescribedRoute[]) => routes.map((described) => [described.title, described] as const)
const BOUND = DESCRIBED_ROUTES.filter(({ access }) => access !== 'public')

const BULK = 'POST /comments/bulk'

/** These answer an outcome for each id, or none; they have tests of their own. */
const SEVERAL: ReadonlySet<string> = new Set([
  BULK,
  'POST /moderation/claim',
  'DELETE /moderation/claim',
  'POST /readers/me/notifications/read',
  'POST /notifications/handed-out',
])

test.each(
  named(DESCRIBED_ROUTES.filter((described) => idSlots(described).length > 0 && !SEVERAL.has(described.title))),
)(
  '%s: an id of another tenant answers 404 not_found, to a key of all capabilities and to an admin',
  async (_title, described) => {
    const slots = idSlots(described)
    const identity = await mine.as(READER)
    const own = await callerFor(service, mine, described)
    const callers = described.needsToken ? [own] : [own, tokenOf(mine)]
    for (const caller of callers) {
      for (const foreign of [slots, ...(slots.length > 1 ? slots.map((slot) => [slot]) : [])]) {
        const answer = await ask(described, { ...caller, ...identity }, foreign)
        expect(answer.json, JSON.stringify(foreign)).toMatchObject({ status: 404, code: 'not_found' })
        expect(answer.status).toBe(404)
        expectNothingOfTheirs(answer)
      }
    }
  },
)

test(`${BULK}: an id of another tenant has the outcome not_found`, async () => {
  const ids = [theirs.ids.comment, theirs.ids.heldComment]
  for (const action of ['approve', 'reject', 'pin', 'unpin', 'review', 'delete']) {
    const answer = await service.call('POST', '/comments/bulk', { headers: keyOf(mine), body: { ids, action } })
    expect(answer.json.data).toMatchObject(ids.map((id) => ({ id, ok: false, status: null, code: 'not_found' })))
    expect(answer.text).not.toContain(MARK)
  }
})

test.each(named(BOUND))('%s: shows a tenant only its own data', async (_title, described) => {
  const caller = await callerFor(service, mine, described)
  // What removes things comes last.
  if (described.route.method === 'DELETE') return
  // Nobody reports their own comment.
  const reader = described.route.path.endsWith('/report') ? 'a-reporting-reader' : READER
  const answer = await ask(described, { ...caller, ...(await mine.as(reader)) }, [])
  // The request is valid: otherwise the 404 above would prove nothing.
  expect(answer.status, answer.text).toBeLessThan(300)
  expectNothingOfTheirs(answer)
})

test.each(named(BOUND.filter(({ isPaged }) => isPaged)))(
  '%s: a cursor of another tenant is refused or empty',
  async (_title, described) => {
    const of = async (side: Side) =>
      described.needsToken ? tokenOf(side) : { ...keyOf(side), ...(await side.as(READER, { name: undefined })) }
    const path = (side: Side) => {
      const { path: filled } = requestOf(described, (slot) =>
        slot.isId ? side.ids[resourceOf(described, slot)] : sampleOf(slot),
      )
      // Roots are listed, not the replies of one comment, whose list is another.
      return new URL(filled, 'http://-').pathname
    }
    const first = await service.call('GET', `${path(theirs)}?limit=1`, { headers: await of(theirs) })
    const cursor = first.json.nextCursor as string | null
    expect(cursor, `${described.title} needs two of a kind`).not.toBeNull()
    const answer = await service.call('GET', `${path(mine)}?cursor=${cursor}`, { headers: await of(mine) })
    expect(answer.status, answer.text).toBe(200)
    expectNothingOfTheirs(answer)
  },
)

test.each(named(BOUND))("%s: another tenant's identity answers 401 invalid_identity", async (_title, described) => {
  const caller = await callerFor(service, mine, described)
  const forged = await signIdentity(
    { tenant: mine.tenant.slug, secret: theirs.identitySecret.secret },
    { sub: READER, name: 'Their secret, for my audience' },
  )
  for (const identity of [await theirs.as(READER), { 'x-service-identity': forged }]) {
    const answer = await ask(described, { ...caller, ...identity }, [])
    expect(answer.json).toMatchObject({ status: 401, code: 'invalid_identity' })
  }
})

describe('GET /stream/{discussionId}', () => {
  const open = async (discussionId: string, query: string, headers: Headers = {}): Promise<TestResponse> =>
    service.call('GET', `/stream/${discussionId}${query}`, { headers: { 'x-api-key': '', ...headers } })

  test('a key, an admin token and ?token= of another tenant: 404 not_found', async () => {
    const { discussion } = theirs.ids
    const answers = await Promise.all([
      service.call('GET', `/stream/${discussion}`, { headers: keyOf(mine) }),
      service.call('GET', `/stream/${discussion}`, { headers: tokenOf(mine) }),
      open(discussion, `?token=${mine.apiKey}`),
      open(discussion, `?token=${mine.adminToken}`),
    ])
    for (const answer of answers) {
      expect(answer.json).toMatchObject({ status: 404, code: 'not_found' })
      expectNothingOfTheirs(answer)
    }
  })

  test('a ticket of another tenant, or for another discussion: 401 invalid_ticket', async () => {
    for (const [discussionId, ticket] of [
      [theirs.ids.discussion, mine.ticket],
      [mine.ids.discussion, theirs.ticket],
    ] as const) {
      const answer = await open(discussionId, `?ticket=${ticket}`)
      expect(answer.json).toMatchObject({ status: 401, code: 'invalid_ticket' })
    }
  })

  test("another tenant's token of a single-connection GraphQL stream is refused", async () => {
    const at = (method: string, headers: Headers) => fetch(`${service.url}/graphql/stream`, { method, headers })
    const reserved = await at('PUT', keyOf(theirs))
    expect(reserved.status).toBe(201)
    const token = { 'x-graphql-event-stream-token': await reserved.text(), accept: 'text/event-stream' }
    expect((await at('GET', { ...keyOf(mine), ...token })).status).toBe(404)
    const opened = await at('GET', { ...keyOf(theirs), ...token })
    expect(opened.status).toBe(200)
    await opened.body?.cancel()
  })

  test.each([true, false])(
    'subscription discussionEvents (single connection: %s): not_found',
    async (singleConnection) => {
      const client = createClient({
        url: `${service.url}/graphql/stream`,
        singleConnection,
        headers: keyOf(mine),
        retryAttempts: 0,
      })
      try {
        const results = client.iterate({
          query: `subscription ($id: ID!) { discussionEvents(discussionId: $id, lastEventId: "0") { id } }`,
          variables: { id: theirs.ids.discussion },
        })
        const { value } = await results.next()
        expect(value).toMatchObject({ errors: [{ extensions: { code: 'not_found', status: 404 } }] })
      } finally {
        client.dispose()
      }
    },
  )
})

test('POST /admin/auth/login: an admin signs in with its own password only', async () => {
  const body = { email: theirs.admin.email, password: mine.admin.password }
  const answer = await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body })
  expect(answer.json).toMatchObject({ code: 'invalid_admin_token' })
})

/** Root fields that have tests of their own: of the subscriptions, `nodes` and `federation`. */
const APART = ['_entities', '_service', 'discussionEvents', 'moderationQueueChanged', 'node', 'nodes']

test('every root field of GraphQL is reached by these routes, or has a test of its own', () => {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]
  const fields = roots.flatMap((root) => Object.keys(root?.getFields() ?? {}))
  const reached = new Set([...DESCRIBED_ROUTES.map(({ field }) => field), ...APART])
  expect(fields.filter((field) => !reached.has(field))).toEqual([])
})

test('no other address exists beside the route table, the stream, GraphQL and paths without a tenant', async () => {
  const server = await createServer(service.app)
  await server.ready()
  const known = DESCRIBED_ROUTES.map(({ route }) => shapeOf(`/api/v1${route.path}`))
  const beside = [
    '/api/v1/stream',
    '/api/v1/stream/:',
    '/api/v1/openapi.json',
    '/api/v1/asyncapi.json',
    '/api/v1/exports/:/file',
    '/api/v1/import-uploads/:/parts/:',
    '/api/v1/admin/auth/oidc/start',
    '/api/v1/admin/auth/oidc/callback',
    '/openapi.json',
    '/asyncapi.json',
    '/docs',
    '/docs*',
    '/llms.txt',
    '/',
    '/console',
    '/console*',
    '/widget.js',
    '/widget.:',
    '/lists.js',
    '/lists.:',
    '/graphql',
    '/graphql/sdl',
    '/graphql/stream',
    '/healthz',
    '/readyz',
    '/metrics',
    // `/engagement/:publicKey/*`, as Fastify prints it.
    '/*',
  ]
  expect(addressesOf(server.printRoutes({ commonPrefix: false }))).toEqual(
    [...new Set([...known, ...beside])].toSorted(),
  )
  await server.close()
})

/** Two routes of one address may name its parameters differently. */
const shapeOf = (path: string): string => path.replace(/:\w+(\|:\w+)*/g, ':')

/** The addresses in the tree that Fastify prints. */
function addressesOf(tree: string): string[] {
  const above: string[] = []
  const addresses = tree.split('\n').flatMap((line) => {
    const [, indent = '', part = '', methods] = /^([│ ]*)[├└]── (\S+)( \(.*\))?$/.exec(line) ?? []
    if (part === '') return []
    const depth = indent.length / 4
    above.length = depth
    above.push(part)
    return methods === undefined ? [] : [shapeOf(above.join(''))]
  })
  return [...new Set(addresses)].toSorted()
}

test("the first tenant's data have not changed", async () => {
  expect(await digestOf(service.app.db, theirs.tenant.id)).toEqual(theirRows)
})

// The deepest first: a comment takes its reactions along.
const REMOVALS = BOUND.filter(({ route }) => route.method === 'DELETE').toSorted(
  (a, b) => b.route.path.length - a.route.path.length,
)

test.each(named(REMOVALS))('%s: removes its own', async (_title, described) => {
  const caller = await callerFor(service, mine, described)
  const answer = await ask(described, { ...caller, ...(await mine.as(READER)) }, [])
  expect(answer.status, answer.text).toBeLessThan(300)
})

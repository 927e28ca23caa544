import { beforeAll, expect, test } from 'vitest'

import { callerFor, furnish, READER, resourceOf, sampleIn, type Side } from '../harness/resources.ts'
import { type DescribedRoute, DESCRIBED_ROUTES, requestOf } from '../harness/routes.ts'
import { useService } from '../harness/service.ts'
import { listen } from '../harness/sse.ts'

// A UUID is the same in upper case (RFC 9562, section 4).

const service = useService()
let side: Side

beforeAll(async () => {
  side = await furnish(service, service, 'any-case')
})

const upper = (text: string): string => (text.length === 36 ? text.toUpperCase() : text)

async function ask(described: DescribedRoute, write: (id: string) => string) {
  const { path, body } = requestOf(described, (slot) =>
    slot.isId ? write(side.ids[resourceOf(described, slot)]) : sampleIn(side, described, slot),
  )
  const headers = { ...(await callerFor(service, side, described)), ...(await side.as(READER)) }
  return service.call(described.route.method, path, { body, headers })
}

const idsIn = (text: string): string[] => text.match(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/gi) ?? []

// The export of a reader has the audit log, in which each export is an entry.
const READ = DESCRIBED_ROUTES.filter(
  ({ route, slots }) => route.method === 'GET' && slots.some(({ isId }) => isId) && !route.path.endsWith('/export'),
)

test.each(READ.map((described) => [described.title, described] as const))(
  '%s answers the same for ids in upper case',
  async (_title, described) => {
    const [same, answer] = [await ask(described, (id) => id), await ask(described, upper)]
    expect([answer.status, idsIn(answer.text)], answer.text).toEqual([200, idsIn(same.text)])
    expect(answer.headers.has('etag')).toBe(same.headers.has('etag'))
  },
)

test('a write takes them in its path, its body and its lists, and answers in lower case', async () => {
  const { discussion, comment, reader } = side.ids
  const headers = await side.as(READER)
  const path = `/discussions/${upper(discussion)}/comments`
  const reply = await service.call('POST', path, { body: { body: 'Hi', parentId: upper(comment) }, headers })
  expect(reply.json, reply.text).toMatchObject({ discussionId: discussion, parentId: comment })
  const ids = [upper(reply.json.id as string)]
  const bulk = await service.call('POST', '/comments/bulk', { body: { ids, action: 'reject' } })
  expect(bulk.text).toContain(reply.json.id)
  expect((await service.call('GET', `/comments/${reply.json.id}`)).json.status).toBe('rejected')
  expect((await service.call('GET', `/audit-log?actor=${upper(reader)}`, { headers: bearer() })).status).toBe(200)
})

const bearer = () => ({ authorization: `Bearer ${side.adminToken}` })

test('GraphQL takes them in variables, literals and representations', async () => {
  const { discussion: id } = side.ids
  const query = `query ($by: DiscussionBy!, $ids: [ID!]!) {
    discussion(by: $by) { id } literal: node(id: "${upper(id)}") { id } nodes(ids: $ids) { id }
    _entities(representations: [{ __typename: "Discussion", id: "${upper(id)}" }]) { ... on Discussion { id } }
  }`
  const { json } = await service.graphql(query, { by: { id: upper(id) }, ids: [upper(id)] })
  expect(json).toEqual({ data: { discussion: { id }, literal: { id }, nodes: [{ id }], _entities: [{ id }] } })
})

test('an external id keeps its case', async () => {
  const externalId = upper(side.ids.discussion)
  const query = `query ($by: DiscussionBy!) { discussion(by: $by) { id } }`
  expect((await service.graphql(query, { by: { externalId } })).json.errors[0].extensions.code).toBe('not_found')
})

test('a stream and a client token take them', async () => {
  const { discussion: id } = side.ids
  const stream = await listen(`${service.url}/api/v1/stream/${upper(id)}`, { 'x-api-key': service.apiKey })
  stream.close()
  expect(stream.framing[0]?.type).toBe('connected')
  const { json } = await service.call('POST', '/client-tokens', { body: { discussionIds: [upper(id)] } })
  const asked = await service.graphql(
    `{ discussion(by: { id: "${id}" }) { id } }`,
    {},
    { authorization: `Bearer ${json.token}` },
  )
  expect(asked.json).toEqual({ data: { discussion: { id } } })
})

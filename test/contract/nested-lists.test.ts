import pg from 'pg'
import { beforeAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { statementsOf } from '../harness/statements.ts'

const service = useService()
const roots = new Map<string, string[]>()

beforeAll(async () => {
  for (const page of ['a', 'b', 'c', 'd']) {
    const bodies = page === 'd' ? [] : ['one', 'two', 'three'].map((word) => `${page} ${word}`)
    const { json } = await service.call('POST', '/discussions', { body: { externalId: page } })
    for (const body of bodies) {
      const headers = await service.as(`author of ${body}`)
      const root = await service.call('POST', `/discussions/${json.id}/comments`, { body: { body }, headers })
      const reply = { body: `${body}, replied`, parentId: root.json.id as string }
      await service.call('POST', `/discussions/${json.id}/comments`, { body: reply, headers })
    }
    roots.set(page, bodies)
  }
})

interface Node {
  externalId: string
  comments: { edges: { node: { body: string; replies: { edges: { node: { body: string } }[] } } }[]; pageInfo: object }
}

const QUERY = `query ($first: Int!, $size: Int!, $sort: CommentSort!) {
  discussions(first: $first) { edges { node { externalId
    comments(first: $size, sort: $sort) {
      pageInfo { hasNextPage }
      edges { node { body replies(first: 2) { edges { node { body } } } } }
    }
  } } }
}`

async function read(first: number, size = 2, sort = 'oldest'): Promise<{ nodes: Node[]; statements: string[] }> {
  const { result, statements } = await statementsOf(service, () => service.graphql(QUERY, { first, size, sort }))
  return { nodes: result.json.data.discussions.edges.map(({ node }: { node: Node }) => node), statements }
}

test('first: 0 answers an empty page, which tells whether there is an entry', async () => {
  const PAGE = '{ edges { cursor } nodes { id } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } }'
  const ask = async (field: string) => (await service.graphql(`{ discussions(first: 2) { nodes { ${field} } } }`)).json
  const empty = (hasNextPage: boolean) => ({
    edges: [],
    nodes: [],
    pageInfo: { startCursor: null, endCursor: null, hasNextPage, hasPreviousPage: false },
  })
  const { data } = await ask(`comments(first: 0) ${PAGE}`)
  // Page d has none.
  expect(data.discussions.nodes).toEqual([{ comments: empty(false) }, { comments: empty(true) }])
  const { json } = await service.graphql(`{ discussions(first: 0) ${PAGE} keys: apiKeys(first: 0) ${PAGE} }`)
  expect(json.data).toEqual({ discussions: empty(true), keys: empty(true) })
  const below = await ask('comments(first: -1) { nodes { id } }')
  expect(below.errors[0].extensions.errors).toEqual([
    { pointer: '/first', code: 'too_small', message: expect.any(String) },
  ])
})

test("the comments of listed discussions are the same as on each discussion's own page", async () => {
  for (const sort of ['oldest', 'newest', 'top']) {
    const { nodes } = await read(4, 2, sort)
    expect(nodes).toHaveLength(4)
    for (const { externalId, comments } of nodes) {
      const alone = await service.call('GET', `/discussions/by-external/${externalId}/comments?limit=2&sort=${sort}`)
      expect(comments.edges.map(({ node }) => node.body)).toEqual(
        alone.json.data.map(({ body }: { body: string }) => body),
      )
      expect(comments.pageInfo).toEqual({ hasNextPage: alone.json.hasMore })
    }
  }
})

test('a nested list costs one statement a level, however many rows the level above has', async () => {
  const two = await read(2)
  const all = await read(4, 3)
  expect(all.statements).toEqual(two.statements)
  expect(all.statements).toHaveLength(3)
  expect(all.nodes.flatMap(({ comments }) => comments.edges.map(({ node }) => node.body)).toSorted()).toEqual(
    [...roots.values()].flat().toSorted(),
  )
  for (const { node } of all.nodes.flatMap(({ comments }) => comments.edges)) {
    expect(node.replies.edges.map((edge) => edge.node.body)).toEqual([`${node.body}, replied`])
  }
})

test.each(['webhookEndpoint', 'reader'])('many aliases of %s cost one statement', async (field) => {
  const made = await service.call('POST', '/webhooks', { body: { url: 'https://a.example.com/' } })
  const { json } = await service.graphql('{ readers(first: 1) { edges { node { id } } } }')
  const id: string = field === 'reader' ? json.data.readers.edges[0].node.id : made.json.id
  const other = newId()
  const aliases = Array.from({ length: 12 }, (_, n) => `a${n}: ${field}(id: "${n === 3 ? other : id}") { id }`)
  const { webhookEndpoint, reader } = service.app.prisma
  const reads = [vi.spyOn(webhookEndpoint, 'findMany'), vi.spyOn(reader, 'findMany')]
  const answer = await service.graphql(`{ ${aliases.join(' ')} }`)
  const counts = reads.map(({ mock }) => mock.calls.length)
  vi.restoreAllMocks()
  const { a3, ...found } = answer.json.data
  expect(a3).toBeNull()
  expect(Object.values(found)).toEqual(Array.from({ length: 11 }, () => ({ id })))
  expect(counts).toEqual(field === 'reader' ? [0, 1] : [1, 0])
})

/** What a query asks the database of some tables, Prisma's statements too. */
async function statementsOn(
  tables: RegExp,
  query: string,
): Promise<{ data: Record<string, never>; statements: string[] }> {
  const sent = vi.spyOn(pg.Client.prototype, 'query')
  try {
    const { data } = (await service.graphql(query)).json
    const texts = sent.mock.calls.map(([asked]) => (asked as unknown as { text: string }).text)
    return { data, statements: texts.filter((text) => tables.test(text)) }
  } finally {
    sent.mockRestore()
  }
}

describe('the secrets and headers of endpoints', () => {
  const PARTS = 'secrets { kid } headers { name }'
  const asked = (query: string) => statementsOn(/^SELECT.*\bwebhook_\w+/, query)
  const ids: string[] = []

  beforeAll(async () => {
    for (const name of ['one', 'two']) {
      const body = { url: `https://${name}.example.com/`, headers: [{ name: 'x-a', value: 'b' }] }
      ids.push((await service.call('POST', '/webhooks', { body })).json.id)
    }
  })

  test('are read with a page where they are asked for, and only there', async () => {
    const page = (parts: string, n: number): string => `{ webhookEndpoints(first: ${n}) { nodes { id ${parts} } } }`
    expect((await asked(page('', 2))).statements).toHaveLength(1)
    expect((await asked(page(PARTS, 1))).statements).toHaveLength(3)
    const { data, statements } = await asked(page(PARTS, 2))
    expect(statements).toHaveLength(3)
    const nodes = ids
      .toReversed()
      .map((id) => ({ id, secrets: [{ kid: expect.any(String) }], headers: [{ name: 'x-a' }] }))
    expect(data.webhookEndpoints).toEqual({ nodes })
  })

  test('by id, and under many aliases, are read once', async () => {
    const list = ids.map((id) => `"${id}"`).join(', ')
    const aliases = 'a: secrets { kid } b: secrets { createdAt }'
    const found = await asked(`{ nodes(ids: [${list}]) { ... on WebhookEndpoint { ${aliases} headers { name } } } }`)
    expect(found.statements.filter((text) => !text.includes('UNION ALL'))).toHaveLength(3)
    expect(found.data.nodes).toHaveLength(2)
    const one = await asked(`{ webhookEndpoint(id: "${ids[0]}") { ${aliases} headers { name } } }`)
    expect(one.statements).toHaveLength(3)
  })

  test('in the answer to a deletion are those that were', async () => {
    const input = `input: { id: "${ids[0]}" }`
    const { data } = await asked(`mutation { deleteWebhookEndpoint(${input}) { webhookEndpoint { id ${PARTS} } } }`)
    const was = { id: ids[0], secrets: [{ kid: expect.any(String) }], headers: [{ name: 'x-a' }] }
    expect(data.deleteWebhookEndpoint).toEqual({ webhookEndpoint: was })
  })
})

describe('deliveries', () => {
  let endpointId: string
  const ids: string[] = []

  beforeAll(async () => {
    const { json } = await service.call('POST', '/webhooks', { body: { url: 'https://a.example.com/' } })
    endpointId = json.id
    await service.app.db.query(unnamed("UPDATE webhook_endpoints SET state = 'verified' WHERE id = $1"), [endpointId])
    const { json: discussion } = await service.call('GET', '/discussions/by-external/a')
    for (const body of ['one', 'two', 'three', 'four']) {
      const headers = await service.as('a commenter')
      await service.call('POST', `/discussions/${discussion.id}/comments`, { body: { body }, headers })
    }
    const queued = await service.call('GET', `/webhooks/${endpointId}/deliveries`)
    ids.push(...queued.json.data.map(({ id }: { id: string }) => id))
    await service.app.db.query(unnamed(ADD_ATTEMPTS), [ids])
  })

  const deliveriesBy = (query: string) => statementsOn(/\b(deliveries|attempts|events)\b/, query)

  test('cost one statement, and their attempts another, however many there are', async () => {
    const list = (first: number): string =>
      `{ webhookDeliveries(id: "${endpointId}", first: ${first}) { edges { node { id attempts { n error } } } } }`
    const [one, all] = [await deliveriesBy(list(1)), await deliveriesBy(list(10))]
    expect([one.statements.length, all.statements.length]).toEqual([2, 2])
    const attempts = [1, 2].map((n) => ({ n, error: `failure ${n}` }))
    expect(all.data.webhookDeliveries).toEqual({ edges: ids.map((id) => ({ node: { id, attempts } })) })
  })

  test('by id, under many aliases, cost one more for the bodies', async () => {
    const aliases = ids.map((id, n) => `a${n}: webhookDelivery(id: "${endpointId}", deliveryId: "${id}") { id body }`)
    const { data, statements } = await deliveriesBy(`{ ${aliases.join(' ')} }`)
    expect(statements).toHaveLength(2)
    const found = Object.values<{ id: string; body: string }>(data)
    expect(found.map(({ id }) => id)).toEqual(ids)
    const bodies = found.map(({ body }) => JSON.parse(body).data.comment?.body)
    expect(bodies).toEqual(['four', 'three', 'two', 'one'])
  })
})

const ADD_ATTEMPTS = `INSERT INTO attempts (tenant_id, delivery_id, n, at, duration_ms, error)
  SELECT tenant_id, id, n, now(), 1, 'failure ' || n FROM deliveries, generate_series(2, 1, -1) AS n WHERE id = ANY($1::uuid[])`

import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { startService, type TestService } from '../harness/service.ts'

let service: TestService
const roots = new Map<string, string[]>()

beforeAll(async () => {
  service = await startService({ worker: false })
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
afterAll(() => service.close())

interface Node {
  externalId: string
  comments: { edges: { node: { body: string; replies: { edges: { node: { body: string } }[] } } }[]; pageInfo: object }
}

/**
 * By these the caller is known; they come again when what is known is old, whatever is asked for.
 */
const OF_CALLERS = /^(find_|live_identity_secrets$|record_key_uses$)/

const QUERY = `query ($first: Int!, $size: Int!, $sort: CommentSort!) {
  discussions(first: $first) { edges { node { externalId
    comments(first: $size, sort: $sort) {
      pageInfo { hasNextPage }
      edges { node { body replies(first: 2) { edges { node { body } } } } }
    }
  } } }
}`

async function read(first: number, size = 2, sort = 'oldest'): Promise<{ nodes: Node[]; statements: string[] }> {
  const query = vi.spyOn(service.app.db, 'query')
  try {
    const { json } = await service.graphql(QUERY, { first, size, sort })
    const nodes = json.data.discussions.edges.map(({ node }: { node: Node }) => node)
    return { nodes, statements: query.mock.calls.map(([{ name }]) => name).filter((name) => !OF_CALLERS.test(name)) }
  } finally {
    query.mockRestore()
  }
}

test('the comments of listed discussions are those of each page by itself', async () => {
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

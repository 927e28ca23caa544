import { expect, test } from 'vitest'

import { useService } from '../harness/service.ts'

const service = useService()

async function post(externalId: string, body: string, parentId?: string): Promise<string> {
  const path = `/discussions/by-external/${externalId}/comments`
  const { json } = await service.call('POST', path, { body: { body, parentId }, headers: await service.as('ann') })
  return json.id as string
}

interface Level {
  totalCount: number | null
  nodes: { id: string }[]
  edges: { cursor: string; node: { id: string } }[]
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
}

const LEVEL = 'totalCount nodes { id } edges { cursor node { id } } pageInfo { hasNextPage endCursor }'

test('nodes are the nodes of the edges, in every list of comments', async () => {
  const root = await post('same', 'root')
  for (const body of ['one', 'two', 'three']) await post('same', body, root)
  const { json } = await service.graphql(
    `query ($id: ID!) {
      discussion(by: { externalId: "same" }) { comments { ...Level } }
      comment(id: $id) { replies(first: 2) { ...Level } author { id } }
    } fragment Level on CommentConnection { ${LEVEL} }`,
    { id: root },
  )
  for (const level of [json.data.discussion.comments, json.data.comment.replies] as Level[]) {
    expect(level.nodes).toEqual(level.edges.map(({ node }) => node))
    expect(level.pageInfo.endCursor).toBe(level.edges.at(-1)?.cursor)
  }
  expect(json.data.comment.replies.nodes).toHaveLength(2)
  const { json: reader } = await service.graphql(`{ readers { nodes { comments { ${LEVEL} } } } }`)
  const { comments }: { comments: Level } = reader.data.readers.nodes[0]
  expect(comments.nodes).toHaveLength(4)
  expect(comments.nodes).toEqual(comments.edges.map(({ node }) => node))
})

test('totalCount of replies is what paging reaches, in each state of the replies; other lists have none', async () => {
  const root = await post('counted', 'root')
  const replies = []
  for (const body of ['one', 'two', 'three', 'four']) replies.push(await post('counted', body, root))
  await post('counted', 'below', replies[1])
  const reached = async (): Promise<{ totalCount: number | null; ids: string[] }> => {
    const ids: string[] = []
    for (let after: string | null = null; ;) {
      const query = `query ($id: ID!, $after: String) { comment(id: $id) { replies(first: 1, after: $after) { ${LEVEL} } } }`
      const { json } = await service.graphql(query, { id: root, after })
      const level: Level = json.data.comment.replies
      ids.push(...level.nodes.map(({ id }) => id))
      if (!level.pageInfo.hasNextPage) return { totalCount: level.totalCount, ids }
      after = level.pageInfo.endCursor
    }
  }
  expect(await reached()).toMatchObject({ totalCount: 4, ids: replies.toReversed() })
  for (const id of replies.slice(0, 2)) await service.call('POST', `/comments/${id}/reject`)
  const left = await reached()
  // The second one has a reply in view, and stays as a tombstone.
  expect(left).toEqual({ totalCount: 3, ids: replies.slice(1).toReversed() })

  const { json } = await service.graphql(
    `query ($id: ID!) { discussion(by: { externalId: "counted" }) { comments { totalCount } below: comments(parentId: $id) { totalCount } } }`,
    { id: root },
  )
  expect(json.data.discussion).toEqual({ comments: { totalCount: null }, below: { totalCount: null } })
})

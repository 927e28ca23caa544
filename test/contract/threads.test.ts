import { beforeAll, describe, expect, test } from 'vitest'

import { useKey, useReaders, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { statementsOf } from '../harness/statements.ts'

interface Listed {
  id: string
  body: string
  status: string
  replyCount: number
  reactionCounts: Record<string, number>
  viewerReaction: string | null
  replies?: { data: Listed[]; nextCursor: string | null; hasMore: boolean }
}

const service = useService()
const { ann } = useReaders(service, 'ann')
const plain = useKey(service)

const post = async (page: string, body: string, parentId?: string): Promise<{ id: string; discussionId: string }> => {
  const path = `/discussions/by-external/${page}/comments`
  return service.ok('POST', path, { body, ...(parentId === undefined ? {} : { parentId }) }, ann)
}

const react = async (id: string, ...readers: string[]): Promise<void> => {
  for (const reader of readers) {
    const headers = await service.as(reader)
    await service.ok('PUT', `/comments/${id}/reaction`, { type: 'like' }, headers)
  }
}

const moderate = async (id: string, verb: string): Promise<void> =>
  expect((await service.call('POST', `/comments/${id}/${verb}`)).status).toBe(200)

const list = (page: string, query = '', headers: Record<string, string> = plain) =>
  service.call('GET', `/discussions/by-external/${page}/comments?${query}`, { headers })

/** All pages of a list. `between` happens after the first one. */
async function walk(page: string, query: string, between?: () => Promise<void>, from?: string): Promise<Listed[]> {
  const seen: Listed[] = []
  let cursor = from === undefined ? '' : `&cursor=${from}`
  for (let n = 0; n < 50; n++) {
    const { json } = await list(page, query + cursor)
    seen.push(...(json.data as Listed[]))
    if (json.hasMore !== true) return seen
    cursor = `&cursor=${json.nextCursor}`
    if (n === 0) await between?.()
  }
  throw new Error('the list has no end')
}

const bodies = (comments: readonly Listed[]): string => comments.map(({ body }) => body).join(' ')

/** Each letter is a comment, made in this order. */
const postAll = async (page: string, names: string, parentId?: string): Promise<Map<string, string>> => {
  const ids = new Map<string, string>()
  for (const name of names.split(' ')) ids.set(name, (await post(page, name, parentId)).id)
  return ids
}

describe('sort=top', () => {
  test('most reactions first, then most replies, then newest; over pages of any size', async () => {
    const ids = await postAll('top', 'a b c d e f')
    await react(ids.get('b')!, 'r1', 'r2')
    await react(ids.get('e')!, 'r1')
    await react(ids.get('d')!, 'r1')
    await postAll('top', 'x y', ids.get('d'))
    await post('top', 'z', ids.get('c'))
    for (const limit of [1, 2, 3, 6, 100]) {
      expect(bodies(await walk('top', `sort=top&limit=${limit}`))).toBe('b d e c f a')
    }
    await moderate(ids.get('a')!, 'pin')
    for (const limit of [1, 2, 100]) expect(bodies(await walk('top', `sort=top&limit=${limit}`))).toBe('a b d e c f')
  })

  test('has the replies of one comment in the same order', async () => {
    const { id } = await post('top-replies', 'root')
    const ids = await postAll('top-replies', 'a b c', id)
    await react(ids.get('a')!, 'r1')
    expect(bodies(await walk('top-replies', `sort=top&limit=1&parentId=${id}`))).toBe('a c b')
  })

  test('the order follows each reaction, removal, moderation and deletion', async () => {
    const ids = await postAll('top-moves', 'a b c')
    const order = async () => bodies((await list('top-moves', 'sort=top')).json.data)
    await react(ids.get('a')!, 'r1', 'r2')
    await react(ids.get('b')!, 'r1')
    expect(await order()).toBe('a b c')
    for (const reader of ['r1', 'r2']) {
      await service.call('DELETE', `/comments/${ids.get('a')}/reaction`, { headers: await service.as(reader) })
    }
    expect(await order()).toBe('b c a')
    await moderate(ids.get('b')!, 'reject')
    expect(await order()).toBe('c a')
    await moderate(ids.get('b')!, 'approve')
    expect(await order()).toBe('b c a')
    await service.call('DELETE', `/comments/${ids.get('b')}`)
    expect(await order()).toBe('c a')
  })

  test('a comment that does not move between two pages is seen exactly once, whatever else moves', async () => {
    const names = Array.from({ length: 12 }, (_, n) => `c${n}`)
    const ids = await postAll('top-stable', names.join(' '))
    for (const [index, name] of names.entries()) {
      await react(ids.get(name)!, ...Array.from({ length: index % 4 }, (_, n) => `r${n}`))
    }
    const before = (await list('top-stable', 'sort=top&limit=100')).json.data as Listed[]
    const [first, last] = [before[0], before.at(-1)]
    const seen = await walk('top-stable', 'sort=top&limit=4', async () => {
      await react(last!.id, 's1', 's2', 's3', 's4', 's5')
      await service.call('DELETE', `/comments/${first!.id}/reaction`, { headers: await service.as('r0') })
      await post('top-stable', 'new')
    })
    const still = (comments: readonly Listed[]) =>
      comments.filter(({ id, body }) => id !== first!.id && id !== last!.id && body !== 'new').map(({ id }) => id)
    expect(still(seen)).toEqual(still(before))
    expect(still(seen)).toHaveLength(10)
  })

  test('a cursor of another order, or of numbers that no comment has, answers 422', async () => {
    await postAll('top-cursors', 'a b')
    const { json } = await list('top-cursors', 'limit=1')
    const id = json.data[0].id as string
    const forged = (...key: unknown[]) => Buffer.from(JSON.stringify(key)).toString('base64url')
    const cursors = [
      json.nextCursor,
      forged('top', '', id),
      forged('top', '', id, -1, 0),
      forged('top', '', id, 1.5, 0),
      forged('top', '', id, 99_999_999_999, 0),
      forged('top', '', id, 0, 'x'),
      forged('top', '', 'no-id', 0, 0),
      forged('top', 'never', id, 0, 0),
    ]
    for (const cursor of cursors) {
      const { status, json: problem } = await list('top-cursors', `sort=top&cursor=${cursor}`)
      expect([status, problem.errors?.[0]?.pointer]).toEqual([422, '/cursor'])
    }
  })
})

describe('replies=0..3', () => {
  const page = 'nested'
  let ids: Map<string, string>

  beforeAll(async () => {
    ids = await postAll(page, 'a b c')
    await postAll(page, 'a1 a2 a3 a4', ids.get('a'))
    const below = await postAll(page, 'b1', ids.get('b'))
    await postAll(page, 'deep', below.get('b1'))
  })

  const nested = (comments: readonly Listed[]) =>
    comments.map(({ body, replies }) => [body, replies && bodies(replies.data), replies?.hasMore])

  test('nests the first replies of each comment, one level deep, in the order of the page', async () => {
    const { json } = await list(page, 'replies=2&sort=oldest')
    expect(nested(json.data)).toEqual([
      ['a', 'a1 a2', true],
      ['b', 'b1', false],
      ['c', '', false],
    ])
    expect(json.data[1].replies).toMatchObject({ nextCursor: null, hasMore: false })
    expect(json.data[1].replies.data[0]).toMatchObject({ body: 'b1', replyCount: 1, depth: 1 })
    expect(json.data[1].replies.data[0]).not.toHaveProperty('replies')
    expect(nested((await list(page, 'replies=3&sort=newest')).json.data)).toEqual([
      ['c', '', false],
      ['b', 'b1', false],
      ['a', 'a4 a3 a2', true],
    ])
    const answer = await service.call('GET', `/comments/${ids.get('a')}`)
    const { json: byId } = await service.call('GET', `/discussions/${answer.json.discussionId}/comments?replies=3`)
    expect(byId).toEqual((await list(page, 'replies=3')).json)
  })

  test.each(['newest', 'oldest', 'top'])('their nextCursor continues with parentId and sort=%s', async (sort) => {
    const { json } = await list(page, `replies=1&sort=${sort}`)
    const a = (json.data as Listed[]).find(({ body }) => body === 'a')!
    const { data, nextCursor } = a.replies!
    expect(nextCursor).toEqual(expect.any(String))
    const rest = await walk(page, `sort=${sort}&limit=2&parentId=${a.id}`, undefined, nextCursor!)
    const all = (await list(page, `sort=${sort}&parentId=${a.id}`)).json.data as Listed[]
    expect([...data, ...rest].map(({ id }) => id)).toEqual(all.map(({ id }) => id))
  })

  test('without it, or with 0, no comment has the member', async () => {
    for (const query of ['', 'replies=0']) {
      const { json } = await list(page, query)
      expect(json.data).toHaveLength(3)
      for (const comment of json.data) expect(comment).not.toHaveProperty('replies')
    }
  })

  test.each([
    ['replies=4', 'too_large'],
    ['replies=-1', 'too_small'],
    ['replies=two', 'wrong_type'],
    ['replies=1.5', 'wrong_type'],
    ['replies=', 'wrong_type'],
  ])('%s answers 422 %s at /replies', async (query, code) => {
    const { status, json } = await list(page, query)
    expect([status, json.errors]).toEqual([422, [{ pointer: '/replies', code, message: expect.any(String) }]])
  })

  test('pinned replies come first; comments out of view appear nowhere, by REST and by any path of GraphQL', async () => {
    const root = await post('nested-hidden', 'root')
    const hidden = await postAll('nested-hidden', 'one two three four', root.id)
    await postAll('nested-hidden', 'below', hidden.get('four'))
    await moderate(hidden.get('one')!, 'pin')
    await moderate(hidden.get('two')!, 'reject')
    await service.call('DELETE', `/comments/${hidden.get('three')}`)
    await service.call('DELETE', `/comments/${hidden.get('four')}`)
    const { json } = await list('nested-hidden', 'replies=3')
    const replies = (json.data as Listed[])[0]!.replies!
    expect(replies.data.map(({ id, status, body }) => [id, status, body])).toEqual([
      [hidden.get('one'), 'approved', 'one'],
      [hidden.get('four'), 'deleted', null],
    ])
    const { text } = await service.graphql(
      `query ($id: ID!) {
        discussion(by: { externalId: "nested-hidden" }) {
          comments(first: 5) { edges { node { replies(first: 5, sort: top) { edges { node { id body replies(first: 5) { edges { node { body } } } } } } } } }
        }
        comment(id: $id) { replies(first: 5, sort: oldest) { edges { node { id body status replies(first: 5) { edges { node { body } } } } } } }
      }`,
      { id: root.id },
      plain,
    )
    expect(text).toContain('below')
    for (const secret of ['two', 'three', hidden.get('two')!, hidden.get('three')!]) expect(text).not.toContain(secret)
    expect(text).not.toMatch(/"body":"four"/)
  })

  test('GraphQL pages the replies of each comment separately, with aliases of different arguments', async () => {
    const query = `query ($after: String) {
      discussion(by: { externalId: "nested" }) {
        comments(sort: oldest) {
          edges { node {
            body
            first: replies(first: 1, sort: oldest) { edges { cursor node { body } } pageInfo { hasNextPage endCursor } }
            again: replies(first: 1, sort: oldest) { edges { node { body } } }
            after: replies(first: 2, sort: oldest, after: $after) { edges { node { body } } pageInfo { hasNextPage } }
          } }
        }
      }
    }`
    type Edges = { edges: { node: { body: string } }[] }
    type Node = { body: string; first: Edges & { pageInfo: { endCursor: string } }; again: Edges; after: Edges }
    const read = async (after: string | null) => {
      const { json } = await service.graphql(query, { after }, plain)
      return (json.data.discussion.comments.edges as { node: Node }[]).map(({ node }) => node)
    }
    const of = ({ edges }: Edges) => edges.map(({ node }) => node.body).join(' ')
    const [a] = await read(null)
    expect(
      [a!, ...(await read(a!.first.pageInfo.endCursor))].map((n) => [n.body, of(n.first), of(n.again), of(n.after)]),
    ).toEqual([
      ['a', 'a1', 'a1', 'a1 a2'],
      ['a', 'a1', 'a1', 'a2 a3'],
      ['b', 'b1', 'b1', 'b1'],
      ['c', '', '', ''],
    ])
    const refused = await service.graphql(
      '{ discussion(by: { externalId: "nested" }) { comments { edges { node { replies(first: 101) { edges { cursor } } } } } } }',
    )
    expect(refused.json.errors[0].extensions).toMatchObject({ code: 'validation_failed' })
  })
})

describe('the number of statements', () => {
  /** The statements of one request. */
  const statementsFor = async (run: () => Promise<unknown>): Promise<string[]> =>
    (await statementsOf(service, run)).statements.filter((name) => name !== 'upsert_reader').toSorted()

  const FILL = unnamed(`WITH written AS (
       INSERT INTO comments (tenant_id, id, discussion_id, parent_id, depth, author_id, body, body_html, status, reply_count, reaction_counts)
       SELECT c.tenant_id, new_id(), c.discussion_id, CASE WHEN $2 THEN c.id END, $2::int, c.author_id, 'x', 'x', 'approved',
         CASE WHEN $2 THEN 0 ELSE 2 END, '{"like":2}'
       FROM comments c, generate_series(1, $3::int)
       WHERE c.discussion_id = $1 AND c.depth = 0 AND ($2 OR c.reply_count = 0)
       RETURNING tenant_id, id
     )
     INSERT INTO reactions (tenant_id, comment_id, reader_id, type)
     SELECT w.tenant_id, w.id, r.id, 'like' FROM written w, readers r
     WHERE r.tenant_id = w.tenant_id AND r.external_id IN ('ann', 'r1')`)

  /** A page of `size` comments with two replies each, all of them with two reactions. */
  async function fill(page: string, size: number): Promise<void> {
    const { id, discussionId } = await post(page, 'seed')
    await react(id, 'r1')
    await service.app.db.query(FILL, [discussionId, false, size])
    await service.call('DELETE', `/comments/${id}`)
    await service.app.db.query(FILL, [discussionId, true, 2])
  }

  const QUERY = `query ($page: String!) {
    discussion(by: { externalId: $page }) {
      comments(first: 100) { edges { node {
        author { name } reactionCounts viewerReaction reactions(first: 3) { edges { node { type reader { name } } } }
        replies(first: 3) { edges { node { author { name } viewerReaction reactions(first: 3) { edges { node { type } } } } } }
      } } }
    }
  }`

  test('is the same for 5 comments and for 100, and small: with authors, reactions, viewer fields and replies', async () => {
    await fill('few', 5)
    await fill('many', 100)
    const headers = { ...plain, ...ann }
    const rest = (page: string) =>
      statementsFor(async () => {
        const { json } = await list(page, 'limit=100&replies=3', headers)
        expect(json.data).toHaveLength(page === 'many' ? 100 : 5)
        expect(json.data[0]).toMatchObject({ viewerReaction: 'like', replies: { data: [{}, {}] } })
      })
    const graphql = (page: string) =>
      statementsFor(async () => {
        const { json } = await service.graphql(QUERY, { page }, headers)
        const nodes = (json.data.discussion.comments.edges as { node: object }[]).map(({ node }) => node)
        expect(nodes).toHaveLength(page === 'many' ? 100 : 5)
        expect(nodes[0]).toMatchObject({
          viewerReaction: 'like',
          reactions: { edges: [{}, {}] },
          replies: { edges: [{}, {}] },
        })
      })
    // Both then have keys, readers and pages' ids in the cache.
    for (const page of ['few', 'many']) await list(page, 'limit=1', headers)
    for (const run of [rest, graphql]) {
      const few = await run('few')
      expect(await run('many')).toEqual(few)
      expect(few.length).toBeGreaterThan(2)
      expect(few.length).toBeLessThan(8)
    }
    // A page that is kept: its version, decisions on the reader's own comments, their reactions.
    expect(await rest('many')).toEqual(['decisions_on_comments', 'discussion_versions', 'viewer_reactions'])
  })
})

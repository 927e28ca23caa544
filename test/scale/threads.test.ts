import { expect, test, vi } from 'vitest'

import type { Param, Statement } from '../../src/core/database/statements.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

const BLOCKS = /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/

/** Adds comments, each second one with a reply or a reaction, beside the service. */
const grow = (size: number) =>
  service.app.db.query(
    unnamed(`INSERT INTO comments (tenant_id, id, discussion_id, body, body_html, status, reply_count, reaction_counts)
       SELECT tenant_id, new_id(), id, 'x', 'x', 'approved', n % 3, CASE WHEN n % 2 = 0 THEN jsonb_build_object('like', n) ELSE '{}' END
       FROM discussions, generate_series(1, $1::int) n WHERE external_id = 'large'`),
    [size],
  )

const COMMENTS = `query ($sort: CommentSort, $after: String) {
  discussion(by: { externalId: "large" }) { comments(sort: $sort, first: 20, after: $after) { edges { cursor node { id pinnedAt } } } }
}`

/** How many blocks each page reads: the first, and those after two of its comments. */
async function blocksOf(sort: string): Promise<Record<string, number>> {
  const first = await readPage(sort, null)
  expect(first.edges.filter(({ node }) => node.pinnedAt !== null)).toHaveLength(2)
  const after = async (index: number) => (await readPage(sort, first.edges[index]?.cursor ?? '')).blocks
  return { first: first.blocks, 'after a pinned one': await after(0), 'after another': await after(19) }
}

async function readPage(sort: string, cursor: string | null) {
  const spy = vi.spyOn(service.app.db, 'query')
  const { json } = await service.graphql(COMMENTS, { sort, after: cursor })
  const ran = spy.mock.calls.find(([{ name }]) => name.startsWith('roots_'))
  spy.mockRestore()
  const edges = json.data.discussion.comments.edges as { cursor: string; node: { pinnedAt: string | null } }[]
  expect(edges).toHaveLength(20)
  const [{ text }, params] = ran as [Statement, Param[]]
  const explain = unnamed(`EXPLAIN (ANALYZE, BUFFERS) ${text}`)
  const plan = await service.app.db.query<Record<string, string>>(explain, params)
  const [, hit = 0, read = 0] = BLOCKS.exec(plan.map((row) => Object.values(row)[0]).join('\n')) ?? []
  return { edges, blocks: Number(hit) + Number(read) }
}

test('the cost of a page of comments does not grow with the discussion, in any order', async () => {
  for (let n = 0; n < 2; n++) {
    const path = '/discussions/by-external/large/comments'
    const { id } = (await service.call('POST', path, { body: { body: 'x' }, headers: await service.as('ann') })).json
    expect((await service.call('POST', `/comments/${id}/pin`)).status).toBe(200)
  }
  await grow(1000)
  const analyze = () => service.app.db.query(unnamed('ANALYZE comments'))
  await analyze()
  const small = { newest: await blocksOf('newest'), oldest: await blocksOf('oldest'), top: await blocksOf('top') }
  await grow(10_000)
  await analyze()
  for (const [sort, pages] of Object.entries(small)) {
    const grown = await blocksOf(sort)
    for (const [page, blocks] of Object.entries(pages)) {
      expect(blocks).toBeGreaterThan(3)
      // A level more of the index, and a row a block where they lay together.
      expect(grown[page], `${sort}, ${page}`).toBeLessThan(blocks + 40)
    }
  }
})

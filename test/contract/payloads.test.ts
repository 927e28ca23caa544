import { expect, test } from 'vitest'

import { useReaders, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { statementsOf } from '../harness/statements.ts'

// What a client's cache must change after a mutation, in its answer.

const service = useService()
const { ann, bob } = useReaders(service, 'ann', 'bob')

const BESIDE = 'parent { id replyCount } discussion { id commentCount }'
const CREATE = `mutation ($page: String!, $parentId: ID) {
  createComment(input: { discussion: { externalId: $page }, parentId: $parentId, body: "x" }) { comment { id } ${BESIDE} } }`
const DELETE = `mutation ($id: ID!) {
  deleteComment(input: { commentId: $id }) { deletedCommentId comment { status } ${BESIDE} } }`

async function run(query: string, variables: object, headers: Record<string, string> = {}) {
  const { json, text } = await service.graphql(query, variables, headers)
  expect(json.errors, text).toBeUndefined()
  return Object.values(json.data as Record<string, never>)[0] as never as Record<string, never> & {
    comment: { id: string; [name: string]: unknown }
    discussion: { id: string; commentCount: number }
    deletedCommentId: string | null
    commentEdge: { cursor: string; node: unknown }
    newest: { cursor: string }
  }
}

test('a new comment brings its parent and its discussion as they are after it', async () => {
  const root = await run(CREATE, { page: 'new' }, ann)
  expect(root).toMatchObject({ parent: null, discussion: { commentCount: 1 } })
  for (const n of [1, 2, 3]) {
    const { parent, discussion } = await run(CREATE, { page: 'new', parentId: root.comment.id }, bob)
    expect(parent).toEqual({ id: root.comment.id, replyCount: n })
    expect(discussion).toEqual({ id: root.discussion.id, commentCount: n + 1 })
  }
})

test('the edge of a new comment is that of the list', async () => {
  const mutation = `mutation ($sort: CommentSort) {
    createComment(input: { discussion: { externalId: "edges" }, body: "x" }) {
      commentEdge(sort: $sort) { cursor node { id body } } newest: commentEdge { cursor } } }`
  const list = `query ($sort: CommentSort) {
    discussion(by: { externalId: "edges" }) { comments(sort: $sort) { edges { cursor node { id body } } } } }`
  for (const sort of ['newest', 'oldest', 'top']) {
    const { commentEdge, newest } = await run(mutation, { sort }, ann)
    const { comments } = (await run(list, { sort })) as unknown as { comments: { edges: unknown[] } }
    expect(comments.edges).toContainEqual(commentEdge)
    if (sort === 'newest') expect(newest).toEqual({ cursor: commentEdge.cursor })
  }
})

test('a deletion tells the id of a comment that is gone, and null for one that stays as a tombstone', async () => {
  const root = (await run(CREATE, { page: 'gone' }, ann)).comment.id
  const reply = (await run(CREATE, { page: 'gone', parentId: root }, bob)).comment.id
  expect(await run(DELETE, { id: root }, ann)).toMatchObject({
    deletedCommentId: null,
    comment: { status: 'deleted' },
    parent: null,
    discussion: { commentCount: 1 },
  })
  expect(await run(DELETE, { id: reply }, bob)).toMatchObject({
    deletedCommentId: reply,
    comment: { status: 'deleted' },
    discussion: { commentCount: 0 },
  })
})

test('a moderator gets the parent and the counts after each change of state', async () => {
  const root = (await run(CREATE, { page: 'states' }, ann)).comment.id
  const reply = (await run(CREATE, { page: 'states', parentId: root }, bob)).comment.id
  for (const [name, replyCount, commentCount] of [
    ['rejectComment', 0, 1],
    ['approveComment', 1, 2],
    ['pinComment', 1, 2],
    ['unpinComment', 1, 2],
  ] as const) {
    const mutation = `mutation ($id: ID!) { ${name}(input: { commentId: $id }) { ${BESIDE} } }`
    expect(await run(mutation, { id: reply })).toMatchObject({
      parent: { id: root, replyCount },
      discussion: { commentCount },
    })
  }
  const edit = `mutation ($id: ID!) { updateComment(input: { commentId: $id, body: "y" }) { comment { body } ${BESIDE} } }`
  expect(await run(edit, { id: reply }, bob)).toMatchObject({
    comment: { body: 'y' },
    parent: { id: root, replyCount: 1 },
    discussion: { commentCount: 2 },
  })
})

test('a bulk action brings each comment as it is after it, in one statement', async () => {
  const ids: string[] = []
  for (let n = 0; n < 3; n++) ids.push((await run(CREATE, { page: 'bulk' }, ann)).comment.id)
  const mutation = `mutation ($ids: [ID!]!) { moderateComments(input: { ids: $ids, action: reject }) {
    outcomes { commentId ok comment { id status discussion { commentCount } } } } }`
  const { result, statements } = await statementsOf(service, () => run(mutation, { ids: [...ids, 'nonsense'] }))
  const comment = { status: 'rejected', discussion: { commentCount: 0 } }
  expect(result.outcomes).toEqual([
    ...ids.map((id) => ({ commentId: id, ok: true, comment: { id, ...comment } })),
    { commentId: 'nonsense', ok: false, comment: null },
  ])
  expect(statements.filter((name) => name === 'comments_by_ids')).toHaveLength(1)
})

test('nothing is read that is not selected', async () => {
  for (const _ of [1, 2]) await run(CREATE, { page: 'lean' }, ann)
  const statementsFor = async (selected: string): Promise<string[]> =>
    (await statementsOf(service, () => run(CREATE.replace(BESIDE, selected), { page: 'lean' }, ann))).statements
  const lean = await statementsFor('')
  expect(await statementsFor('discussion { id }')).toHaveLength(lean.length + 1)
  expect(await statementsFor('parent { id }')).toEqual(lean)
})

test('of comments at the same time none tells an older count than that after itself', async () => {
  const root = await run(CREATE, { page: 'busy' }, ann)
  const variables = { page: 'busy', parentId: root.comment.id }
  const answers = await Promise.all(Array.from({ length: 20 }, () => run(CREATE, variables, bob)))
  const events = await service.app.db.query<{ id: string; seq: number }>(
    unnamed(`SELECT data->'comment'->>'id' AS id, seq FROM events WHERE discussion_id = $1 AND audience = 'public'`),
    [root.discussion.id],
  )
  const seqOf = new Map(events.map(({ id, seq }) => [id, seq]))
  const order = [...seqOf.keys()]
  for (const { comment, discussion } of answers) {
    const after = order.filter((id) => (seqOf.get(id) ?? 0) <= (seqOf.get(comment.id) ?? Infinity)).length
    expect(discussion.commentCount).toBeGreaterThanOrEqual(after)
  }
  expect(Math.max(...answers.map(({ discussion }) => discussion.commentCount))).toBe(21)
})

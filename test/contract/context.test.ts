import { beforeAll, describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { COUNTED_COMMENTS } from '../../src/domains/comments/by-reader.ts'
import { callsTo } from '../harness/calls.ts'
import { type Headers, useKey, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { statementsOf } from '../harness/statements.ts'

const service = useService()
let ann: Headers
let ben: Headers
const plain = useKey(service)

beforeAll(async () => {
  ;[ann, ben] = [await service.as('ann', { name: 'Ann' }), await service.as('ben', { name: 'Ben' })]
})

const { ok } = callsTo(() => service)

const post = (page: string, headers: Headers, more: object = {}) =>
  ok('POST', `/discussions/by-external/${page}/comments`, { body: 'text', ...more }, headers)
const act = (id: string, verb: string) => ok('POST', `/comments/${id}/${verb}`)

async function graphql(query: string, variables: object = {}, headers: Headers = {}) {
  const { json } = await service.graphql(query, variables, headers)
  expect(json.errors).toBeUndefined()
  return json.data
}

/** How often each of these statements is run by `work`. */
async function counted<T>(names: RegExp, work: () => Promise<T>): Promise<{ result: T; statements: string[] }> {
  const { result, statements } = await statementsOf(service, work)
  return { result, statements: statements.filter((name) => names.test(name)) }
}

describe('a comment in its context', () => {
  const QUERY = `query ($id: ID!) { comment(id: $id) { id discussion { id externalId title url state }
    parent { id status body author { name } parent { id } } } }`

  test('has its discussion and the comments above it', async () => {
    const { id: discussionId } = await ok('POST', '/discussions', {
      externalId: 'told',
      title: 'A title',
      url: 'https://www.example.com/told',
    })
    const root = await post('told', ann)
    const reply = await post('told', ben, { parentId: root.id })
    const below = await post('told', ann, { parentId: reply.id })
    const discussion = {
      id: discussionId,
      externalId: 'told',
      title: 'A title',
      url: 'https://www.example.com/told',
      state: 'open',
    }
    const parent = { id: reply.id, status: 'approved', body: 'text', author: { name: 'Ben' }, parent: { id: root.id } }
    for (const headers of [{}, plain]) {
      expect(await graphql(QUERY, { id: below.id }, headers)).toEqual({ comment: { id: below.id, discussion, parent } })
      expect((await graphql(QUERY, { id: root.id }, headers)).comment.parent).toBeNull()
    }
  })

  test('a parent that is not approved is shown to its author and to moderators, and to others its tombstone', async () => {
    const root = await post('withdrawn', ann)
    const reply = await post('withdrawn', ben, { parentId: root.id })
    await act(root.id, 'reject')
    expect((await graphql(QUERY, { id: reply.id })).comment.parent).toMatchObject({ id: root.id, status: 'rejected' })
    const parentFor = async (reader: Headers) =>
      (await graphql(QUERY, { id: reply.id }, { ...plain, ...reader })).comment.parent
    const tombstone = { id: root.id, status: 'withheld', body: null }
    expect(await parentFor({})).toMatchObject(tombstone)
    expect(await parentFor(ben)).toMatchObject(tombstone)
    expect(await parentFor(ann)).toMatchObject({ id: root.id, status: 'rejected' })
  })

  test('costs one statement of each kind, however many comments there are', async () => {
    for (const page of ['one', 'two', 'three']) {
      const { id } = await post(page, ann)
      await ok('PATCH', '/settings', { moderationMode: 'pre' })
      await post(page, ben, { parentId: id })
      await ok('PATCH', '/settings', { moderationMode: 'none' })
    }
    const query = `{ moderationQueue { edges { node { comment { discussion { externalId title } parent { id }
      reports(first: 2) { edges { node { reason } } } } } } } }`
    const names = /^(discussions_by_ids|comments_by_ids|reports_of_comments)$/
    const { result, statements } = await counted(names, () => graphql(query))
    const pages = result.moderationQueue.edges.map(
      ({ node }: { node: { comment: { discussion: { externalId: string } } } }) => node.comment.discussion.externalId,
    )
    expect(pages).toEqual(['one', 'two', 'three'])
    expect(statements.toSorted()).toEqual(['comments_by_ids', 'discussions_by_ids', 'reports_of_comments'])
  })
})

describe('GET /comments/{id}/reports', () => {
  test('answers who reported a comment and why, newest first, page by page', async () => {
    const { id } = await post('reported', ann)
    await ok('POST', `/comments/${id}/report`, { reason: 'spam', note: 'Again.' }, ben)
    await ok('POST', `/comments/${id}/report`, { reason: 'other' }, await service.as('cleo'))
    const shadow = await service.as('dora')
    const { author } = await post('elsewhere', shadow)
    await ok('POST', `/readers/${author.id}/ban`, { shadow: true })
    await ok('POST', `/comments/${id}/report`, { reason: 'abuse' }, shadow)
    const { data, ...rest } = await ok('GET', `/comments/${id}/reports`)
    expect(rest).toEqual({ nextCursor: null, hasMore: false })
    const createdAt = expect.stringMatching(/Z$/)
    const reader = (externalId: string) => expect.objectContaining({ externalId, name: expect.any(String) })
    expect(data).toEqual([
      { reason: 'abuse', note: null, reader: reader('dora'), counted: false, createdAt },
      { reason: 'other', note: null, reader: reader('cleo'), counted: true, createdAt },
      { reason: 'spam', note: 'Again.', reader: reader('ben'), counted: true, createdAt },
    ])
    const first = await ok('GET', `/comments/${id}/reports?limit=2`)
    const second = await ok('GET', `/comments/${id}/reports?limit=2&cursor=${first.nextCursor}`)
    expect([[...first.data, ...second.data], second.hasMore]).toEqual([data, false])
  })

  test('is for moderators; the field of a comment is null for others', async () => {
    const { id } = await post('private', ann)
    await ok('POST', `/comments/${id}/report`, { reason: 'spam' }, ben)
    const { json } = await service.call('GET', `/comments/${id}/reports`, { headers: plain })
    expect(json).toMatchObject({ status: 403, code: 'missing_capability' })
    const query = 'query ($id: ID!) { comment(id: $id) { reports { edges { node { reader { externalId } } } } } }'
    expect((await graphql(query, { id }, plain)).comment.reports).toBeNull()
    expect((await graphql(query, { id })).comment.reports.edges).toEqual([{ node: { reader: { externalId: 'ben' } } }])
  })

  test.each([newId(), 'nonsense'])('of an unknown comment (%s) answers 404', async (id) => {
    expect((await service.call('GET', `/comments/${id}/reports`)).json).toMatchObject({ code: 'not_found' })
  })
})

describe('GET /readers/{id}/comments', () => {
  test("has a reader's comments in any state, newest first, with counts", async () => {
    const eve = await service.as('eve')
    const [approved, rejected, deleted] = [await post('p', eve), await post('q', eve), await post('q', eve)]
    await act(rejected.id, 'reject')
    await ok('DELETE', `/comments/${deleted.id}`, undefined, eve)
    await ok('POST', `/comments/${approved.id}/report`, { reason: 'spam' }, ben)
    await ok('PATCH', '/settings', { moderationMode: 'pre' })
    const pending = await post('p', eve)
    await ok('PATCH', '/settings', { moderationMode: 'none' })
    await post('p', ann)
    const id = approved.author.id as string
    const { commentCounts, data, ...rest } = await ok('GET', `/readers/${id}/comments`)
    expect(rest).toEqual({ nextCursor: null, hasMore: false })
    expect(commentCounts).toEqual({ total: 4, approved: 1, pending: 1, rejected: 1, deleted: 1, reportsReceived: 1 })
    const states = data.map((comment: { id: string; status: string }) => [comment.id, comment.status])
    expect(states).toEqual([
      [pending.id, 'pending'],
      [deleted.id, 'deleted'],
      [rejected.id, 'rejected'],
      [approved.id, 'approved'],
    ])
    expect(data[3]).toEqual(await ok('GET', `/comments/${approved.id}`))
    const first = await ok('GET', `/readers/${id}/comments?limit=3`)
    const second = await ok('GET', `/readers/${id}/comments?limit=3&cursor=${first.nextCursor}`)
    expect([[...first.data, ...second.data], first.hasMore, second.hasMore]).toEqual([data, true, false])
  })

  test('is for moderators; an unknown reader is 404', async () => {
    const { author } = await post('p', ann)
    const { json } = await service.call('GET', `/readers/${author.id}/comments`, { headers: plain })
    expect(json).toMatchObject({ code: 'missing_capability' })
    expect((await service.call('GET', `/readers/${newId()}/comments`)).json).toMatchObject({ code: 'not_found' })
  })

  test('serves many readers by one statement each', async () => {
    const query = `{ readers { edges { node { externalId commentCounts { total }
      comments(first: 1) { edges { node { author { externalId } } } pageInfo { hasNextPage } } } } } }`
    const names = /^(comments_by_reader|comment_counts_of_readers)$/
    const { result, statements } = await counted(names, () => graphql(query))
    expect(statements.toSorted()).toEqual(['comment_counts_of_readers', 'comments_by_reader'])
    for (const { node } of result.readers.edges) {
      expect(node.comments.edges).toHaveLength(Math.min(1, node.commentCounts.total))
      expect(node.comments.pageInfo.hasNextPage).toBe(node.commentCounts.total > 1)
      for (const edge of node.comments.edges)
        expect([node.externalId, undefined]).toContain(edge.node.author?.externalId)
    }
  })

  test('counts up to the limit', async () => {
    const { author, discussionId } = await post('p', await service.as('prolific'))
    const text = `INSERT INTO comments (tenant_id, id, discussion_id, author_id, body, body_html, status)
      SELECT $1, gen_random_uuid(), $2, $3, 'a', 'a', 'rejected' FROM generate_series(1, $4::int)`
    const params = [service.tenant.id, discussionId, author.id, COUNTED_COMMENTS]
    await service.app.db.query(unnamed(text), params)
    const { commentCounts } = await ok('GET', `/readers/${author.id}/comments?limit=1`)
    expect(commentCounts.total).toBe(COUNTED_COMMENTS)
  })
})

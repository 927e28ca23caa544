import { expect, test } from 'vitest'

import { loadStatements } from '../../src/build/statements.ts'
import { LAST_ID, newId } from '../../src/core/ids.ts'
import type { Statement } from '../../src/core/database/statements.ts'
import { SEARCHED_COMMENTS } from '../../src/domains/comments/by-reader.ts'
import { callsTo } from '../harness/calls.ts'
import { explaining } from '../harness/costs.ts'
import { type Headers, type TestResponse, type TestTenant, useKey, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

type Comment = TestResponse['json']

const service = useService()
const plain = useKey(service)

const { ok } = callsTo(() => service)

const post = (page: string, headers: Headers, more: object = {}): Promise<Comment> =>
  ok('POST', `/discussions/by-external/${page}/comments`, { body: 'text', ...more }, headers)
const newReader = (tenant: TestTenant = service) => tenant.as(`reader-${newId()}`)
const newPage = () => `page-${newId()}`

/** The list by REST, as a backend without capabilities asks for it. */
const own = (headers: Headers, query = '') =>
  ok('GET', `/readers/me/comments?${query}`, undefined, { ...plain, ...headers })
const idsOf = async (headers: Headers, query = '') => (await own(headers, query)).data.map(({ id }: Comment) => id)
const byId = (headers: Headers, id: string) =>
  service.call('GET', `/comments/${id}`, { headers: { ...plain, ...headers } })

/** As other answers have it. */
const bare = (comment: Comment): Comment =>
  Object.fromEntries(Object.entries(comment).filter(([name]) => name !== 'discussion'))

const OWN = `query ($first: Int, $after: String, $discussionId: ID, $status: CommentStatus) {
  viewer { comments(first: $first, after: $after, discussionId: $discussionId, status: $status) {
    nodes { id status body } totalCount pageInfo { hasNextPage endCursor } } } }`

const tokenOf = async (headers: Headers, body: object = {}): Promise<Headers> => ({
  authorization: `Bearer ${(await ok('POST', '/client-tokens', body, headers)).token}`,
})
const codeOf = ({ json }: TestResponse): string | undefined => json.errors?.[0]?.extensions.code

/** Comments of a reader in each state: oldest first. */
async function inEachState(headers: Headers) {
  const page = newPage()
  const [approved, pending, rejected, deleted, answered] = [
    await post(page, headers),
    await post(page, headers),
    await post(page, headers),
    await post(page, headers),
    await post(page, headers),
  ]
  await post(page, await newReader(), { parentId: answered.id })
  await ok('POST', `/comments/${rejected.id}/reject`)
  for (const { id } of [deleted, answered]) await ok('DELETE', `/comments/${id}`, undefined, headers)
  await service.app.db.query(HOLD, [pending.id])
  return { page, approved, pending, rejected, deleted, answered }
}
const HOLD = unnamed(`UPDATE comments SET status = 'pending' WHERE id = $1`)

test("GET /readers/me/comments lists a reader's own in every state, newest first, each as GET /comments/{id}", async () => {
  const ann = await newReader()
  const { approved, pending, rejected, deleted, answered } = await inEachState(ann)
  const { data, hasMore, nextCursor } = await own(ann)
  expect(data.map(({ id, status, body }: Comment) => [id, status, body])).toEqual([
    [answered.id, 'deleted', null],
    [deleted.id, 'deleted', null],
    [rejected.id, 'rejected', 'text'],
    [pending.id, 'pending', 'text'],
    [approved.id, 'approved', 'text'],
  ])
  expect([hasMore, nextCursor]).toEqual([false, null])
  const { json: discussion } = await service.call('GET', `/discussions/${approved.discussionId}`, { headers: ann })
  const { id, externalId, title, url } = discussion
  for (const { discussion: its, ...comment } of data) {
    expect(its).toEqual({ id, externalId, title, url })
    const { status, json } = await byId(ann, comment.id)
    // A deleted comment without replies is in no other list.
    if (comment.id === deleted.id) expect(status).toBe(404)
    else expect(comment).toEqual(json)
  }
  // A key that may moderate asks for its reader, too.
  expect((await ok('GET', '/readers/me/comments', undefined, ann)).data).toEqual(data)
})

test('status and discussionId keep only those', async () => {
  const ann = await newReader()
  const first = await inEachState(ann)
  const second = await inEachState(ann)
  for (const status of ['approved', 'pending', 'rejected'] as const) {
    expect(await idsOf(ann, `status=${status}`)).toEqual([second[status].id, first[status].id])
    const at = `status=${status}&discussionId=${first.approved.discussionId}`
    expect(await idsOf(ann, at)).toEqual([first[status].id])
  }
  expect(await idsOf(ann, 'status=deleted&limit=1')).toEqual([second.answered.id])
  expect(await idsOf(ann, 'status=withheld')).toEqual([])
  const { data } = await own(ann, `discussionId=${first.approved.discussionId}`)
  expect(data).toHaveLength(5)
  // A caller who asks for one discussion knows it.
  expect(data.filter((each: Comment) => 'discussion' in each)).toEqual([])
  for (const unknown of [newId(), 'nonsense']) {
    const answer = await service.call('GET', `/readers/me/comments?discussionId=${unknown}`, { headers: ann })
    expect(answer.json).toMatchObject({ status: 404, code: 'not_found' })
  }
})

test('nobody else gets them: another reader, a key without identity, a key of another tenant', async () => {
  const [ann, bob] = [await newReader(), await newReader()]
  const { page, pending } = await inEachState(ann)
  await post(page, bob)
  expect(await idsOf(bob, `discussionId=${pending.discussionId}`)).not.toContain(pending.id)
  const query = `query ($id: ID!) { comment(id: $id) { author { comments { nodes { id } } } } }`
  const { approved } = await inEachState(ann)
  const askedBy = async (headers: Headers) =>
    (await service.graphql(query, { id: approved.id }, { ...plain, ...headers })).json.data.comment.author.comments
  expect([await askedBy({}), await askedBy(bob)]).toEqual([null, null])
  expect((await askedBy(ann)).nodes).toHaveLength(10)
  const nobody = await service.call('GET', '/readers/me/comments', { headers: plain })
  expect(nobody.json).toMatchObject({ code: 'identity_required' })
  const tenant = await service.addTenant(`other-${newId()}`)
  const key = { 'x-api-key': tenant.apiKey }
  const eve = { ...key, ...(await newReader(tenant)) }
  expect(await idsOf(eve)).toEqual([])
  const foreign = await service.call('GET', `/readers/me/comments?discussionId=${pending.discussionId}`, {
    headers: eve,
  })
  expect(foreign.json).toMatchObject({ status: 404, code: 'not_found' })
})

test('a client token lists those of its reader, in the discussions that it names alone', async () => {
  const ann = await newReader()
  const [named, other] = [await inEachState(ann), await inEachState(ann)]
  const ask = async (token: Headers, variables: object = {}) => service.graphql(OWN, variables, token)
  const listed = async (token: Headers, variables: object = {}) =>
    (await ask(token, variables)).json.data.viewer.comments.nodes.map(({ id }: Comment) => id)
  expect(await listed(await tokenOf(ann))).toHaveLength(10)
  for (const body of [{ externalIds: [named.page] }, { discussionIds: [named.approved.discussionId] }]) {
    const token = await tokenOf(ann, body)
    expect(await listed(token)).toEqual(await idsOf(ann, `discussionId=${named.approved.discussionId}`))
    expect(await listed(token, { status: 'pending' })).toEqual([named.pending.id])
    expect(codeOf(await ask(token, { discussionId: other.approved.discussionId }))).toBe('not_found')
    expect((await ask(token)).json.data.viewer.comments.totalCount).toBeNull()
  }
  const { json } = await ask(await tokenOf({}))
  expect([json.data.viewer, json.errors[0].extensions.code]).toEqual([null, 'identity_required'])
})

test('a reader banned in shadow gets what is held as approved, also by status, and the truth afterwards', async () => {
  const mal = await newReader()
  const page = newPage()
  const { author } = await post(page, mal)
  await ok('POST', `/readers/${author.id}/ban`, { shadow: true })
  const { id } = await post(page, mal)
  await ok('PUT', `/comments/${id}/reaction`, { type: 'love' }, mal)
  expect(bare((await own(mal)).data[0])).toEqual((await byId(mal, id)).json)
  expect((await own(mal)).data[0]).toMatchObject({ id, status: 'approved', viewerReaction: 'love' })
  expect(await idsOf(mal, 'status=pending')).toEqual([])
  expect(await idsOf(mal, 'status=approved')).toHaveLength(2)
  // Moderators see the truth.
  const { data } = await ok('GET', `/readers/${author.id}/comments`)
  expect(data[0]).toMatchObject({ id, status: 'pending' })
  await ok('POST', `/readers/${author.id}/unban`)
  expect(await idsOf(mal, 'status=pending')).toEqual([id])
})

test('a merge gives the target the comments of both readers, under either name; an erasure leaves none', async () => {
  const [ann, ben] = [await newReader(), await newReader()]
  const [ofAnn, ofBen] = [await inEachState(ann), await inEachState(ben)]
  await ok('POST', `/readers/${ofAnn.approved.author.id}/merge`, { into: ofBen.approved.author.id })
  for (const headers of [ann, ben]) {
    expect(await idsOf(headers, 'status=pending')).toEqual([ofBen.pending.id, ofAnn.pending.id])
    for (const comment of (await own(headers, 'status=pending')).data)
      expect((await byId(headers, comment.id)).json).toEqual(bare(comment))
  }
  await ok('DELETE', `/readers/${ofBen.approved.author.id}`)
  for (const headers of [ann, ben]) expect(await idsOf(headers)).toEqual([])
})

/** Writes beyond the limits of a reader. */
const MANY = unnamed(
  `INSERT INTO comments (tenant_id, id, discussion_id, author_id, body, body_html, status, created_at, depth)
   SELECT c.tenant_id, ('00000000-0000-7000-8000-' || lpad(to_hex(n + $3::int), 12, '0'))::uuid, c.discussion_id, c.author_id,
     'old', '<p>old</p>', CASE WHEN n = 1 THEN 'rejected' ELSE 'approved' END::comment_status, c.created_at, 0
   FROM comments c, generate_series(1, $2::int) n WHERE c.id = $1`,
)

test(`a filtered page looks through ${SEARCHED_COMMENTS} comments, and the next one goes on after them`, async () => {
  const ann = await newReader()
  const { id } = await post(newPage(), ann)
  await service.app.db.query(MANY, [id, SEARCHED_COMMENTS, 0])
  const first = await own(ann, 'status=rejected')
  expect([first.data, first.hasMore]).toEqual([[], true])
  const second = await own(ann, `status=rejected&cursor=${first.nextCursor}`)
  expect(second.data.map(({ body }: Comment) => body)).toEqual(['old'])
  expect(second.hasMore).toBe(false)
})

test.each(['generic', 'custom'] as const)(
  'a page without filters reads the comments that it shows alone (%s plan)',
  async (mode) => {
    const ann = await newReader()
    const { id, author } = await post(newPage(), ann)
    const asked = (await loadStatements()).find(({ name }) => name === 'comments_by_reader') as Statement
    await explaining(service.app.db, asked, mode, async ({ explain, sql }) => {
      await sql(MANY, [id, 2 * SEARCHED_COMMENTS, SEARCHED_COMMENTS])
      const { plan } = await explain([service.tenant.id, [author.id], LAST_ID, 21, null, null, false, null])
      expect(plan).toMatch(/Index Scan .*comments_tenant_id_author_id_id_idx.* \(actual .* rows=2[12](\.00)? /)
    })
  },
)

test('pages have each comment once, while others are written and judged', async () => {
  const ann = await newReader()
  const page = newPage()
  const ids: string[] = []
  for (let n = 0; n < 7; n++) ids.unshift((await post(page, ann)).id)
  const seen: string[] = []
  let cursor = ''
  do {
    const { data, nextCursor } = await own(ann, `limit=2${cursor && `&cursor=${cursor}`}`)
    seen.push(...data.map(({ id }: Comment) => id))
    cursor = nextCursor ?? ''
    await post(page, ann)
    await ok('POST', `/comments/${data[0].id}/reject`)
    await ok('DELETE', `/comments/${data.at(-1).id}`, undefined, ann)
  } while (cursor !== '')
  expect(seen).toEqual(ids)
})

test('a held comment with replies has its state to its author in every list, and is withheld to others', async () => {
  const [ann, bob] = [await newReader(), await newReader()]
  const page = newPage()
  const root = await post(page, bob)
  const [pending, rejected] = [await post(page, ann), await post(page, ann, { parentId: root.id })]
  for (const { id } of [pending, rejected]) await post(page, bob, { parentId: id })
  await ok('POST', `/comments/${rejected.id}/reject`)
  // As after enough reports.
  await service.app.db.query(HOLD, [pending.id])
  const path = `/discussions/by-external/${page}/comments?replies=1`
  const askedBy = (headers: Headers) => service.call('GET', path, { headers: { ...plain, ...headers } })
  const byRest = async (headers: Headers): Promise<Comment[]> => {
    const { data } = (await askedBy(headers)).json
    return data.flatMap(({ replies, ...comment }: Comment) => [comment, ...replies.data])
  }
  const query = `query ($by: DiscussionBy!) { discussion(by: $by) {
    comments { nodes { id status body replies { nodes { id status body } } } } } }`
  const byGraphql = async (headers: Headers): Promise<Comment[]> => {
    const { json } = await service.graphql(query, { by: { externalId: page } }, headers)
    expect(json.errors).toBeUndefined()
    return json.data.discussion.comments.nodes.flatMap(({ replies, ...one }: Comment) => [one, ...replies.nodes])
  }
  const token = await tokenOf(ann)
  for (const listed of [await byRest(ann), await byGraphql({ ...plain, ...ann }), await byGraphql(token)]) {
    expect(listed.find(({ id }) => id === pending.id)).toMatchObject({ status: 'pending', body: 'text' })
    expect(listed.find(({ id }) => id === rejected.id)).toMatchObject({ status: 'rejected', body: 'text' })
  }
  for (const comment of await own(ann).then(({ data }) => data))
    expect((await byRest(ann)).find(({ id }) => id === comment.id)).toEqual(bare(comment))
  for (const headers of [{ ...plain, ...bob }, plain])
    for (const listed of [await byRest(headers), await byGraphql(headers)])
      for (const { id } of [pending, rejected])
        expect(listed.find((each) => each.id === id)).toMatchObject({ status: 'withheld', body: null })
  const known = { ...ann, 'if-none-match': (await askedBy(ann)).headers.get('etag') ?? '' }
  expect((await askedBy(known)).status).toBe(304)
  await ok('POST', `/comments/${rejected.id}/approve`)
  expect((await askedBy(known)).status).toBe(200)
})

test('a reader banned in shadow finds their own comment with replies once', async () => {
  const [mal, bob] = [await newReader(), await newReader()]
  const page = newPage()
  const root = await post(page, bob)
  const { id, author } = await post(page, mal, { parentId: root.id })
  await post(page, bob, { parentId: id })
  await ok('POST', `/readers/${author.id}/ban`, { shadow: true })
  await ok('PATCH', `/comments/${id}`, { body: 'edited' }, mal)
  const path = `/discussions/by-external/${page}/comments?replies=3`
  const { data } = await ok('GET', path, undefined, { ...plain, ...mal })
  expect(data[0]).toMatchObject({ id: root.id, replyCount: 1 })
  expect(data[0].replies.data).toEqual([(await byId(mal, id)).json])
  expect(data[0].replies.data[0]).toMatchObject({ status: 'approved', body: 'edited', replyCount: 1 })
})

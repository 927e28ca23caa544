import { beforeAll, describe, expect, test } from 'vitest'

import { eventRowsOf } from '../harness/event-rows.ts'
import { useReaders, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
const { ann, bob } = useReaders(service, 'ann', 'bob')

const post = (page: string, body: object, headers = ann) =>
  service.call('POST', `/discussions/by-external/${page}/comments`, { body, headers })

const eventsOf = (discussionId: string) => eventRowsOf(service.app.db, discussionId)

test('a leading indented code block survives trimming in REST and GraphQL, posted and edited', async () => {
  const code = '    def f():\n        return 1'
  const html = '<pre><code>def f():\n    return 1\n</code></pre>\n'
  const body = `\n \n${code}\n\n`
  const headers = await service.as('coder')
  const posted = await service.call('POST', '/discussions/by-external/code/comments', { body: { body }, headers })
  expect(posted.json).toMatchObject({ body: code, bodyHtml: html })
  const edited = await service.call('PATCH', `/comments/${posted.json.id}`, { body: { body: `${body}  x\n` }, headers })
  expect(edited.json).toMatchObject({ body: `${code}\n\n  x`, bodyHtml: `${html}<p>x</p>\n` })
  const query = `mutation ($input: CreateCommentInput!) { createComment(input: $input) { comment { body bodyHtml } } }`
  const { json } = await service.graphql(query, { input: { discussion: { externalId: 'code' }, body } }, headers)
  expect(json.data.createComment.comment).toEqual({ body: code, bodyHtml: html })
})

describe('POST a comment', () => {
  test('by external id creates the discussion, and answers 201 with the whole comment', async () => {
    const { status, json } = await post('first', { body: '  Hello *world*  ' })
    expect(status).toBe(201)
    expect(json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      discussionId: expect.any(String),
      parentId: null,
      depth: 0,
      author: {
        id: expect.any(String),
        externalId: 'ann',
        name: 'Reader ann',
        avatarUrl: null,
        profileUrl: null,
        badges: [],
      },
      body: 'Hello *world*',
      bodyHtml: '<p>Hello <em>world</em></p>\n',
      status: 'approved',
      pinnedAt: null,
      editedAt: null,
      deletedAt: null,
      revision: 1,
      replyCount: 0,
      reactionCounts: {},
      viewerReaction: null,
      authorMuted: null,
      decision: null,
      createdAt: expect.any(String),
    })
    const discussion = await service.call('GET', '/discussions/by-external/first')
    expect(discussion.json).toMatchObject({
      id: json.discussionId,
      commentCount: 1,
      lastEventId: '1',
      lastCommentedAt: json.createdAt,
    })
    expect((await service.call('GET', `/comments/${json.id}`)).json).toEqual(json)
  })

  test('writes comment_created with the same comment in the same transaction', async () => {
    const { json } = await post('evented', { body: 'One' })
    expect(await eventsOf(json.discussionId)).toEqual([
      {
        seq: 1,
        type: 'comment_created',
        audience: 'public',
        recipientId: null,
        actor: { kind: 'reader', readerId: json.author.id, externalId: 'ann' },
        data: { comment: json },
      },
    ])
  })

  test('a reply counts on its parent, whose author gets notification_reply', async () => {
    const parent = (await post('replies', { body: 'Parent' })).json
    const reply = (await post('replies', { body: 'Reply "depth":-1', parentId: parent.id }, bob)).json
    expect(reply).toMatchObject({ parentId: parent.id, depth: 1, body: 'Reply "depth":-1' })
    await post('replies', { body: 'My own', parentId: parent.id })
    expect((await service.call('GET', `/comments/${parent.id}`)).json.replyCount).toBe(2)
    const events = await eventsOf(parent.discussionId)
    expect(events.map(({ seq, type, audience }) => [seq, type, audience])).toEqual([
      [1, 'comment_created', 'public'],
      [2, 'comment_created', 'public'],
      [3, 'notification_reply', 'recipient'],
      [4, 'comment_created', 'public'],
    ])
    expect(events[1]?.data).toEqual({ comment: reply })
    expect(events[2]).toMatchObject({
      recipientId: parent.author.id,
      data: {
        comment: reply,
        parentCommentId: parent.id,
        recipient: { readerId: parent.author.id, externalId: 'ann' },
      },
    })
  })

  test('a body may contain anything but NUL: quotes, backslashes, line breaks, emoji', async () => {
    const body = 'a "b" \\ {}\n\n\u2028 🎈 $1 \' -- ; \\u0041'
    const { json } = await post('odd', { body })
    expect(json.body).toBe(body)
    expect((await eventsOf(json.discussionId))[0]?.data).toEqual({ comment: json })
  })

  test('a reply deeper than maxDepth answers 422 too_deep', async () => {
    let parent = (await post('deep', { body: '0' })).json
    for (let depth = 1; depth <= 10; depth++) parent = (await post('deep', { body: 'x', parentId: parent.id })).json
    expect(parent.depth).toBe(10)
    const answer = await post('deep', { body: 'x', parentId: parent.id })
    expect(answer.status).toBe(422)
    expect(answer.json.errors).toEqual([{ pointer: '/parentId', code: 'too_deep', message: expect.any(String) }])
  })

  test.each([
    [{}, '/body', 'required'],
    [{ body: ' \n ' }, '/body', 'too_short'],
    [{ body: 'x'.repeat(10_001) }, '/body', 'too_long'],
    [{ body: 'a\0b' }, '/body', 'invalid_character'],
    [{ body: 'a', status: 'approved' }, '/status', 'unknown_field'],
  ])('a wrong body answers 422: %#', async (body, pointer, code) => {
    const answer = await post('first', body)
    expect(answer.status).toBe(422)
    expect(answer.json.errors).toContainEqual({ pointer, code, message: expect.any(String) })
  })

  test('without an identity answers 403 identity_required, whatever the body', async () => {
    const answer = await service.call('POST', '/discussions/by-external/first/comments', { body: { nonsense: 1 } })
    expect(answer.status).toBe(403)
    expect(answer.json.code).toBe('identity_required')
  })

  test('to a parent of another discussion, or an unknown one, answers 404, and creates no discussion', async () => {
    const elsewhere = (await post('elsewhere', { body: 'x' })).json
    for (const parentId of [elsewhere.id, '018f0000-0000-7000-8000-000000000000', 'no-id']) {
      expect((await post('first', { body: 'x', parentId })).status).toBe(404)
      expect((await post('unborn', { body: 'x', parentId })).status).toBe(404)
    }
    expect((await service.call('GET', '/discussions/by-external/unborn')).status).toBe(404)
  })

  test.each([
    ['locked', 'discussion_locked'],
    ['archived', 'discussion_archived'],
  ])('in a discussion that is %s answers 409 %s, and writes nothing', async (state, code) => {
    const { json } = await post(state, { body: 'before' })
    const set = unnamed(`UPDATE discussions SET state = '${state}' WHERE id = $1`)
    await service.app.db.query(set, [json.discussionId])
    const answer = await post(state, { body: 'after' })
    expect([answer.status, answer.json.code]).toEqual([409, code])
    expect(await eventsOf(json.discussionId)).toHaveLength(1)
  })

  test('of a banned reader answers 403 reader_banned until the ban is over', async () => {
    const eve = await service.as('eve')
    const { json } = await post('banned', { body: 'x' }, eve)
    const ban = unnamed('UPDATE readers SET banned_at = now(), banned_until = $2 WHERE id = $1')
    await service.app.db.query(ban, [json.author.id, new Date(Date.now() + 60_000)])
    const refused = await post('banned', { body: 'x' }, eve)
    expect([refused.status, refused.json.code]).toEqual([403, 'reader_banned'])
    expect((await post('banned-first', { body: 'x' }, eve)).json.code).toBe('reader_banned')
    expect((await service.call('GET', '/discussions/by-external/banned-first')).status).toBe(404)
    await service.app.db.query(ban, [json.author.id, new Date(Date.now() - 1000)])
    expect((await post('banned', { body: 'x' }, eve)).status).toBe(201)
  })

  test('a refused comment in a batch does not affect the others', async () => {
    const root = (await post('batch', { body: 'root' })).json
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        n % 4 === 3
          ? post('batch', { body: 'x', parentId: '018f0000-0000-7000-8000-000000000000' })
          : post('batch', { body: `${n}`, parentId: root.id }, bob),
      ),
    )
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(10)
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(30)
    const events = await eventsOf(root.discussionId)
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 61 }, (_, n) => n + 1))
    const discussion = await service.call('GET', `/discussions/${root.discussionId}`)
    expect(discussion.json).toMatchObject({ commentCount: 31, lastEventId: '61' })
    expect((await service.call('GET', `/comments/${root.id}`)).json.replyCount).toBe(30)
  })
})

describe('pre-moderation', () => {
  test('a pending comment is not public: not in the list, the count, a public event, or for another key', async () => {
    const other = await service.addTenant('premod')
    const asOther = { 'x-api-key': other.apiKey, ...(await other.as('ann')) }
    await service.ok('PATCH', '/settings', { moderationMode: 'pre' }, { 'x-api-key': other.apiKey })
    const { status, json } = await post('pre', { body: 'x' }, asOther)
    expect([status, json.status]).toEqual([201, 'pending'])
    const list = await service.call('GET', '/discussions/by-external/pre/comments', { headers: asOther })
    expect(list.json.data).toEqual([])
    const discussion = await service.call('GET', '/discussions/by-external/pre', { headers: asOther })
    expect(discussion.json).toMatchObject({ commentCount: 0, lastCommentedAt: null })
    expect(await eventsOf(json.discussionId)).toMatchObject([{ type: 'comment_created', audience: 'tenant' }])
    const minted = await service.call('POST', '/keys', {
      body: { label: 'plain', capabilities: [] },
      headers: { 'x-api-key': other.apiKey },
    })
    const plain = await service.call('GET', `/comments/${json.id}`, { headers: { 'x-api-key': minted.json.key } })
    expect(plain.status).toBe(404)
  })
})

describe('GET a page of comments', () => {
  const ids: string[] = []
  let parentId: string

  beforeAll(async () => {
    for (let n = 0; n < 7; n++) ids.push((await post('paged', { body: `c${n}` })).json.id)
    parentId = ids[0] ?? ''
    for (let n = 0; n < 3; n++) await post('paged', { body: `r${n}`, parentId }, bob)
  })

  const page = (query: string, headers = {}) =>
    service.call('GET', `/discussions/by-external/paged/comments?${query}`, { headers })

  test.each([
    ['newest', () => ids.toReversed()],
    ['oldest', () => ids],
  ])('sort=%s has the top level in order, over several pages', async (sort, expected) => {
    const seen: string[] = []
    let cursor = ''
    for (;;) {
      const { json } = await page(`sort=${sort}&limit=3${cursor}`)
      seen.push(...json.data.map(({ id }: { id: string }) => id))
      if (!json.hasMore) break
      cursor = `&cursor=${json.nextCursor}`
    }
    expect(seen).toEqual(expected())
  })

  test('parentId has the replies of one comment', async () => {
    const { json } = await page(`parentId=${parentId}&sort=oldest`)
    expect(json.data.map(({ body }: { body: string }) => body)).toEqual(['r0', 'r1', 'r2'])
    expect(json.data[0]).toMatchObject({ parentId, depth: 1, author: { externalId: 'bob' } })
  })

  test("has the viewer's reaction if the request vouches for a reader", async () => {
    await service.call('PUT', `/comments/${ids[1]}/reaction`, { body: { type: 'love' }, headers: bob })
    const reactions = async (headers: object) =>
      (await page('sort=oldest&limit=2', headers)).json.data.map(
        (c: { viewerReaction: string | null }) => c.viewerReaction,
      )
    expect(await reactions(bob)).toEqual([null, 'love'])
    expect(await reactions(ann)).toEqual([null, null])
    expect(await reactions({})).toEqual([null, null])
  })

  test('a cursor of another order, an unknown page and an unknown parent are refused', async () => {
    const { json } = await page('sort=oldest&limit=1')
    expect((await page(`sort=newest&cursor=${json.nextCursor}`)).status).toBe(422)
    expect((await service.call('GET', '/discussions/by-external/nowhere/comments')).status).toBe(404)
    expect((await page('parentId=018f0000-0000-7000-8000-000000000000')).status).toBe(404)
  })
})

test('GraphQL answers what REST answers', async () => {
  const { json: comment } = await post('both', { body: 'same' })
  const { json } = await service.graphql(
    `query ($id: ID!) {
       comment(id: $id) {
         id discussionId parentId depth author { id externalId name avatarUrl profileUrl badges } body bodyHtml status pinnedAt
         editedAt deletedAt revision replyCount reactionCounts viewerReaction authorMuted
         decision { action reason message automated at } createdAt
       }
     }`,
    { id: comment.id },
  )
  expect(json).toEqual({ data: { comment } })
})

import { beforeAll, describe, expect, test } from 'vitest'

import { effort } from '../harness/effort.ts'
import { eventRowsOf } from '../harness/event-rows.ts'
import { PATIENT, useReaders, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const WRITES = effort(300, 45)

const service = useService({ env: PATIENT })
const { ann, bob } = useReaders(service, 'ann', 'bob')
let plainKey: string

beforeAll(async () => {
  plainKey = (await service.newKey()).key
})

const post = async (page: string, body: object = { body: 'x' }, headers = ann) =>
  (await service.call('POST', `/discussions/by-external/${page}/comments`, { body, headers })).json

const edit = (id: string, body: string, headers = ann) =>
  service.call('PATCH', `/comments/${id}`, { body: { body }, headers })
const remove = (id: string, headers = ann) => service.call('DELETE', `/comments/${id}`, { headers })
const get = (id: string) => service.call('GET', `/comments/${id}`, { headers: { 'x-api-key': plainKey } })
const discussion = async (page: string) => (await service.call('GET', `/discussions/by-external/${page}`)).json

const eventsOf = (id: string) => eventRowsOf(service.app.db, id)

const setState = (id: string, state: string) =>
  service.app.db.query(unnamed(`UPDATE discussions SET state = '${state}' WHERE id = $1`), [id])

describe('PATCH /comments/{id}', () => {
  test('answers 200 with the new body, keeps the old one as a revision, and sends comment_edited', async () => {
    const comment = await post('edit')
    const { status, json } = await edit(comment.id, '*new*')
    expect(status).toBe(200)
    expect(json).toEqual({
      ...comment,
      body: '*new*',
      bodyHtml: '<p><em>new</em></p>\n',
      revision: 2,
      editedAt: expect.any(String),
    })
    expect((await get(comment.id)).json).toEqual(json)
    const revisions = await service.app.db.query(
      unnamed('SELECT revision, body FROM comment_revisions WHERE comment_id = $1'),
      [comment.id],
    )
    expect(revisions).toEqual([{ revision: 1, body: 'x' }])
    expect((await eventsOf(comment.discussionId))[1]).toMatchObject({
      type: 'comment_edited',
      audience: 'public',
      data: { comment: json },
    })
  })

  test('with the same body changes nothing and sends no event', async () => {
    const comment = await post('same')
    expect((await edit(comment.id, 'x')).json).toEqual(comment)
    expect(await eventsOf(comment.discussionId)).toHaveLength(1)
  })

  test('of another reader answers 403 not_author; without a reader 403 identity_required', async () => {
    const { id } = await post('others')
    expect((await edit(id, 'y', bob)).json.code).toBe('not_author')
    expect((await edit(id, 'y', {})).json.code).toBe('identity_required')
  })

  test('after the edit window answers 403 edit_window_closed', async () => {
    const { id } = await post('late')
    const age = unnamed("UPDATE comments SET created_at = created_at - interval '901 seconds' WHERE id = $1")
    await service.app.db.query(age, [id])
    expect((await edit(id, 'y')).json.code).toBe('edit_window_closed')
  })

  test('with a text that must wait for a moderator takes the comment out of view', async () => {
    const comment = await post('held')
    const parent = await post('held')
    const reply = await post('held', { body: 'reply', parentId: parent.id })
    await service.call('PATCH', '/settings', { body: { moderationMode: 'pre' } })
    try {
      expect((await edit(reply.id, 'secret')).json).toMatchObject({ status: 'pending', body: 'secret' })
    } finally {
      await service.call('PATCH', '/settings', { body: { moderationMode: 'none' } })
    }
    expect((await get(reply.id)).status).toBe(404)
    expect((await get(parent.id)).json.replyCount).toBe(0)
    expect((await discussion('held')).commentCount).toBe(2)
    const last = (await eventsOf(comment.discussionId)).at(-1)
    expect(last).toMatchObject({
      type: 'comment_edited',
      audience: 'public',
      data: { comment: { status: 'withheld', author: null, body: null, bodyHtml: null, editedAt: null } },
    })
    expect(JSON.stringify(last)).not.toContain('secret')
  })
})

describe('DELETE /comments/{id}', () => {
  test('by its author answers 204, and again 204 without a second event', async () => {
    const comment = await post('gone')
    expect((await remove(comment.id)).status).toBe(204)
    expect((await remove(comment.id)).status).toBe(204)
    expect((await get(comment.id)).status).toBe(404)
    expect((await discussion('gone')).commentCount).toBe(0)
    const events = await eventsOf(comment.discussionId)
    expect(events).toHaveLength(2)
    expect(events[1]).toMatchObject({
      type: 'comment_deleted',
      audience: 'public',
      actor: { kind: 'reader' },
      data: { comment: { id: comment.id, status: 'deleted', body: null, bodyHtml: null, author: null } },
    })
  })

  test('leaves a tombstone while there are replies in view, and removes it with the last of them', async () => {
    const top = await post('tomb')
    const middle = await post('tomb', { body: 'm', parentId: top.id })
    const leaf = await post('tomb', { body: 'l', parentId: middle.id }, bob)
    await remove(top.id)
    await remove(middle.id)
    expect((await get(top.id)).json).toMatchObject({ status: 'deleted', body: null, author: null, replyCount: 1 })
    expect((await get(middle.id)).json).toMatchObject({ status: 'deleted', replyCount: 1 })
    await remove(leaf.id, bob)
    for (const { id } of [top, middle, leaf]) expect((await get(id)).status).toBe(404)
    const { json } = await service.call('GET', '/discussions/by-external/tomb/comments')
    expect(json.data).toEqual([])
    expect((await discussion('tomb')).commentCount).toBe(0)
  })

  test('of another reader answers 403 not_author without moderate_content, and with asAuthor', async () => {
    const { id } = await post('mine')
    expect((await remove(id, { ...bob, 'x-api-key': plainKey })).json.code).toBe('not_author')
    const asAuthor = (headers: Record<string, string>) =>
      service.call('DELETE', `/comments/${id}`, { headers, body: { asAuthor: true } })
    expect((await asAuthor(bob)).json.code).toBe('not_author')
    expect((await asAuthor({})).json.code).toBe('identity_required')
    expect((await asAuthor(ann)).status).toBe(204)
  })

  test('with moderate_content and an identity: as the author of an own comment, as a moderator of any other', async () => {
    const [own, others] = [await post('both'), await post('both')]
    expect((await remove(own.id, ann)).status).toBe(204)
    const viaGraphQL = await service.graphql(
      'mutation ($id: ID!) { deleteComment(input: { commentId: $id }) { comment { status } } }',
      { id: others.id },
      bob,
    )
    expect(viaGraphQL.json).toEqual({ data: { deleteComment: { comment: { status: 'deleted' } } } })
    const events = await eventsOf(own.discussionId)
    expect(events.slice(2).map(({ actor }) => actor)).toMatchObject([{ kind: 'reader' }, { kind: 'moderator' }])
    const audit = await service.app.db.query(
      unnamed(`SELECT target_id AS target FROM audit_log WHERE action = 'comment.delete' AND target_id = ANY($1)`),
      [[own.id, others.id]],
    )
    expect(audit).toEqual([{ target: others.id }])
  })

  test('by a moderator with an identity, in an archived discussion: 409 discussion_archived', async () => {
    const { id, discussionId } = await post('archive-both')
    await setState(discussionId, 'archived')
    expect((await remove(id, bob)).json.code).toBe('discussion_archived')
  })

  test('without an identity needs moderate_content, and has an audit entry', async () => {
    const comment = await post('moderated')
    const refused = await remove(comment.id, { 'x-api-key': plainKey })
    expect([refused.status, refused.json.code]).toEqual([403, 'missing_capability'])
    expect(refused.json.detail).toContain('moderate_content')
    expect((await remove(comment.id, {})).status).toBe(204)
    expect((await eventsOf(comment.discussionId))[1]?.actor).toEqual({ kind: 'moderator' })
    const audit = await service.app.db.query(
      unnamed('SELECT action, target_id AS target FROM audit_log WHERE target_id = $1'),
      [comment.id],
    )
    expect(audit).toEqual([{ action: 'comment.delete', target: comment.id }])
  })

  test('in a locked discussion the author can still delete; in an archived one no one can delete or edit', async () => {
    const [first, second] = [await post('closed'), await post('closed')]
    await setState(first.discussionId, 'locked')
    expect((await edit(first.id, 'y')).json.code).toBe('discussion_locked')
    expect((await remove(first.id)).status).toBe(204)
    await setState(first.discussionId, 'archived')
    expect((await edit(second.id, 'y')).json.code).toBe('discussion_archived')
    expect((await remove(second.id)).json.code).toBe('discussion_archived')
  })
})

test(`counters are exact after ${WRITES} mixed writes at once`, async () => {
  const roots = await Promise.all(Array.from({ length: 10 }, () => post('mixed')))
  await Promise.all(
    Array.from({ length: WRITES }, async (_, n) => {
      const root = roots[n % roots.length]
      const comment = await post('mixed', { body: `${n}`, parentId: root.id }, bob)
      if (n % 3 === 0) await remove(comment.id, bob)
      if (n % 3 === 1) await edit(comment.id, `${n}!`, bob)
      if (n % 7 === 0)
        await service.call('POST', `/comments/${root.id}/reactions`, { body: { type: 'like' }, headers: bob })
    }),
  )
  const [counted] = await service.app.db.query<{ approved: number; events: number }>(
    unnamed(`SELECT count(*) FILTER (WHERE status = 'approved') AS approved, (SELECT count(*) FROM events WHERE discussion_id = $1) AS events
       FROM comments WHERE discussion_id = $1`),
    [roots[0].discussionId],
  )
  const approved = 10 + (WRITES * 2) / 3
  expect(counted?.approved).toBe(approved)
  expect(await discussion('mixed')).toMatchObject({ commentCount: approved, lastEventId: String(counted?.events) })
  const replies = await Promise.all(roots.map(async ({ id }) => (await get(id)).json.replyCount))
  expect(replies.reduce((sum: number, n: number) => sum + n, 0)).toBe(approved - 10)
})

describe('GET /comments/{id}/revisions', () => {
  const revisions = (id: string, query = '', headers = {}) =>
    service.call('GET', `/comments/${id}/revisions?${query}`, { headers })

  test('answers the bodies, the present one first, with the times of writing and replacement', async () => {
    const comment = await post('revisions', { body: 'one' })
    expect((await revisions(comment.id)).json).toEqual({
      data: [{ revision: 1, body: 'one', createdAt: comment.createdAt, replacedAt: null }],
      nextCursor: null,
      hasMore: false,
    })
    const two = (await edit(comment.id, 'two')).json
    const three = (await edit(comment.id, 'three')).json
    const expected = [
      { revision: 3, body: 'three', createdAt: three.editedAt, replacedAt: null },
      { revision: 2, body: 'two', createdAt: two.editedAt, replacedAt: three.editedAt },
      { revision: 1, body: 'one', createdAt: comment.createdAt, replacedAt: two.editedAt },
    ]
    expect((await revisions(comment.id)).json.data).toEqual(expected)
    const first = (await revisions(comment.id, 'limit=2')).json
    expect(first.data).toEqual(expected.slice(0, 2))
    const last = (await revisions(comment.id, `limit=2&cursor=${first.nextCursor}`)).json
    expect(last).toEqual({ data: expected.slice(2), nextCursor: null, hasMore: false })
  })

  test('of a deleted comment are still shown to moderators, and to no one else', async () => {
    const { id } = await post('revisions', { body: 'regretted' })
    await edit(id, 'and denied')
    await remove(id)
    expect((await revisions(id)).json.data.map(({ body }: { body: string }) => body)).toEqual([
      'and denied',
      'regretted',
    ])
    const refused = await revisions(id, '', { 'x-api-key': plainKey, ...ann })
    expect(refused.json).toMatchObject({ status: 403, code: 'missing_capability' })
    expect(refused.text).not.toMatch(/regretted|denied/)
  })

  test('of an unknown comment answer 404; an invalid cursor answers 422', async () => {
    for (const id of ['018f0000-0000-7000-8000-000000000000', 'no-id']) expect((await revisions(id)).status).toBe(404)
    const { id } = await post('revisions')
    for (const revision of [-1, 1.5, 9_999_999_999, 'x']) {
      const cursor = Buffer.from(JSON.stringify(['revisions', revision])).toString('base64url')
      expect((await revisions(id, `cursor=${cursor}`)).json.errors[0].pointer).toBe('/cursor')
    }
  })
})

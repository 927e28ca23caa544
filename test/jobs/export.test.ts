import { expect, test } from 'vitest'

import { callsTo } from '../harness/calls.ts'
import { useReaders, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
const { ann, bob } = useReaders(service, 'ann', 'bob')

const { ok } = callsTo(() => service)
const post = (page: string, headers: Record<string, string>, body: string, parentId: string | null = null) =>
  ok('POST', `/discussions/by-external/${page}/comments`, { body, parentId }, headers)
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/)

test('GET /readers/{id}/export answers all stored data of a reader, and of no one else', async () => {
  const mine = await post('export', ann, 'first')
  await ok('PATCH', `/comments/${mine.id}`, { body: 'second' }, ann)
  const reply = await post('export', bob, 'a text of bob', mine.id)
  const deleted = await post('export', ann, 'taken back')
  await service.call('DELETE', `/comments/${deleted.id}`)
  await ok('POST', `/comments/${reply.id}/reactions`, { type: 'love' }, ann)
  await ok('POST', `/comments/${reply.id}/report`, { reason: 'other', note: 'a note of ann' }, ann)
  await ok('POST', `/comments/${mine.id}/report`, { reason: 'spam', note: 'what somebody said' }, bob)
  await ok('POST', `/readers/${mine.author.id}/ban`, { reason: 'once too often', shadow: true })

  const answer = await service.call('GET', `/readers/${mine.author.id}/export`)
  expect(answer.status).toBe(200)
  expect(answer.json).toEqual({
    asOf: TIME,
    reader: {
      ...mine.author,
      ban: { bannedAt: TIME, until: null, reason: 'once too often', shadow: true, comments: null },
      assignedBadges: [],
      claimedBadges: [],
      kind: 'reader',
      trust: 'normal',
      createdAt: TIME,
    },
    formerReaders: [],
    comments: [
      {
        id: mine.id,
        discussionId: mine.discussionId,
        discussionExternalId: 'export',
        parentId: null,
        body: 'second',
        status: 'approved',
        revision: 2,
        revisions: [{ revision: 1, body: 'first', createdAt: TIME, wasPublic: true }],
        reactionCounts: {},
        createdAt: mine.createdAt,
        editedAt: TIME,
        deletedAt: null,
        decision: null,
      },
      expect.objectContaining({
        id: deleted.id,
        body: 'taken back',
        status: 'deleted',
        deletedAt: TIME,
        revisions: [],
      }),
    ],
    reactions: [{ commentId: reply.id, type: 'love', updatedAt: TIME }],
    mutes: [],
    reportsMade: [{ commentId: reply.id, reason: 'other', note: 'a note of ann', createdAt: TIME }],
    reportsReceived: [{ commentId: mine.id, reason: 'spam', note: 'what somebody said', createdAt: TIME }],
    notes: [],
    notifications: [
      {
        eventId: ID,
        discussionId: mine.discussionId,
        seq: 4,
        occurredAt: TIME,
        commentId: reply.id,
        parentCommentId: mine.id,
      },
    ],
    inbox: [
      { id: ID, kind: 'reply', commentId: reply.id, createdAt: TIME, readAt: null, handedOutAt: null },
      { id: ID, kind: 'decision', commentId: deleted.id, createdAt: TIME, readAt: null, handedOutAt: null },
    ],
    notificationPreferences: { reply: 'all', mention: 'all', decision: 'all' },
    auditEntries: [
      expect.objectContaining({ action: 'reader.ban', targetType: 'reader', targetId: mine.author.id }),
      expect.objectContaining({ action: 'comment.delete', targetType: 'comment', targetId: deleted.id }),
    ],
  })
  for (const theirs of [reply.author.id, 'Reader bob', 'a text of bob', service.admin.email]) {
    expect(answer.text).not.toContain(theirs)
  }
})

test('reading an export has an audit entry, by REST and by GraphQL, which stays without the reader', async () => {
  const { author } = await post('export-audit', await service.as('eve'), 'mine')
  await ok('GET', `/readers/${author.id}/export`, undefined, await service.as('bob'))
  const query = 'query ($id: ID!) { readerExport(id: $id) { asOf } }'
  for (let n = 0; n < 2; n++) expect((await service.graphql(query, { id: author.id })).json.errors).toBeUndefined()
  const entries = async () => (await ok('GET', '/audit-log?action=reader.export&limit=3')).data as object[]
  const { data: keys } = await ok('GET', '/keys')
  const entry = expect.objectContaining({
    action: 'reader.export',
    actor: { kind: 'key', id: keys[0].id, label: 'First key', email: null },
    targetType: 'reader',
    targetId: author.id,
    before: null,
    after: null,
  })
  expect(await entries()).toEqual([entry, entry, entry])
  // An export shows the ones before it.
  const { auditEntries } = await ok('GET', `/readers/${author.id}/export`)
  expect(auditEntries.map(({ action }: { action: string }) => action)).toEqual(Array(3).fill('reader.export'))
  expect((await service.call('DELETE', `/readers/${author.id}`)).status).toBe(204)
  expect(await entries()).toEqual([entry, entry, entry])
  expect((await service.call('GET', `/readers/${author.id}/export`)).status).toBe(404)
  expect(await entries()).toEqual([entry, entry, entry])
})

test('an export of a reader with many comments has each of them once', async () => {
  const { author, discussionId } = await post('export-many', await service.as('cid'), 'the first')
  const MANY = 2500
  const fill = unnamed(`INSERT INTO comments (tenant_id, id, discussion_id, author_id, body, body_html, status)
     SELECT $1, new_id(), $2, $3, 'comment ' || n, '', 'rejected' FROM generate_series(1, $4::int) n`)
  await service.app.db.query(fill, [service.tenant.id, discussionId, author.id, MANY])
  const { comments } = await ok('GET', `/readers/${author.id}/export`)
  expect(comments).toHaveLength(MANY + 1)
  expect(new Set(comments.map(({ id }: { id: string }) => id)).size).toBe(MANY + 1)
})

test('an export is of one instant: concurrent writes are in all of it or in none', async () => {
  const { author, id } = await post('export-instant', await service.as('dee'), 'the first')
  const dee = await service.as('dee')
  let isDone = false
  const writing = (async () => {
    // A comment comes with a reaction to it, one after the other.
    while (!isDone) {
      const { id: next } = await post('export-instant', dee, 'more')
      await ok('POST', `/comments/${next}/reactions`, { type: 'like' }, dee)
    }
  })()
  for (let n = 0; n < 15; n++) {
    const { comments, reactions } = await ok('GET', `/readers/${author.id}/export`)
    const written = new Set(comments.map((comment: { id: string }) => comment.id))
    expect(written.has(id)).toBe(true)
    expect(reactions.filter(({ commentId }: { commentId: string }) => !written.has(commentId))).toEqual([])
  }
  isDone = true
  await writing
})

test("GET /readers/{id}/export of an unknown reader, or another tenant's, answers 404 not_found", async () => {
  const { author } = await post('export-other', ann, 'mine').catch(() => post('export-other', bob, 'mine'))
  const other = await service.addTenant('other-tenant')
  for (const [id, headers] of [
    [author.id, { 'x-api-key': other.apiKey }],
    ['01980000-0000-7000-8000-000000000000', {}],
    ['nonsense', {}],
  ] as const) {
    const { json } = await service.call('GET', `/readers/${id}/export`, { headers })
    expect(json).toMatchObject({ status: 404, code: 'not_found' })
  }
})

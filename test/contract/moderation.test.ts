import { describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { effort } from '../harness/effort.ts'
import { eventRowsOf } from '../harness/event-rows.ts'
import { useKey, useReaders, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const WRITES = effort(300, 160)

const service = useService()
const { ann, bob } = useReaders(service, 'ann', 'bob')
const plain = useKey(service)

const call = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  service.call(method, path, { headers, ...(body === undefined ? {} : { body }) })
const post = async (page: string, body: object = {}, headers = ann) =>
  (await call('POST', `/discussions/by-external/${page}/comments`, { body: 'text', ...body }, headers)).json
const act = (id: string, verb: string, body?: object, headers = {}) =>
  call('POST', `/comments/${id}/${verb}`, body, headers)
const discussion = async (page: string) => (await call('GET', `/discussions/by-external/${page}`)).json
const seen = async (id: string) => (await call('GET', `/comments/${id}`, undefined, plain)).json
const list = async (page: string, query = '') =>
  (await call('GET', `/discussions/by-external/${page}/comments${query}`, undefined, plain)).json
const idsOf = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id)

/** Posts while the tenant moderates first. */
async function hold<T>(work: () => Promise<T>): Promise<T> {
  await call('PATCH', '/settings', { moderationMode: 'pre' })
  try {
    return await work()
  } finally {
    await call('PATCH', '/settings', { moderationMode: 'none' })
  }
}

const eventsOf = (id: string) => eventRowsOf(service.app.db, id)
const lastEvent = async (id: string) => (await eventsOf(id)).at(-1)

const AUDIT = unnamed('SELECT action, before, after FROM audit_log WHERE target_id = $1 ORDER BY id')
const auditOf = (id: string) => service.app.db.query<{ action: string; before: object; after: object }>(AUDIT, [id])

describe('POST /discussions/{id}/lock, /unlock, /archive', () => {
  const change = (id: string, verb: string, headers = {}) =>
    call('POST', `/discussions/${id}/${verb}`, undefined, headers)

  test('answer 200 with the discussion, and send one public event', async () => {
    const { discussionId: id } = await post('states')
    const steps = [
      ['lock', 'locked', 'discussion_locked'],
      ['unlock', 'open', 'discussion_unlocked'],
      ['archive', 'archived', 'discussion_archived'],
    ] as const
    for (const [verb, state, type] of steps) {
      const { status, json } = await change(id, verb)
      expect([status, json.state]).toEqual([200, state])
      expect(json).toEqual(await discussion('states'))
      const events = await eventsOf(id)
      expect(events.at(-1)).toMatchObject({ type, audience: 'public', actor: { kind: 'moderator' } })
      expect(events.at(-1)?.data).toEqual({ discussion: json })
      expect(json.lastEventId).toBe(String(events.length))
      const again = await change(id, verb)
      expect([again.status, again.json]).toEqual([200, json])
      expect(await eventsOf(id)).toHaveLength(events.length)
    }
    const audit = (await auditOf(id)).map(({ action }) => action)
    expect(audit).toEqual(['discussion.lock', 'discussion.unlock', 'discussion.archive'])
  })

  test('archived is final: 409 invalid_transition', async () => {
    const { discussionId: id } = await post('final')
    await change(id, 'archive')
    for (const verb of ['lock', 'unlock']) expect((await change(id, verb)).json.code).toBe('invalid_transition')
  })

  test('need moderate_content, and an existing discussion', async () => {
    const { discussionId: id } = await post('gated')
    expect((await change(id, 'lock', plain)).json).toMatchObject({ code: 'missing_capability' })
    expect((await change('nonsense', 'lock')).json.code).toBe('not_found')
    expect((await discussion('gated')).state).toBe('open')
  })

  test('locked: readers cannot write, moderators can act; archived: no one can', async () => {
    const comment = await post('closed')
    const { id, discussionId } = comment
    await change(discussionId, 'lock')
    expect((await post('closed')).code).toBe('discussion_locked')
    expect((await act(id, 'pin')).status).toBe(200)
    await change(discussionId, 'archive')
    for (const verb of ['approve', 'reject', 'pin', 'unpin']) {
      expect((await act(id, verb)).json.code).toBe('discussion_archived')
    }
    expect((await act(id, 'report', { reason: 'spam' }, bob)).json.code).toBe('discussion_archived')
  })
})

describe('POST /comments/{id}/approve, /reject', () => {
  test('a pending comment comes into view with its full body, counts, and has an audit entry', async () => {
    const { id, discussionId } = await hold(() => post('approve', { body: '*hello*' }))
    expect(await discussion('approve')).toMatchObject({ commentCount: 0, lastCommentedAt: null })
    const { status, json } = await act(id, 'approve')
    expect([status, json.status]).toEqual([200, 'approved'])
    expect(await seen(id)).toEqual(json)
    expect(await discussion('approve')).toMatchObject({ commentCount: 1, lastCommentedAt: json.createdAt })
    expect(await lastEvent(discussionId)).toEqual({
      seq: 2,
      type: 'comment_approved',
      audience: 'public',
      actor: { kind: 'moderator' },
      recipientId: null,
      data: { comment: json },
    })
    expect(await auditOf(id)).toEqual([
      {
        action: 'comment.approve',
        before: { status: 'pending', pinnedAt: null },
        after: { status: 'approved', pinnedAt: null },
      },
    ])
  })

  test('the public event of a comment that left the view has no text; there is none for one that was never in view', async () => {
    const visible = await post('reject', { body: 'secret' })
    const { json } = await act(visible.id, 'reject')
    expect(json).toMatchObject({ status: 'rejected', body: 'secret' })
    const event = await lastEvent(visible.discussionId)
    expect(event).toMatchObject({ type: 'comment_rejected', audience: 'public' })
    expect(event?.data.comment).toMatchObject({ id: visible.id, status: 'withheld', body: null, bodyHtml: null })
    expect((await seen(visible.id)).code).toBe('not_found')
    const hidden = await hold(() => post('reject'))
    await act(hidden.id, 'reject')
    expect(await lastEvent(hidden.discussionId)).toMatchObject({ type: 'comment_rejected', audience: 'tenant' })
    expect((await discussion('reject')).commentCount).toBe(0)
    await act(visible.id, 'approve')
    expect(await seen(visible.id)).toMatchObject({ status: 'approved', body: 'secret' })
    expect((await discussion('reject')).commentCount).toBe(1)
  })

  test('a comment out of view is shown to its author by id, and to no other reader; a deleted one to neither', async () => {
    const { id } = await hold(() => post('own', { body: 'mine' }))
    const seenBy = async (reader: Record<string, string>) => {
      const { json } = await call('GET', `/comments/${id}`, undefined, { ...plain, ...reader })
      return json.status === 404 ? json.code : [json.status, json.body]
    }
    const both = async () => [await seenBy(ann), await seenBy(bob)]
    expect(await both()).toEqual([['pending', 'mine'], 'not_found'])
    await act(id, 'reject')
    expect(await both()).toEqual([['rejected', 'mine'], 'not_found'])
    expect(await list('own')).toMatchObject({ data: [] })
    // Below it there is a page for nobody but moderators, by REST and by GraphQL.
    const { id: discussionId } = await discussion('own')
    const below = await call('GET', `/discussions/${discussionId}/comments?parentId=${id}`, undefined, {
      ...plain,
      ...ann,
    })
    expect(below.json.code).toBe('not_found')
    const query = `query ($id: ID!, $parentId: ID) { discussion(by: { id: $id }) { comments(parentId: $parentId) { edges { node { id } } } } }`
    const answer = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...plain, ...ann },
      body: JSON.stringify({ query, variables: { id: discussionId, parentId: id } }),
    })
    expect((await answer.json()).errors).toMatchObject([{ extensions: { code: 'not_found' } }])
    await call('DELETE', `/comments/${id}`)
    expect(await both()).toEqual(['not_found', 'not_found'])
  })

  test('any other transition answers 409 invalid_transition and sends no event', async () => {
    const comment = await post('refused')
    expect((await act(comment.id, 'approve')).json.code).toBe('invalid_transition')
    await act(comment.id, 'reject')
    expect((await act(comment.id, 'reject')).json.code).toBe('invalid_transition')
    await call('DELETE', `/comments/${comment.id}`)
    for (const verb of ['approve', 'reject', 'pin', 'unpin']) {
      expect((await act(comment.id, verb)).json.code).toBe('invalid_transition')
    }
    expect(await eventsOf(comment.discussionId)).toHaveLength(3)
  })

  test('with the judged revision: a text written since does not come into view unread', async () => {
    const comment = await hold(() => post('judged', { body: 'as it was read' }))
    expect(comment).toMatchObject({ status: 'pending', revision: 1 })
    await hold(() => call('PATCH', `/comments/${comment.id}`, { body: 'as it became' }, ann))
    const { status, json } = await act(comment.id, 'approve', { revision: 1 })
    expect([status, json.code, json.detail]).toEqual([
      409,
      'invalid_transition',
      'The comment was edited: it has revision 2, not 1.',
    ])
    expect(await eventsOf(comment.discussionId)).toHaveLength(2)
    expect(await auditOf(comment.id)).toEqual([])
    const now = await act(comment.id, 'approve', { revision: 2 })
    expect(now.json).toMatchObject({ status: 'approved', body: 'as it became' })
    for (const [revision, code] of [
      [0, 'too_small'],
      [1_000_001, 'too_large'],
      ['2', 'wrong_type'],
    ]) {
      const wrong = await act(comment.id, 'approve', { revision })
      expect([wrong.status, wrong.json.errors[0]]).toMatchObject([422, { pointer: '/revision', code }])
    }
    // A state that forbids the action is reported first: no other revision would help.
    expect((await act(comment.id, 'approve', { revision: 1 })).json.detail).toBe('The comment is approved.')
    await call('POST', `/discussions/${comment.discussionId}/archive`)
    expect((await act(comment.id, 'approve', { revision: 1 })).json.code).toBe('discussion_archived')
  })

  test("a held reply notifies its parent's author at its first approval, and only then", async () => {
    const parent = await post('told')
    const reply = await hold(() => post('told', { parentId: parent.id }, bob))
    const told = async () => (await eventsOf(parent.discussionId)).filter(({ type }) => type === 'notification_reply')
    expect(await told()).toEqual([])
    const { json } = await act(reply.id, 'approve')
    expect(await told()).toEqual([
      {
        seq: expect.any(Number),
        type: 'notification_reply',
        audience: 'recipient',
        actor: { kind: 'moderator' },
        recipientId: parent.author.id,
        data: {
          comment: json,
          parentCommentId: parent.id,
          recipient: { readerId: parent.author.id, externalId: 'ann' },
        },
      },
    ])
    await act(reply.id, 'reject')
    await act(reply.id, 'approve')
    expect(await told()).toHaveLength(1)
    const own = await hold(() => post('told', { parentId: parent.id }))
    await act(own.id, 'approve')
    expect(await told()).toHaveLength(1)
  })

  test('a tombstone comes into view with a reply below it, and leaves with it, all the way up', async () => {
    const top = await post('tombs')
    const middle = await post('tombs', { parentId: top.id })
    const leaf = await post('tombs', { parentId: middle.id })
    for (const { id } of [top, middle]) await call('DELETE', `/comments/${id}`)
    await act(leaf.id, 'reject')
    expect((await list('tombs')).data).toEqual([])
    await act(leaf.id, 'approve')
    expect((await list('tombs')).data).toMatchObject([{ id: top.id, status: 'deleted', replyCount: 1 }])
    expect(await seen(middle.id)).toMatchObject({ status: 'deleted', replyCount: 1 })
    expect((await discussion('tombs')).commentCount).toBe(1)
  })

  test('approved replies keep their state and place below a rejected comment, which leaves a tombstone', async () => {
    const top = await post('below')
    const middle = await post('below', { parentId: top.id })
    const leaf = await post('below', { parentId: middle.id })
    await act(middle.id, 'reject')
    expect(await seen(top.id)).toMatchObject({ replyCount: 1 })
    expect(await seen(leaf.id)).toMatchObject({ status: 'approved' })
    const tombstone = { id: middle.id, status: 'withheld', author: null, body: null, bodyHtml: null, replyCount: 1 }
    expect((await list('below', `?parentId=${top.id}`)).data).toMatchObject([tombstone])
    expect((await list('below', `?parentId=${middle.id}`)).data).toMatchObject([{ id: leaf.id }])
    expect((await call('GET', `/comments/${middle.id}`)).json).toMatchObject({ status: 'rejected', body: middle.body })
    expect((await discussion('below')).commentCount).toBe(2)
    await act(middle.id, 'approve')
    expect(await seen(top.id)).toMatchObject({ replyCount: 1 })
    expect(await seen(middle.id)).toMatchObject({ replyCount: 1 })
  })
})

describe('POST /comments/{id}/pin, /unpin', () => {
  test('answer 200 with the comment, and send one event', async () => {
    const { id, discussionId } = await post('pin')
    const pinned = await act(id, 'pin')
    expect(pinned.json.pinnedAt).toEqual(expect.any(String))
    expect((await act(id, 'pin')).json).toEqual(pinned.json)
    expect(await lastEvent(discussionId)).toMatchObject({
      type: 'comment_pinned',
      audience: 'public',
      data: { comment: pinned.json },
    })
    const unpinned = await act(id, 'unpin')
    expect(unpinned.json.pinnedAt).toBeNull()
    expect((await act(id, 'unpin')).status).toBe(200)
    expect((await eventsOf(discussionId)).map(({ type }) => type)).toEqual([
      'comment_created',
      'comment_pinned',
      'comment_unpinned',
    ])
  })

  test('only an approved comment can be pinned; out of view it loses its pin', async () => {
    const held = await hold(() => post('unpinnable'))
    for (const verb of ['pin', 'unpin']) expect((await act(held.id, verb)).json.code).toBe('invalid_transition')
    await act(held.id, 'approve')
    await act(held.id, 'pin')
    expect((await act(held.id, 'reject')).json.pinnedAt).toBeNull()
    expect((await act(held.id, 'approve')).json.pinnedAt).toBeNull()
  })

  test.each(['newest', 'oldest'])(
    'pinned ones come first in %s, none twice on later pages, also among replies',
    async (sort) => {
      const page = `pins-${sort}`
      const parent = await post(page)
      for (const parentId of [null, parent.id]) {
        const posted = []
        for (let n = 0; n < 6; n++) posted.push((await post(page, { parentId })).id)
        for (const n of [3, 1, 4]) await act(posted[n], 'pin')
        const all = [...(parentId === null ? [parent.id] : []), ...posted]
        const pinned = [posted[4], posted[1], posted[3]]
        const others = all.filter((id) => !pinned.includes(id))
        const expected = [...pinned, ...(sort === 'newest' ? others.toReversed() : others)]
        for (const limit of [1, 2, 4, 20]) {
          const found: string[] = []
          let cursor = ''
          for (;;) {
            const query = `?sort=${sort}&limit=${limit}${parentId === null ? '' : `&parentId=${parentId}`}${cursor}`
            const answer = await list(page, query)
            found.push(...idsOf(answer))
            if (!answer.hasMore) break
            cursor = `&cursor=${answer.nextCursor}`
          }
          expect(found).toEqual(expected)
        }
      }
    },
  )
})

describe('POST /comments/{id}/report', () => {
  const readers = (n: number) => Promise.all(Array.from({ length: n }, (_, i) => service.as(`reporter-${i}`)))
  const report = (id: string, headers: Record<string, string>, body: object = { reason: 'spam' }) =>
    act(id, 'report', body, headers)

  test("of the reader's own comment is 409 invalid_transition", async () => {
    const { id } = await post('own-report')
    const { status, json } = await report(id, ann)
    expect([status, json.code, json.detail]).toEqual([409, 'invalid_transition', expect.stringMatching(/own comment/)])
    expect((await report(id, bob)).status).toBe(201)
    await call('DELETE', `/comments/${id}`)
    expect((await report(id, ann)).json.code).toBe('not_found')
  })

  test('answers 201 once, then 409 already_reported; there is no event', async () => {
    const { id, discussionId } = await post('report')
    const { status, json } = await report(id, bob, { reason: 'off_topic', note: ' see the rules ' })
    expect(status).toBe(201)
    expect(json).toEqual({ commentId: id, reason: 'off_topic', note: 'see the rules', createdAt: expect.any(String) })
    expect((await report(id, bob)).json.code).toBe('already_reported')
    expect(await eventsOf(discussionId)).toHaveLength(1)
  })

  test('needs an identity, a known reason, and a comment in view', async () => {
    const { id } = await post('reported')
    expect((await report(id, {})).json.code).toBe('identity_required')
    expect((await report(id, bob, { reason: 'dull' })).json).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: '/reason' }],
    })
    const long = await report(id, bob, { reason: 'spam', note: 'x'.repeat(1001) })
    expect(long.json.errors).toMatchObject([{ pointer: '/note', code: 'too_long' }])
    await act(id, 'reject')
    expect((await report(id, bob)).json.code).toBe('not_found')
  })

  test('five of them take an approved comment out of view; after its approval the same five do not again', async () => {
    const comment = await post('threshold', { body: 'secret' })
    await act(comment.id, 'pin')
    const five = await readers(5)
    for (const headers of five.slice(1)) await report(comment.id, headers)
    expect(await seen(comment.id)).toMatchObject({ status: 'approved' })
    const answers = await Promise.all([five[0], five[0], five[0]].map((headers) => report(comment.id, headers ?? {})))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(answers.filter(({ json }) => json.code === 'already_reported')).toHaveLength(2)
    expect((await seen(comment.id)).code).toBe('not_found')
    expect((await discussion('threshold')).commentCount).toBe(0)
    const event = await lastEvent(comment.discussionId)
    expect(event).toMatchObject({ type: 'comment_edited', audience: 'public', actor: { kind: 'system' } })
    expect(event?.data.comment).toMatchObject({ status: 'withheld', body: null, bodyHtml: null, pinnedAt: null })
    await act(comment.id, 'approve')
    for (const headers of (await readers(9)).slice(5)) expect((await report(comment.id, headers)).status).toBe(201)
    expect(await seen(comment.id)).toMatchObject({ status: 'approved' })
    await report(comment.id, bob)
    expect((await seen(comment.id)).code).toBe('not_found')
  })
})

describe('GET /moderation/queue', () => {
  const queue = async (query: string) => (await call('GET', `/moderation/queue${query}`)).json

  test('lists by status with the numbers of reports, the longest waiting first', async () => {
    const held = await hold(async () => [await post('queue'), await post('queue'), await post('queue')])
    const mine = new Set(held.map(({ id }) => id))
    const first = await queue('?limit=100')
    expect(
      first.data.map((item: { comment: { id: string } }) => item.comment.id).filter((id: string) => mine.has(id)),
    ).toEqual(held.map(({ id }) => id))
    expect(first.data.at(-1)).toEqual({
      comment: expect.objectContaining({ body: 'text', status: 'pending' }),
      reportCount: 0,
      openReportCount: 0,
      reason: 'pre_moderation',
      holdDetails: [],
      reviewedAt: null,
      claimedBy: null,
      decision: null,
    })
    const walked: string[] = []
    for (let cursor = ''; ;) {
      const { data, nextCursor, hasMore } = await queue(`?status=pending&limit=1${cursor}`)
      walked.push(data[0].comment.id)
      if (!hasMore) break
      cursor = `&cursor=${nextCursor}`
    }
    expect(walked).toEqual(first.data.map((item: { comment: { id: string } }) => item.comment.id))
    await act(held[1].id, 'reject')
    const rejected = await queue('?status=rejected')
    expect(rejected.data[0].comment.id).toBe(held[1].id)
  })

  test('reported: comments with reports that no moderator has answered; approving answers them', async () => {
    const { id, discussionId } = await post('reports')
    await act(id, 'report', { reason: 'abuse' }, bob)
    const item = async () =>
      (await queue('?status=reported&limit=100')).data.find(
        ({ comment }: { comment: { id: string } }) => comment.id === id,
      )
    expect(await item()).toMatchObject({ reportCount: 1, openReportCount: 1 })
    expect((await act(id, 'approve')).status).toBe(200)
    expect(await item()).toBeUndefined()
    expect(await eventsOf(discussionId)).toHaveLength(1)
    expect((await act(id, 'approve')).json.code).toBe('invalid_transition')
  })

  test('with a discussionId: only those of that discussion, page by page', async () => {
    const [one, other] = await hold(async () => [
      [await post('of-one'), await post('of-one'), await post('of-one')],
      [await post('of-another')],
    ])
    const walk = async (status: string, { discussionId }: { discussionId: string }): Promise<string[]> => {
      const ids: string[] = []
      for (let cursor = ''; ;) {
        const page = await queue(`?status=${status}&discussionId=${discussionId}&limit=1${cursor}`)
        ids.push(...page.data.map((item: { comment: { id: string } }) => item.comment.id))
        if (!page.hasMore) return ids
        cursor = `&cursor=${page.nextCursor}`
      }
    }
    expect(await walk('pending', one[0])).toEqual(one.map(({ id }) => id))
    expect(await walk('pending', other[0])).toEqual([other[0].id])
    for (const { id } of one.slice(0, 2)) await act(id, 'reject')
    expect(await walk('rejected', one[0])).toEqual([one[1].id, one[0].id])
    await act(one[2].id, 'approve')
    await act(one[2].id, 'report', { reason: 'abuse' }, bob)
    expect(await walk('reported', one[0])).toEqual([one[2].id])
    expect(await walk('reported', other[0])).toEqual([])
    for (const none of [newId(), 'none']) expect((await queue(`?discussionId=${none}`)).code).toBe('not_found')
  })

  test('needs moderate_content', async () => {
    expect((await call('GET', '/moderation/queue', undefined, plain)).json.code).toBe('missing_capability')
  })
})

describe('POST /comments/bulk', () => {
  const bulk = (ids: unknown, action: string) => call('POST', '/comments/bulk', { ids, action })

  test('answers 200 with an outcome for each id', async () => {
    const [first, second] = [await post('bulk'), await post('bulk')]
    await act(second.id, 'reject')
    const { status, json } = await bulk([first.id, second.id, 'nonsense'], 'reject')
    expect(status).toBe(200)
    expect(json.data).toMatchObject([
      { id: first.id, ok: true, status: 'rejected', code: null },
      { id: second.id, ok: false, status: null, code: 'invalid_transition' },
      { id: 'nonsense', ok: false, code: 'not_found' },
    ])
    const all = [first.id, second.id]
    for (const [action, expected] of [
      ['approve', 'approved'],
      ['pin', 'approved'],
      ['unpin', 'approved'],
      ['delete', 'deleted'],
    ] as const) {
      expect((await bulk(all, action)).json.data).toMatchObject(all.map((id) => ({ id, ok: true, status: expected })))
    }
    expect((await discussion('bulk')).commentCount).toBe(0)
  })

  test('approves with the revisions that were judged, one for each', async () => {
    const [same, edited] = await hold(async () => [await post('revisions'), await post('revisions')])
    await hold(() => call('PATCH', `/comments/${edited.id}`, { body: 'another text' }, ann))
    const ids = [same.id, edited.id]
    const judge = (revisions: unknown, action = 'approve') => call('POST', '/comments/bulk', { ids, action, revisions })
    for (const [revisions, action] of [[[1]], [[1, 1, 1]], [[1, 1], 'reject']] as const) {
      const { status, json } = await judge(revisions, action)
      expect([status, json.errors]).toMatchObject([422, [{ pointer: '/revisions', code: 'invalid' }]])
    }
    expect((await judge([1, 0])).json.errors).toMatchObject([{ pointer: '/revisions/1', code: 'too_small' }])
    expect((await judge([1, 1])).json.data).toMatchObject([
      { id: same.id, ok: true, status: 'approved' },
      { id: edited.id, ok: false, code: 'invalid_transition' },
    ])
    expect((await judge(null)).json.data).toMatchObject([{ ok: false }, { ok: true, status: 'approved' }])
  })

  test('takes 1 to 100 ids', async () => {
    expect((await bulk([], 'approve')).json.errors).toMatchObject([{ pointer: '/ids', code: 'too_short' }])
    expect((await bulk(Array(101).fill('x'), 'approve')).json.errors).toMatchObject([
      { pointer: '/ids', code: 'too_long' },
    ])
    expect((await bulk(['x'], 'praise')).json.errors).toMatchObject([{ pointer: '/action', code: 'not_allowed' }])
  })

  test('in GraphQL, a comment beyond 2 MB is an error at its field, and all are changed', async () => {
    const long = { body: '&'.repeat(10_000) }
    const other = { body: '&'.repeat(9_999) }
    const ids = [(await post('bulk-long', long)).id, (await post('bulk-long', other)).id]
    const texts = Array.from({ length: 28 }, (_, n) => `a${n}: bodyHtml`).join(' ')
    const { json } = await service.graphql(
      `mutation ($ids: [ID!]!) { moderateComments(input: { ids: $ids, action: reject }) { outcomes { status comment { ${texts} } } } }`,
      { ids },
    )
    const { outcomes } = json.data.moderateComments
    expect(outcomes.map(({ status }: { status: string }) => status)).toEqual(['rejected', 'rejected'])
    expect(outcomes.filter(({ comment }: { comment: object | null }) => comment === null)).toHaveLength(1)
    expect(json.errors).toMatchObject([{ extensions: { errors: [{ pointer: '/ids', code: 'too_long' }] } }])
  })
})

describe('GET /readers, /readers/{id}; POST /readers/{id}/ban, /unban', () => {
  const ban = (id: string, body: object = {}) => call('POST', `/readers/${id}/ban`, body)
  const unban = (id: string) => call('POST', `/readers/${id}/unban`)

  test('readers are listed newest first, with their bans', async () => {
    const { author } = await post('readers', {}, await service.as('newest', { avatarUrl: 'https://example.com/a.png' }))
    const { json } = await call('GET', '/readers?limit=1')
    expect(json).toMatchObject({ hasMore: true, nextCursor: expect.any(String) })
    const given = { kind: 'reader', trust: 'normal', assignedBadges: [], claimedBadges: [] }
    const record = { ...given, ban: null, createdAt: expect.any(String) }
    expect(json.data).toEqual([{ ...author, ...record }])
    expect((await call('GET', `/readers/${author.id}`)).json).toEqual(json.data[0])
    expect((await call('GET', '/readers/nonsense')).json.code).toBe('not_found')
    expect((await call('GET', `/readers/${author.id}`, undefined, plain)).json.code).toBe('missing_capability')
  })

  test("a reader is found by the tenant's id, and no other reader is", async () => {
    const id = 'user/42 ?&=%'
    const { author } = await post('by-external', {}, await service.as(id))
    await post('by-external', {}, await service.as(`${id}0`))
    const find = async (externalId: string, more = '', headers = {}) =>
      (await call('GET', `/readers?externalId=${encodeURIComponent(externalId)}${more}`, undefined, headers)).json
    const { json } = await call('GET', `/readers/${author.id}`)
    expect(await find(id)).toEqual({ data: [json], nextCursor: null, hasMore: false })
    expect((await find(id, '&limit=1')).data).toEqual([json])
    expect((await find('nobody')).data).toEqual([])
    expect((await find('x'.repeat(256))).errors).toMatchObject([{ pointer: '/externalId', code: 'too_long' }])
    expect((await find('')).errors).toMatchObject([{ pointer: '/externalId', code: 'too_short' }])
    expect((await find(id, '', plain)).code).toBe('missing_capability')
  })

  test('a banned reader can neither post, edit, react nor report, until the ban is over', async () => {
    const eve = await service.as('eve')
    const [own, other] = [await post('banned', {}, eve), await post('banned')]
    const { status, json } = await ban(own.author.id, { reason: 'Rude' })
    expect(status).toBe(200)
    expect(json.ban).toEqual({
      bannedAt: expect.any(String),
      until: null,
      reason: 'Rude',
      shadow: false,
      comments: null,
    })
    expect((await call('GET', `/readers/${own.author.id}`)).json).toEqual(json)
    expect((await post('banned', {}, eve)).code).toBe('reader_banned')
    expect((await call('PATCH', `/comments/${own.id}`, { body: 'new' }, eve)).json.code).toBe('reader_banned')
    expect((await act(other.id, 'reactions', { type: 'like' }, eve)).json.code).toBe('reader_banned')
    expect((await act(other.id, 'report', { reason: 'spam' }, eve)).json.code).toBe('reader_banned')
    expect((await unban(own.author.id)).json.ban).toBeNull()
    expect((await unban(own.author.id)).status).toBe(200)
    expect((await post('banned', {}, eve)).status).toBe('approved')
    const past = unnamed(
      "UPDATE readers SET banned_at = now() - interval '2 h', banned_until = now() - interval '1 h' WHERE id = $1",
    )
    await service.app.db.query(past, [own.author.id])
    expect((await call('GET', `/readers/${own.author.id}`)).json.ban).toBeNull()
    expect((await auditOf(own.author.id)).map(({ action }) => action)).toEqual(['reader.ban', 'reader.unban'])
  })

  test('a ban must end in the future', async () => {
    const { author } = await post('until')
    const { json } = await ban(author.id, { until: '2020-01-01T00:00:00Z' })
    expect(json.errors).toMatchObject([{ pointer: '/until', code: 'in_the_past' }])
    const until = new Date(Date.now() + 60_000).toISOString()
    expect((await ban(author.id, { until })).json.ban).toMatchObject({ until })
    await unban(author.id)
  })

  test('a comment of a reader banned in shadow waits, also in its event, and its replies notify no one', async () => {
    const mal = await service.as('mal')
    const parent = await post('shadow')
    const before = await post('shadow', {}, mal)
    await ban(before.author.id, { shadow: true })
    const own = await post('shadow', { parentId: parent.id, body: '"status":"approved"' }, mal)
    expect(own).toMatchObject({ status: 'approved', body: '"status":"approved"' })
    expect((await seen(own.id)).code).toBe('not_found')
    expect(await discussion('shadow')).toMatchObject({ commentCount: 2 })
    const event = await lastEvent(own.discussionId)
    expect(event).toMatchObject({ type: 'comment_created', audience: 'recipient', recipientId: before.author.id })
    expect(event?.data.comment).toEqual({ ...own, status: 'pending' })
    const edited = await call('PATCH', `/comments/${before.id}`, { body: 'changed' }, mal)
    expect(edited.json.status).toBe('approved')
    expect(await discussion('shadow')).toMatchObject({ commentCount: 1 })
    const reported = await act(parent.id, 'report', { reason: 'spam' }, mal)
    expect(reported.status).toBe(201)
    const { json } = await call('GET', '/moderation/queue?status=reported&limit=100')
    expect(idsOf({ data: json.data.map(({ comment }: { comment: { id: string } }) => comment) })).not.toContain(
      parent.id,
    )
  })
})

test(`counters are exact after ${WRITES} mixed writes of readers and moderators at once`, async () => {
  const roots = await Promise.all(Array.from({ length: 6 }, () => post('crowd')))
  const replies = await Promise.all(
    Array.from({ length: 30 }, (_, n) => post('crowd', { parentId: roots[n % 6].id }, n % 2 === 0 ? ann : bob)),
  )
  const all = [...roots, ...replies].map(({ id }) => id as string)
  const verbs = ['approve', 'reject', 'pin', 'unpin', 'approve', 'delete', 'reply', 'report'] as const
  const write = async (n: number) => {
    const [id = '', verb = 'approve'] = [all[(n * 7) % all.length], verbs[n % verbs.length]]
    if (verb === 'delete') return call('DELETE', `/comments/${id}`)
    if (verb === 'report') return act(id, 'report', { reason: 'spam' }, bob)
    if (verb === 'reply') return post('crowd', { parentId: id }, bob)
    return act(id, verb)
  }
  await Promise.all(Array.from({ length: WRITES }, (_, n) => write(n)))
  const { id, commentCount, lastEventId } = await discussion('crowd')
  const [truth] = await service.app.db.query<{ approved: number; events: number; wrong: number }>(
    unnamed(`WITH RECURSIVE shown AS (
         SELECT id, parent_id FROM comments WHERE discussion_id = $1 AND status = 'approved'
         UNION
         SELECT p.id, p.parent_id FROM shown s JOIN comments p ON p.id = s.parent_id AND p.status = 'deleted'
       )
       SELECT (SELECT count(*) FROM comments WHERE discussion_id = $1 AND status = 'approved') AS approved,
         (SELECT count(*) FROM events WHERE discussion_id = $1) AS events,
         (SELECT count(*) FROM comments c WHERE discussion_id = $1
            AND reply_count <> (SELECT count(*) FROM shown s WHERE s.parent_id = c.id)) AS wrong`),
    [id],
  )
  expect(truth).toEqual({ approved: commentCount, events: Number(lastEventId), wrong: 0 })
  expect(truth?.events).toBeGreaterThan(80)
})

import { describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { finishMerge, mergeReaderOf } from '../../src/domains/merges/merge.ts'
import { continueBanSweep } from '../../src/domains/moderation/ban-sweep.ts'
import { callsTo } from '../harness/calls.ts'
import { dumpTables, tracesOf } from '../harness/dump.ts'
import { expectExactCounts } from '../harness/counts.ts'
import { eventRowsOf } from '../harness/event-rows.ts'
import { newReader } from '../harness/people.ts'
import { type Headers, useService } from '../harness/service.ts'
import { openStream } from '../harness/stream-client.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

const { call, ok } = callsTo(() => service)

const post = (page: string, headers: Headers, body: string, parentId?: string) =>
  ok('POST', `/discussions/by-external/${page}/comments`, { body, parentId: parentId ?? null }, headers)
const list = async (page: string) => (await ok('GET', `/discussions/by-external/${page}/comments?limit=100`)).data
const merge = (from: string, into: string, headers: Headers = {}) =>
  call('POST', `/readers/${from}/merge`, { into }, headers)
const expectExact = () => expectExactCounts(service.app.db, service.tenant.id)

const newPage = () => `page-${newId()}`

const eventsOf = (discussionId: string) => eventRowsOf(service.app.db, discussionId)

describe('POST /readers/{id}/merge', () => {
  test('moves comments, reactions, reports and notifications, and counts stay exact', async () => {
    const [a, b, other] = [
      await newReader(service, 'a', { name: 'Ann' }),
      await newReader(service, 'b', { name: 'Ben' }),
      await newReader(service),
    ]
    const page = newPage()
    const mine = await post(page, a.headers, 'of a')
    const theirs = await post(page, other.headers, 'of another')
    const reply = await post(page, other.headers, 'to a', mine.id)
    await ok('PATCH', `/comments/${mine.id}`, { body: 'of a, edited' }, a.headers)
    await ok('POST', `/comments/${theirs.id}/reactions`, { type: 'love' }, a.headers)
    await ok('POST', `/comments/${theirs.id}/report`, { reason: 'spam', note: 'a note' }, a.headers)
    const before = await eventsOf(mine.discussionId)

    const answer = await merge(a.id, b.id)
    expect(answer.status, answer.text).toBe(200)
    expect(answer.json).toMatchObject({ id: b.id, externalId: b.externalId, name: 'Ben' })

    expect(await list(page)).toMatchObject([
      { id: theirs.id },
      { id: mine.id, author: { id: b.id, externalId: b.externalId, name: 'Ben' }, body: 'of a, edited', revision: 2 },
    ])
    const held = await ok('GET', `/readers/${b.id}/export`)
    expect(held.formerReaders).toMatchObject([{ id: a.id, externalId: a.externalId }])
    expect(held.auditEntries).toMatchObject([{ action: 'reader.merge', targetId: a.id }])
    expect(held.comments).toMatchObject([{ id: mine.id, revisions: [{ body: 'of a' }] }])
    expect(held.reactions).toMatchObject([{ commentId: theirs.id, type: 'love' }])
    expect(held.reportsMade).toMatchObject([{ commentId: theirs.id, note: 'a note' }])
    expect(held.notifications).toMatchObject([{ commentId: reply.id, parentCommentId: mine.id }])

    const after = await eventsOf(mine.discussionId)
    expect(after.map(({ seq, type }) => [seq, type])).toEqual(before.map(({ seq, type }) => [seq, type]))
    expect(after[0]).toMatchObject({
      actor: { kind: 'reader', readerId: b.id, externalId: b.externalId },
      data: { comment: { author: { id: b.id, name: 'Ben' }, body: 'of a' } },
    })
    expect(after.find(({ type }) => type === 'reaction_toggled')).toMatchObject({
      actor: { readerId: b.id },
      data: { type: 'love', reader: { id: b.id, externalId: b.externalId } },
    })
    expect(after.find(({ type }) => type === 'notification_reply')).toMatchObject({
      recipientId: b.id,
      data: { recipient: { readerId: b.id, externalId: b.externalId } },
    })
    // Only a hidden row still has the name.
    expect(await tracesOf(service.app.db, a.id, 'Ann')).toEqual([])
    expect(await tracesOf(service.app.db, a.externalId)).toHaveLength(1)
    await expectExact()
  })

  test("a search for the merged reader's external id finds the reader who stays, first and once", async () => {
    const [a, b] = [await newReader(service), await newReader(service)]
    const other = await newReader(service, `${a.externalId}-2`, { name: 'Other' })
    const found = async (search: string, more = ''): Promise<string[]> =>
      (await ok('GET', `/readers?search=${search}${more}`)).data.map(({ id }: { id: string }) => id)
    expect(await found(a.externalId)).toEqual([a.id, other.id])
    await merge(a.id, b.id)
    expect(await found(a.externalId)).toEqual([b.id, other.id])
    expect(await found(a.externalId.slice(0, -1))).not.toContain(b.id)
    expect(await found(a.externalId, `&externalId=${a.externalId}`)).toEqual([])
    // The search itself would also find the reader who stays.
    await merge(b.id, other.id)
    const first = await ok('GET', `/readers?search=${a.externalId}&limit=1`)
    expect(first).toMatchObject({ data: [{ id: other.id, externalId: other.externalId }] })
    expect(await found(a.externalId)).toEqual([other.id])
    expect(await found(b.externalId)).toEqual([other.id])
    const later = await newReader(service, `${a.externalId}-3`, { name: 'Later' })
    expect(await found(a.externalId, '&limit=1')).toEqual([other.id])
    const page = await ok('GET', `/readers?search=${a.externalId}&limit=1`)
    expect(await found(a.externalId, `&limit=1&cursor=${page.nextCursor}`)).toEqual([later.id])
    const second = await ok('GET', `/readers?search=${a.externalId}&limit=1&cursor=${page.nextCursor}`)
    expect(second.hasMore).toBe(false)
    await ok('DELETE', `/readers/${other.id}`)
    expect(await found(a.externalId)).toEqual([later.id])
  })

  test('changes the tag of cached pages, and streams get no event', async () => {
    const [a, b] = [await newReader(service), await newReader(service)]
    const page = newPage()
    const { discussionId } = await post(page, a.headers, 'text')
    const path = `/discussions/${discussionId}/comments`
    const before = await call('GET', path)
    const stream = await openStream(`${service.url}/api/v1/stream/${discussionId}`, { 'x-api-key': service.apiKey })
    await merge(a.id, b.id)
    const after = await call('GET', path, undefined, { 'if-none-match': String(before.headers.get('etag')) })
    expect(after.status).toBe(200)
    expect(after.json.data[0].author.id).toBe(b.id)
    await post(page, b.headers, 'next')
    await vi.waitFor(() => expect(stream.events).toHaveLength(1))
    expect(stream.events[0]).toMatchObject({ event: 'comment_created' })
    stream.close()
  })

  test('a replay names the reader who stays, even from a process that has cached the events', async () => {
    const [a, b] = [await newReader(service), await newReader(service)]
    const { discussionId } = await post(newPage(), a.headers, 'text')
    const open = () =>
      openStream(`${service.url}/api/v1/stream/${discussionId}?lastEventId=0`, { 'x-api-key': service.apiKey })
    const first = await open()
    await vi.waitFor(() => expect(first.events).toHaveLength(1))
    await merge(a.id, b.id)
    const second = await open()
    await vi.waitFor(() => expect(second.events).toHaveLength(1))
    expect(second.events[0]?.data).toMatchObject({
      actor: { readerId: b.id },
      data: { comment: { author: { id: b.id } } },
    })
    first.close()
    second.close()
  })

  test('of two reactions to one comment, that of the reader who stays is kept, and an event has the counts', async () => {
    const [a, b, author] = [await newReader(service), await newReader(service), await newReader(service)]
    const page = newPage()
    const both = await post(page, author.headers, 'both')
    const takenBack = await post(page, author.headers, 'taken back by b')
    for (const { headers, type } of [
      { ...a, type: 'like' },
      { ...b, type: 'love' },
    ]) {
      await ok('PUT', `/comments/${both.id}/reaction`, { type }, headers)
      await ok('PUT', `/comments/${takenBack.id}/reaction`, { type }, headers)
    }
    await ok('DELETE', `/comments/${takenBack.id}/reaction`, undefined, b.headers)
    const { seq } = (await eventsOf(both.discussionId)).at(-1)!
    await merge(a.id, b.id)
    expect(await ok('GET', `/comments/${both.id}`, undefined, b.headers)).toMatchObject({
      reactionCounts: { love: 1 },
      viewerReaction: 'love',
    })
    expect(await ok('GET', `/comments/${takenBack.id}`, undefined, b.headers)).toMatchObject({
      reactionCounts: { like: 1 },
      viewerReaction: 'like',
    })
    const news = (await eventsOf(both.discussionId)).filter((event) => event.seq > seq)
    expect(news).toMatchObject([
      {
        type: 'reaction_toggled',
        actor: { kind: 'system' },
        data: { commentId: both.id, type: null, previousType: 'like', reactionCounts: { love: 1 }, reader: null },
      },
    ])
    await expectExact()
  })

  test('of two reports of one comment, that of the reader who stays is kept', async () => {
    const [a, b, author] = [await newReader(service), await newReader(service), await newReader(service)]
    const comment = await post(newPage(), author.headers, 'reported')
    await ok('POST', `/comments/${comment.id}/report`, { reason: 'spam', note: 'of a' }, a.headers)
    await ok('POST', `/comments/${comment.id}/report`, { reason: 'abuse', note: 'of b' }, b.headers)
    await merge(a.id, b.id)
    const { data } = await ok('GET', '/moderation/queue?status=reported')
    const queued = data.find(({ comment: { id } }: { comment: { id: string } }) => id === comment.id)
    expect(queued).toMatchObject({ reportCount: 1 })
    expect((await ok('GET', `/readers/${b.id}/export`)).reportsMade).toMatchObject([{ reason: 'abuse', note: 'of b' }])
    await expectExact()
  })

  test("takes back a report of a comment that becomes the reporter's own, in both directions", async () => {
    const [a, b, other] = [await newReader(service), await newReader(service), await newReader(service)]
    const [ofA, ofB] = [await post(newPage(), a.headers, 'of a'), await post(newPage(), b.headers, 'of b')]
    await ok('POST', `/comments/${ofA.id}/report`, { reason: 'spam' }, b.headers)
    await ok('POST', `/comments/${ofB.id}/report`, { reason: 'spam' }, a.headers)
    await ok('POST', `/comments/${ofB.id}/report`, { reason: 'spam' }, other.headers)
    await merge(a.id, b.id)
    const queued = (await ok('GET', '/moderation/queue?status=reported')).data.filter(
      ({ comment: { id } }: { comment: { id: string } }) => id === ofA.id || id === ofB.id,
    )
    expect(queued).toMatchObject([{ comment: { id: ofB.id }, reportCount: 1 }])
    expect((await ok('GET', `/readers/${b.id}/export`)).reportsMade).toEqual([])
    await expectExact()
  })

  test('replies between the two leave the inbox, other replies and decisions stay', async () => {
    const [a, b, other] = [await newReader(service), await newReader(service), await newReader(service)]
    const page = newPage()
    const [ofA, ofB] = [await post(page, a.headers, 'of a'), await post(page, b.headers, 'of b')]
    await post(page, b.headers, 'to a', ofA.id)
    await post(page, a.headers, 'to b', ofB.id)
    const reply = await post(page, other.headers, 'to a, of another', ofA.id)
    await ok('POST', `/comments/${ofB.id}/reject`)
    await merge(a.id, b.id)
    const { data } = await ok('GET', '/readers/me/notifications', undefined, b.headers)
    const told = data.map(({ kind, comment }: { kind: string; comment: { id: string } }) => [kind, comment.id])
    expect(told).toEqual([
      ['decision', ofB.id],
      ['reply', reply.id],
    ])
  })

  test('a report that counts is kept over one of a reader who was banned in shadow then', async () => {
    const [a, b, author] = [await newReader(service), await newReader(service), await newReader(service)]
    const comment = await post(newPage(), author.headers, 'reported')
    await ok('POST', `/comments/${comment.id}/report`, { reason: 'spam', note: 'of a' }, a.headers)
    await ok('POST', `/readers/${b.id}/ban`, { shadow: true })
    await ok('POST', `/comments/${comment.id}/report`, { reason: 'abuse', note: 'of b' }, b.headers)
    await merge(a.id, b.id)
    const { data } = await ok('GET', '/moderation/queue?status=reported')
    const queued = data.find(({ comment: { id } }: { comment: { id: string } }) => id === comment.id)
    expect(queued).toMatchObject({ reportCount: 1 })
    expect((await ok('GET', `/readers/${b.id}/export`)).reportsMade).toMatchObject([{ reason: 'spam', note: 'of a' }])
    await expectExact()
  })

  test.each([
    ['the longer one', { until: '2030-01-01T00:00:00.000Z' }, { until: '2029-01-01T00:00:00.000Z' }, 'a'],
    ['that without an end', { until: '2030-01-01T00:00:00.000Z' }, { shadow: true }, 'b'],
    ['of two without an end the open one', { reason: 'open' }, { shadow: true }, 'a'],
    ['of two alike their own', { reason: 'a' }, { reason: 'b' }, 'b'],
    ['the only one', { shadow: true }, null, 'a'],
  ])('of two bans the reader who stays has %s', async (_, ofA, ofB, winner) => {
    const [a, b] = [await newReader(service), await newReader(service)]
    await ok('POST', `/readers/${a.id}/ban`, ofA)
    if (ofB !== null) await ok('POST', `/readers/${b.id}/ban`, ofB)
    const { ban } = (await merge(a.id, b.id)).json
    expect(ban).toMatchObject(winner === 'a' ? ofA : ofB!)
    expect((await ok('GET', `/readers/${b.id}`)).ban).toEqual(ban)
  })

  test('the external id of the merged reader leads to the one who stays, whose profile does not change', async () => {
    const [a, b] = [await newReader(service), await newReader(service, 'b', { name: 'Ben' })]
    const page = newPage()
    const first = await post(page, a.headers, 'before')
    await merge(a.id, b.id)
    const later = await service.as(a.externalId, { name: 'Another name' })
    expect((await post(page, later, 'after')).author).toMatchObject({ id: b.id, externalId: b.externalId, name: 'Ben' })
    expect(await ok('GET', '/readers/me', undefined, later)).toMatchObject({ id: b.id, name: 'Ben' })
    await ok('PATCH', `/comments/${first.id}`, { body: 'edited' }, later)
    await ok('POST', `/readers/${b.id}/ban`, {})
    expect((await call('POST', `/discussions/by-external/${page}/comments`, { body: 'x' }, later)).json).toMatchObject({
      code: 'reader_banned',
    })
    // The name of b that this process knows is not kept under the id of a.
    await ok('POST', `/readers/${b.id}/unban`)
    const renamed = await service.as(b.externalId, { name: 'Benjamin', iat: Math.floor(Date.now() / 1000) + 5 })
    await ok('GET', '/readers/me', undefined, renamed)
    expect(await ok('GET', '/readers/me', undefined, later)).toMatchObject({ id: b.id, name: 'Benjamin' })
  })

  test("the merged reader's external id lists the reader who stays, and their id is a 404 that names them", async () => {
    const [a, b, c] = [await newReader(service), await newReader(service), await newReader(service)]
    const ids = async (query: string) => (await ok('GET', `/readers?${query}`)).data.map(({ id }: { id: string }) => id)
    expect(await ids(`externalId=${a.externalId}`)).toEqual([a.id])
    await merge(a.id, b.id)
    expect(await ids(`externalId=${a.externalId}`)).toEqual([b.id])
    await merge(b.id, c.id)
    expect(await ids(`externalId=${a.externalId}&limit=1`)).toEqual([c.id])
    expect(await ids(`externalId=${c.externalId}&search=${c.externalId}`)).toEqual([c.id])
    expect(await ids(`externalId=${newId()}`)).toEqual([])
    const detail = `The reader was merged into ${c.id} before.`
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['POST', '/ban', {}],
      ['GET', '/comments', undefined],
      ['POST', '/notes', { text: 'note' }],
      ['GET', '/export', undefined],
      ['DELETE', '', undefined],
    ] as const) {
      const { json } = await call(method, `/readers/${a.id}${path}`, body)
      expect(json, `${method} ${path}`).toMatchObject({ status: 404, code: 'not_found', detail })
    }
    await ok('DELETE', `/readers/${c.id}`)
    expect(await ids(`externalId=${a.externalId}`)).toEqual([])
  })

  test('a repeated merge answers 200 and writes no second audit entry; into another reader it answers 404', async () => {
    const [a, b, c] = [await newReader(service), await newReader(service), await newReader(service)]
    for (let n = 0; n < 2; n++) expect((await merge(a.id, b.id)).json).toMatchObject({ id: b.id })
    expect((await merge(a.id, c.id)).json).toMatchObject({ status: 404, code: 'not_found' })
    const { data } = await ok('GET', '/audit-log?action=reader.merge')
    const entries = data.filter(({ targetId }: { targetId: string }) => targetId === a.id)
    expect(entries).toMatchObject([{ before: { externalId: a.externalId }, after: { into: b.id, ban: null } }])
  })

  test('readers who were merged into a merged reader follow', async () => {
    const [a, b, c] = [await newReader(service), await newReader(service), await newReader(service)]
    const { id } = await post(newPage(), a.headers, 'of a')
    await merge(a.id, b.id)
    await merge(b.id, c.id)
    expect((await ok('GET', `/comments/${id}`)).author.id).toBe(c.id)
    for (const { headers } of [a, b]) {
      expect(await ok('GET', '/readers/me', undefined, headers)).toMatchObject({ id: c.id })
    }
    expect((await merge(a.id, c.id)).status).toBe(200)
  })

  test('an Idempotency-Key replays the first answer', async () => {
    const [a, b] = [await newReader(service), await newReader(service)]
    const { id } = await post(newPage(), a.headers, 'of a')
    const key = { 'idempotency-key': newId() }
    const first = await merge(a.id, b.id, key)
    expect(first.status, first.text).toBe(200)
    expect((await ok('GET', `/comments/${id}`)).author.id).toBe(b.id)
    const second = await merge(a.id, b.id, key)
    expect(second.headers.get('idempotency-replayed')).toBe('true')
    expect(second.json).toEqual(first.json)
  })
})

describe('an operator', () => {
  test("names readers by the service's ids or the tenant's, also when repeating", async () => {
    const tenantId = service.tenant.id
    const [a, b, c] = [await newReader(service), await newReader(service), await newReader(service)]
    const { id } = await post(newPage(), a.headers, 'of a')
    for (let n = 0; n < 2; n++) {
      expect(await mergeReaderOf(service.app, tenantId, a.externalId, b.externalId)).toMatchObject({ id: b.id })
    }
    expect((await ok('GET', `/comments/${id}`)).author.id).toBe(b.id)
    expect(await mergeReaderOf(service.app, tenantId, b.id, c.id)).toMatchObject({ id: c.id })
    await expect(mergeReaderOf(service.app, tenantId, 'nobody', c.id)).rejects.toMatchObject({ code: 'not_found' })
    await expect(mergeReaderOf(service.app, tenantId, c.id, 'nobody')).rejects.toMatchObject({ code: 'not_found' })
    const { data } = await ok('GET', '/audit-log?action=reader.merge&actor=system')
    expect(data.map(({ targetId }: { targetId: string }) => targetId)).toEqual([b.id, a.id])
  })

  test('a reader whose external id looks like an id of the service is found by it', async () => {
    const b = await newReader(service)
    const externalId = newId()
    const { id } = await ok('GET', '/readers/me', undefined, await service.as(externalId))
    await mergeReaderOf(service.app, service.tenant.id, externalId, b.id)
    expect((await call('GET', `/readers/${id}`)).status).toBe(404)
  })
})

describe('what POST /readers/{id}/merge refuses', () => {
  test('the same reader: 422', async () => {
    const { id } = await newReader(service)
    expect((await merge(id, id)).json).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: '/into', code: 'same_reader' }],
    })
  })

  test('an unknown reader, on either side: 404', async () => {
    const { id } = await newReader(service)
    for (const unknown of [newId(), 'not-an-id']) {
      expect((await merge(unknown, id)).json).toMatchObject({ status: 404, code: 'not_found' })
      expect((await merge(id, unknown)).json).toMatchObject({ status: 404, code: 'not_found' })
    }
  })

  test('a merged reader, on either side: 404 that names the reader who stays', async () => {
    const [a, b, c] = [await newReader(service), await newReader(service), await newReader(service)]
    await merge(a.id, b.id)
    const gone = { status: 404, code: 'not_found' }
    const detail = `The reader to merge into was merged into ${b.id} before.`
    expect((await merge(c.id, a.id)).json).toMatchObject({ ...gone, detail })
    expect((await merge(b.id, a.id)).json).toMatchObject({ ...gone, detail })
    expect((await merge(a.id, c.id)).json).toMatchObject({
      ...gone,
      detail: `The reader was merged into ${b.id} before.`,
    })
    expect((await call('DELETE', `/readers/${a.id}`)).status).toBe(404)
  })

  test('a reader who is being erased, on either side: 409', async () => {
    const [a, b] = [await newReader(service), await newReader(service)]
    await service.app.db.query(unnamed('UPDATE readers SET erasing_at = now() WHERE id = $1'), [a.id])
    expect((await merge(a.id, b.id)).json).toMatchObject({ status: 409, code: 'invalid_transition' })
    expect((await merge(b.id, a.id)).json).toMatchObject({ status: 409, code: 'invalid_transition' })
  })

  test('a reader whose comments a ban still changes, on either side: 409', async () => {
    const [a, b] = [await newReader(service), await newReader(service)]
    await ok('POST', `/readers/${a.id}/ban`, { comments: 'reject' })
    expect((await merge(a.id, b.id)).json).toMatchObject({ status: 409, code: 'invalid_transition' })
    expect((await merge(b.id, a.id)).json).toMatchObject({ status: 409, code: 'invalid_transition' })
    // As the work leaves it.
    const { banSweep } = service.app.prisma
    await banSweep.updateMany({ where: { readerId: a.id }, data: { completedAt: new Date() } })
    expect((await merge(a.id, b.id)).json).toMatchObject({ id: b.id, ban: { until: null } })
  })

  test('a key without manage_settings: 403', async () => {
    const [a, b] = [await newReader(service), await newReader(service)]
    const { key } = await service.newKey('moderate_content')
    expect((await merge(a.id, b.id, { 'x-api-key': key })).json).toMatchObject({ code: 'missing_capability' })
  })
})

const BECAME = `query ($id: ID!) { readerMerge(readerId: $id) { isUnderWay into { id formerReaders { id: readerId externalId } } } }`

const whatBecameOf = async (id: string, headers: Headers = {}) => {
  const { json } = await service.graphql(BECAME, { id }, headers)
  const answer = await call('GET', `/readers/${id}/merge`, undefined, headers)
  if (answer.status === 200) {
    expect(answer.json).toMatchObject({ isUnderWay: json.data.readerMerge.isUnderWay, into: { ban: null } })
    return json.data.readerMerge
  }
  expect(answer.json.code).toBe(json.errors[0].extensions.code)
  return answer.json.code
}

describe('GET /readers/{id}/merge', () => {
  test('answers for a merged reader, however often the one who stays was merged, and for no other', async () => {
    const [a, b, c] = [await newReader(service, 'a'), await newReader(service, 'b'), await newReader(service, 'c')]
    expect(await whatBecameOf(a.id)).toBe('not_found')
    await merge(a.id, b.id)
    const former = ({ id, externalId }: typeof a) => ({ id, externalId })
    expect(await whatBecameOf(a.id)).toEqual({ isUnderWay: false, into: { id: b.id, formerReaders: [former(a)] } })
    await merge(b.id, c.id)
    const into = { id: c.id, formerReaders: [former(a), former(b)] }
    expect(await whatBecameOf(a.id)).toEqual({ isUnderWay: false, into })
    expect(await whatBecameOf(b.id)).toEqual({ isUnderWay: false, into })
    expect(await whatBecameOf(c.id)).toBe('not_found')
    expect(await whatBecameOf(newId())).toBe('not_found')
    expect(await whatBecameOf('none')).toBe('not_found')
    const { apiKey } = await service.addTenant(`other-${newId().slice(-12)}`)
    expect(await whatBecameOf(a.id, { 'x-api-key': apiKey })).toBe('not_found')
    await ok('DELETE', `/readers/${c.id}`)
    expect(await whatBecameOf(a.id)).toBe('not_found')
  })

  test('answers while the merge is under way', async () => {
    const [a, b] = [await newReader(service), await newReader(service)]
    await beginOnly(a.id, b.id)
    expect(await whatBecameOf(a.id)).toMatchObject({ isUnderWay: true, into: { id: b.id } })
    await merge(a.id, b.id)
    expect(await whatBecameOf(a.id)).toMatchObject({ isUnderWay: false })
  })

  test('is for moderators', async () => {
    const { key } = await service.newKey('view_analytics')
    expect(await whatBecameOf(newId(), { 'x-api-key': key })).toBe('missing_capability')
  })
})

const HIDE = unnamed("UPDATE readers SET erasing_at = 'infinity' WHERE id = $1")
const BEGIN = unnamed(
  `INSERT INTO reader_merges (tenant_id, reader_id, into_id, alias_id, merging_at) VALUES ($1, $2, $3, $2, now())`,
)

/** As a process leaves it that is killed after the first transaction. */
async function beginOnly(from: string, into: string): Promise<void> {
  await service.app.db.query(HIDE, [from])
  await service.app.db.query(BEGIN, [service.tenant.id, from, into])
}

const minutesLater = () => new Date(Date.now() + 61_000)

describe('an interrupted merge', () => {
  test('is continued by a worker after a minute', async () => {
    const [a, b] = [await newReader(service), await newReader(service)]
    const { id } = await post(newPage(), a.headers, 'of a')
    await beginOnly(a.id, b.id)
    const signal = new AbortController().signal
    expect(await finishMerge(service.app, signal)).toBe(false)
    expect(await finishMerge(service.app, signal, minutesLater())).toBe(true)
    expect((await ok('GET', `/comments/${id}`)).author.id).toBe(b.id)
    expect(await finishMerge(service.app, signal, minutesLater())).toBe(false)
  })

  test('lets the work of a ban begin, which takes what has moved, and then the comments of both', async () => {
    const [a, b] = [await newReader(service), await newReader(service)]
    const page = newPage()
    const comments = [await post(page, a.headers, 'of a'), await post(page, b.headers, 'of b')]
    await beginOnly(a.id, b.id)
    await ok('POST', `/readers/${b.id}/ban`, { comments: 'reject' })
    const signal = new AbortController().signal
    const statuses = () => Promise.all(comments.map(async ({ id }) => (await ok('GET', `/comments/${id}`)).status))
    expect(await continueBanSweep(service.app, signal)).toBe(true)
    expect(await continueBanSweep(service.app, signal)).toBe(false)
    expect(await statuses()).toEqual(['approved', 'rejected'])
    const workOf = async () => (await ok('GET', `/readers/${b.id}`)).ban.comments
    expect(await workOf()).toMatchObject({ total: null, done: 1, completedAt: null })
    await finishMerge(service.app, signal, minutesLater())
    while (await continueBanSweep(service.app, signal, minutesLater())) continue
    expect(await statuses()).toEqual(['rejected', 'rejected'])
    expect(await workOf()).toMatchObject({ total: 2, done: 2, completedAt: expect.stringMatching(/Z$/) })
  })

  test('is continued by the same request', async () => {
    const [a, b] = [await newReader(service), await newReader(service)]
    const { id } = await post(newPage(), a.headers, 'of a')
    await beginOnly(a.id, b.id)
    expect((await merge(a.id, b.id)).status).toBe(200)
    expect((await ok('GET', `/comments/${id}`)).author.id).toBe(b.id)
  })

  test('meanwhile the reader is not found, writes belong to the one who stays, and comments keep their author', async () => {
    const [a, b] = [await newReader(service, 'a', { name: 'Ann' }), await newReader(service)]
    const page = newPage()
    const { id } = await post(page, a.headers, 'of a')
    await beginOnly(a.id, b.id)
    expect((await call('GET', `/readers/${a.id}`)).status).toBe(404)
    expect((await call('DELETE', `/readers/${a.id}`)).status).toBe(404)
    expect((await post(page, a.headers, 'later')).author.id).toBe(b.id)
    expect((await ok('GET', `/comments/${id}`)).author).toMatchObject({ id: a.id, name: 'Ann' })
    await merge(a.id, b.id)
    await expectExact()
  })

  test('is taken along by the merge of its target into a third reader', async () => {
    const [a, b, c] = [await newReader(service), await newReader(service), await newReader(service)]
    const { id } = await post(newPage(), a.headers, 'of a')
    await beginOnly(a.id, b.id)
    expect((await merge(b.id, c.id)).status).toBe(200)
    expect(await finishMerge(service.app, new AbortController().signal, minutesLater())).toBe(true)
    expect((await ok('GET', `/comments/${id}`)).author.id).toBe(c.id)
  })
})

describe('DELETE /readers/{id} of a reader into whom others were merged', () => {
  const nothingLeft = async (...marks: string[]) => {
    const dump = await dumpTables(service.app.db)
    return marks.filter((mark) => dump.includes(mark))
  }

  test.each([
    ['', (from: string, into: string) => merge(from, into).then(() => undefined)],
    [', the merge of one having been interrupted', beginOnly],
  ])('leaves nothing of them either%s', async (_, mergeThem) => {
    const word = `word${newId().replaceAll('-', '')}`
    const [a, b] = [await newReader(service, word, { name: `Name ${word}` }), await newReader(service, word)]
    const page = newPage()
    const { discussionId } = await post(page, a.headers, `${word} in a text`)
    const other = await post(page, (await newReader(service)).headers, 'of another')
    await ok('POST', `/comments/${other.id}/report`, { reason: 'spam', note: word }, a.headers)
    await ok('POST', `/readers/${a.id}/ban`, { reason: word })
    const key = { 'idempotency-key': newId() }
    await ok('POST', `/readers/${a.id}/unban`, undefined, key)
    await mergeThem(a.id, b.id)
    expect(await nothingLeft(word)).toEqual([word])
    expect((await call('DELETE', `/readers/${b.id}`)).status).toBe(204)
    expect(await nothingLeft(word)).toEqual([])
    expect((await call('POST', `/readers/${a.id}/unban`, undefined, key)).json).toMatchObject({ code: 'not_found' })
    const { id } = await ok('GET', '/readers/me', undefined, a.headers)
    expect([a.id, b.id]).not.toContain(id)
    expect((await eventsOf(discussionId)).length).toBeGreaterThan(0)
    await expectExact()
  })
})

import { beforeAll, describe, expect, test, vi } from 'vitest'

import { finishErasure } from '../../src/domains/erasure/erase.ts'
import { AUDIT_BATCH, beginErasure } from '../../src/domains/erasure/sql.ts'
import { callsTo } from '../harness/calls.ts'
import { expectExactCounts as expectExact } from '../harness/counts.ts'
import { dumpTables } from '../harness/dump.ts'
import { type EventRow, eventRowsOf } from '../harness/event-rows.ts'
import { reply } from '../harness/receiver.ts'
import { newPerson, type Person } from '../harness/people.ts'
import { type Headers, type TestResponse, PATIENT, useReaders } from '../harness/service.ts'
import { openStream } from '../harness/stream-client.ts'
import { unnamed } from '../harness/sql.ts'
import { useReceiver } from '../harness/webhooks.ts'

const { receiver, service, whenVerified } = useReceiver({ env: PATIENT })
const { bob } = useReaders(service, 'bob')

const { call, ok } = callsTo(() => service)

const post = (page: string, headers: Headers, body: string, parentId?: string) =>
  ok('POST', `/discussions/by-external/${page}/comments`, { body, parentId: parentId ?? null }, headers)
const page = (name: string) => ok('GET', `/discussions/by-external/${name}`)
const list = async (name: string, query = '') =>
  (await ok('GET', `/discussions/by-external/${name}/comments?sort=oldest${query}`)).data
const erase = async (id: string) => expect((await call('DELETE', `/readers/${id}`)).status).toBe(204)
const setMode = (erasureMode: string) => ok('PATCH', '/settings', { erasureMode })

async function held(headers: Headers, name: string, body: string) {
  await ok('PATCH', '/settings', { moderationMode: 'pre' })
  const comment = await post(name, headers, body)
  await ok('PATCH', '/settings', { moderationMode: 'none' })
  return comment
}

const eventsOf = (discussionId: string) => eventRowsOf(service.app.db, discussionId)

const DIGESTS = unnamed('SELECT count(*) AS n FROM comments WHERE discussion_id = $1 AND text_digest IS NOT NULL')
/** Of long texts, which bob has not written. */
const digestsIn = async (discussionId: string) =>
  (await service.app.db.query<{ n: number }>(DIGESTS, [discussionId]))[0]?.n

const expectExactCounts = () => expectExact(service.app.db, service.tenant.id)

/** Leaves traces of the person in every possible place. Returns their id, and the places. */
async function livesOf({ headers: person, word }: Person, name: string) {
  const mine = await post(name, person, `${word} one`)
  const { discussionId } = mine
  const toMe = await post(name, bob, 'answer of bob', mine.id)
  const his = await post(name, bob, 'another of bob')
  const toHim = await post(name, person, `${word} reply`, his.id)
  const edited = await post(name, person, `${word} before`)
  await ok('PATCH', `/comments/${edited.id}`, { body: `${word} after` }, person)
  await held(person, name, `${word} held`)
  const gone = await post(name, person, `${word} taken back`)
  await call('DELETE', `/comments/${gone.id}`, undefined, person)
  const removed = await post(name, person, `${word} removed by a moderator`)
  await call('DELETE', `/comments/${removed.id}`)
  const rejected = await post(name, person, `${word} rejected`)
  await ok('POST', `/comments/${rejected.id}/reject`)
  await ok('POST', `/comments/${mine.id}/pin`)
  await ok('POST', `/comments/${his.id}/reactions`, { type: 'love' }, person)
  await ok('POST', `/comments/${mine.id}/reactions`, { type: 'wow' }, bob)
  for (const type of ['like', 'like']) await ok('POST', `/comments/${toMe.id}/reactions`, { type }, person)
  await ok('POST', `/comments/${his.id}/report`, { reason: 'spam', note: `${word} reports` }, person)
  await ok('POST', `/comments/${mine.id}/report`, { reason: 'abuse', note: `${word} is a name` }, bob)
  const elsewhere = await post(`${name}-archived`, person, `${word} archived`)
  await ok('POST', `/discussions/${elsewhere.discussionId}/archive`)
  await ok('POST', `/readers/${mine.author.id}/ban`, { reason: `${word} behaves` })
  return {
    id: mine.author.id as string,
    discussionId: discussionId as string,
    mine,
    toMe,
    his,
    toHim,
    edited,
    elsewhere,
  }
}

describe.each(['anonymise', 'delete'])('DELETE /readers/{id}, erasureMode %s', (mode) => {
  const name = `life-${mode}`
  let person: Person
  let life: Awaited<ReturnType<typeof livesOf>>
  let before: EventRow[]
  let endpointId: string

  beforeAll(async () => {
    // A receiver that echoes its request.
    receiver.on(`/${mode}`, ({ headers, raw }, response) =>
      headers['x-service-event'] === 'verification' ? undefined : reply(response, 500, raw.toString()),
    )
    const hook = {
      url: `${receiver.url}/${mode}`,
      policy: { maxAttempts: 2, backoffBaseMs: 60_000, breakerThreshold: 100, disableThreshold: 1000 },
    }
    endpointId = (await ok('POST', '/webhooks', hook)).id
    await whenVerified(endpointId)
    await setMode(mode)
    person = await newPerson(service)
    life = await livesOf(person, name)
    await vi.waitFor(async () => expect(await snippets(person.word)).toBeGreaterThan(5))
    before = await eventsOf(life.discussionId)
    expect(await digestsIn(life.discussionId)).toBeGreaterThan(0)
    const dump = await dumpTables(service.app.db)
    for (const mark of person.marks) expect(dump).toContain(mark)
    const stream = await openStream(`${service.url}/api/v1/stream/${life.discussionId}?lastEventId=0`, {
      'x-api-key': service.apiKey,
    })
    await vi.waitFor(() => expect(stream.events).toHaveLength(before.length))
    await erase(life.id)
    await vi.waitFor(() => expect(stream.events.length).toBeGreaterThan(before.length))
    stream.close()
  })

  const SNIPPETS = unnamed('SELECT count(*) AS n FROM attempts WHERE response_snippet LIKE $1')
  const snippets = async (word: string) =>
    (await service.app.db.query<{ n: number }>(SNIPPETS, [`%${word}%`]))[0]?.n ?? 0

  test('repeated answers 404 not_found, as do all requests for the reader', async () => {
    for (const [method, path] of [
      ['DELETE', ''],
      ['GET', ''],
      ['GET', '/export'],
      ['POST', '/unban'],
    ] as const) {
      expect((await call(method, `/readers/${life.id}${path}`)).json).toMatchObject({ status: 404, code: 'not_found' })
    }
    expect((await call('GET', '/readers?limit=100')).text).not.toContain(life.id)
  })

  test('no table contains anything of the person', async () => {
    const dump = await dumpTables(service.app.db)
    expect(dump).toContain('answer of bob')
    for (const mark of person.marks) expect(dump).not.toContain(mark)
  })

  test("not even a digest of their comments' texts is kept", async () => {
    expect(await digestsIn(life.discussionId)).toBe(0)
  })

  test('lists, GraphQL, streams and deliveries show nothing of the person', async () => {
    const graphql = await service.graphql(
      `query ($id: ID!) { discussion(by: { id: $id }) { comments(first: 100) { edges { node { author { id name externalId } body bodyHtml } } } }
        readers(first: 100) { edges { node { name externalId } } } auditLog(first: 100) { edges { node { before after } } } }`,
      { id: life.discussionId },
    )
    expect(graphql.json.errors).toBeUndefined()
    const stream = await openStream(`${service.url}/api/v1/stream/${life.discussionId}?lastEventId=0`, {
      'x-api-key': service.apiKey,
    })
    const { length } = await eventsOf(life.discussionId)
    await vi.waitFor(() => expect(stream.seqs).toEqual(Array.from({ length }, (_, index) => index + 1)))
    stream.close()
    const deliveries = await ok('GET', `/webhooks/${endpointId}/deliveries?limit=100`)
    expect(deliveries.data.length).toBeGreaterThan(20)
    const bodies = []
    for (const { id } of deliveries.data)
      bodies.push((await call('GET', `/webhooks/${endpointId}/deliveries/${id}`)).text)
    const texts = [
      graphql.text,
      stream.text,
      JSON.stringify(stream.all),
      JSON.stringify(deliveries),
      ...bodies,
      (await call('GET', `/discussions/${life.discussionId}/comments?limit=100`)).text,
      (await call('GET', '/moderation/queue?status=pending&limit=100')).text,
      (await call('GET', '/moderation/queue?status=rejected&limit=100')).text,
      (await call('GET', '/audit-log?limit=100')).text,
    ]
    for (const text of texts)
      for (const mark of [...person.marks, '"kind":"reader","readerId":"' + life.id]) expect(text).not.toContain(mark)
  })

  test('their comments are tombstones without an author while they have replies in view, and out of view otherwise', async () => {
    const [first, second, ...rest] = await list(name)
    expect(rest).toEqual([])
    expect(first).toMatchObject({
      id: life.mine.id,
      status: 'deleted',
      author: null,
      body: null,
      bodyHtml: null,
      pinnedAt: null,
      replyCount: 1,
    })
    expect(second).toMatchObject({ id: life.his.id, replyCount: 0, reactionCounts: {} })
    expect(await list(name, `&parentId=${life.mine.id}`)).toMatchObject([
      { id: life.toMe.id, author: { externalId: 'bob' } },
    ])
    for (const id of [life.toHim.id, life.edited.id, life.elsewhere.id]) {
      const { status, json } = await call('GET', `/comments/${id}`)
      if (mode === 'delete') expect(json.code).toBe('not_found')
      else expect([status, json.status, json.author, json.body]).toEqual([200, 'deleted', null, null])
    }
  })

  test('every count is exact, in archived discussions too', async () => {
    await expectExactCounts()
    expect(await page(name)).toMatchObject({ commentCount: 2 })
    expect(await page(`${name}-archived`)).toMatchObject({ commentCount: 0, state: 'archived' })
  })

  test('the log keeps every number; its events keep their shape, without the person', async () => {
    const after = await eventsOf(life.discussionId)
    expect(after.map(({ seq }) => seq)).toEqual(Array.from(after, (_, index) => index + 1))
    expect(after.slice(0, before.length).map(({ type }) => type)).toEqual(before.map(({ type }) => type))
    const created = after.find(({ data }) => data.comment?.id === life.mine.id)
    expect(created).toMatchObject({
      type: 'comment_created',
      audience: 'public',
      actor: { kind: 'reader' },
      data: { comment: { author: null, body: null, bodyHtml: null, status: 'approved' } },
    })
    expect(created?.actor).toEqual({ kind: 'reader' })
    const told = after.find(({ type, data }) => type === 'notification_reply' && data.parentCommentId === life.mine.id)
    expect(told).toMatchObject({
      audience: 'tenant',
      recipientId: null,
      data: { recipient: null, comment: { body: 'answer of bob' } },
    })
    const bobs = after.find(({ type, data }) => type === 'notification_reply' && data.parentCommentId === life.his.id)
    expect(bobs).toMatchObject({
      audience: 'recipient',
      data: { recipient: { externalId: 'bob' }, comment: { author: null, body: null } },
    })
    const loved = after.find(({ data }) => data.commentId === life.his.id)
    expect(loved).toMatchObject({ actor: { kind: 'reader' }, data: { type: 'love', reader: null } })
  })

  test('comment_deleted reports each comment that left the view, reaction_toggled each reaction', async () => {
    const told = (await eventsOf(life.discussionId)).slice(before.length)
    expect(told.every(({ actor }) => JSON.stringify(actor) === '{"kind":"system"}')).toBe(true)
    const deleted = told.filter(({ type }) => type === 'comment_deleted')
    const inView = [life.mine.id, life.toHim.id, life.edited.id]
    const isPublic = deleted.filter(({ audience }) => audience === 'public')
    expect(new Set(isPublic.map(({ data }) => data.comment.id))).toEqual(new Set(inView))
    expect(isPublic).toHaveLength(inView.length)
    for (const { data } of deleted) expect(data.comment).toMatchObject({ status: 'deleted', author: null, body: null })
    expect(told.filter(({ type }) => type === 'reaction_toggled').map(({ data }) => data)).toEqual([
      { commentId: life.his.id, type: null, previousType: 'love', reactionCounts: {}, reader: null },
    ])
    expect(await eventsOf(life.elsewhere.discussionId)).toMatchObject([
      {},
      {},
      { type: 'comment_deleted', audience: 'public' },
    ])
  })

  test('the audit log keeps the actions, and names the erasure only by id', async () => {
    const { data } = await ok('GET', '/audit-log?limit=100')
    const entries = data.filter(({ targetId }: { targetId: string }) => targetId === life.id)
    expect(entries.map(({ action, before: b, after: a }: Record<string, unknown>) => [action, b, a])).toEqual([
      ['reader.erase', null, null],
      ['reader.ban', null, null],
    ])
  })

  test('a new assertion begins a new record', async () => {
    const again = await post(`${name}-again`, person.headers, 'back')
    expect(again.author.id).not.toBe(life.id)
    await erase(again.author.id)
  })
})

test('a tombstone without an author is deleted with its last reply', async () => {
  await setMode('delete')
  const [one, two] = [await newPerson(service), await newPerson(service)]
  const root = await post('last-reply', one.headers, one.word)
  const middle = await post('last-reply', two.headers, two.word, root.id)
  const leaf = await post('last-reply', one.headers, one.word, middle.id)
  const other = await post('last-reply', bob, 'stays')
  await ok('POST', `/comments/${root.id}/reactions`, { type: 'like' }, bob)
  await erase(root.author.id)
  expect((await list('last-reply')).map(({ id }: { id: string }) => id)).toEqual([root.id, other.id])
  expect((await call('GET', `/comments/${leaf.id}`)).status).toBe(404)
  await erase(middle.author.id)
  expect((await list('last-reply')).map(({ id }: { id: string }) => id)).toEqual([other.id])
  for (const { id } of [root, middle]) expect((await call('GET', `/comments/${id}`)).status).toBe(404)
  await expectExactCounts()
})

test('stored answers of an Idempotency-Key no longer show the person; an erasure with one runs once', async () => {
  await setMode('anonymise')
  const person = await newPerson(service)
  const keyed = (key: string, method: string, path: string, body?: object, headers: Headers = {}) =>
    call(method, path, body, { ...headers, 'idempotency-key': key })
  const first = [
    'erased-1',
    'POST',
    '/discussions/by-external/keyed/comments',
    { body: person.word },
    person.headers,
  ] as const
  const { json: comment } = await keyed(...first)
  expect((await keyed(...first)).text).toContain(person.word)
  const moderated = `mutation { rejectComment(input: { commentId: "${comment.id}" }) { comment { body } } }`
  const graphql = () => service.graphql(moderated, {}, { 'idempotency-key': 'erased-2' })
  expect((await graphql()).text).toContain(person.word)
  const erasure = ['erased-3', 'DELETE', `/readers/${comment.author.id}`] as const
  expect((await keyed(...erasure)).status).toBe(204)
  expect((await keyed(...erasure)).status).toBe(204)
  expect((await keyed('erased-4', 'DELETE', `/readers/${comment.author.id}`)).status).toBe(404)
  expect((await keyed(...first)).json).toMatchObject({ status: 404, code: 'not_found' })
  expect((await graphql()).text).not.toContain(person.word)
  await expectExactCounts()
  expect(await page('keyed')).toMatchObject({ commentCount: 0 })
})

test('a reader who only reacted to an erased comment leaves no trace either', async () => {
  await setMode('delete')
  const [author, fan] = [await newPerson(service), await newPerson(service)]
  const { id, author: written } = await post('fans', author.headers, author.word)
  await ok('POST', `/comments/${id}/reactions`, { type: 'like' }, fan.headers)
  const { data } = await ok('GET', '/readers?limit=1')
  await erase(written.id)
  await erase(data[0].id)
  const dump = await dumpTables(service.app.db)
  for (const mark of [...author.marks, ...fan.marks]) expect(dump).not.toContain(mark)
})

test('reports of an erased reader no longer count; answered ones stay answered', async () => {
  await ok('PATCH', '/settings', { reportThreshold: 10, erasureMode: 'anonymise' })
  const [first, second] = [await newPerson(service), await newPerson(service)]
  const comment = await post('reports', bob, 'reported')
  const report = (headers: Headers) => ok('POST', `/comments/${comment.id}/report`, { reason: 'spam' }, headers)
  const readersId = async ({ headers }: Person) => (await post('reports', headers, 'x')).author.id
  await report(first.headers)
  await ok('POST', `/comments/${comment.id}/approve`)
  await report(second.headers)
  const queue = async () => {
    const { data } = await ok('GET', '/moderation/queue?status=reported&limit=100')
    return data.find((item: { comment: { id: string } }) => item.comment.id === comment.id)
  }
  expect(await queue()).toMatchObject({ reportCount: 2, openReportCount: 1 })
  await erase(await readersId(first))
  expect(await queue()).toMatchObject({ reportCount: 1, openReportCount: 1 })
  await erase(await readersId(second))
  expect(await queue()).toBeUndefined()
  await expectExactCounts()
})

test('a worker finishes an erasure whose process has died, and leaves alone one that is running', async () => {
  await setMode('anonymise')
  const person = await newPerson(service)
  const { author } = await post('abandoned', person.headers, person.word)
  const { signal } = new AbortController()
  const later = (seconds: number) => new Date(Date.now() + seconds * 1000)
  await beginErasure(service.app.db.query, service.tenant.id, author.id as string, new Date())
  expect(await finishErasure(service.app, signal, later(50))).toBe(false)
  // An aborted worker takes it up and stops; the next one finds it a minute later.
  expect(await finishErasure(service.app, AbortSignal.abort(), later(61))).toBe(true)
  expect(await dumpTables(service.app.db)).toContain(person.word)
  expect(await finishErasure(service.app, signal, later(100))).toBe(false)
  // Of two concurrent calls, one gets it.
  const both = [finishErasure(service.app, signal, later(122)), finishErasure(service.app, signal, later(122))]
  expect((await Promise.all(both)).filter((isDone) => isDone)).toHaveLength(1)
  const dump = await dumpTables(service.app.db)
  for (const mark of [...person.marks, author.id as string]) expect(dump).not.toContain(mark)
  expect(await list('abandoned')).toEqual([])
  await expectExactCounts()
})

const ENTRIES = unnamed(
  `INSERT INTO audit_log (tenant_id, id, actor_kind, action, target_type, target_id, before, after)
   SELECT $1, new_id(), 'system', 'reader.ban', 'reader', $2, NULL, jsonb_build_object('ban', $3::text)
   FROM generate_series(1, $4::int)`,
)
const TOLD = unnamed(
  'SELECT count(*)::int AS n FROM audit_log WHERE target_id = $1 AND (before IS NOT NULL OR after IS NOT NULL)',
)
const toldOf = async (id: string) => (await service.app.db.query<{ n: number }>(TOLD, [id]))[0]?.n

test('more audit entries than one batch are emptied in statements of a batch each, and after a crash by a worker', async () => {
  const [person, former] = [await newPerson(service), await newPerson(service)]
  const ids: string[] = []
  for (const each of [person, former]) ids.push((await post('told', each.headers, each.word)).author.id)
  const [id = '', formerId = ''] = ids
  await ok('POST', `/readers/${formerId}/merge`, { into: id })
  for (const one of ids) await service.app.db.query(ENTRIES, [service.tenant.id, one, person.word, 2 * AUDIT_BATCH + 1])
  const { db } = service.app
  const query = db.query.bind(db)
  const emptied: number[] = []
  const spy = vi.spyOn(db, 'query').mockImplementation(async (asked, params) => {
    if (asked.name !== 'forget_reader_in_audit_log') return query(asked, params)
    if (params?.[1] === id && (await toldOf(id)) === AUDIT_BATCH + 1) throw new Error('the process has died')
    const rows = await query(asked, params)
    emptied.push(rows.length)
    return rows
  })
  expect((await call('DELETE', `/readers/${id}`)).status).toBe(500)
  spy.mockRestore()
  expect(emptied).toEqual([AUDIT_BATCH, AUDIT_BATCH, 2, AUDIT_BATCH])
  expect([await toldOf(formerId), await toldOf(id)]).toEqual([0, AUDIT_BATCH + 1])
  const later = new Date(Date.now() + 61_000)
  expect(await finishErasure(service.app, new AbortController().signal, later)).toBe(true)
  expect(await toldOf(id)).toBe(0)
  const dump = await dumpTables(db)
  for (const mark of [...person.marks, ...former.marks]) expect(dump).not.toContain(mark)
})

test('concurrent writes of the reader leave nothing of the old record behind, and none fails for good', async () => {
  await setMode('delete')
  const person = await newPerson(service)
  const first = await post('race', person.headers, person.word)
  const target = await post('race', bob, 'target')
  const writes: Promise<TestResponse>[] = []
  const write = (n: number) => {
    writes.push(call('POST', '/discussions/by-external/race/comments', { body: `${person.word} ${n}` }, person.headers))
    writes.push(call('POST', `/comments/${target.id}/reactions`, { type: 'like' }, person.headers))
    writes.push(call('POST', `/comments/${target.id}/report`, { reason: 'spam' }, person.headers))
    writes.push(call('POST', '/discussions/by-external/race/comments', { body: 'to them', parentId: first.id }, bob))
  }
  for (let n = 0; n < 10; n++) write(n)
  const erasing = Promise.all([
    call('DELETE', `/readers/${first.author.id}`),
    call('DELETE', `/readers/${first.author.id}`),
  ])
  for (let n = 10; n < 30; n++) {
    write(n)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const erased = (await erasing).map(({ status }) => status)
  expect(erased).toContain(204)
  expect(erased.filter((status) => status !== 204 && status !== 404)).toEqual([])
  const statuses = (await Promise.all(writes)).map(({ status }) => status)
  expect(statuses.filter((status) => status >= 500)).toEqual([])
  // The old id is only in the audit entry of the erasure.
  const dump = (await dumpTables(service.app.db)).split('\n').filter((line) => line.includes(first.author.id))
  expect(dump.filter((line) => !line.startsWith('audit_log '))).toEqual([])
  await expectExactCounts()
  const records = (await ok('GET', '/readers?limit=100')).data.filter(({ externalId }: { externalId: string }) =>
    person.marks.includes(externalId),
  )
  for (const { id } of records) await erase(id)
  const after = await dumpTables(service.app.db)
  for (const mark of person.marks) expect(after).not.toContain(mark)
})

import { beforeAll, describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { announceChange } from '../../src/core/read-cache.ts'
import { callsTo } from '../harness/calls.ts'
import { dumpTables } from '../harness/dump.ts'
import { exportText, importText } from '../harness/exports.ts'
import { type Headers, type Json, useKey, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
const plain = useKey(service)
let ann: Headers
let bob: Headers

beforeAll(async () => {
  ann = { ...plain, ...(await service.as('ann')) }
  bob = { ...plain, ...(await service.as('bob')) }
})

const { call, ok } = callsTo(() => service)

const newPage = () => `page-${newId()}`
const post = (page: string, headers: Headers, more: object = {}): Promise<Json> =>
  ok('POST', `/discussions/by-external/${page}/comments`, { body: 'text', ...more }, headers)
const byId = (id: string, headers: Headers) => ok('GET', `/comments/${id}`, undefined, headers)
const listOf = async (page: string, headers: Headers): Promise<Json[]> =>
  (await ok('GET', `/discussions/by-external/${page}/comments`, undefined, headers)).data
const ownDecision = async (id: string, headers: Headers): Promise<Json> => {
  const { data } = await ok('GET', '/readers/me/comments?limit=100', undefined, headers)
  return data.find((each: Json) => each.id === id)?.decision
}

const SPAM = { reason: 'spam', message: 'Please write about the article.' } as const

describe('the decision on a comment', () => {
  test.each(['approve', 'reject'] as const)('%s tells its author, and nobody else', async (action) => {
    const page = newPage()
    const { id } = await post(page, ann)
    if (action === 'approve') await ok('POST', `/comments/${id}/reject`)
    // So that it stays in lists.
    else await post(page, bob, { parentId: id })
    expect(await ownDecision(id, ann)).toEqual(
      action === 'approve' ? expect.objectContaining({ action: 'reject', reason: null, message: null }) : null,
    )
    const answer = await ok('POST', `/comments/${id}/${action}`, SPAM)
    const decision = { action, ...SPAM, automated: false, at: expect.any(String) }
    expect(answer.decision).toBeNull()
    expect(await ownDecision(id, ann)).toEqual(decision)
    expect((await byId(id, ann)).decision).toEqual(decision)
    const find = async (headers: Headers) => (await listOf(page, headers)).find((each) => each.id === id)?.decision
    expect(await find(ann)).toEqual(decision)
    for (const headers of [bob, plain, {}]) {
      expect(await find(headers)).toBeNull()
      if (action === 'approve') expect((await byId(id, headers)).decision).toBeNull()
    }
    const ONE = '{ comment { decision { action reason message automated at } } }'
    const query = `query ($id: ID!) ${ONE.replace('comment', 'comment(id: $id)')}`
    expect((await service.graphql(query, { id }, ann)).json.data.comment.decision).toEqual(decision)
    expect((await service.graphql(query, { id })).json.data.comment.decision).toBeNull()
  })

  test('is that of a deletion by a moderator, but not by the author', async () => {
    const page = newPage()
    const [own, theirs] = [await post(page, ann), await post(page, ann)]
    await post(page, bob, { parentId: theirs.id })
    await ok('POST', `/comments/${own.id}/reject`, SPAM)
    expect(await ownDecision(own.id, ann)).toMatchObject(SPAM)
    await ok('DELETE', `/comments/${own.id}`, undefined, ann)
    await ok('DELETE', `/comments/${theirs.id}`, SPAM)
    expect(await ownDecision(own.id, ann)).toBeNull()
    const decision = expect.objectContaining({ action: 'delete', ...SPAM })
    expect(await ownDecision(theirs.id, ann)).toEqual(decision)
    expect((await listOf(page, ann)).map((each) => each.decision)).toEqual([decision])
    expect((await listOf(page, bob)).map((each) => each.decision)).toEqual([null])
  })

  test('is shown to moderators in the queues, and to nobody with a plain key', async () => {
    const page = newPage()
    const { id, discussionId } = await post(page, ann)
    const queued = async (status: string): Promise<Json> => {
      const { data } = await ok('GET', `/moderation/queue?status=${status}&discussionId=${discussionId}`)
      return data.find(({ comment }: Json) => comment.id === id)
    }
    await ok('POST', `/comments/${id}/reject`, SPAM)
    const decision = { action: 'reject', ...SPAM, automated: false, at: expect.any(String) }
    expect(await queued('rejected')).toMatchObject({ decision, comment: { decision: null } })
    expect((await call('GET', `/moderation/queue?discussionId=${discussionId}`, undefined, plain)).status).toBe(403)
    await ok('POST', `/comments/${id}/approve`)
    await ok('POST', `/comments/${id}/report`, { reason: 'abuse' }, bob)
    expect(await queued('reported')).toMatchObject({ decision: { action: 'approve', reason: null, message: null } })
    await ok('PATCH', `/comments/${id}`, { body: 'another text' }, ann)
    expect(await queued('reported')).toMatchObject({ decision: null })
  })

  test('in bulk goes to the author of each comment', async () => {
    const page = newPage()
    const [one, two] = [await post(page, ann), await post(page, bob)]
    const { outcomes } = (
      await service.graphql(
        `mutation ($ids: [ID!]!) { moderateComments(input: { ids: $ids, action: reject, reason: abuse, message: "No." }) {
          outcomes { ok } } }`,
        { ids: [one.id, two.id] },
      )
    ).json.data.moderateComments
    expect(outcomes).toEqual([{ ok: true }, { ok: true }])
    const decision = expect.objectContaining({ action: 'reject', reason: 'abuse', message: 'No.' })
    expect(await ownDecision(one.id, ann)).toEqual(decision)
    expect(await ownDecision(two.id, bob)).toEqual(decision)
    await ok('POST', '/comments/bulk', { ids: [one.id], action: 'delete', reason: 'illegal' })
    expect(await ownDecision(one.id, ann)).toMatchObject({ action: 'delete', reason: 'illegal', message: null })
  })

  test('of an outcome is what the author is told, which is nothing under a shadow ban', async () => {
    const page = newPage()
    const eve = { ...plain, ...(await service.as(newId())) }
    const [own, theirs] = [await post(page, ann), await post(page, eve)]
    await ok('POST', `/readers/${theirs.author.id}/ban`, { shadow: true })
    const outcomesOf = async (input: object): Promise<Json> => {
      const OUTCOMES = 'outcomes { ok decision { action reason message automated } }'
      const query = `mutation ($input: ModerateCommentsInput!) { moderateComments(input: $input) { ${OUTCOMES} } }`
      return (await service.graphql(query, { input })).json.data.moderateComments.outcomes
    }
    const ids = [own.id, theirs.id, newId()]
    const decision = { action: 'reject', ...SPAM, automated: false }
    expect(await outcomesOf({ ids, action: 'reject', ...SPAM })).toEqual([
      { ok: true, decision },
      { ok: true, decision: null },
      { ok: false, decision: null },
    ])
    const { data } = await ok('POST', '/comments/bulk', { ids, action: 'approve' })
    expect(Object.keys(data[0])).toEqual(['id', 'ok', 'status', 'code', 'detail'])
  })

  test('is null for moderators where the author has a shadow ban since then, or the comment has no author', async () => {
    const page = newPage()
    const eve = { ...plain, ...(await service.as(newId())) }
    const [theirs, nobodys] = [await post(page, eve), await post(page, ann)]
    const ids = [theirs.id, nobodys.id]
    await service.app.db.query(unnamed('UPDATE comments SET author_id = NULL WHERE id = $1'), [nobodys.id])
    const told = async (action: 'reject' | 'approve' | 'pin'): Promise<Json[]> => {
      const query = `mutation ($input: ModerateCommentsInput!) {
        moderateComments(input: $input) { outcomes { ok decision { action } } } }`
      return (await service.graphql(query, { input: { ids, action } })).json.data.moderateComments.outcomes
    }
    const queued = async (): Promise<Json> =>
      (await ok('GET', `/moderation/queue?status=rejected&discussionId=${theirs.discussionId}`)).data
        .toSorted((one: Json, other: Json) => ids.indexOf(one.comment.id) - ids.indexOf(other.comment.id))
        .map(({ decision }: Json) => decision?.action ?? null)
    const [before, none] = [
      { ok: true, decision: { action: 'reject' } },
      { ok: true, decision: null },
    ]
    expect(await told('reject')).toEqual([before, none])
    expect(await queued()).toEqual(['reject', null])
    await ok('POST', `/readers/${theirs.author.id}/ban`, { shadow: true })
    expect(await queued()).toEqual([null, null])
    await ok('POST', `/readers/${theirs.author.id}/unban`)
    expect(await told('approve')).toEqual([{ ok: true, decision: { action: 'approve' } }, none])
    await ok('POST', `/readers/${theirs.author.id}/ban`, { shadow: true })
    expect(await told('pin')).toEqual([none, none])
  })

  test('stays as it was where a moderator only answers reports and tells the author nothing', async () => {
    const page = newPage()
    const { id, discussionId } = await post(page, ann)
    const url = `/discussions/by-external/${page}/comments`
    const tagOf = async () => (await call('GET', url, undefined, ann)).headers.get('etag')!
    const eventsFor = async () =>
      service.app.db.query<{ type: string; audience: string; again: boolean | null }>(
        unnamed(
          `SELECT type, audience::text, data->'wasApproved' AS again FROM events WHERE discussion_id = $1 ORDER BY seq`,
        ),
        [discussionId],
      )
    await ok('POST', `/comments/${id}/report`, { reason: 'spam' }, bob)
    await ok('POST', `/comments/${id}/approve`)
    expect(await ownDecision(id, ann)).toBeNull()
    expect(await eventsFor()).toHaveLength(1)
    const tag = await tagOf()
    const cara = { ...plain, ...(await service.as('cara')) }
    await ok('POST', `/comments/${id}/report`, { reason: 'abuse' }, cara)
    await ok('POST', `/comments/${id}/approve`, { message: 'It may stay.' })
    expect(await ownDecision(id, ann)).toMatchObject({ action: 'approve', message: 'It may stay.' })
    const changed = await call('GET', url, undefined, { ...ann, 'if-none-match': tag })
    expect(changed.status).toBe(200)
    expect(changed.json.data[0].decision).toMatchObject({ message: 'It may stay.' })
    expect((await eventsFor()).at(-1)).toEqual({ type: 'comment_approved', audience: 'own', again: true })
  })

  test('is null in every event, and the author reads it through a subscription', async () => {
    const page = newPage()
    const { id, discussionId } = await post(page, ann)
    await ok('POST', `/comments/${id}/reject`, SPAM)
    const rows = await service.app.db.query<{ data: Json }>(
      unnamed('SELECT data FROM events WHERE discussion_id = $1 ORDER BY seq'),
      [discussionId],
    )
    expect(rows.map(({ data }) => data.comment.decision)).toEqual([null, null])
    expect(JSON.stringify(rows)).not.toContain(SPAM.message)
    const document = `subscription { discussionEvents(discussionId: "${discussionId}", lastEventId: "1") {
      type data { ... on CommentEventData { comment { id decision { message } } } } } }`
    const read = async (headers: Headers): Promise<Json> => {
      const response = await fetch(`${service.url}/graphql/stream`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
        body: JSON.stringify({ query: document }),
      })
      let text = ''
      for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
        text += part
        const found = /^event: next\ndata: (.*)$/m.exec(text)
        if (found !== null) return JSON.parse(found[1]!).data.discussionEvents
      }
    }
    expect((await read(ann)).data.comment).toEqual({ id, decision: { message: SPAM.message } })
    expect((await read(bob)).data.comment).toEqual({ id, decision: null })
  })

  test('ends with an edit, and when reports withdraw the comment', async () => {
    const page = newPage()
    const [edited, reported] = [await post(page, ann), await post(page, ann)]
    for (const { id } of [edited, reported]) {
      await ok('POST', `/comments/${id}/reject`)
      await ok('POST', `/comments/${id}/approve`, { message: 'Sorry!' })
      expect(await ownDecision(id, ann)).toMatchObject({ action: 'approve', message: 'Sorry!' })
    }
    await ok('PATCH', `/comments/${edited.id}`, { body: 'another text' }, ann)
    expect(await ownDecision(edited.id, ann)).toBeNull()
    await ok('PATCH', '/settings', { reportThreshold: 1 })
    await ok('POST', `/comments/${reported.id}/report`, { reason: 'spam' }, bob)
    await ok('PATCH', '/settings', { reportThreshold: 5 })
    expect(await ownDecision(reported.id, ann)).toBeNull()
  })

  test('is not for an author who is banned in shadow, also after the ban', async () => {
    const eve = { ...plain, ...(await service.as(`eve-${newId()}`)) }
    const page = newPage()
    const [before, during] = [await post(page, eve), await post(page, eve)]
    await ok('POST', `/comments/${before.id}/reject`, SPAM)
    const readerId = before.author.id
    await ok('POST', `/readers/${readerId}/ban`, { shadow: true })
    await ok('POST', `/comments/${during.id}/reject`, SPAM)
    for (const { id } of [before, during]) {
      expect(await ownDecision(id, eve)).toBeNull()
      expect((await byId(id, eve)).decision).toBeNull()
    }
    const isToldOfBefore = async (): Promise<void> => {
      expect(await ownDecision(before.id, eve)).toMatchObject(SPAM)
      expect(await ownDecision(during.id, eve)).toBeNull()
    }
    await ok('POST', `/readers/${readerId}/unban`)
    await isToldOfBefore()
    await ok('POST', `/readers/${readerId}/ban`, { shadow: true })
    // It has run out.
    await service.app.db.query(unnamed(`UPDATE readers SET banned_until = now() - interval '1 s' WHERE id = $1`), [
      readerId,
    ])
    announceChange(service.app, { kind: 'reader', tenantId: service.tenant.id, externalId: before.author.externalId })
    await isToldOfBefore()
  })

  test('follows the comment to the reader into whom its author is merged', async () => {
    const [from, to] = [`from-${newId()}`, `to-${newId()}`]
    const readerOf = async (name: string) => ({ ...plain, ...(await service.as(name)) })
    const { id, author } = await post(newPage(), await readerOf(from))
    const { author: stays } = await post(newPage(), await readerOf(to))
    await ok('POST', `/comments/${id}/reject`, SPAM)
    await ok('POST', `/readers/${author.id}/merge`, { into: stays.id })
    for (const name of [from, to]) expect(await ownDecision(id, await readerOf(name))).toMatchObject(SPAM)
  })
})

describe('an explanation', () => {
  test.each([
    ['POST', '/approve', { reason: 'rude' }, '/reason'],
    ['POST', '/reject', { message: '' }, '/message'],
    ['POST', '/reject', { message: '   ' }, '/message'],
    ['POST', '/reject', { message: 'x'.repeat(501) }, '/message'],
    ['POST', '/reject', { message: 'a\0b' }, '/message'],
    ['POST', '/reject', { message: '\ud800' }, '/message'],
    ['POST', '/pin', { reason: 'spam' }, '/reason'],
    ['DELETE', '', { reason: 'off-topic' }, '/reason'],
  ])('%s /comments/{id}%s %j is 422 at %s', async (method, verb, body, pointer) => {
    const { id } = await post(newPage(), ann)
    const { status, json } = await call(method, `/comments/${id}${verb}`, body)
    expect({ status, pointer: json.errors?.[0]?.pointer }).toEqual({ status: 422, pointer })
    expect((await byId(id, ann)).status).toBe('approved')
  })

  test('counts characters, and its ends are trimmed', async () => {
    const { id } = await post(newPage(), ann)
    const message = '🙂'.repeat(500)
    await ok('POST', `/comments/${id}/reject`, { message: `  ${message}\n` })
    expect((await ownDecision(id, ann)).message).toBe(message)
  })

  test('is refused of an author, and with pin and unpin in bulk', async () => {
    const { id } = await post(newPage(), ann)
    expect(await call('DELETE', `/comments/${id}`, { reason: 'spam' }, ann)).toMatchObject({ status: 422 })
    for (const action of ['pin', 'unpin']) {
      const { status, json } = await call('POST', '/comments/bulk', { ids: [id], action, message: 'No.' })
      expect({ status, pointer: json.errors[0].pointer }).toEqual({ status: 422, pointer: '/message' })
    }
    expect((await byId(id, ann)).status).toBe('approved')
  })

  test('needs moderate_content, and a comment of the same tenant', async () => {
    const { id } = await post(newPage(), ann)
    expect(await call('POST', `/comments/${id}/reject`, SPAM, plain)).toMatchObject({ status: 403 })
    const other = await service.addTenant(`other-${newId()}`)
    expect(await call('POST', `/comments/${id}/reject`, SPAM, { 'x-api-key': other.apiKey })).toMatchObject({
      status: 404,
    })
    expect(await ownDecision(id, ann)).toBeNull()
  })

  test('is in the audit log, and is erased with the author', async () => {
    const tag = newId()
    const author = { ...plain, ...(await service.as(`gone-${tag}`)) }
    const page = newPage()
    const [one, two] = [await post(page, author), await post(page, author)]
    const message = `message-${tag}`
    await ok('POST', `/comments/${one.id}/reject`, { reason: 'other', message })
    await ok('DELETE', `/comments/${two.id}`, { message })
    const AUDIT = unnamed('SELECT after FROM audit_log WHERE target_id = $1 ORDER BY id')
    const audited = async (id: string) =>
      (await service.app.db.query<{ after: Json }>(AUDIT, [id])).map((row) => row.after)
    expect(await audited(one.id)).toEqual([{ status: 'rejected', pinnedAt: null, reason: 'other', message }])
    expect(await audited(two.id)).toEqual([expect.objectContaining({ status: 'deleted', message })])
    const exported = await ok('GET', `/readers/${one.author.id}/export`)
    expect(exported.comments.map((each: Json) => each.decision.message)).toEqual([message, message])
    await ok('DELETE', `/readers/${one.author.id}`)
    expect(await audited(one.id)).toEqual([{ status: 'rejected', pinnedAt: null, reason: 'other' }])
    expect(JSON.stringify(await dumpTables(service.app.db))).not.toContain(message)
  })

  test('survives an export and an import', async () => {
    const from = await service.addTenant(`from-${newId()}`)
    const to = await service.addTenant(`to-${newId()}`)
    const asAnn = { 'x-api-key': from.apiKey, ...(await from.as('ann')) }
    const { id } = await post('page', asAnn)
    await ok('POST', `/comments/${id}/reject`, SPAM, { 'x-api-key': from.apiKey })
    const decision = await ownDecision(id, asAnn)
    expect(decision).toMatchObject(SPAM)
    await importText(service.app, to, await exportText(service.app, from))
    const there = { 'x-api-key': to.apiKey, ...(await to.as('ann')) }
    expect((await ok('GET', '/readers/me/comments', undefined, there)).data[0].decision).toEqual(decision)
  })
})

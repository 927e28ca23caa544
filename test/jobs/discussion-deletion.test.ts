import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import { CAPABILITIES } from '../../src/core/capabilities.ts'
import type { Ctx } from '../../src/core/context.ts'
import { newId } from '../../src/core/ids.ts'
import { deleteDiscussion } from '../../src/domains/discussions/delete.ts'
import { removeOfDeleted } from '../../src/domains/discussions/remove.ts'
import { loadTenant } from '../../src/domains/tenants/tenants.ts'
import { hubOf } from '../../src/live/hub.ts'
import { callsTo } from '../harness/calls.ts'
import { effort } from '../harness/effort.ts'
import { exportText, importText } from '../harness/exports.ts'
import { useMute } from '../harness/mute.ts'
import type { Json, TestTenant } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { listen, type SourceListener, subscribe } from '../harness/sse.ts'
import { findWrongCounts } from '../harness/transfer.ts'
import { useReceiver } from '../harness/webhooks.ts'

const { receiver, service } = useReceiver({ env: { STREAM_REPAIR_SECONDS: '0.5' }, worker: false })
const mute = useMute(service)
let tenant: TestTenant
const streams: { close(): void }[] = []

beforeEach(async () => {
  tenant = await service.addTenant(`t-${newId()}`)
})
afterEach(() => streams.splice(0).forEach((stream) => stream.close()))

const { call, ok } = callsTo(
  () => service,
  () => ({ 'x-api-key': tenant.apiKey }),
)

const post = async (body: string, { as = 'ada', page = 'page', parentId = null as string | null } = {}) =>
  ok('POST', `/discussions/by-external/${page}/comments`, { body, parentId }, await tenant.as(as))

/** Works until nothing is left to do. */
async function work(app = service.app): Promise<void> {
  while (await removeOfDeleted(app)) continue
}

const run = <Row>(text: string, ...params: string[]): Promise<Row[]> => service.app.db.query<Row>(unnamed(text), params)

const OF_COMMENTS = ['comment_revisions', 'reactions', 'shadow_reactions', 'reports', 'notes', 'classifier_requests']

/** What the tenant has of discussions and comments, by table. */
async function leftOf({ id }: { id: string }): Promise<Record<string, number>> {
  const tables = [
    'comments',
    'events',
    'deliveries',
    'discussion_aliases',
    'comment_search',
    'comment_claims',
    ...OF_COMMENTS,
  ]
  const counts = await Promise.all(
    tables.map(async (table) => {
      const [row] = await run<{ n: number }>(`SELECT count(*)::int AS n FROM ${table} WHERE tenant_id = $1`, id)
      return [table, row?.n ?? 0] as const
    }),
  )
  return Object.fromEntries(counts.filter(([, n]) => n > 0))
}

const byOther = async (id: string): Promise<void> => {
  const { id: tenantId } = tenant.tenant
  const actor = { kind: 'key', id: newId(), capabilities: new Set(CAPABILITIES), expiresAt: null }
  const caller = { tenant: await loadTenant(mute.app, tenantId), actor, identity: null }
  await deleteDiscussion({ app: mute.app, caller } as unknown as Ctx, id)
}

describe('a deleted discussion', () => {
  test('is nowhere from then on, and its external ids are free', async () => {
    const { discussionId: id } = await post('first')
    await ok('PATCH', `/discussions/${id}`, { externalId: 'renamed', title: 'Unlike any other' })
    const kept = await post('elsewhere', { page: 'kept' })
    const answer = await call('DELETE', `/discussions/${id}`)
    expect([answer.status, answer.json]).toEqual([202, { deletedDiscussionId: id }])
    for (const path of [id, 'by-external/page', 'by-external/renamed'])
      for (const what of ['', '/comments', '/presence'].slice(0, path === id ? 3 : 2))
        expect((await call('GET', `/discussions/${path}${what}`)).status, path + what).toBe(404)
    for (const sort of ['recent', 'active'])
      for (const search of ['', '&search=unlike', '&search=deleted'])
        expect(
          (await ok('GET', `/discussions?sort=${sort}${search}`)).data.map((each: Json) => each.id),
          sort + search,
        ).toEqual(search === '' ? [kept.discussionId] : [])
    expect((await ok('POST', '/discussions/counts', { externalIds: ['page', 'renamed'] })).data).toMatchObject([
      { externalId: 'page', commentCount: 0, state: 'open' },
      { externalId: 'renamed', commentCount: 0, state: 'open' },
    ])
    for (const [method, path, body] of [
      ['DELETE', ''],
      ['PATCH', '', { title: 'x' }],
      ['POST', '/lock'],
      ['POST', '/archive'],
    ] as const)
      expect((await call(method, `/discussions/${id}${path}`, body)).status, method + path).toBe(404)
    const late = await call('POST', `/discussions/${id}/comments`, { body: 'late' }, await tenant.as('ada'))
    expect(late.status).toBe(404)
    expect((await call('POST', '/stream/ticket', { discussionId: id })).status).toBe(404)
    expect((await call('GET', `/stream/${id}`)).status).toBe(404)
    const nodes = await service.graphql(
      'query ($id: ID!) { node(id: $id) { id } discussion(by: { id: $id }) { id } }',
      { id },
      { 'x-api-key': tenant.apiKey },
    )
    expect(nodes.json.data).toMatchObject({ node: null })

    const again = await post('first')
    expect(again.discussionId).not.toBe(id)
    expect(await ok('GET', '/discussions/by-external/page')).toMatchObject({ commentCount: 1, lastEventId: '1' })
    expect((await call('POST', '/discussions', { externalId: 'renamed' })).status).toBe(201)
  })

  test('leaves nothing behind, and nothing of others goes with it', async () => {
    await ok('PATCH', '/settings', { holdFirstComments: 0, classifier: null })
    const root = await post('root')
    const reply = await post('reply', { as: 'bob', parentId: root.id })
    const leaf = await post('leaf', { parentId: reply.id })
    const held = await post('held')
    const deleted = await post('deleted')
    const withReply = await post('deleted, with a reply')
    await post('its reply', { as: 'bob', parentId: withReply.id })
    await ok('POST', `/comments/${held.id}/reject`)
    for (const { id } of [deleted, withReply]) expect((await call('DELETE', `/comments/${id}`)).status).toBe(204)
    await ok('PATCH', `/comments/${leaf.id}`, { body: 'leaf, edited' }, await tenant.as('ada'))
    await ok('POST', `/comments/${root.id}/reactions`, { type: 'like' }, await tenant.as('bob'))
    await ok('POST', `/comments/${root.id}/report`, { reason: 'spam' }, await tenant.as('bob'))
    await ok('POST', `/comments/${root.id}/notes`, { text: 'a note' })
    await ok('POST', `/comments/${root.id}/pin`)
    const kept = await post('kept', { page: 'kept' })
    await ok('PATCH', `/discussions/${root.discussionId}`, { externalId: 'moved' })
    await ok('DELETE', `/discussions/${root.discussionId}`)
    await work()
    expect(await leftOf(tenant.tenant)).toEqual({ comments: 1, events: 1, comment_search: 1 })
    expect((await call('GET', `/comments/${root.id}`)).status).toBe(404)
    expect((await ok('GET', `/comments/${kept.id}`)).body).toBe('kept')
    const [row] = await run<Json>(
      'SELECT * FROM discussions WHERE tenant_id = $1 AND id = $2',
      tenant.tenant.id,
      root.discussionId,
    )
    expect(row).toMatchObject({ title: null, url: null, removal_due_at: null })
    expect(await findWrongCounts(service.app.db, tenant.tenant.id)).toEqual([])
    const { data } = await ok('GET', '/audit-log?action=discussion.delete')
    expect(data).toMatchObject([{ targetId: root.discussionId, before: { externalId: 'moved' }, after: null }])
  })

  test('is replayed to nobody by a stored answer', async () => {
    const headers = { ...(await tenant.as('ada')), 'idempotency-key': 'once' }
    const { discussionId } = await ok('POST', '/discussions/by-external/page/comments', { body: 'a secret' }, headers)
    await ok('DELETE', `/discussions/${discussionId}`)
    await work()
    const replayed = await call('POST', '/discussions/by-external/page/comments', { body: 'a secret' }, headers)
    expect(replayed.text).not.toContain('a secret')
  })

  test('ends its streams, and no other one', async () => {
    const [one, two] = [await post('one'), await post('two', { page: 'two' })]
    const headers = { 'x-api-key': tenant.apiKey }
    const open = async (id: string): Promise<SourceListener> => {
      const stream = await listen(`${service.url}/api/v1/stream/${id}`, headers)
      streams.push(stream)
      return stream
    }
    const [ended, goesOn] = [await open(one.discussionId), await open(two.discussionId)]
    const graphql = subscribe({
      url: service.url,
      headers,
      variables: { discussionId: one.discussionId },
    })
    streams.push(graphql)
    await expect
      .poll(() => hubOf(service.app).streamsOf({ tenantId: tenant.tenant.id, discussionId: one.discussionId }))
      .toBe(2)
    await ok('DELETE', `/discussions/${one.discussionId}`)
    await expect.poll(() => ended.framing.at(-1)).toMatchObject({ type: 'connection-timeout' })
    expect(JSON.parse(ended.framing.at(-1)!.data)).toEqual({ lastEventId: '1' })
    // EventSource comes back by itself, and gives up.
    await expect.poll(() => ended.refusal).toContain('404')
    await post('two again', { page: 'two' })
    await expect.poll(() => goesOn.received.length).toBe(1)
    expect(goesOn.losses).toBe(0)
    expect(hubOf(service.app).streamsOf({ tenantId: tenant.tenant.id, discussionId: one.discussionId })).toBe(0)
  })

  test('ends them also where the message is lost, and gives its page away within seconds', async () => {
    const { discussionId: id } = await post('first')
    const stream = await listen(`${service.url}/api/v1/stream/${id}`, { 'x-api-key': tenant.apiKey })
    streams.push(stream)
    expect((await ok('GET', '/discussions/by-external/page/comments')).data).toHaveLength(1)
    await byOther(id)
    // This process takes the page's discussion for the old one, and finds the new one all the same.
    const second = await post('second')
    expect(second.discussionId).not.toBe(id)
    await expect.poll(() => stream.framing.at(-1)?.type).toBe('connection-timeout')
    await expect
      .poll(async () =>
        (await call('GET', '/discussions/by-external/page/comments')).json.data?.map((each: Json) => each.id),
      )
      .toEqual([second.id])
  })

  test('cancels its deliveries, but for those that are being sent', async () => {
    const { id: endpointId } = await ok('POST', '/webhooks', { url: receiver.url })
    await run("UPDATE webhook_endpoints SET state = 'verified' WHERE id = $1", endpointId)
    const first = await post('first')
    await post('second', { parentId: first.id })
    const kept = await post('kept', { page: 'kept' })
    await run(
      `UPDATE deliveries SET status = 'delivering', lease_id = new_id(), next_attempt_at = now() + interval '1 hour'
       WHERE tenant_id = $1 AND discussion_id = $2 AND seq = 1`,
      tenant.tenant.id,
      first.discussionId,
    )
    await ok('DELETE', `/discussions/${first.discussionId}`)
    await work()
    expect(await leftOf(tenant.tenant)).toMatchObject({ comments: 3, events: 2, deliveries: 2 })
    await run(
      "UPDATE deliveries SET status = 'failed', lease_id = NULL, next_attempt_at = NULL WHERE tenant_id = $1 AND status = 'delivering'",
      tenant.tenant.id,
    )
    await run(
      'UPDATE discussions SET removal_due_at = now() - make_interval(secs => 1) WHERE id = $1',
      first.discussionId,
    )
    await work()
    expect(await leftOf(tenant.tenant)).toEqual({ comments: 1, events: 1, deliveries: 1, comment_search: 1 })
    expect((await ok('GET', `/webhooks/${endpointId}/deliveries`)).data).toHaveLength(1)
    expect((await ok('GET', `/comments/${kept.id}`)).status).toBe('approved')
  })

  test('may be of a reader whose erasure does not wait for it, and whose comments moderators still see', async () => {
    const { discussionId, id } = await post('first')
    await post('reply', { as: 'bob', parentId: id })
    await ok('PATCH', '/settings', { moderationMode: 'pre' })
    const held = await post('held')
    await ok('DELETE', `/discussions/${discussionId}`)
    const query = '{ moderationQueue { nodes { comment { id discussion { title state } } } } }'
    const seen = await service.graphql(query, {}, { 'x-api-key': tenant.apiKey })
    expect(seen.json.data.moderationQueue.nodes).toEqual([
      { comment: { id: held.id, discussion: { title: null, state: 'archived' } } },
    ])
    expect((await call('POST', `/comments/${held.id}/approve`)).json.code).toBe('discussion_archived')
    const { data } = await ok('GET', '/readers?externalId=ada')
    expect((await call('DELETE', `/readers/${data[0].id}`)).status).toBe(204)
    const events = await run<{ text: string }>(
      'SELECT data::text AS text FROM events WHERE tenant_id = $1 AND discussion_id = $2',
      tenant.tenant.id,
      discussionId,
    )
    expect(events.length).toBeGreaterThan(2)
    for (const { text } of events) expect(text).not.toContain('Reader ada')
    await work()
    expect(await leftOf(tenant.tenant)).toEqual({})
  })

  test('is not to be found by another tenant, nor without the capability', async () => {
    const { discussionId } = await post('first')
    const stranger = await service.addTenant(`t-${newId()}`)
    const remove = (headers: Record<string, string>) =>
      service.call('DELETE', `/discussions/${discussionId}`, { headers })
    expect((await remove({ 'x-api-key': stranger.apiKey })).status).toBe(404)
    const { key } = await ok('POST', '/keys', {
      label: 'x',
      capabilities: CAPABILITIES.filter((name) => name !== 'manage_settings'),
    })
    expect((await remove({ 'x-api-key': key })).json.code).toBe('missing_capability')
    expect((await call('GET', `/discussions/${discussionId}`)).status).toBe(200)
  })
})

test('whatever workers die in between, and however many there are, trees of any form go whole', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ parent: fc.nat(), state: fc.constantFrom('keep', 'reject', 'delete') }), {
        minLength: 1,
        maxLength: 40,
      }),
      fc.integer({ min: 1, max: 3 }),
      async (plan, workers) => {
        tenant = await service.addTenant(`t-${newId()}`)
        await ok('PATCH', '/settings', { maxDepth: 20 })
        const comments: Json[] = []
        for (const { parent } of plan) {
          const above = parent % (comments.length + 1)
          comments.push(await post('x', { parentId: comments[above - 1]?.depth < 18 ? comments[above - 1].id : null }))
        }
        for (const [n, { state }] of plan.entries()) {
          if (state === 'reject') await call('POST', `/comments/${comments[n].id}/reject`)
          if (state === 'delete') await call('DELETE', `/comments/${comments[n].id}`)
        }
        await ok('DELETE', `/discussions/${comments[0].discussionId}`)
        // A worker that died holds its lease.
        await removeOfDeleted(service.app)
        await Promise.all(Array.from({ length: workers }, (_, n) => work(n % 2 === 0 ? service.app : mute.app)))
        expect(await leftOf(tenant.tenant)).toEqual({})
      },
    ),
    { numRuns: effort(8) },
  )
})

test('a post and a deletion at once leave no comment without its page', async () => {
  for (let n = 0; n < effort(10); n++) {
    const page = `page-${n}`
    const { discussionId } = await post('first', { page })
    const posting = [1, 2, 3].map((of) => post(`at once ${of}`, { page }))
    const [, ...posted] = await Promise.all([ok('DELETE', `/discussions/${discussionId}`), ...posting])
    await work()
    const gone = posted.filter((comment) => comment.discussionId === discussionId)
    for (const { id } of gone) expect((await call('GET', `/comments/${id}`)).status).toBe(404)
    for (const { id } of posted.filter((comment) => !gone.includes(comment))) {
      expect((await ok('GET', `/comments/${id}`)).status).toBe('approved')
    }
    expect(await findWrongCounts(service.app.db, tenant.tenant.id)).toEqual([])
  }
})

describe('moving out and in', () => {
  const exported = () => exportText(service.app, tenant)
  const load = (text: string) => importText(service.app, tenant, text)

  test('an export has nothing of it, also while it is being removed', async () => {
    const { discussionId, id } = await post('first')
    await post('kept', { page: 'kept' })
    await ok('POST', `/comments/${id}/reactions`, { type: 'like' }, await tenant.as('bob'))
    await ok('DELETE', `/discussions/${discussionId}`)
    const [during] = [await exported(), await work()]
    for (const text of [during, await exported()]) {
      expect(text).not.toContain('"first"')
      expect(text).not.toContain('"kind":"reaction"')
      expect(text.match(/"kind":"(discussion|comment)"/g)).toHaveLength(2)
    }
  })

  test('an earlier export brings it back under its own ids', async () => {
    const { discussionId, id } = await post('first')
    await post('reply', { parentId: id, as: 'bob' })
    await ok('POST', `/comments/${id}/reactions`, { type: 'like' }, await tenant.as('bob'))
    const before = await ok('GET', '/discussions/by-external/page/comments?replies=3')
    const text = await exported()
    await ok('DELETE', `/discussions/${discussionId}`)
    await work()
    const report = await load(text)
    expect(report.counts).toMatchObject({ discussions: 1, comments: 2, reactions: 1 })
    expect(await ok('GET', '/discussions/by-external/page/comments?replies=3')).toEqual(before)
    expect(await ok('GET', `/discussions/${discussionId}`)).toMatchObject({ commentCount: 2, state: 'open' })
    expect(await findWrongCounts(service.app.db, tenant.tenant.id)).toEqual([])
    expect((await post('goes on')).discussionId).toBe(discussionId)
  })

  test('a file that has further comments of it is told that it was deleted', async () => {
    const at = (second: number): string => new Date(Date.UTC(2015, 2, 1, 10, 0, second)).toISOString()
    const write = (...items: object[]): string => {
      const header = { kind: 'header', form: 'engagement-service', version: 1, tenant: 'elsewhere', exportedAt: at(59) }
      return [header, ...items].map((item) => JSON.stringify(item)).join('\n')
    }
    const reader = { kind: 'reader', id: 'ann', createdAt: at(0) }
    const page = { kind: 'discussion', id: 'p', externalId: 'p', createdAt: at(0) }
    const on = (id: string) => ({ kind: 'comment', id, discussionId: 'p', authorId: 'ann', body: id, createdAt: at(1) })
    await load(write(reader, page, on('one')))
    const { id } = await ok('GET', '/discussions/by-external/p')
    await ok('DELETE', `/discussions/${id}`)
    for (const isRemoved of [false, true]) {
      if (isRemoved) await work()
      const report = await load(write(reader, page, on('one'), on(`two ${isRemoved}`)))
      expect(report.refused.first).toMatchObject([{ reason: 'is of a page whose discussion was deleted' }])
    }
    expect(await leftOf(tenant.tenant)).toEqual({})
  })
})

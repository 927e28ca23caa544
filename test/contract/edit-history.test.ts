import { beforeAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { callsTo } from '../harness/calls.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { addSite, ORIGIN, page } from '../harness/sites.ts'
import { statementsOf } from '../harness/statements.ts'

const service = useService()
let tenant: TestTenant
let key: Record<string, string>
/** Of a key without capabilities. */
let plain: Record<string, string>
let ann: Record<string, string>
let ben: Record<string, string>

beforeAll(async () => {
  tenant = await service.addTenant('history')
  key = { 'x-api-key': tenant.apiKey }
  const minted = await call('POST', '/keys', { label: 'plain', capabilities: [] })
  plain = { 'x-api-key': minted.json.key }
  ann = await reader('ann')
  ben = await reader('ben')
  await set({ showEditHistory: true, suspectWords: ['suspect'], reportThreshold: 1 })
})

const { call, ok } = callsTo(
  () => service,
  () => key,
)
const set = (body: object) => ok('PATCH', '/settings', body)
/** An assertion beside a key that may not moderate, as most backends have it. */
const reader = async (name: string) => ({ ...(await tenant.as(name)), ...plain })

const post = (body: string, as = ann, on = newId()) =>
  ok('POST', `/discussions/by-external/${on}/comments`, { body }, as)
const edit = (id: string, body: string, as = ann) => ok('PATCH', `/comments/${id}`, { body }, as)
const judge = (id: string, verb: 'approve' | 'reject') => ok('POST', `/comments/${id}/${verb}`)
const report = (id: string) => ok('POST', `/comments/${id}/report`, { reason: 'spam' }, ben)

const history = (id: string, headers = plain, query = '') =>
  call('GET', `/comments/${id}/history${query}`, undefined, headers)
/** The bodies of an answer with this status. */
async function bodies(id: string, headers = plain): Promise<string[]> {
  const { status, json, text } = await history(id, headers)
  expect(status, text).toBe(200)
  return json.data.map(({ body }: { body: string }) => body)
}

describe('GET /comments/{id}/history', () => {
  test('answers the public texts, the present one first, with their times, in pages', async () => {
    const comment = await post('one')
    const two = await edit(comment.id, 'two')
    const three = await edit(comment.id, 'three')
    const expected = [
      { revision: 3, body: 'three', createdAt: three.editedAt, replacedAt: null },
      { revision: 2, body: 'two', createdAt: two.editedAt, replacedAt: three.editedAt },
      { revision: 1, body: 'one', createdAt: comment.createdAt, replacedAt: two.editedAt },
    ]
    for (const headers of [plain, ben, ann, key])
      expect((await history(comment.id, headers)).json.data).toEqual(expected)
    const first = (await history(comment.id, plain, '?limit=2')).json
    expect(first).toMatchObject({ data: expected.slice(0, 2), hasMore: true })
    const last = (await history(comment.id, plain, `?limit=2&cursor=${first.nextCursor}`)).json
    expect(last).toEqual({ data: expected.slice(2), nextCursor: null, hasMore: false })
  })

  test('has the one text of a comment that was never edited', async () => {
    const { id } = await post('only')
    expect(await bodies(id)).toEqual(['only'])
  })

  test('is empty unless the setting is on, also for the author and for moderators', async () => {
    const { id } = await post('before')
    await edit(id, 'after')
    await set({ showEditHistory: false })
    await vi.waitFor(async () => expect(await bodies(id)).toEqual([]))
    for (const headers of [ann, key]) expect(await bodies(id, headers)).toEqual([])
    await set({ showEditHistory: true })
    await vi.waitFor(async () => expect(await bodies(id)).toEqual(['after', 'before']))
  })

  test('leaves out a text that was held, also after a later text was approved', async () => {
    const { id } = await post('one')
    await edit(id, 'a suspect text')
    expect((await history(id)).status).toBe(404)
    expect(await bodies(id, key)).toEqual([])
    await edit(id, 'three')
    await judge(id, 'approve')
    expect(await bodies(id)).toEqual(['three', 'one'])
    expect(await bodies(id, ann)).toEqual(['three', 'a suspect text', 'one'])
  })

  test('leaves out a text that reports took out of view before it was edited', async () => {
    const { id } = await post('an insult')
    await report(id)
    await edit(id, 'harmless')
    await judge(id, 'approve')
    expect(await bodies(id)).toEqual(['harmless'])
  })

  test('has a text that a moderator brought back before it was edited', async () => {
    const { id } = await post('taken for spam')
    await judge(id, 'reject')
    expect((await history(id)).status).toBe(404)
    await judge(id, 'approve')
    await edit(id, 'clearer')
    expect(await bodies(id)).toEqual(['clearer', 'taken for spam'])
  })

  test('is empty while the comment is out of view, for all but its author', async () => {
    const root = await post('one')
    await edit(root.id, 'two')
    const reply = { body: 'a reply', parentId: root.id }
    await ok('POST', `/discussions/${root.discussionId}/comments`, reply, ben)
    await judge(root.id, 'reject')
    for (const headers of [plain, ben, key]) expect(await bodies(root.id, headers)).toEqual([])
    expect(await bodies(root.id, ann)).toEqual(['two', 'one'])
    await ok('DELETE', `/comments/${root.id}`, undefined, ann)
    for (const headers of [plain, ben, key, ann]) expect(await bodies(root.id, headers)).toEqual([])
  })

  test('is empty after the erasure of the reader', async () => {
    const gone = await reader('gone')
    const { id, author, discussionId } = await post('mine', gone)
    await edit(id, 'still mine', gone)
    await ok('POST', `/discussions/${discussionId}/comments`, { body: 'a reply', parentId: id }, ben)
    await ok('DELETE', `/readers/${author.id}`)
    expect(await bodies(id)).toEqual([])
    expect((await ok('GET', `/comments/${id}/revisions`)).data.map(({ body }: { body: null }) => body)).toEqual([null])
  })

  test('does not tell a reader of their ban in shadow, and shows nobody else what it holds', async () => {
    const mal = await reader('mal')
    const { id, author } = await post('one', mal)
    await edit(id, 'two', mal)
    await ok('POST', `/readers/${author.id}/ban`, { shadow: true })
    expect(await bodies(id)).toEqual(['two', 'one'])
    await edit(id, 'three', mal)
    expect(await bodies(id, mal)).toEqual(['three', 'two', 'one'])
    expect((await history(id)).status).toBe(404)
    await ok('POST', `/readers/${author.id}/unban`)
    await judge(id, 'approve')
    await edit(id, 'four', mal)
    expect(await bodies(id)).toEqual(['four', 'three', 'two', 'one'])
  })

  test('is for a banned reader what it is for others', async () => {
    const eve = await reader('eve')
    const { author } = await post('of eve', eve)
    const { id } = await post('one')
    await edit(id, 'a suspect text')
    await edit(id, 'three')
    await judge(id, 'approve')
    await ok('POST', `/readers/${author.id}/ban`, {})
    expect(await bodies(id, eve)).toEqual(['three', 'one'])
  })

  test('is 404 for an unknown comment and for the key of another tenant', async () => {
    const { id } = await post('one')
    await edit(id, 'two')
    expect((await history(id, { 'x-api-key': service.apiKey })).status).toBe(404)
    for (const unknown of [newId(), 'no-id']) expect((await history(unknown)).status).toBe(404)
  })
})

const HISTORY = 'history { nodes { revision body } }'
const BODIES = /^comment_bodies$/

test('one statement reads the histories of a page', async () => {
  const on = newId()
  for (const n of [1, 2, 3]) {
    const { id } = await post(`first ${n}`, ann, on)
    await edit(id, `second ${n}`)
  }
  const query = `{ discussion(by: { externalId: "${on}" }) { comments(sort: oldest) { nodes { body ${HISTORY} } } } }`
  const { result, statements } = await statementsOf(service, () => service.graphql(query, {}, plain))
  expect(statements.filter((name) => BODIES.test(name))).toHaveLength(1)
  expect(result.json.data.discussion.comments.nodes).toEqual(
    [1, 2, 3].map((n) => ({
      body: `second ${n}`,
      history: {
        nodes: [
          { revision: 2, body: `second ${n}` },
          { revision: 1, body: `first ${n}` },
        ],
      },
    })),
  )
})

test('a client token reads the history in the discussions that it names, and no other', async () => {
  const [own, other] = [await post('one'), await post('one')]
  for (const { id } of [own, other]) await edit(id, 'two')
  const { token } = await ok('POST', '/client-tokens', { discussionIds: [own.discussionId] })
  const ask = (id: string) =>
    service.graphql(`{ comment(id: "${id}") { ${HISTORY} } }`, {}, { authorization: `Bearer ${token}` })
  expect((await ask(own.id)).json.data.comment.history.nodes).toHaveLength(2)
  const refused = await ask(other.id)
  expect(refused.json).toMatchObject({ data: { comment: null }, errors: [{ extensions: { code: 'not_found' } }] })
})

test('a site reads the history of comments of its own pages, signed in or not', async () => {
  const site = await addSite(service, tenant)
  const at = page(`${ORIGIN}/history`)
  const token = await site.token({ sub: 'zoe' })
  const posted = await site.ask('POST', `/comments${at}`, { body: { body: 'one' }, token })
  const { id } = posted.json
  await site.ask('PATCH', `/comments/${id}`, { body: { body: 'a suspect text' }, token })
  const read = async (more: object = {}, query = '') => {
    const { status, json } = await site.ask('GET', `/comments/${id}/history${query}`, more)
    return [status, json.data?.map(({ body }: { body: string }) => body)]
  }
  expect(await read()).toEqual([200, []])
  expect(await read({ token }, '?signedIn=1')).toEqual([200, ['a suspect text', 'one']])
  await site.ask('PATCH', `/comments/${id}`, { body: { body: 'three' }, token })
  await judge(id, 'approve')
  await vi.waitFor(async () => expect(await read()).toEqual([200, ['three', 'one']]))
  const elsewhere = await post('one')
  expect((await site.ask('GET', `/comments/${elsewhere.id}/history`)).json.data).toEqual([])
})

import { beforeAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { addDelivery } from '../harness/outbox.ts'
import { type Headers, type TestTenant, useKey, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { statementsOf } from '../harness/statements.ts'

const service = useService()
let other: TestTenant
/** Of a key without capabilities, an admin, and a key of another tenant with all capabilities. */
const plain = useKey(service)
let admin: Headers
let foreign: Headers

beforeAll(async () => {
  other = await service.addTenant('other')
  foreign = { 'x-api-key': other.apiKey }
  const login = { headers: { 'x-api-key': '' }, body: service.admin }
  admin = { authorization: `Bearer ${(await service.call('POST', '/admin/auth/login', login)).json.token}` }
})

async function post(page: string, body: string, as = 'ann', headers: Headers = {}, parentId?: string) {
  const path = `/discussions/by-external/${page}/comments`
  return service.ok('POST', path, { body, parentId }, { ...headers, ...(await service.as(as)) })
}

const NODE = 'query ($id: ID!) { node(id: $id) { __typename id } }'

/** The type of the node with an id, or null. The answer never has an error. */
async function typeOf(id: string, headers: Headers = {}): Promise<string | null> {
  const { json, text } = await service.graphql(NODE, { id }, headers)
  expect(json.errors, text).toBeUndefined()
  if (json.data.node !== null) expect(json.data.node.id).toBe(id)
  return (json.data.node as { __typename: string } | null)?.__typename ?? null
}

const INSERT_IMPORT = unnamed(
  `INSERT INTO imports (tenant_id, id, source, file_name, started_at) VALUES ($1, $2, 'jsonl', 'a.jsonl', now())`,
)

/** One of each type, by the type's name. */
async function oneOfEach(): Promise<Record<string, string>> {
  const comment = await post('each', 'Hello')
  const endpoint = (await service.call('POST', '/webhooks', { body: { url: 'https://127.0.0.1:9/' } })).json
    .id as string
  const { deliveryId } = await addDelivery(service.app, service.tenant.id, endpoint)
  const { json: keys } = await service.call('GET', '/keys')
  const { json: log } = await service.call('GET', '/audit-log')
  const { json: made } = await service.call('POST', '/exports', { headers: admin })
  const body = { source: 'jsonl', fileName: 'items.jsonl', bytes: 10 }
  const { json: upload } = await service.call('POST', '/import-uploads', { headers: admin, body })
  const { json: me } = await service.call('GET', '/admin/me', { headers: admin })
  const imported = newId()
  await service.app.db.query(INSERT_IMPORT, [service.tenant.id, imported])
  return {
    Comment: comment.id,
    Discussion: comment.discussionId,
    Reader: comment.author.id,
    WebhookEndpoint: endpoint,
    Delivery: deliveryId,
    ApiKey: keys.data[0].id,
    AuditEntry: log.data[0].id,
    TenantExport: made.id,
    Import: imported,
    ImportUpload: upload.id,
    Member: me.id,
    Tenant: service.tenant.id,
  }
}

describe('node', () => {
  test('finds each type by the rule of its own query, and tells nobody else that it exists', async () => {
    const each = await oneOfEach()
    const found = async (headers: Headers) =>
      Object.fromEntries(
        await Promise.all(Object.entries(each).map(async ([type, id]) => [type, (await typeOf(id, headers)) === type])),
      )
    const none = Object.fromEntries(Object.keys(each).map((type) => [type, false]))
    const open = { Comment: true, Discussion: true, Reader: true }
    expect(await found(admin)).toEqual(Object.fromEntries(Object.keys(each).map((type) => [type, true])))
    expect(await found(plain)).toEqual({ ...none, ...open })
    expect(await found(foreign)).toEqual(none)
    expect(await found((await service.newKey('manage_webhooks')).headers)).toEqual({
      ...none,
      ...open,
      WebhookEndpoint: true,
      Delivery: true,
    })
    expect(await found((await service.newKey('manage_settings')).headers)).toEqual({
      ...none,
      ...open,
      AuditEntry: true,
    })
    expect(await found((await service.newKey('manage_api_keys')).headers)).toEqual({ ...none, ...open, ApiKey: true })
    // What a key may never see, not even with all capabilities.
    expect(await found({})).toMatchObject({
      Import: false,
      ImportUpload: false,
      TenantExport: false,
      Member: false,
      Tenant: false,
    })
  })

  test('answers the fields of the type, the same as its own query', async () => {
    const { id, discussionId, author } = await post('fields', 'The text')
    const { json } = await service.graphql(
      `query ($id: ID!, $discussionId: ID!, $readerId: ID!) {
        a: node(id: $id) { ...C ... on Comment { author { id } discussion { externalId } } } b: comment(id: $id) { ...C }
        c: node(id: $discussionId) { ... on Discussion { externalId commentCount comments { nodes { id } } } }
        d: node(id: $readerId) { ... on Reader { externalId ban { until } comments { nodes { id } } } }
      } fragment C on Comment { id body status reactionCounts viewerReaction replies { totalCount } }`,
      { id, discussionId, readerId: author.id },
    )
    const { author: by, discussion, ...comment } = json.data.a
    expect(comment).toEqual(json.data.b)
    expect([by, discussion]).toEqual([{ id: author.id }, { externalId: 'fields' }])
    expect(json.data.c).toEqual({ externalId: 'fields', commentCount: 1, comments: { nodes: [{ id }] } })
    expect(json.data.d).toMatchObject({ externalId: 'ann', ban: null })
  })

  test('of what is no id, and of unknown ids, is null', async () => {
    for (const id of [
      '',
      'x',
      newId(),
      newId().toUpperCase(),
      '00000000-0000-0000-0000-000000000000',
      "' OR 1=1",
      '\0',
    ]) {
      expect(await typeOf(id)).toBeNull()
    }
  })

  test('needs credentials', async () => {
    const { status, json } = await service.graphql(NODE, { id: newId() }, { 'x-api-key': '' })
    expect([status, json.errors[0].extensions.code]).toEqual([401, 'missing_credentials'])
  })

  test('a comment out of view is null for the public, and not for its author and moderators', async () => {
    const { id } = await post('hidden', 'Hidden')
    await service.call('POST', `/comments/${id}/reject`)
    expect(await typeOf(id, plain)).toBeNull()
    expect(await typeOf(id, { ...plain, ...(await service.as('bob')) })).toBeNull()
    expect(await typeOf(id, { ...plain, ...(await service.as('ann')) })).toBe('Comment')
    expect(await typeOf(id)).toBe('Comment')
  })

  test('a tombstone is public without its text', async () => {
    const { id } = await post('tombstone', 'Secret')
    await post('tombstone', 'Reply', 'bob', {}, id)
    await service.call('POST', `/comments/${id}/reject`)
    const query = 'query ($id: ID!) { node(id: $id) { ... on Comment { status body author { id } } } }'
    const { json } = await service.graphql(query, { id }, plain)
    expect(json.data.node).toEqual({ status: 'withheld', body: null, author: null })
  })

  test('a reader is public while an approved comment or a reaction in view shows them', async () => {
    const shown = await post('readers', 'Approved', 'shown')
    const hidden = await post('readers', 'Rejected', 'hidden')
    await service.call('POST', `/comments/${hidden.id}/reject`)
    expect(await typeOf(shown.author.id, plain)).toBe('Reader')
    expect(await typeOf(hidden.author.id, plain)).toBeNull()
    expect(await typeOf(hidden.author.id, { ...plain, ...(await service.as('shown')) })).toBeNull()
    expect(await typeOf(hidden.author.id, { ...plain, ...(await service.as('hidden')) })).toBe('Reader')
    expect(await typeOf(hidden.author.id)).toBe('Reader')
    const react = { body: { type: 'like' }, headers: await service.as('hidden') }
    await service.call('PUT', `/comments/${shown.id}/reaction`, react)
    expect(await typeOf(hidden.author.id, plain)).toBe('Reader')
    await service.call('POST', `/comments/${shown.id}/reject`)
    expect(await typeOf(hidden.author.id, plain)).toBeNull()
    expect(await typeOf(shown.author.id, plain)).toBeNull()
  })

  test('a delivery goes with its endpoint, and an erased reader is gone', async () => {
    const { json: endpoint } = await service.call('POST', '/webhooks', { body: { url: 'https://127.0.0.1:9/' } })
    const { deliveryId } = await addDelivery(service.app, service.tenant.id, endpoint.id)
    expect(await typeOf(deliveryId)).toBe('Delivery')
    await service.call('DELETE', `/webhooks/${endpoint.id}`)
    expect(await typeOf(deliveryId)).toBeNull()
    const { author } = await post('erased', 'Text', 'erased')
    await service.call('DELETE', `/readers/${author.id}`)
    expect(await typeOf(author.id)).toBeNull()
  })
})

describe('nodes', () => {
  const NODES = 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }'

  test('come in the order of the request, with null for what is not found', async () => {
    const { id, discussionId, author } = await post('order', 'Text')
    const ids = [author.id, newId(), id, 'x', discussionId, id]
    const { json } = await service.graphql(NODES, { ids }, plain)
    expect(json.data.nodes).toEqual([
      { __typename: 'Reader', id: author.id },
      null,
      { __typename: 'Comment', id },
      null,
      { __typename: 'Discussion', id: discussionId },
      { __typename: 'Comment', id },
    ])
  })

  test.each([0, 101])('%i ids are refused', async (count) => {
    const { json } = await service.graphql(NODES, { ids: Array.from({ length: count }, newId) })
    expect(json.errors[0].extensions).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/ids' }] })
    expect(json.data?.nodes ?? null).toBeNull()
  })

  test('cost one look-up, and one statement for each type, however many they are', async () => {
    const comments = []
    for (let n = 0; n < 4; n++) comments.push(await post(`many-${n}`, 'Text', `writer-${n}`))
    const ids = comments.flatMap(({ id, discussionId, author }) => [id, discussionId, author.id])
    const statementsFor = async (asked: string[]): Promise<string[]> => {
      const { result, statements } = await statementsOf(service, () => service.graphql(NODES, { ids: asked }, plain))
      expect(result.json.data.nodes.filter(Boolean)).toHaveLength(asked.length)
      return statements.toSorted()
    }
    const few = await statementsFor(ids.slice(0, 3))
    expect(few).toEqual(expect.arrayContaining(['find_node_types', 'comments_by_ids', 'discussions_by_ids']))
    expect(await statementsFor(ids)).toEqual(few)
  })

  test('that would make too long an answer are refused, unless fewer fields are asked for', async () => {
    const ids: string[] = []
    for (let n = 0; n < 30; n++) ids.push((await post('long', `${n}${'<'.repeat(9900)}`, 'ann', {})).id)
    const ask = (fields: string, asked = ids) =>
      service.graphql(`query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Comment { ${fields} } } }`, { ids: asked })
    const COPIES = Array.from({ length: 6 }, (_each, n) => `b${n}: bodyHtml`).join(' ')
    const refused = await ask(COPIES)
    expect(refused.json.errors[0].extensions).toMatchObject({ errors: [{ pointer: '/ids', code: 'too_long' }] })
    expect((await ask('id body')).json.data.nodes).toHaveLength(30)
    expect((await ask(COPIES, ids.slice(0, 1))).json.data.nodes).toHaveLength(1)
    // An alias that another type uses for a short field hides nothing.
    const hidden = Array.from({ length: 6 }, (_each, n) => `b${n}: id`).join(' ')
    const { json } = await service.graphql(
      `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Reader { ${hidden} } ... on Comment { ${COPIES} } } }`,
      { ids },
    )
    expect(json.errors[0].extensions.code).toBe('validation_failed')
  })

  test('count in the cost of a document by the number of ids', async () => {
    const fields = Array.from({ length: 5 }, (_each, n) => `l${n}: comments(first: 50) { nodes { id body } }`).join(' ')
    const query = `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Discussion { ${fields} } } }`
    const ask = async (count: number) =>
      (await service.graphql(query, { ids: Array.from({ length: count }, newId) })).json
    expect((await ask(2)).data.nodes).toEqual([null, null])
    expect((await ask(100)).errors[0].extensions.errors).toMatchObject([{ code: 'too_costly' }])
  })
})

describe('Reader', () => {
  const PRIVATE =
    'ban { bannedAt until reason shadow } createdAt comments { nodes { id } } commentCounts { total } formerReaders { readerId }'
  const HIDDEN = { ban: null, createdAt: null, comments: null, commentCounts: null, formerReaders: null }

  async function seen(id: string, headers: Headers) {
    const query = `query ($id: ID!) { comment(id: $id) { author { ${PRIVATE} } } }`
    const { json, text } = await service.graphql(query, { id }, headers)
    expect(json.errors, text).toBeUndefined()
    return json.data.comment.author as { ban: object | null; createdAt: string; comments: { nodes: object[] } }
  }

  test('shows what is stored of an author to those who may see it alone', async () => {
    const { id, author } = await post('private', 'Text', 'banned')
    await service.call('POST', `/readers/${author.id}/ban`, { body: { reason: 'Spam' } })
    expect(await seen(id, plain)).toEqual(HIDDEN)
    expect(await seen(id, { ...plain, ...(await service.as('somebody')) })).toEqual(HIDDEN)
    const keys = [await service.newKey('moderate_content'), await service.newKey('manage_settings')]
    for (const headers of [admin, ...keys.map((key) => key.headers)]) {
      const { ban, createdAt, ...rest } = await seen(id, headers)
      expect(ban).toMatchObject({ reason: 'Spam', shadow: false, until: null })
      expect(createdAt).toMatch(/^\d{4}-/)
      expect(rest).toEqual({ comments: { nodes: [{ id }] }, commentCounts: { total: 1 }, formerReaders: [] })
    }
    // Readers have their comments, and learn that they are banned, and not why.
    const own = await seen(id, { ...plain, ...(await service.as('banned')) })
    const ban = { bannedAt: expect.any(String), until: null, reason: null, shadow: false }
    expect(own).toEqual({ ...HIDDEN, ban, comments: { nodes: [{ id }] } })
  })

  test('does not tell a reader of their shadow ban, whatever the key may see', async () => {
    const { id, author } = await post('in-shadow', 'Text', 'shady')
    await service.call('POST', `/readers/${author.id}/ban`, { body: { reason: 'Spam', shadow: true } })
    const shady = await service.as('shady')
    expect(await seen(id, { ...plain, ...shady })).toEqual({ ...HIDDEN, comments: { nodes: [{ id }] } })
    for (const headers of [plain, {}]) {
      const { json } = await service.graphql('{ viewer { id ban { until shadow } } }', {}, { ...headers, ...shady })
      expect(json.data.viewer).toEqual({ id: author.id, ban: null })
    }
    expect((await seen(id, admin)).ban).toMatchObject({ shadow: true, reason: 'Spam' })
  })

  test('readers of a list share the statements for what is stored of them', async () => {
    for (let n = 0; n < 3; n++) await post('shared', 'Text', `author-${n}`)
    const find = vi.spyOn(service.app.prisma.reader, 'findMany')
    const query = `{ discussion(by: { externalId: "shared" }) { comments { nodes { author { ban { until } createdAt } } } } }`
    const { json } = await service.graphql(query)
    expect(json.data.discussion.comments.nodes).toHaveLength(3)
    expect(find.mock.calls.length).toBeLessThanOrEqual(2)
    find.mockRestore()
  })
})

test('deliveries of a list have their bodies, and share the bytes of an answer', async () => {
  const { json: endpoint } = await service.call('POST', '/webhooks', { body: { url: 'https://127.0.0.1:9/' } })
  for (let n = 0; n < 30; n++) {
    await addDelivery(service.app, service.tenant.id, endpoint.id, JSON.stringify({ note: 'x'.repeat(100_000) }))
  }
  const read = async (fields: string) => {
    const query = `query ($id: ID!) { webhookDeliveries(id: $id, first: 30) { nodes { ${fields} } pageInfo { hasNextPage } } }`
    const { json, text } = await service.graphql(query, { id: endpoint.id })
    expect(json.errors).toBeUndefined()
    return { ...json.data.webhookDeliveries, bytes: Buffer.byteLength(text) }
  }
  const short = await read('id status')
  expect(short).toMatchObject({ nodes: { length: 30 }, pageInfo: { hasNextPage: false } })
  const long = await read('id headers body')
  expect(long.bytes).toBeLessThanOrEqual(2_000_000)
  expect(long.nodes.length).toBeGreaterThan(10)
  expect(long.pageInfo.hasNextPage).toBe(true)
  const [{ id, body, headers }] = long.nodes
  expect(JSON.parse(body).data.note).toHaveLength(100_000)
  const { json: detail } = await service.call('GET', `/webhooks/${endpoint.id}/deliveries/${id}`)
  expect([detail.body, detail.headers]).toEqual([body, headers])
})

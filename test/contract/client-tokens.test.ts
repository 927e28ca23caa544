import { ApolloClient, HttpLink, InMemoryCache } from '@apollo/client'
import {
  getNamedType,
  type GraphQLNamedType,
  isInterfaceType,
  isObjectType,
  isUnionType,
  OperationTypeNode,
  parse,
} from 'graphql'
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { schema } from '../../src/api/execution/schema.ts'
import { sha256Hex } from '../../src/core/secrets/crypto.ts'
import { newId } from '../../src/core/ids.ts'
import { documentOf, isOpen, ROOT_FIELDS } from '../harness/browser-fields.ts'
import { DESCRIBED_ROUTES, requestOf, sampleOf } from '../harness/routes.ts'
import { TOKEN_ENDS } from '../harness/ends.ts'
import { startService, type TestResponse, type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { followBy } from '../harness/follow-by.ts'

const ORIGIN = 'https://www.example.com'
const service = useService()
let ann: Record<string, string>
let discussion: { id: string; externalId: string }
let other: { id: string; externalId: string }
let comment: { id: string; author: { id: string } }
let elsewhere: { id: string }

beforeAll(async () => {
  await service.call('PATCH', '/settings', { body: { allowedOrigins: [ORIGIN] } })
})
beforeEach(async () => {
  ann = await service.as(`ann-${newId()}`)
  ;[discussion, other] = [await newDiscussion(), await newDiscussion()]
  comment = await post(discussion.id, ann)
  elsewhere = await post(other.id, await service.as('bob'))
})

const newDiscussion = async () =>
  (await service.call('POST', '/discussions', { body: { externalId: newId() } })).json as typeof discussion

async function post(discussionId: string, headers: Record<string, string>) {
  return service.ok('POST', `/discussions/${discussionId}/comments`, { body: 'Hello' }, headers)
}

const mint = (body: object = {}, headers: Record<string, string> = {}): Promise<TestResponse> =>
  service.call('POST', '/client-tokens', { body, headers })
const tokenOf = async (body: object = {}, headers: Record<string, string> = {}): Promise<string> => {
  const answer = await mint(body, headers)
  expect(answer.status, answer.text).toBe(201)
  return answer.json.token as string
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const ask = (token: string, query: string, variables: object = {}, headers: Record<string, string> = {}) =>
  service.graphql(query, variables, { ...bearer(token), ...headers })
/** At GraphQL and at REST. */
const codeOf = ({ json }: TestResponse): string | undefined => json.errors?.[0]?.extensions.code ?? json.code

async function expectRefused(asked: Promise<TestResponse>, status: number, code: string): Promise<TestResponse> {
  const answer = await asked
  expect([answer.status, codeOf(answer)], answer.text).toEqual([status, code])
  return answer
}

const VIEWER = '{ viewer { id externalId name ban { until } } }'
const SETTINGS = '{ publicSettings { maxDepth } }'

describe('POST /client-tokens', () => {
  test('answers 201 with the token, once, and stores only its digest', async () => {
    const before = Date.now()
    const answer = await mint({}, ann)
    expect(answer).toMatchObject({
      status: 201,
      json: { token: expect.stringMatching(/^ct_[0-9a-f]{64}$/) as string, readerId: comment.author.id },
    })
    expect(Object.keys(answer.json as object).sort()).toEqual(['expiresAt', 'readerId', 'token'])
    const mintedAt = Date.parse(answer.json.expiresAt as string) - 900_000
    expect(mintedAt).toBeGreaterThanOrEqual(before)
    expect(mintedAt).toBeLessThanOrEqual(Date.now())
    const [row] = await service.app.db.query<{ row: string }>(
      unnamed(`SELECT t::text AS row FROM client_tokens t WHERE encode(digest, 'hex') = $1`),
      [sha256Hex(answer.json.token as string)],
    )
    expect(row?.row).not.toContain(answer.json.token)
  })

  test('GraphQL: createClientToken gives the same', async () => {
    const query = `mutation ($input: CreateClientTokenInput!) { createClientToken(input: $input) { token expiresAt readerId } }`
    const { json } = await service.graphql(query, {
      input: { ttlSeconds: 60, discussions: { discussionIds: [discussion.id] } },
    })
    const { token, readerId } = json.data.createClientToken
    expect(readerId).toBeNull()
    expect((await ask(token, SETTINGS)).json.data.publicSettings.maxDepth).toBe(10)
  })

  test('GraphQL: discussions are named in one of both ways', async () => {
    const query = `mutation ($input: CreateClientTokenInput!) { createClientToken(input: $input) { token } }`
    const refused: [discussions: object, code: string, pointer: string][] = [
      [{}, 'exactly_one', '/variables/input/discussions'],
      [{ externalIds: ['a'], discussionIds: [discussion.id] }, 'exactly_one', '/variables/input/discussions'],
      [{ externalIds: null }, 'exactly_one', '/variables/input/discussions'],
      [{ externalIds: [] }, 'too_short', '/externalIds'],
    ]
    for (const [discussions, code, pointer] of refused) {
      const { json } = await service.graphql(query, { input: { discussions } })
      expect(json.errors[0].extensions.errors).toMatchObject([{ code, pointer }])
    }
    for (const discussions of [null, { externalIds: ['a'] }, { discussionIds: [discussion.id] }]) {
      const { json } = await service.graphql(query, { input: { discussions } })
      expect(json.data.createClientToken.token).toMatch(/^ct_/)
    }
  })

  test.each([
    ['a life of 59 s', { ttlSeconds: 59 }, '/ttlSeconds'],
    ['a life of an hour and a second', { ttlSeconds: 3601 }, '/ttlSeconds'],
    ['half a second', { ttlSeconds: 60.5 }, '/ttlSeconds'],
    ['no discussion', { discussionIds: [] }, '/discussionIds'],
    ['51 pages', { externalIds: Array.from({ length: 51 }, (_, n) => `page-${n}`) }, '/externalIds'],
    ['a page twice', { externalIds: ['a', 'a'] }, '/externalIds'],
    ['an empty external id', { externalIds: [''] }, '/externalIds/0'],
    ['both names', { externalIds: ['a'], discussionIds: [newId()] }, ''],
  ])('%s: 422', async (_name, body, pointer) => {
    expect(await mint(body)).toMatchObject({ status: 422, json: { code: 'validation_failed', errors: [{ pointer }] } })
  })

  test('a discussion of another tenant, and one that is no id: 404', async () => {
    const tenant = await service.addTenant(`named-${newId()}`)
    const headers = { 'x-api-key': tenant.apiKey }
    expect(await mint({ discussionIds: [discussion.id] }, headers)).toMatchObject({ status: 404 })
    expect(await mint({ discussionIds: [discussion.id, 'x'] })).toMatchObject({ status: 404 })
  })

  test('it lives no longer than the key that mints it', async () => {
    const expiresAt = new Date(Date.now() + 100_000).toISOString()
    const body = { label: 'short', capabilities: [], expiresAt }
    const { key } = (await service.call('POST', '/keys', { body })).json
    expect((await mint({ ttlSeconds: 3600 }, { 'x-api-key': key })).json.expiresAt).toBe(expiresAt)
  })

  test('a reader has so many live tokens, and a tenant: 429 rate_limited until one expires', async () => {
    const tenant = await service.addTenant(`caps-${newId()}`)
    const [key, cem] = [{ 'x-api-key': tenant.apiKey }, await tenant.as('cem')]
    const set = (clientToken: object) => service.call('PATCH', '/settings', { headers: key, body: { clientToken } })
    await set({ maxLivePerReader: 2 })
    const all = await Promise.all(Array.from({ length: 6 }, () => mint({ ttlSeconds: 600 }, { ...key, ...cem })))
    expect(all.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 201, 429, 429, 429, 429])
    const page = newId()
    const refused = await mint({ externalIds: [page] }, { ...key, ...cem })
    // A refused one has made no discussion.
    expect((await service.call('GET', `/discussions/by-external/${page}`, { headers: key })).status).toBe(404)
    expect(refused).toMatchObject({ json: { code: 'rate_limited' } })
    const expiresAt = all.flatMap(({ json }) => (json.expiresAt === undefined ? [] : [Date.parse(json.expiresAt)]))
    const leastS = Math.floor((Math.min(...expiresAt) - Date.now()) / 1000)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(leastS)
    expect((await mint({}, { ...key, ...(await tenant.as('dan')) })).status).toBe(201)
    await set({ maxLive: 4 })
    expect((await mint({}, key)).status).toBe(201)
    // The count of a tenant may be a second old.
    await vi.waitFor(
      async () => expect(await mint({}, key)).toMatchObject({ status: 429, json: { code: 'rate_limited' } }),
      { interval: 200 },
    )
  })
})

/** What a client token may ask. A new root field is closed until it declares `client`. */
const OPEN = {
  Query: ['comment', 'discussion', 'discussionCounts', 'node', 'nodes', 'publicSettings', 'viewer'],
  Mutation: [
    'createComment',
    'deleteComment',
    'markNotificationsRead',
    'muteReader',
    'removeReaction',
    'reportComment',
    'setReaction',
    'toggleReaction',
    'unmuteReader',
    'updateComment',
    'updateNotificationPreferences',
  ],
  Subscription: ['discussionEvents'],
}

describe('a client token opens GraphQL alone', () => {
  test('the root fields that it may ask are these', () => {
    const open = (kind: OperationTypeNode) =>
      ROOT_FIELDS.filter((each) => each.kind === kind && isOpen(each)).map(({ field }) => field.name)
    expect({
      Query: open(OperationTypeNode.QUERY).sort(),
      Mutation: open(OperationTypeNode.MUTATION).sort(),
      Subscription: open(OperationTypeNode.SUBSCRIPTION),
    }).toEqual(OPEN)
  })

  test('every other root field is refused, also with a reader and by a key that may do everything', async () => {
    const token = await tokenOf({}, ann)
    for (const root of ROOT_FIELDS.filter((each) => !isOpen(each))) {
      const { query, variables } = documentOf(root, comment.id)
      const headers = root.kind === OperationTypeNode.SUBSCRIPTION ? { accept: 'text/event-stream' } : {}
      const answer = await ask(token, query, variables, headers)
      expect(answer.text, root.field.name).toContain('"missing_capability"')
      expect(answer.text, root.field.name).toContain('A client token cannot ask')
    }
  })

  test('every root field that it may ask is not refused as such', async () => {
    const token = await tokenOf({}, ann)
    for (const root of ROOT_FIELDS.filter((each) => isOpen(each) && each.kind !== OperationTypeNode.SUBSCRIPTION)) {
      const { query, variables } = documentOf(root, comment.id)
      expect((await ask(token, query, variables)).text, root.field.name).not.toContain('cannot ask')
    }
  })

  test('every route of REST refuses it', async () => {
    const token = await tokenOf({}, ann)
    for (const described of DESCRIBED_ROUTES) {
      const { path, body } = requestOf(described, (slot) => (slot.isId ? comment.id : sampleOf(slot)))
      const answer = await service.call(described.route.method, path, { body, headers: bearer(token) })
      expect(answer, described.title).toMatchObject({ status: 401, json: { code: 'invalid_admin_token' } })
      expect(answer.json.detail).toContain('a client token opens only /graphql')
    }
  })

  test('the stream route refuses it, in a header, as a token and as a ticket', async () => {
    const token = await tokenOf({}, ann)
    const path = `/stream/${discussion.id}`
    expect(await service.call('GET', path, { headers: bearer(token) })).toMatchObject({ status: 401 })
    for (const name of ['token', 'ticket']) {
      expect(
        await service.call('GET', `${path}?${name}=${token}`, { headers: { 'x-api-key': '' } }),
        name,
      ).toMatchObject({ status: 401 })
    }
  })

  test('it is no API key, and none beside a key or an assertion', async () => {
    const token = await tokenOf()
    expect(codeOf(await service.graphql(SETTINGS, {}, { 'x-api-key': token }))).toBe('invalid_api_key')
    const key = { ...bearer(token), 'x-api-key': service.apiKey }
    await expectRefused(service.graphql(SETTINGS, {}, key), 400, 'ambiguous_credentials')
    // An assertion would give a token of nobody the rights of a reader.
    await expectRefused(ask(token, VIEWER, {}, ann), 400, 'ambiguous_credentials')
  })

  test.each(['ct_', `ct_${'0'.repeat(64)}`, `ct_${'A'.repeat(64)}`, `ct_${'0'.repeat(65)}`])(
    '%s is refused: 401 invalid_client_token',
    async (token) => {
      const answer = await expectRefused(ask(token, SETTINGS), 401, 'invalid_client_token')
      expect(answer.headers.get('www-authenticate')).toContain('invalid_client_token')
    },
  )
})

/** Every field of an object that a client token can reach from the root fields that it may ask. */
function reachable(): string[] {
  const seen = new Set<GraphQLNamedType>()
  const fields: string[] = []
  const visit = (type: GraphQLNamedType): void => {
    if (seen.has(type)) return
    seen.add(type)
    if (isUnionType(type)) return type.getTypes().forEach(visit)
    if (isInterfaceType(type)) return schema.getPossibleTypes(type).forEach(visit)
    if (!isObjectType(type)) return
    for (const field of Object.values(type.getFields())) {
      if (!/(Connection|Edge|PageInfo|Payload)$/.test(type.name)) fields.push(`${type.name}.${field.name}`)
      visit(getNamedType(field.type))
    }
  }
  ROOT_FIELDS.filter(isOpen).forEach(({ field }) => visit(getNamedType(field.type)))
  return fields.sort()
}

/** Fields that a token reaches, and that tell it nothing without a capability. */
const EMPTY_FOR_CLIENTS = [
  'Comment.reports',
  'Reader.assignedBadges',
  'Reader.claimedBadges',
  'Reader.commentCounts',
  'Reader.createdAt',
  'Reader.formerReaders',
  'Reader.kind',
  'Reader.trust',
]

test('a token reaches these fields alone: a new one belongs here only if the public may see it', () => {
  const own = reachable().filter((name) => /^(Comment|Discussion|Reader)\./.test(name))
  expect(own.filter((name) => !EMPTY_FOR_CLIENTS.includes(name))).toEqual([
    'Comment.author',
    'Comment.authorMuted',
    'Comment.body',
    'Comment.bodyHtml',
    'Comment.createdAt',
    'Comment.decision',
    'Comment.deletedAt',
    'Comment.depth',
    'Comment.discussion',
    'Comment.discussionId',
    'Comment.editedAt',
    'Comment.history',
    'Comment.id',
    'Comment.parent',
    'Comment.parentId',
    'Comment.pinnedAt',
    'Comment.reactionCounts',
    'Comment.reactionGroups',
    'Comment.reactions',
    'Comment.replies',
    'Comment.replyCount',
    'Comment.revision',
    'Comment.status',
    'Comment.viewerReaction',
    'Discussion.authors',
    'Discussion.closesAt',
    'Discussion.commentCount',
    'Discussion.comments',
    'Discussion.createdAt',
    'Discussion.externalId',
    'Discussion.id',
    'Discussion.lastCommentedAt',
    'Discussion.lastEventId',
    'Discussion.moderationMode',
    'Discussion.presence',
    'Discussion.slowModeSeconds',
    'Discussion.state',
    'Discussion.title',
    'Discussion.updatedAt',
    'Discussion.url',
    'Reader.avatarUrl',
    'Reader.badges',
    // Of the token's own reader alone.
    'Reader.ban',
    'Reader.comments',
    'Reader.externalId',
    'Reader.id',
    'Reader.mutes',
    'Reader.name',
    'Reader.notificationPreferences',
    'Reader.notifications',
    'Reader.profileUrl',
    'Reader.unreadNotifications',
  ])
})

describe('what it sees', () => {
  test('is what the public sees, although a key that may moderate has minted it', async () => {
    await service.ok(
      'POST',
      `/comments/${comment.id}/report`,
      { reason: 'spam', note: 'secret note' },
      await service.as('bob'),
    )
    await service.call('POST', `/comments/${elsewhere.id}/reject`, { body: {} })
    const token = await tokenOf({}, ann)
    const query = `query ($id: ID!) { comment(id: $id) { status reports(first: 1) { edges { node { note } } } } }`
    expect((await ask(token, query, { id: comment.id })).json.data.comment).toEqual({
      status: 'approved',
      reports: null,
    })
    // Rejected, of another reader, without replies.
    expect(codeOf(await ask(token, query, { id: elsewhere.id }))).toBe('not_found')
    expect(codeOf(await ask(await tokenOf({}, await service.as('bob')), query, { id: elsewhere.id }))).toBeUndefined()
    const list = `query ($id: ID!) { discussion(by: { id: $id }) { commentCount comments(first: 5) { edges { node { id } } } } }`
    expect((await ask(token, list, { id: other.id })).json.data.discussion).toEqual({
      commentCount: 0,
      comments: { edges: [] },
    })
  })

  test('is by id what it names, of the types that a page shows', async () => {
    const postAs = async (externalId: string, as: string) => {
      const headers = await service.as(as)
      const path = `/discussions/by-external/${externalId}/comments`
      return (await service.call('POST', path, { body: { body: 'Text' }, headers })).json
    }
    const shown = await postAs(newId(), 'nora')
    const hidden = await postAs(newId(), 'otto')
    const { json: endpoint } = await service.call('POST', '/webhooks', { body: { url: 'https://127.0.0.1:9/' } })
    const of = ({ id, discussionId, author }: typeof shown) => [id, discussionId, author.id]
    const ids = [...of(shown), ...of(hidden), endpoint.id, service.tenant.id]
    const typesFor = async (token: string): Promise<(string | null)[]> => {
      const { json, text } = await ask(token, 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename } }', { ids })
      expect(json.errors, text).toBeUndefined()
      return json.data.nodes.map((node: { __typename: string } | null) => node?.__typename ?? null)
    }
    const three = ['Comment', 'Discussion', 'Reader']
    expect(await typesFor(await tokenOf())).toEqual([...three, ...three, null, null])
    const named = await tokenOf({ discussionIds: [shown.discussionId] })
    expect(await typesFor(named)).toEqual([...three, null, null, null, null, null])
    const { json } = await ask(named, 'query ($id: ID!) { node(id: $id) { id } }', { id: hidden.id })
    expect(json).toEqual({ data: { node: null } })
    // A token is always its own reader.
    const own = await tokenOf({ discussionIds: [shown.discussionId] }, await service.as('otto'))
    expect(await typesFor(own)).toEqual([...three, null, null, 'Reader', null, null])
  })

  test('is its reader, and nobody without one', async () => {
    const { json } = await ask(await tokenOf({}, ann), VIEWER)
    expect(json.data.viewer).toMatchObject({ id: comment.author.id, ban: null })
    expect(json.data.viewer.name).toMatch(/^Reader ann/)
    const nobody = await tokenOf()
    expect(codeOf(await ask(nobody, VIEWER))).toBe('identity_required')
    expect(codeOf(await ask(nobody, CREATE, { input: { discussion: { id: discussion.id }, body: 'x' } }))).toBe(
      'identity_required',
    )
  })

  test('is nothing of another tenant', async () => {
    const theirs = await service.addTenant(`theirs-${newId()}`)
    const key = { 'x-api-key': theirs.apiKey }
    const token = await tokenOf({}, { ...key, ...(await theirs.as('eve')) })
    for (const query of [
      `{ comment(id: "${comment.id}") { id } }`,
      `{ discussion(by: { id: "${discussion.id}" }) { id } }`,
    ]) {
      expect(codeOf(await ask(token, query))).toBe('not_found')
    }
    expect(codeOf(await ask(token, REACT, { id: comment.id }))).toBe('not_found')
    const counts = `{ discussionCounts(externalIds: ["${discussion.externalId}"]) { commentCount } }`
    expect((await ask(token, counts)).json.data.discussionCounts).toEqual([{ commentCount: 0 }])
  })
})

const CREATE = `mutation ($input: CreateCommentInput!) { createComment(input: $input) { comment { id discussionId author { id } } } }`
const REACT = `mutation ($id: ID!) { setReaction(input: { commentId: $id, type: "like" }) { reaction { type } } }`
/** Every change of a comment. */
const CHANGES = [
  `mutation ($id: ID!) { updateComment(input: { commentId: $id, body: "Changed" }) { comment { id } } }`,
  REACT,
  `mutation ($id: ID!) { toggleReaction(input: { commentId: $id, type: "love" }) { reaction { type } } }`,
  `mutation ($id: ID!) { removeReaction(input: { commentId: $id }) { reaction { type } } }`,
  `mutation ($id: ID!) { reportComment(input: { commentId: $id, reason: spam }) { report { commentId } } }`,
  `mutation ($id: ID!) { deleteComment(input: { commentId: $id }) { comment { status } } }`,
]

describe('with a reader', () => {
  test('it posts, edits, reacts and deletes as that reader', async () => {
    const token = await tokenOf({}, ann)
    const created = await ask(token, CREATE, { input: { discussion: { id: discussion.id }, body: 'By the page' } })
    const { id, author } = created.json.data.createComment.comment
    expect(author.id).toBe(comment.author.id)
    for (const change of CHANGES.filter((each) => !each.includes('report'))) {
      const answer = await ask(token, change, { id })
      expect(answer.json.errors, answer.text).toBeUndefined()
    }
    const reported = await ask(token, CHANGES[4] ?? '', { id: elsewhere.id })
    expect(reported.json.data.reportComment.report.commentId).toBe(elsewhere.id)
  })

  test('it changes nothing of another reader, although its key may moderate', async () => {
    const token = await tokenOf({}, ann)
    for (const change of CHANGES.filter((each) => /update|delete/.test(each))) {
      expect(codeOf(await ask(token, change, { id: elsewhere.id }))).toBe('not_author')
    }
    expect((await service.call('GET', `/comments/${elsewhere.id}`)).json.body).toBe('Hello')
  })

  test('a page that tries again with a new token of the same reader gets the first outcome', async () => {
    const headers = { 'idempotency-key': newId() }
    const variables = { input: { discussion: { id: discussion.id }, body: 'Once' } }
    const first = await ask(await tokenOf({}, ann), CREATE, variables, headers)
    const again = await ask(await tokenOf({}, ann), CREATE, variables, headers)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.json).toEqual(first.json)
    const changed = { input: { ...variables.input, body: 'Twice' } }
    expect(codeOf(await ask(await tokenOf({}, ann), CREATE, changed, headers))).toBe('idempotency_conflict')
  })

  test('it takes no Idempotency-Key of its backend, nor of another reader', async () => {
    const headers = { 'idempotency-key': newId() }
    const variables = { input: { discussion: { id: discussion.id }, body: 'First' } }
    const first = await ask(await tokenOf({}, ann), CREATE, variables, headers)
    const others = await ask(await tokenOf({}, await service.as('bob')), CREATE, variables, headers)
    expect(others.headers.get('idempotency-replayed')).toBeNull()
    expect(others.json.data.createComment.comment.id).not.toBe(first.json.data.createComment.comment.id)
    const nobody = await ask(await tokenOf(), CREATE, variables, headers)
    expect(codeOf(nobody)).toBe('identity_required')
    await service.ok('POST', '/discussions', { externalId: newId() }, headers)
  })
})

describe('where it names discussions', () => {
  const GET = `query ($by: DiscussionBy!) { discussion(by: $by) { id } }`
  const COUNTS = `query ($ids: [String!]!) { discussionCounts(externalIds: $ids) { externalId commentCount } }`

  test.each([
    ['by their ids', () => ({ discussionIds: [discussion.id] })],
    ['by their external ids', () => ({ externalIds: [discussion.externalId] })],
  ])('%s, every other one is unknown to it', async (_name, named) => {
    const token = await tokenOf(named(), ann)
    expect((await ask(token, GET, { by: { id: discussion.id } })).json.data.discussion).toEqual({ id: discussion.id })
    expect((await ask(token, GET, { by: { externalId: discussion.externalId } })).json.data.discussion.id).toBe(
      discussion.id,
    )
    expect(codeOf(await ask(token, GET, { by: { id: other.id } }))).toBe('not_found')
    expect(codeOf(await ask(token, GET, { by: { externalId: other.externalId } }))).toBe('not_found')
    const read = `query ($id: ID!) { comment(id: $id) { id } }`
    expect((await ask(token, read, { id: comment.id })).json.data.comment.id).toBe(comment.id)
    expect(codeOf(await ask(token, read, { id: elsewhere.id }))).toBe('not_found')
    const counted = await ask(token, COUNTS, { ids: [other.externalId, discussion.externalId] })
    expect(
      counted.json.data.discussionCounts.map(({ commentCount }: { commentCount: number }) => commentCount),
    ).toEqual([0, 1])
    for (const change of CHANGES)
      expect(codeOf(await ask(token, change, { id: elsewhere.id })), change).toBe('not_found')
    const create = (by: object) => ask(token, CREATE, { input: { discussion: by, body: 'Hi' } })
    expect((await create({ id: discussion.id })).json.errors).toBeUndefined()
    expect((await create({ externalId: discussion.externalId })).json.errors).toBeUndefined()
    expect(codeOf(await create({ id: other.id }))).toBe('not_found')
    expect(codeOf(await create({ externalId: other.externalId }))).toBe('not_found')
    const events = `subscription { discussionEvents(discussionId: "${other.id}") { seq } }`
    expect((await ask(token, events, {}, { accept: 'text/event-stream' })).text).toContain('not_found')
  })

  test('a page that it names has a discussion, which can be followed before the first comment', async () => {
    const page = newId()
    const token = await tokenOf({ externalIds: [page, discussion.externalId] }, ann)
    const { id } = (await ask(token, GET, { by: { externalId: page } })).json.data.discussion as { id: string }
    const followed = follow(token, { discussionId: id })
    const begun = await ask(token, CREATE, { input: { discussion: { externalId: page }, body: 'First' } })
    expect(begun.json.data.createComment.comment.discussionId).toBe(id)
    await vi.waitFor(() => expect(followed.seqs).toEqual([1]))
    expect(followed.failures).toEqual([])
    followed.close()
    await tokenOf({ externalIds: [page] })
    expect((await service.call('GET', `/discussions/by-external/${page}`)).json.id).toBe(id)
  })

  test('none of its pages has a discussion where one of them can have none', async () => {
    const page = newId()
    const refused = await mint({ externalIds: [page, '..'] }, {})
    expect(refused).toMatchObject({ status: 422, json: { errors: [{ pointer: '/externalIds/1' }] } })
    expect((await service.call('GET', `/discussions/by-external/${page}`)).status).toBe(404)
  })

  test('it begins no other discussion', async () => {
    const [page, unnamedPage] = [newId(), newId()]
    const token = await tokenOf({ externalIds: [page] }, ann)
    for (const open of [token, await tokenOf({}, ann)]) {
      expect(
        codeOf(await ask(open, CREATE, { input: { discussion: { externalId: unnamedPage }, body: 'First' } })),
      ).toBe('not_found')
    }
    const path = `/discussions/by-external/${unnamedPage}`
    expect((await service.call('GET', path)).status).toBe(404)
    // A reader cannot try out which pages have a discussion.
    const refusal = async (externalId: string) =>
      (await ask(token, CREATE, { input: { discussion: { externalId }, body: 'First' } })).json.errors[0].message
    expect(await refusal(other.externalId)).toBe(await refusal(unnamedPage))
  })

  test('the page keeps its discussion under another external id', async () => {
    const token = await tokenOf({ externalIds: [discussion.externalId] }, ann)
    await service.call('PATCH', `/discussions/${discussion.id}`, { body: { externalId: newId() } })
    expect((await ask(token, GET, { by: { id: discussion.id } })).json.data.discussion.id).toBe(discussion.id)
  })
})

/** Follows the discussion by a token, without trying again. */
const follow = (token: string, options: Partial<Parameters<typeof followBy>[2]> = {}) =>
  followBy(service, bearer(token), { discussionId: discussion.id, ...options })

describe('a subscription', () => {
  test('has the audience of a ticket: nothing of a comment that waits, and the notifications of its reader', async () => {
    const [mine, nobodys] = [follow(await tokenOf({}, ann)), follow(await tokenOf())]
    await vi.waitFor(() => expect([mine.seqs, nobodys.seqs]).toEqual([[1], [1]]))
    await service.call('PATCH', '/settings', { body: { moderationMode: 'pre' } })
    const held = await post(discussion.id, await service.as('cem'))
    await service.call('PATCH', '/settings', { body: { moderationMode: 'none' } })
    const reply = { body: 'Reply', parentId: comment.id }
    const path = `/discussions/${discussion.id}/comments`
    expect((await service.call('POST', path, { body: reply, headers: await service.as('bob') })).status).toBe(201)
    // 1: Ann's comment. 2: the held one. 3 and 4: the reply, and Ann's notification of it.
    await vi.waitFor(() => expect(mine.seqs).toHaveLength(3))
    await vi.waitFor(() => expect(nobodys.seqs).toHaveLength(2))
    expect([mine.seqs.includes(2), nobodys.seqs.includes(2)]).toEqual([false, false])
    expect(held).toMatchObject({ status: 'pending' })
    for (const each of [mine, nobodys]) each.close()
  })

  test('is capped as the streams of a ticket are', async () => {
    const tenant = await service.addTenant(`streams-${newId()}`)
    const key = { 'x-api-key': tenant.apiKey }
    await service.call('PATCH', '/settings', { headers: key, body: { stream: { maxStreamsPerTicket: 1 } } })
    const { id } = (await service.call('POST', '/discussions', { headers: key, body: { externalId: 'page' } })).json
    const token = await tokenOf({}, key)
    const first = follow(token, { discussionId: id })
    await vi.waitFor(async () => expect(await openStreams(tenant, id)).toBe(1))
    const second = await fetch(`${service.url}/graphql/stream`, {
      method: 'POST',
      headers: { ...bearer(token), 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: `subscription { discussionEvents(discussionId: "${id}") { seq } }` }),
    })
    expect([second.status, await second.text()]).toEqual([429, expect.stringContaining('too_many_streams')])
    first.close()
  })

  test('pays for events whose answers are as long as a page', async () => {
    const id = await service.newDiscussion()
    const token = await tokenOf({}, ann)
    const page =
      '... on CommentEventData { comment { replies(first: 100) { nodes { id body bodyHtml status createdAt editedAt depth parentId } } } }'
    const open = await fetch(`${service.url}/graphql/stream`, {
      method: 'POST',
      headers: { ...bearer(token), 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({
        query: `subscription { discussionEvents(discussionId: "${id}") { seq data { ${page} } } }`,
      }),
    })
    const taken = vi.spyOn(service.app.limits, 'charge')
    try {
      await post(id, await service.as('bob'))
      await vi.waitFor(() =>
        expect(taken.mock.calls.filter(([kind]) => kind === 'client')).toEqual([
          ['client', expect.any(String), expect.objectContaining({ burst: expect.any(Number) }), 1],
        ]),
      )
    } finally {
      taken.mockRestore()
      await open.body?.cancel()
    }
  })

  test('on a reserved stream is for its own caller alone, whose token may have been renewed', async () => {
    const call = async (method: string, headers: Record<string, string>, stream?: string, body?: object) => {
      const query = method === 'DELETE' ? '?operationId=1' : ''
      const answer = await fetch(`${service.url}/graphql/stream${query}`, {
        method,
        headers: {
          ...headers,
          ...(stream !== undefined && { 'x-graphql-event-stream-token': stream }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          accept: method === 'GET' ? 'text/event-stream' : '*/*',
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return { status: answer.status, text: await answer.text() }
    }
    const operation = { query: SETTINGS, extensions: { operationId: '1' } }
    const bob = await service.as('bob')
    const [anns, renewed, bobs, nobodys, others] = await Promise.all(
      [ann, ann, bob, {}, {}].map(async (as) => bearer(await tokenOf({}, as))),
    )
    const key = { 'x-api-key': service.apiKey }
    const CALLERS: [owner: object | undefined, same: (object | undefined)[], not: (object | undefined)[]][] = [
      [anns, [anns, renewed], [bobs, nobodys, key]],
      [nobodys, [nobodys], [others, anns, key]],
      [key, [key, { ...key, ...bob }], [anns, nobodys]],
    ]
    for (const [owner, same, strangers] of CALLERS) {
      const { status, text: stream } = await call('PUT', owner as Record<string, string>)
      expect(status).toBe(201)
      const open = await fetch(`${service.url}/graphql/stream`, {
        headers: {
          ...(same.at(-1) as Record<string, string>),
          'x-graphql-event-stream-token': stream,
          accept: 'text/event-stream',
        },
      })
      expect(open.status).toBe(200)
      for (const stranger of strangers as Record<string, string>[]) {
        for (const [method, body] of [['POST', operation], ['DELETE'], ['GET']] as const) {
          const refused = await call(method, stranger, stream, body)
          expect([method, refused.status, refused.text]).toEqual([method, 404, expect.stringContaining('not_found')])
        }
      }
      for (const caller of same as Record<string, string>[]) {
        expect((await call('POST', caller, stream, operation)).status).toBe(202)
        expect((await call('DELETE', caller, stream)).status).toBe(200)
      }
      await open.body?.cancel()
    }
  })

  const openStreams = async ({ apiKey }: TestTenant, id: string): Promise<number> =>
    (await service.call('GET', `/discussions/${id}/presence`, { headers: { 'x-api-key': apiKey } })).json.streams
})

describe('it ends', () => {
  test.each(TOKEN_ENDS)('by %s: at once, with what it has open', async (_what, end) => {
    const { id: keyId, key } = await service.newKey()
    const token = await tokenOf({}, { 'x-api-key': key, ...ann })
    const open = [follow(token), follow(token, { single: true })]
    for (const each of open) await vi.waitFor(() => expect(each.seqs).toEqual([1]))
    const bystander = await tokenOf({}, await service.as('bob'))
    const ended = await end(service, { keyId, readerId: comment.author.id })
    expect(ended.status, ended.text).toBeLessThan(300)
    expect(codeOf(await ask(token, SETTINGS))).toBe('invalid_client_token')
    for (const each of open) await vi.waitFor(() => expect(each.failures).not.toEqual([]))
    expect(open.map(({ completed }) => completed)).toEqual([false, false])
    expect((await ask(bystander, SETTINGS)).status).toBe(200)
    for (const each of open) each.close()
  })

  test('not by a ban in shadow, which the reader must not notice', async () => {
    const token = await tokenOf({}, ann)
    await service.call('POST', `/readers/${comment.author.id}/ban`, { body: { shadow: true } })
    const { json } = await ask(token, CREATE, {
      input: { discussion: { id: discussion.id }, body: 'Seen by me alone' },
    })
    const { id } = json.data.createComment.comment
    const read = `{ comment(id: "${id}") { status } }`
    expect((await ask(token, read)).json.data.comment.status).toBe('approved')
    expect(codeOf(await ask(await tokenOf(), read))).toBe('not_found')
  })

  test('and a banned reader still reads with a new one', async () => {
    await service.call('POST', `/readers/${comment.author.id}/ban`, { body: {} })
    const token = await tokenOf({}, ann)
    expect((await ask(token, VIEWER)).json.data.viewer.ban).toEqual({ until: null })
    expect(codeOf(await ask(token, REACT, { id: elsewhere.id }))).toBe('reader_banned')
  })

  test('and never acts for the next person who has the external id of an erased reader', async () => {
    const token = await tokenOf({}, ann)
    await ask(token, VIEWER)
    await service.call('DELETE', `/readers/${comment.author.id}`)
    const next = await post(discussion.id, ann)
    expect(next.author.id).not.toBe(comment.author.id)
    expect(codeOf(await ask(token, VIEWER))).toBe('invalid_client_token')
  })
})

describe('rates', () => {
  test('each token has its own bucket, which each answer tells', async () => {
    const tenant = await service.addTenant(`rates-${newId()}`)
    const key = { 'x-api-key': tenant.apiKey }
    const body = { clientToken: { perSecond: 1, burst: 3 } }
    await service.call('PATCH', '/settings', { headers: key, body })
    const [one, two] = [await tokenOf({}, key), await tokenOf({}, key)]
    const statuses: number[] = []
    for (let n = 0; n < 5; n++) statuses.push((await ask(one, SETTINGS)).status)
    expect(statuses.slice(0, 3)).toEqual([200, 200, 200])
    expect(statuses).toContain(429)
    const answer = await ask(two, SETTINGS)
    expect([answer.status, answer.headers.get('ratelimit-limit')]).toEqual([200, '3'])
  })

  test('and each address one for all of its tokens', async () => {
    const limited = await startService({
      worker: false,
      env: { UNAUTHENTICATED_RATE_PER_SECOND: '0.01', UNAUTHENTICATED_RATE_BURST: '5' },
    })
    const tokens = await Promise.all(
      Array.from({ length: 7 }, async () => (await limited.call('POST', '/client-tokens', { body: {} })).json.token),
    )
    const statuses: number[] = []
    for (const token of tokens) statuses.push((await limited.graphql(SETTINGS, {}, bearer(token as string))).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429])
    await limited.close()
  })
})

describe('CORS', () => {
  const from = (token: string, origin: string) => ask(token, SETTINGS, {}, { origin })

  test('a page of an allowed origin reads the answer, also with credentials', async () => {
    const { status, headers } = await from(await tokenOf(), ORIGIN)
    expect(status).toBe(200)
    expect(Object.fromEntries(headers)).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-credentials': 'true',
      vary: 'Origin',
    })
    const exposed = headers.get('access-control-expose-headers') ?? ''
    for (const name of ['X-Request-Id', 'RateLimit-Remaining', 'Retry-After', 'Idempotency-Replayed'])
      expect(exposed).toContain(name)
  })

  test.each(['https://evil.example', 'null', 'https://www.example.com.evil.example'])(
    'a page of %s is refused: 403 origin_not_allowed',
    async (origin) => {
      const answer = await expectRefused(from(await tokenOf(), origin), 403, 'origin_not_allowed')
      expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    },
  )

  test('an app, which sends no Origin, is let through', async () => {
    expect((await ask(await tokenOf(), SETTINGS)).status).toBe(200)
  })

  test('a page of an allowed origin can read that its token is refused, and another one cannot', async () => {
    const token = `ct_${'0'.repeat(64)}`
    const refused = await from(token, ORIGIN)
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, ORIGIN])
    const foreign = await from(token, 'https://evil.example')
    expect([foreign.status, foreign.headers.get('access-control-allow-origin')]).toEqual([401, null])
  })

  test.each(['/graphql', '/graphql/stream'])('the preflight of %s allows what the page then does', async (path) => {
    const { status, headers } = await fetch(service.url + path, {
      method: 'OPTIONS',
      headers: { origin: ORIGIN, 'access-control-request-method': 'POST' },
    })
    expect([status, headers.get('access-control-allow-origin')]).toEqual([204, ORIGIN])
    expect(headers.get('access-control-allow-credentials')).toBe('true')
    expect(headers.get('access-control-max-age')).toBe('600')
  })

  test("the preflight allows the headers of Apollo's own link, also of a client with a name", async () => {
    const sent: string[] = []
    const uri = `${service.url}/graphql`
    const link = new HttpLink({
      uri,
      headers: { authorization: `Bearer ${await tokenOf()}`, 'idempotency-key': newId() },
      fetch: (url, options) => {
        sent.push(...new Headers(options?.headers).keys())
        return fetch(url, options)
      },
    })
    const clientAwareness = { name: 'site', version: '1.0' }
    const apollo = new ApolloClient({ link, cache: new InMemoryCache(), clientAwareness })
    expect((await apollo.query({ query: parse(SETTINGS) })).error).toBeUndefined()
    expect(sent).toContain('apollographql-client-name')
    const { headers } = await fetch(uri, {
      method: 'OPTIONS',
      headers: {
        origin: ORIGIN,
        'access-control-request-method': 'POST',
        'access-control-request-headers': sent.join(','),
      },
    })
    const allowed = new Set(headers.get('access-control-allow-headers')?.toLowerCase().split(', '))
    // A browser asks about no Accept.
    expect(sent.filter((name) => name !== 'accept' && !allowed.has(name))).toEqual([])
  })
})

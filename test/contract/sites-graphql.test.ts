import { createHash } from 'node:crypto'

import { OperationTypeNode } from 'graphql'
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { addressBucket } from '../../src/core/limits.ts'
import { documentOf, isOpen, ROOT_FIELDS } from '../harness/browser-fields.ts'
import { followBy } from '../harness/follow-by.ts'
import { DESCRIBED_ROUTES, requestOf, sampleOf } from '../harness/routes.ts'
import { startOwn, useService, type TestResponse } from '../harness/service.ts'
import { addSite, keyOf, ORIGIN, type TestSite } from '../harness/sites.ts'

const service = useService()
let site: TestSite
let address: string
let comment: { id: string; discussionId: string; author: { id: string } }
let elsewhere: { id: string; discussionId: string; author: { id: string } }
let token: string

beforeAll(async () => {
  site = await addSite(service, service)
})

async function post(externalId: string, reader: string, body: object = { body: 'Hello' }) {
  const path = `/discussions/by-external/${encodeURIComponent(externalId)}/comments`
  return service.ok('POST', path, body, await service.as(reader)) as Promise<typeof comment>
}

beforeEach(async () => {
  address = `${ORIGIN}/${newId()}`
  const sub = `ann-${newId()}`
  token = await site.token({ sub })
  comment = await post(address, sub)
  elsewhere = await post(newId(), `bob-${newId()}`)
})

interface Asked {
  as?: string | undefined
  /** Of the page; null for none. */
  origin?: string | null
  headers?: Record<string, string>
  of?: Pick<TestSite, 'publicKey'>
}

/** Headers as a page of the site sends them. */
const headersOf = ({ as, origin = ORIGIN, headers = {}, of = site }: Asked): Record<string, string> => ({
  'content-type': 'application/json',
  'x-service-site': of.publicKey,
  ...(origin !== null && { origin }),
  ...(as !== undefined && { authorization: `Bearer ${as}` }),
  ...headers,
})

async function answerOf(response: Response): Promise<TestResponse> {
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined }
}

const send = async (body: object, asked: Asked = {}): Promise<TestResponse> =>
  answerOf(
    await fetch(`${service.url}/graphql`, { method: 'POST', headers: headersOf(asked), body: JSON.stringify(body) }),
  )
const ask = (query: string, variables: object = {}, asked: Asked = {}) => send({ query, variables }, asked)
const codeOf = ({ json }: TestResponse): string | undefined => json?.errors?.[0]?.extensions?.code ?? json?.code

const SETTINGS = '{ publicSettings { maxDepth } }'
const VIEWER = '{ viewer { id externalId } }'
const DISCUSSION =
  'query ($by: DiscussionBy!) { discussion(by: $by) { id comments(first: 5) { nodes { id body author { id name } } } } }'
const CREATE =
  'mutation ($input: CreateCommentInput!) { createComment(input: $input) { comment { id status author { externalId } } } }'

describe('the key of a site opens GraphQL', () => {
  test('every root field that a browser may not ask is refused, also with a reader', async () => {
    for (const root of ROOT_FIELDS.filter((each) => !isOpen(each))) {
      const { query, variables } = documentOf(root, comment.id)
      const headers: Record<string, string> =
        root.kind === OperationTypeNode.SUBSCRIPTION ? { accept: 'text/event-stream' } : {}
      const answer = await ask(query, variables, { as: token, headers })
      expect(answer.text, root.field.name).toContain('"missing_capability"')
      expect(answer.text, root.field.name).toContain('The page of a site cannot ask')
    }
  })

  test('every root field that a browser may ask is answered, or refused for another reason', async () => {
    for (const root of ROOT_FIELDS.filter((each) => isOpen(each) && each.kind !== OperationTypeNode.SUBSCRIPTION)) {
      const { query, variables } = documentOf(root, comment.id)
      const { text } = await ask(query, variables, { as: token })
      expect(text, root.field.name).not.toMatch(/missing_capability|"internal"/)
    }
  })

  test('a reader is the one of the token, and nobody without one', async () => {
    expect((await ask(VIEWER, {}, { as: token })).json.data.viewer.id).toBe(comment.author.id)
    const nobody = await ask(VIEWER)
    expect([codeOf(nobody), nobody.json.data.viewer]).toEqual(['identity_required', null])
    expect((await ask(SETTINGS)).json.data.publicSettings.maxDepth).toBe(10)
  })

  test('nothing of REST: its routes take the key for nothing', async () => {
    for (const described of DESCRIBED_ROUTES.slice(0, 40)) {
      const { path, body } = requestOf(described, (slot) => (slot.isId ? comment.id : sampleOf(slot)))
      const headers = { 'x-api-key': '', 'x-service-site': site.publicKey, origin: ORIGIN }
      const { status } = await service.call(described.route.method, path, { body, headers })
      expect([401, 404, 422].includes(status), `${described.title}: ${status}`).toBe(true)
    }
  })

  test.each([
    ['an unknown key', `pk_${'0'.repeat(64)}`, 404, 'not_found'],
    ['another text', 'pk_x', 404, 'not_found'],
  ])('%s is %s: %s', async (_what, publicKey, status, code) => {
    const refused = await ask(SETTINGS, {}, { of: { publicKey } })
    expect([refused.status, codeOf(refused)]).toEqual([status, code])
    expect(refused.headers.get('access-control-allow-origin')).not.toBe(null)
  })

  test('no second credential: an API key or an assertion beside it', async () => {
    const key = await ask(SETTINGS, {}, { headers: { 'x-api-key': service.apiKey } })
    expect([key.status, codeOf(key)]).toEqual([400, 'ambiguous_credentials'])
    const assertion = await ask(SETTINGS, {}, { headers: await service.as('ann') })
    expect([assertion.status, codeOf(assertion)]).toEqual([400, 'ambiguous_credentials'])
  })

  test('the key in the address counts: another one in the header is refused, as caches keep the answer', async () => {
    const url = `${service.url}/graphql?${new URLSearchParams({ site: site.publicKey, query: SETTINGS })}`
    const headers = { origin: ORIGIN, 'x-service-site': `pk_${'0'.repeat(64)}` }
    const refused = await fetch(url, { headers })
    expect([refused.status, refused.headers.get('cache-control')]).toEqual([400, expect.not.stringContaining('public')])
    expect((await refused.json()) as object).toMatchObject({
      errors: [{ extensions: { code: 'ambiguous_credentials' } }],
    })
  })

  test.each([
    ['another issuer', { iss: 'https://evil.example' }],
    ['another audience', { aud: 'other' }],
    ['the past', { iat: 1_700_000_000, exp: 1_700_000_600 }],
    ['an assertion', { bodySha256: 'x' }],
  ])('a token of %s is 401 invalid_identity', async (_what, claims) => {
    const refused = await ask(SETTINGS, {}, { as: await site.token(claims) })
    expect([refused.status, codeOf(refused)]).toEqual([401, 'invalid_identity'])
    expect(refused.headers.get('access-control-allow-origin')).toBe(ORIGIN)
  })

  test('a member’s token and a client token are no tokens of the issuer', async () => {
    const { json } = await service.call('POST', '/client-tokens', { body: {} })
    for (const as of [json.token as string, service.apiKey]) {
      const refused = await ask(SETTINGS, {}, { as })
      expect([refused.status, codeOf(refused)]).toEqual([401, 'invalid_identity'])
    }
  })
})

describe('it sees the pages of the site alone', () => {
  const DISCUSSIONS = [
    ['by external id', () => ({ externalId: 'members-only' })],
    ['by id', () => ({ id: elsewhere.discussionId })],
  ] as const

  test.each(DISCUSSIONS)('another discussion %s is not found', async (_how, by) => {
    await post('members-only', 'bob')
    const refused = await ask(DISCUSSION, { by: by() }, { as: token })
    expect([codeOf(refused), refused.json.data.discussion]).toEqual(['not_found', null])
  })

  test('a page with its comments, to nobody as well', async () => {
    const { json } = await ask(DISCUSSION, { by: { externalId: address } })
    expect(json.data.discussion.comments.nodes).toMatchObject([{ id: comment.id, body: 'Hello' }])
  })

  test('a comment, a node and the counts of another page are unknown', async () => {
    expect(codeOf(await ask('query ($id: ID!) { comment(id: $id) { id } }', { id: elsewhere.id }))).toBe('not_found')
    const ids = [
      comment.id,
      elsewhere.id,
      comment.discussionId,
      elsewhere.discussionId,
      comment.author.id,
      elsewhere.author.id,
    ]
    const { json } = await ask('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids })
    expect(json.data.nodes.map((each: { id: string } | null) => each?.id ?? null)).toEqual([
      comment.id,
      null,
      comment.discussionId,
      null,
      comment.author.id,
      null,
    ])
    await post('members-only', 'bob')
    const counts = await ask(
      'query ($externalIds: [String!]!) { discussionCounts(externalIds: $externalIds) { externalId commentCount } }',
      { externalIds: [address, 'members-only'] },
    )
    expect(counts.json.data.discussionCounts.map(({ commentCount }: { commentCount: number }) => commentCount)).toEqual(
      [1, 0],
    )
  })

  test('the comments and the notifications of its reader are those of its pages', async () => {
    const me = (await ask(VIEWER, {}, { as: token })).json.data.viewer as { externalId: string }
    const own = await post(newId(), me.externalId)
    await post(address, 'bob', { body: 'Reply', parentId: comment.id })
    const path = `/discussions/${own.discussionId}/comments`
    const reply = { body: { body: 'Reply', parentId: own.id }, headers: await service.as('bob') }
    expect((await service.call('POST', path, reply)).status).toBe(201)
    const query =
      '{ viewer { comments(first: 10) { nodes { id } } notifications(first: 10) { nodes { comment { discussionId } } } unreadNotifications { count } } }'
    const { json } = await ask(query, {}, { as: token })
    expect(json.data.viewer).toMatchObject({
      comments: { nodes: [{ id: comment.id }] },
      notifications: { nodes: [{ comment: { discussionId: comment.discussionId } }] },
      unreadNotifications: { count: 1 },
    })
  })

  test.each([
    ['updateComment', 'UpdateCommentInput', () => ({ commentId: elsewhere.id, body: 'x' })],
    ['setReaction', 'SetReactionInput', () => ({ commentId: elsewhere.id, type: 'like' })],
    ['reportComment', 'ReportCommentInput', () => ({ commentId: elsewhere.id, reason: 'spam' })],
  ])('%s changes nothing on another page', async (field, type, input) => {
    const query = `mutation ($input: ${type}!) { ${field}(input: $input) { __typename } }`
    expect(codeOf(await ask(query, { input: input() }, { as: token }))).toBe('not_found')
  })
})

describe('writing', () => {
  test('a reader posts, and begins a page of the site, but no other', async () => {
    const page = `${ORIGIN}/${newId()}`
    const input = { discussion: { externalId: page }, body: 'First' }
    const { json } = await ask(CREATE, { input }, { as: token })
    expect(json.data.createComment.comment.status).toBe('approved')
    for (const externalId of [newId(), 'https://elsewhere.example/']) {
      const refused = await ask(CREATE, { input: { ...input, discussion: { externalId } } }, { as: token })
      expect([codeOf(refused), refused.json.data.createComment]).toEqual(['not_found', null])
      const found = await service.call('GET', `/discussions/by-external/${encodeURIComponent(externalId)}`)
      expect(found.status).toBe(404)
    }
    const nobody = await ask(CREATE, { input })
    expect(codeOf(nobody)).toBe('identity_required')
  })

  test('a reader begins five discussions at once, by GraphQL and by the routes of pages together', async () => {
    const eager = await site.token({ sub: newId() })
    const begin = () =>
      ask(CREATE, { input: { discussion: { externalId: `${ORIGIN}/${newId()}` }, body: 'x' } }, { as: eager })
    const answers = [await begin(), await begin(), await begin()]
    for (let n = 0; n < 2; n++) {
      const path = `/comments?externalId=${encodeURIComponent(`${ORIGIN}/${newId()}`)}`
      expect((await site.ask('POST', path, { token: eager, body: { body: 'x' } })).status).toBe(201)
    }
    expect(answers.map(codeOf)).toEqual([undefined, undefined, undefined])
    expect(codeOf(await begin())).toBe('rate_limited')
  })

  test('with posting off every mutation is refused, and reading goes on', async () => {
    const tenant = await service.addTenant(`closed-${newId()}`)
    const closed = await addSite(service, tenant)
    const as = await closed.token()
    await service.call('PATCH', `/sites/${closed.id}`, { body: { posting: false }, headers: keyOf(tenant) })
    const input = { discussion: { externalId: `${ORIGIN}/a` }, body: 'x' }
    await vi.waitFor(async () => {
      const refused = await ask(CREATE, { input }, { as, of: closed })
      expect([codeOf(refused), refused.text]).toEqual(['missing_capability', expect.stringContaining('posting is off')])
    })
    expect((await ask(VIEWER, {}, { as, of: closed })).json.data.viewer.externalId).toBe('ann')
  })

  test('an Idempotency-Key is of its reader, and what nobody asks is not remembered', async () => {
    const headers = { 'idempotency-key': newId() }
    const input = { discussion: { externalId: address }, body: 'Once' }
    const first = await ask(CREATE, { input }, { as: token, headers })
    const again = await ask(CREATE, { input }, { as: token, headers })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.json.data).toEqual(first.json.data)
    const other = await ask(CREATE, { input }, { as: await site.token({ sub: newId() }), headers })
    expect(other.json.data.createComment.comment.id).not.toBe(first.json.data.createComment.comment.id)
    for (let n = 0; n < 2; n++) {
      const nobody = await ask(CREATE, { input }, { headers })
      expect([codeOf(nobody), nobody.headers.get('idempotency-replayed')]).toEqual(['identity_required', null])
    }
  })
})

const follow = (discussionId: string, asked: Asked = {}, single = false) => {
  const { 'content-type': _, ...headers } = headersOf(asked)
  return followBy(service, headers, { discussionId, single })
}

describe('a subscription', () => {
  test('has the audience of a ticket, and the notifications of its reader', async () => {
    const [mine, nobodys] = [follow(comment.discussionId, { as: token }), follow(comment.discussionId, {}, true)]
    await vi.waitFor(() => expect([mine.seqs, nobodys.seqs]).toEqual([[1], [1]]))
    await service.call('PATCH', '/settings', { body: { moderationMode: 'pre' } })
    await post(address, 'cem')
    await service.call('PATCH', '/settings', { body: { moderationMode: 'none' } })
    await post(address, 'bob', { body: 'Reply', parentId: comment.id })
    // 1: Ann's comment. 2: the held one. 3 and 4: the reply, and Ann's notification of it.
    await vi.waitFor(() => expect(mine.seqs).toHaveLength(3))
    await vi.waitFor(() => expect(nobodys.seqs).toHaveLength(2))
    expect([mine.seqs.includes(2), nobodys.seqs.includes(2)]).toEqual([false, false])
    for (const each of [mine, nobodys]) each.close()
  })

  test('of another page is refused', async () => {
    const refused = follow(elsewhere.discussionId, { as: token })
    await vi.waitFor(() => expect(JSON.stringify(refused.failures)).toContain('not_found'))
    refused.close()
  })

  test('ends when the site gets other origins, and without complete', async () => {
    const tenant = await service.addTenant(`ending-${newId()}`)
    const own = await addSite(service, tenant)
    const path = `/comments?externalId=${encodeURIComponent(`${ORIGIN}/a`)}`
    const { json } = await own.ask('POST', path, { token: await own.token(), body: { body: 'x' } })
    const open = [
      follow(json.discussionId, { of: own }),
      follow(json.discussionId, { of: own, as: await own.token() }, true),
    ]
    for (const each of open) await vi.waitFor(() => expect(each.seqs).toEqual([1]))
    const body = { origins: ['https://new.example'] }
    await service.call('PATCH', `/sites/${own.id}`, { body, headers: keyOf(tenant) })
    for (const each of open) await vi.waitFor(() => expect(each.failures).not.toEqual([]))
    expect(open.map(({ completed }) => completed)).toEqual([false, false])
    const refused = await ask(SETTINGS, {}, { of: own })
    expect([refused.status, codeOf(refused)]).toEqual([403, 'origin_not_allowed'])
    for (const each of open) each.close()
  })
})

describe('limits', () => {
  test('a page of another origin is refused, after its address has paid, and an app without Origin is let through', async () => {
    const refused = await ask(SETTINGS, {}, { origin: 'https://elsewhere.example' })
    expect([refused.status, codeOf(refused)]).toEqual([403, 'origin_not_allowed'])
    expect(refused.headers.get('access-control-allow-origin')).toBe(null)
    expect((await ask(SETTINGS, {}, { origin: null })).status).toBe(200)
  })

  test('a reader and an address have the buckets that they have at the routes of pages', async () => {
    const strict = await startOwn({ env: { UNAUTHENTICATED_RATE_PER_SECOND: '1', UNAUTHENTICATED_RATE_BURST: '50' } })
    const own = await addSite(strict, strict)
    const at = async (as?: string) =>
      answerOf(
        await fetch(`${strict.url}/graphql`, {
          method: 'POST',
          headers: headersOf({ of: own, as }),
          body: JSON.stringify({ query: SETTINGS }),
        }),
      )
    const as = await own.token({ sub: 'busy' })
    expect((await at(as)).status).toBe(200)
    strict.app.limits.charge('siteReader', `${strict.tenant.id}/busy`, { perSecond: 20, burst: 200 }, 100_000)
    const limited = await at(as)
    expect([limited.status, codeOf(limited)]).toEqual([429, 'rate_limited'])
    expect(limited.headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect((await at()).status).toBe(200)
    const rate = { perSecond: 1, burst: 50 }
    strict.app.limits.charge('site', `${own.id}/${addressBucket('127.0.0.1')}`, rate, 100_000)
    // Before the token is looked at.
    expect((await at('not a token')).status).toBe(429)
    expect((await own.ask('GET', '/settings')).status).toBe(429)
    expect((await strict.call('GET', '/discussions')).status).toBe(200)
  })
})

describe('known documents', () => {
  const idOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`
  const get = async (parameters: Record<string, string>, headers: Record<string, string> = {}) =>
    answerOf(
      await fetch(`${service.url}/graphql?${new URLSearchParams(parameters)}`, {
        headers: { origin: ORIGIN, ...headers },
      }),
    )

  test('with the setting known, a site runs these alone', async () => {
    const tenant = await service.addTenant(`known-${newId()}`)
    const own = await addSite(service, tenant, { settings: { graphql: { documents: 'known' } } })
    const body = { manifest: { [idOf(SETTINGS)]: SETTINGS } }
    expect((await service.call('POST', '/documents', { body, headers: keyOf(tenant) })).status).toBeLessThan(300)
    expect((await send({ documentId: idOf(SETTINGS) }, { of: own })).status).toBe(200)
    expect(codeOf(await ask('{ __typename }', {}, { of: own }))).toBe('unknown_document')
  })

  test('a GET names the site in its address, and shared caches keep what nobody is answered', async () => {
    const body = { manifest: { [idOf(DISCUSSION)]: DISCUSSION, [idOf(VIEWER)]: VIEWER } }
    await service.call('POST', '/documents', { body })
    const variables = JSON.stringify({ by: { externalId: address } })
    const parameters = { site: site.publicKey, documentId: idOf(DISCUSSION), variables }
    const nobody = await get(parameters)
    expect(nobody.json.data.discussion.comments.nodes).toMatchObject([{ id: comment.id }])
    expect(nobody.headers.get('cache-control')).toBe('public, max-age=0, s-maxage=5, stale-while-revalidate=30')
    expect(nobody.headers.get('vary')).not.toContain('Authorization')
    expect(nobody.headers.get('vary')).toContain('Origin')
    const etag = nobody.headers.get('etag') ?? ''
    expect((await get(parameters, { 'if-none-match': etag })).status).toBe(304)
    // As to nobody, whatever the token: a cache must not keep a reader's answer for others.
    const bearing = await get(parameters, { authorization: `Bearer ${token}` })
    expect([bearing.text, bearing.headers.get('etag')]).toEqual([nobody.text, etag])
    const viewer = { site: site.publicKey, documentId: idOf(VIEWER) }
    expect(codeOf(await get(viewer, { authorization: `Bearer ${token}` }))).toBe('identity_required')
    const signedIn = await get({ ...viewer, signedIn: '1' }, { authorization: `Bearer ${token}` })
    expect(signedIn.json.data.viewer.id).toBe(comment.author.id)
    expect(signedIn.headers.get('cache-control')).toMatch(/^private/)
    const byHeader = await get(
      { documentId: idOf(VIEWER) },
      { authorization: `Bearer ${token}`, 'x-service-site': site.publicKey },
    )
    expect(byHeader.json.data.viewer.id).toBe(comment.author.id)
    expect(byHeader.headers.get('cache-control')).toMatch(/^private/)
    expect((await get({ ...viewer, signedIn: 'yes' })).status).toBe(422)
  })
})

test('a preflight of a page of the site passes, for both headers', async () => {
  for (const path of ['/graphql', '/graphql/stream']) {
    const { status, headers } = await fetch(service.url + path, {
      method: 'OPTIONS',
      headers: {
        origin: ORIGIN,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, content-type, x-service-site',
      },
    })
    expect([status, headers.get('access-control-allow-origin')]).toEqual([204, ORIGIN])
    expect(headers.get('access-control-allow-headers')).toContain('x-service-site')
  }
})

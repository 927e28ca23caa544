import { beforeAll, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { effort } from '../harness/effort.ts'
import { randomOf } from '../harness/random.ts'
import { type Headers, useKey, useService } from '../harness/service.ts'
import { statementsOf } from '../harness/statements.ts'

// A page of comments by GET with a documentId is kept as bytes, as REST's pages are. It must always
// be what the same document answers when it is executed.

const service = useService()
const plain = useKey(service)
let page: string

const COMMENT = `id parentId author { id name } body bodyHtml status pinnedAt editedAt revision replyCount
  reactionCounts viewerReaction reactionGroups { type count viewerHasReacted }`

/** Documents that are kept, and those that must not be. */
const DOCUMENTS: Readonly<Record<string, string>> = {
  page: `query Page($page: String!, $sort: CommentSort) { discussion(by: { externalId: $page }) {
    id state commentCount lastEventId
    comments(first: 3, sort: $sort) { totalCount pageInfo { hasNextPage endCursor } nodes { ${COMMENT}
      replies(first: 2) { nodes { ${COMMENT} } } } } } }`,
  fragments: `query ($page: String!) { discussion(by: { externalId: $page }) { ...D __typename } }
    fragment D on Discussion { comments { edges { cursor node { ...C } } } } fragment C on Comment { id body }`,
  by: `query ($by: DiscussionBy!) { discussion(by: $by) { comments { nodes { id } } } }`,
  id: `query ($page: ID!) { discussion(by: { id: $page }) { commentCount comments { nodes { id } } } }`,
  title: 'query ($page: String!) { discussion(by: { externalId: $page }) { title comments { nodes { id } } } }',
  parents: `query ($page: String!) { discussion(by: { externalId: $page }) { comments { nodes {
    parent { body } discussion { title } reactions { nodes { reader { name } } } } } } }`,
  two: `query ($page: String!) { a: discussion(by: { externalId: $page }) { commentCount }
    b: discussion(by: { externalId: "other" }) { commentCount } }`,
  viewer: 'query ($page: String!) { discussion(by: { externalId: $page }) { commentCount } viewer { name } }',
}

beforeAll(async () => {
  page = newId()
  await service.call('POST', '/discussions', { body: { externalId: page } })
  await service.call('POST', '/discussions', { body: { externalId: 'other' } })
  await service.ok('POST', '/documents', { manifest: DOCUMENTS })
})

interface Asked {
  variables?: object
  headers?: Headers
  operationName?: string
}

async function get(documentId: string, { variables = { page }, headers = plain, operationName }: Asked = {}) {
  const query = { documentId, variables: JSON.stringify(variables), ...(operationName && { operationName }) }
  const response = await fetch(`${service.url}/graphql?${String(new URLSearchParams(query))}`, { headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function post(documentId: string, { variables = { page }, headers = plain }: Asked = {}): Promise<string> {
  const response = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ documentId, variables }),
  })
  return response.text()
}

/** The statements that read comments while `work` runs. */
async function readsOf(work: () => Promise<unknown>): Promise<number> {
  const { statements } = await statementsOf(service, work)
  return statements.filter((name) => /comments|replies|roots|listed|level/.test(name)).length
}

/** A locked discussion refuses it, and so has no id. */
const comment = async (reader: string, body: object): Promise<string> => {
  const headers = await service.as(reader)
  return (await service.call('POST', `/discussions/by-external/${page}/comments`, { body, headers })).json.id
}

const tokenOf = async (body: object, headers: Headers = {}): Promise<Headers> => {
  const { json } = await service.call('POST', '/client-tokens', { body, headers })
  return { authorization: `Bearer ${json.token as string}` }
}

test('a page is executed once for all keys and tokens, and again once it has changed', async () => {
  const id = await comment('ann', { body: 'Hello' })
  const token = await tokenOf({})
  const ask = (): Promise<unknown> => get('page')
  expect(await readsOf(ask)).toBeGreaterThan(0)
  expect(await readsOf(ask)).toBe(0)
  expect(await readsOf(() => get('page', { headers: token }))).toBe(0)
  expect(await readsOf(() => get('page', { variables: { page, sort: 'oldest' } }))).toBeGreaterThan(0)
  // A variable that the document lacks changes nothing; one without a value has its default.
  expect(await readsOf(() => get('page', { variables: { page, other: newId() } }))).toBe(0)
  expect(await get('page', { variables: { page, sort: null } })).not.toEqual(await get('page'))
  await service.call('PUT', `/comments/${id}/reaction`, { body: { type: 'like' }, headers: await service.as('bob') })
  expect(await readsOf(ask)).toBeGreaterThan(0)
  expect(await readsOf(ask)).toBe(0)
})

test('an id in upper case finds the kept page', async () => {
  const id: string = (await service.call('GET', `/discussions/by-external/${page}`)).json.id
  const upper = id.toUpperCase()
  for (const [documentId, lower, given] of [
    ['id', { page: id }, { page: upper }],
    ['by', { by: { id } }, { by: { id: upper } }],
  ] as const) {
    const kept = await get(documentId, { variables: lower })
    let again: typeof kept | undefined
    expect(await readsOf(async () => (again = await get(documentId, { variables: given })))).toBe(0)
    expect([again?.text, again?.headers.get('etag')]).toEqual([kept.text, kept.headers.get('etag')])
  }
})

test('a kept page is compressed for clients that take gzip, and has the tag of its version', async () => {
  for (let n = 0; n < 5; n++) await comment('ann', { body: `Long ${'text '.repeat(100)}${n}` })
  await get('page', { headers: { ...plain, 'accept-encoding': 'identity' } })
  const gzipped = await get('page', { headers: { ...plain, 'accept-encoding': 'gzip' } })
  expect(gzipped.headers.get('content-encoding')).toBe('gzip')
  expect(gzipped.headers.get('vary')).toBe(
    'X-API-Key, Authorization, X-Service-Identity, X-Service-Site, Origin, Accept, Accept-Encoding',
  )
  const etag = gzipped.headers.get('etag') ?? ''
  const reads = await readsOf(async () => {
    const again = await get('page', { headers: { ...plain, 'if-none-match': etag } })
    expect([again.status, again.text]).toEqual([304, ''])
  })
  expect(reads).toBe(0)
})

test('a refusal is never kept, nor answered from what is kept', async () => {
  const other = await tokenOf({ externalIds: ['other'] })
  expect((await get('page')).text).toContain('"data":{"discussion":{')
  const refused: [Asked, string][] = [
    [{ headers: other }, 'not_found'],
    [{ operationName: 'Other' }, 'validation_failed'],
    [{ variables: {} }, 'validation_failed'],
    [{ variables: { page: null } }, 'validation_failed'],
    [{ variables: { page, sort: 'x' } }, 'validation_failed'],
    [{ variables: { page: newId() } }, 'not_found'],
    [{ headers: {} }, 'missing_credentials'],
  ]
  for (const [asked, code] of refused) {
    for (const headers of [{}, { 'if-none-match': '*' }]) {
      const answer = await get('page', { ...asked, headers: { ...(asked.headers ?? plain), ...headers } })
      expect([answer.text, answer.headers.get('etag')]).toEqual([expect.stringContaining(`"code":"${code}"`), null])
    }
  }
  expect((await get('page', { operationName: 'Page' })).text).toBe((await get('page')).text)
})

test('an answer that tells its cost has no tag', async () => {
  const { headers, text } = await get('page', { headers: { ...plain, 'x-service-cost': '1' } })
  expect([text, headers.get('etag')]).toEqual([expect.stringContaining('"cost":'), null])
})

test('a kept page is what its document answers, after each change', async () => {
  const random = randomOf(36)
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
  const known: string[] = []
  const [ann, bob] = [await service.as('ann'), await service.as('bob')]
  const callers: Headers[] = [
    plain,
    { 'x-api-key': service.apiKey },
    { ...plain, ...ann },
    await tokenOf({}),
    await tokenOf({ externalIds: [page] }),
    await tokenOf({ externalIds: ['other'] }),
    await tokenOf({}, bob),
  ]
  let profiles = 0
  const call = (method: string, path: string, body?: object, headers: Headers = {}) =>
    service.call(method, path, { ...(body !== undefined && { body }), headers })
  const { json } = await call('GET', `/discussions/by-external/${page}`)
  const changes: (() => Promise<unknown>)[] = [
    async () => known.push(await comment(pick(['ann', 'bob']), { body: `Post ${random()}` })),
    async () => known.push(await comment(pick(['ann', 'bob']), { body: 'Reply', parentId: pick(known) })),
    () => call('PATCH', `/comments/${pick(known)}`, { body: `Edit ${random()}` }, pick([ann, bob])),
    () => call('PUT', `/comments/${pick(known)}/reaction`, { type: pick(['like', 'love']) }, pick([ann, bob])),
    () => call('POST', `/comments/${pick(known)}/${pick(['approve', 'reject', 'pin', 'unpin'])}`),
    () => call('DELETE', `/comments/${pick(known)}`, undefined, pick([ann, bob])),
    () => call('POST', `/discussions/${json.id}/${pick(['lock', 'unlock'])}`),
    () => call('PATCH', `/discussions/${json.id}`, { title: `Title ${random()}` }),
    () => call('PATCH', '/settings', { reactionTypes: pick([['like', 'love'], ['love', 'like'], ['love']]) }),
    async () => {
      const headers = await service.as('ann', {
        name: `Ann ${++profiles}`,
        iat: Math.floor(Date.now() / 1000) + profiles,
      })
      return call('GET', '/settings/public', undefined, headers)
    },
  ]
  known.push(await comment('ann', { body: 'First' }))
  for (let step = 0; step < effort(120, 15); step++) {
    await pick(changes)()
    for (const documentId of Object.keys(DOCUMENTS)) {
      const asked = { headers: pick(callers) }
      const withoutIds = (text: string): string => text.replaceAll(/"requestId":"[^"]*"/g, '')
      const [kept, executed] = [await get(documentId, asked), await post(documentId, asked)]
      expect([documentId, withoutIds(kept.text)]).toEqual([documentId, withoutIds(executed)])
    }
  }
})

import { print } from 'graphql'
import { beforeAll, describe, expect, test } from 'vitest'

import type { App } from '../../src/core/app.ts'
import { createServer } from '../../src/api/http/server.ts'
import { ROUTES } from '../../src/api/rest/routes.ts'
import { hubOf } from '../../src/live/hub.ts'
import { effort } from '../harness/effort.ts'
import { randomOf } from '../harness/random.ts'
import { SEED } from '../harness/seed.ts'
import { type TestResponse, useKey, useService } from '../harness/service.ts'

type Headers = Record<string, string>

const service = useService()
let ann: Headers
let bob: Headers
const plain = useKey(service)

beforeAll(async () => {
  ann = await service.as('ann', { iat: LONG_AGO })
  bob = await service.as('bob', { iat: LONG_AGO })
})

const pathOf = (page: string, query = '') => `/discussions/by-external/${page}/comments?${query}`

/** The operation that the page's route runs. */
const PAGE = ROUTES.filter(({ path }) => path === '/discussions/by-external/:externalId/comments')
  .map(({ document }) => print(document))
  .at(0) as string

const get = (page: string, query = '', headers: Headers = plain) =>
  service.call('GET', pathOf(page, query), { headers: { ...plain, ...headers } })

async function ok(answer: Promise<TestResponse>): Promise<TestResponse['json']> {
  const { status, json, text } = await answer
  expect(status, text).toBeLessThan(300)
  return json
}

const post = (page: string, body: string, parentId?: string, headers = ann) =>
  ok(
    service.call('POST', pathOf(page).replace('?', ''), {
      body: { body, ...(parentId === undefined ? {} : { parentId }) },
      headers,
    }),
  )

const etagOf = ({ headers }: TestResponse): string => headers.get('etag') ?? ''

/** In seconds; an assertion lasts an hour. */
const LONG_AGO = Math.floor(Date.now() / 1000) - 2900

let profiles = 0

/** An assertion of the reader that is newer than all before it, with another name. */
const renamed = (reader: string): Promise<Headers> =>
  service.as(reader, { name: `${reader} ${++profiles}`, iat: LONG_AGO + profiles })

describe('ETag and 304', () => {
  test('both routes answer a tag, and 304 without a body to a client that sends it', async () => {
    const { discussionId } = await post('tagged', 'x')
    for (const path of [pathOf('tagged'), `/discussions/${discussionId}/comments`]) {
      const answer = await service.call('GET', path, { headers: plain })
      const etag = etagOf(answer)
      expect(etag).toMatch(/^W\/"[\w-]{22}"$/)
      expect(answer.headers.get('cache-control')).toBe('private, no-cache')
      expect(answer.headers.get('vary')).toBe('X-API-Key, Authorization, X-Service-Identity, X-Service-Site')
      for (const known of [etag, etag.slice(2), `"other", ${etag}`, '*']) {
        const again = await service.call('GET', path, { headers: { ...plain, 'if-none-match': known } })
        expect([again.status, again.text, etagOf(again)]).toEqual([304, '', etag])
        expect(again.headers.get('cache-control')).toBe('private, no-cache')
        expect(again.headers.get('vary')).toBe('X-API-Key, Authorization, X-Service-Identity, X-Service-Site')
        expect(again.headers.get('content-type')).toBeNull()
      }
      for (const other of ['W/"other"', etag.replaceAll('"', ''), '']) {
        const again = await service.call('GET', path, { headers: { ...plain, 'if-none-match': other } })
        expect([again.status, again.json]).toEqual([200, answer.json])
      }
    }
  })

  test('a tag bypasses nothing: credentials, the identity and the request are checked first', async () => {
    await post('guarded', 'x')
    const tagged = { 'if-none-match': '*' }
    const ask = (headers: Headers, query = '') => service.call('GET', pathOf('guarded', query), { headers })
    expect((await ask({ 'x-api-key': '', ...tagged })).status).toBe(401)
    expect((await ask({ 'x-api-key': `ek_${'0'.repeat(64)}`, ...tagged })).status).toBe(401)
    expect((await ask({ ...plain, 'x-service-identity': 'forged', ...tagged })).status).toBe(401)
    expect((await ask({ ...plain, ...tagged }, 'limit=0')).status).toBe(422)
    expect((await service.call('GET', pathOf('nowhere'), { headers: { ...plain, ...tagged } })).status).toBe(404)
    expect(
      (await service.call('GET', '/discussions/no-id/comments', { headers: { ...plain, ...tagged } })).status,
    ).toBe(404)
  })

  test('a refusal has no tag, and no tag turns it into a page', async () => {
    await post('refused', 'x')
    const unknown = `parentId=${'0'.repeat(8)}-0000-7000-8000-${'0'.repeat(12)}`
    for (const [query, status] of [
      [unknown, 404],
      ['cursor=x', 422],
    ] as const) {
      for (const headers of [{}, { 'if-none-match': '*' }]) {
        const refused = await get('refused', query, headers)
        expect([refused.status, refused.headers.get('etag')]).toEqual([status, null])
      }
    }
  })

  test('pages below a comment out of view are cached for moderators only', async () => {
    const { id } = await post('withheld', 'x')
    await ok(service.call('POST', `/comments/${id}/reject`))
    const below = (key: string, headers = {}) => get('withheld', `parentId=${id}`, { 'x-api-key': key, ...headers })
    const shown = await below(service.apiKey)
    expect([shown.status, shown.json.data]).toEqual([200, []])
    expect((await below(plain['x-api-key'] ?? '')).status).toBe(404)
    expect((await below(plain['x-api-key'] ?? '', { 'if-none-match': etagOf(shown) })).status).toBe(404)
    expect((await below(service.apiKey, { 'if-none-match': etagOf(shown) })).status).toBe(304)
  })

  test('an impossible external id is refused as without a cache', async () => {
    for (const page of ['%00', 'x'.repeat(513)]) {
      const { status, json } = await get(page)
      expect([status, json.code]).toEqual([422, 'validation_failed'])
    }
  })

  test('each query and each reader has its own tag', async () => {
    const { id } = await post('queries', 'a')
    await post('queries', 'b')
    await post('queries', 'c', id)
    const asked: [string, Headers][] = [
      ['', {}],
      ['', ann],
      ['', bob],
      ['sort=oldest', {}],
      ['sort=top', {}],
      ['limit=1', {}],
      ['replies=1', {}],
      ['replies=2', {}],
      [`parentId=${id}`, {}],
    ]
    const answers = await Promise.all(asked.map(([query, headers]) => get('queries', query, headers)))
    expect(new Set(answers.map(etagOf)).size).toBe(asked.length)
    // In whatever order the parameters stand.
    const [one, two] = [await get('queries', 'sort=top&limit=5'), await get('queries', 'limit=5&sort=top')]
    expect(etagOf(one)).toBe(etagOf(two))
  })

  describe('the tag changes after', () => {
    let page: string
    let comment: string
    let reply: string
    let pages = 0

    const CHANGES: Record<string, () => Promise<unknown>> = {
      'a new comment': () => post(page, 'new'),
      'a new reply': () => post(page, 'new', comment),
      'an edit': () => ok(service.call('PATCH', `/comments/${comment}`, { body: { body: 'edited' }, headers: ann })),
      'a deletion by the author': () => ok(service.call('DELETE', `/comments/${reply}`, { headers: ann })),
      'a deletion by a moderator': () => ok(service.call('DELETE', `/comments/${comment}`)),
      'a reaction': () =>
        ok(service.call('POST', `/comments/${comment}/reactions`, { body: { type: 'wow' }, headers: bob })),
      'a reaction to a reply': () =>
        ok(service.call('PUT', `/comments/${reply}/reaction`, { body: { type: 'wow' }, headers: bob })),
      'a pin': () => ok(service.call('POST', `/comments/${comment}/pin`)),
      'a rejection': () => ok(service.call('POST', `/comments/${comment}/reject`)),
      'a bulk action': () => ok(service.call('POST', '/comments/bulk', { body: { ids: [reply], action: 'reject' } })),
      'a new name of an author': async () => ok(get(page, '', await renamed('ann'))),
      'a new name of an author, by a write elsewhere': async () =>
        post('elsewhere', 'x', undefined, await renamed('ann')),
    }

    test.each(Object.keys(CHANGES))('%s, and the page shows it', async (name) => {
      page = `changed-${pages++}`
      comment = (await post(page, 'first')).id
      reply = (await post(page, 'reply', comment)).id
      const before = await get(page, 'replies=3')
      expect((await get(page, 'replies=3', { 'if-none-match': etagOf(before) })).status).toBe(304)
      await CHANGES[name]?.()
      const after = await get(page, 'replies=3', { 'if-none-match': etagOf(before) })
      expect(after.status).toBe(200)
      expect(etagOf(after)).not.toBe(etagOf(before))
      expect(after.json).not.toEqual(before.json)
      expect(after.json.data).toEqual((await fromGraphQL(page, 'newest')).data)
    })

    test.each(['approve', 'unpin', 'unlock'])('an action that undoes it (%s)', async (undo) => {
      page = `undone-${pages++}`
      const { id, discussionId } = await post(page, 'first')
      const path = undo === 'unlock' ? `/discussions/${discussionId}` : `/comments/${id}`
      await ok(service.call('POST', `${path}/${{ approve: 'reject', unpin: 'pin', unlock: 'lock' }[undo]}`))
      const before = await get(page)
      await ok(service.call('POST', `${path}/${undo}`))
      expect((await get(page, '', { 'if-none-match': etagOf(before) })).status).toBe(200)
    })

    test('a reader who reacts gets another page; others get the same counts', async () => {
      const { id } = await post('viewers', 'x')
      await ok(service.call('PUT', `/comments/${id}/reaction`, { body: { type: 'love' }, headers: bob }))
      const viewerOf = async (headers: Headers) => (await get('viewers', '', headers)).json.data[0].viewerReaction
      expect([await viewerOf({}), await viewerOf(bob), await viewerOf(ann), await viewerOf({})]).toEqual([
        null,
        'love',
        null,
        null,
      ])
      await ok(service.call('DELETE', `/comments/${id}/reaction`, { headers: bob }))
      expect(await viewerOf(bob)).toBeNull()
    })
  })
})

/** The page as GraphQL reads it, which knows no cache. */
async function fromGraphQL(page: string, sort: string, headers: Headers = {}, parentId: string | null = null) {
  type Connection = {
    nodes: Record<string, unknown>[]
    pageInfo: { hasNextPage: boolean; endCursor: string }
  }
  const listOf = ({ nodes, pageInfo }: Connection) => ({
    data: nodes,
    nextCursor: pageInfo.hasNextPage ? pageInfo.endCursor : null,
    hasMore: pageInfo.hasNextPage,
  })
  const { json } = await service.graphql(
    PAGE,
    { externalId: page, sort, first: 20, replies: 3, parentId },
    { ...plain, ...headers },
  )
  const { data, ...rest } = listOf(json.data.discussion.comments as Connection)
  return { data: data.map((node) => ({ ...node, replies: listOf(node.replies as Connection) })), ...rest }
}

describe('cached pages', () => {
  test('never belong to another tenant, whatever its pages are called', async () => {
    const other = await service.addTenant('other')
    const theirs = { 'x-api-key': other.apiKey, ...(await other.as('ann')) }
    await post('same-name', 'ours')
    await post('same-name', 'theirs', undefined, theirs)
    const tags: string[] = []
    for (let n = 0; n < 2; n++) {
      for (const [headers, body] of [
        [plain, 'ours'],
        [theirs, 'theirs'],
      ] as const) {
        const answer = await service.call('GET', pathOf('same-name'), { headers })
        expect(answer.json.data.map((comment: { body: string }) => comment.body)).toEqual([body])
        tags.push(etagOf(answer))
      }
    }
    expect(new Set(tags).size).toBe(2)
    const ours = (await service.call('GET', '/discussions/by-external/same-name', { headers: plain })).json.id
    const foreign = { ...theirs, 'if-none-match': tags[0] ?? '' }
    expect((await service.call('GET', `/discussions/${ours}/comments`, { headers: foreign })).status).toBe(404)
    expect((await service.call('GET', pathOf('same-name'), { headers: foreign })).status).toBe(200)
  })

  test("are not those of moderators: pending comments are on no one else's", async () => {
    const { id } = await post('moderated', 'to be rejected')
    await post('moderated', 'stays')
    await ok(service.call('POST', `/comments/${id}/reject`))
    for (const headers of [{ 'x-api-key': service.apiKey }, plain, { 'x-api-key': service.apiKey }]) {
      const { json } = await get('moderated', '', headers)
      expect(json.data.map(({ body }: { body: string }) => body)).toEqual(['stays'])
    }
  })

  test('keep any text byte for byte, even text that looks like a field of the answer', async () => {
    const text = '"viewerReaction":null \\"viewerReaction\\":null 🎈 é {"viewerReaction":null}'
    const { id } = await post('texts', text)
    await post('texts', 'ünïcödé 🎈', id)
    const last = await post('texts', 'x')
    for (const target of [id, last.id])
      await ok(service.call('PUT', `/comments/${target}/reaction`, { body: { type: 'like' }, headers: bob }))
    for (const headers of [{}, bob, ann, bob, {}]) {
      expect((await get('texts', 'replies=3', headers)).json).toEqual(await fromGraphQL('texts', 'newest', headers))
    }
    expect((await get('texts', 'replies=3', bob)).json.data[1]).toMatchObject({ body: text, viewerReaction: 'like' })
  })

  /** Another api process on the same database: nothing in memory is shared. */
  async function withSecondProcess(settings: object, run: (read: typeof get) => Promise<void>): Promise<void> {
    const app: App = { ...service.app, settings: { ...service.app.settings, ...settings } }
    const server = await createServer(app)
    await server.ready()
    const read = async (page: string, query = '', headers: Headers = plain): Promise<TestResponse> => {
      const answer = await server.inject({
        method: 'GET',
        url: `/api/v1${pathOf(page, query)}`,
        headers: { ...plain, ...headers },
      })
      const found = new Headers(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]))
      return { status: answer.statusCode, headers: found, text: answer.body, json: JSON.parse(answer.body || 'null') }
    }
    try {
      await run(read)
    } finally {
      await server.close()
      await hubOf(app).close({ graceMs: 0 })
    }
  }

  test('are never older than an acknowledged write, even by another process, while many write', async () => {
    await post('hot', 'first')
    await withSecondProcess({}, async (elsewhere) => {
      const write = async (n: number): Promise<void> => {
        const { id } = await post('hot', `c${n}`)
        const read = n % 2 === 0 ? get : elsewhere
        const { json } = await read('hot', 'limit=100')
        expect(json.data.map((comment: { id: string }) => comment.id)).toContain(id)
        await ok(service.call('PUT', `/comments/${id}/reaction`, { body: { type: 'like' }, headers: bob }))
        const seen = (await read('hot', 'limit=100', bob)).json.data.find(
          (comment: { id: string }) => comment.id === id,
        )
        expect(seen).toMatchObject({ viewerReaction: 'like', reactionCounts: { like: 1 } })
      }
      for (let round = 0; round < effort(4, 2); round++) {
        await Promise.all(Array.from({ length: 12 }, (_, n) => write(round * 12 + n)))
      }
      const [here, there] = [await get('hot', 'limit=100'), await elsewhere('hot', 'limit=100')]
      expect(there.json).toEqual(here.json)
      expect(etagOf(there)).toBe(etagOf(here))
    })
  })

  test('PAGE_CACHE_MB=0 caches none, and answers the same', async () => {
    await post('unkept', 'x')
    await withSecondProcess({ PAGE_CACHE_MB: 0 }, async (elsewhere) => {
      for (let n = 0; n < 2; n++) {
        const [kept, unkept] = [await get('unkept'), await elsewhere('unkept')]
        expect([unkept.text, etagOf(unkept)]).toEqual([kept.text, etagOf(kept)])
      }
    })
  })

  test('equal the database after every step of a long history; 304 only if nothing differs', async () => {
    const page = 'history'
    const ids: string[] = [(await post(page, 'root')).id]
    const random = randomOf(SEED)
    const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T
    const call = (method: string, path: string, options = {}) => service.call(method, path, options)
    const STEPS: (() => Promise<unknown>)[] = [
      async () => ids.push((await post(page, `text ${Math.random()} "é" 🎈`)).id),
      async () => {
        const { json, status } = await call('POST', pathOf(page).replace('?', ''), {
          body: { body: 'reply', parentId: pick(ids) },
          headers: pick([ann, bob]),
        })
        if (status === 201) ids.push(json.id as string)
      },
      () => call('PATCH', `/comments/${pick(ids)}`, { body: { body: `edit ${Math.random()}` }, headers: ann }),
      () =>
        call('POST', `/comments/${pick(ids)}/reactions`, {
          body: { type: pick(['like', 'wow']) },
          headers: pick([ann, bob]),
        }),
      () => call('POST', `/comments/${pick(ids)}/reactions`, { body: { type: pick(['like', 'wow']) }, headers: bob }),
      () => call('POST', `/comments/${pick(ids)}/${pick(['pin', 'unpin', 'reject', 'approve', 'approve'])}`),
      () => call('POST', `/comments/${pick(ids)}/approve`, { body: { message: `told ${Math.random()}` } }),
      () => call('POST', `/comments/${pick(ids)}/report`, { body: { reason: 'spam' }, headers: bob }),
      async () => (random() < 0.3 ? call('DELETE', `/comments/${pick(ids)}`) : undefined),
      async () => get(page, '', await renamed(pick(['ann', 'bob']))),
    ]
    const known = new Map<string, { etag: string; text: string }>()
    for (let n = 0; n < effort(150, 30); n++) {
      // Some at once, so that a page is asked for while it changes.
      await Promise.all([pick(STEPS)(), pick(STEPS)(), get(page, 'replies=3&sort=top'), get(page, 'replies=3', bob)])
      for (const sort of ['newest', 'oldest', 'top']) {
        const headers = pick([{}, {}, ann, bob])
        const parentId = random() < 0.2 ? pick(ids) : null
        const query = `replies=3&sort=${sort}${parentId === null ? '' : `&parentId=${parentId}`}`
        const answer = await get(page, query, headers)
        if (answer.status === 404) continue
        expect(answer.json, `${n} ${query}`).toEqual(await fromGraphQL(page, sort, headers, parentId))
        const name = `${query} ${headers['x-service-identity']}`
        const before = known.get(name)
        if (before !== undefined) {
          const { status } = await get(page, query, { ...headers, 'if-none-match': before.etag })
          if (status === 304) expect(answer.text).toBe(before.text)
          else expect(status).toBe(200)
        }
        known.set(name, { etag: etagOf(answer), text: answer.text })
      }
    }
    expect(ids.length).toBeGreaterThan(5)
  })
})

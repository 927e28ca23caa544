import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout } from 'node:timers/promises'

import { beforeAll, expect, test, vi } from 'vitest'

import { effort } from '../harness/effort.ts'
import { type TestTenant, useReaders, useService } from '../harness/service.ts'

// No page is kept, so that each is read.
const service = useService({ env: { PAGE_CACHE_MB: '0' } })
const { ann } = useReaders(service, 'ann')

const PAGES = Array.from({ length: 12 }, (_, n) => `page-${n}`)

beforeAll(async () => {
  for (const page of PAGES) await post(page, `first of ${page}`)
})

async function post(page: string, body: string): Promise<void> {
  const path = `/discussions/by-external/${page}/comments`
  await service.ok('POST', path, { body }, ann)
}

async function bodiesOf(page: string, query = '', headers: Record<string, string> = {}): Promise<string[]> {
  const { json } = await service.call('GET', `/discussions/by-external/${page}/comments?${query}`, { headers })
  return (json.data as { body: string }[]).map(({ body }) => body)
}

async function countsOf(externalIds: readonly string[], headers: Record<string, string> = {}): Promise<number[]> {
  const { json } = await service.call('POST', '/discussions/counts', { body: { externalIds }, headers })
  return (json.data as { externalId: string; commentCount: number }[]).map(({ externalId, commentCount }, n) => {
    expect(externalId).toBe(externalIds[n])
    return commentCount
  })
}

/**
 * The names of the statements of `count` requests. No statement runs before all requests have
 * arrived.
 */
async function statementsOf(count: number, run: () => Promise<unknown>): Promise<string[]> {
  const { query } = service.app.db
  let arrived = 0
  const arrive = (): void => void arrived++
  subscribe('http.server.request.start', arrive)
  const spy = vi.spyOn(service.app.db, 'query').mockImplementation(async (statement, params) => {
    await vi.waitFor(() => expect(arrived).toBe(count), { interval: 5 })
    // The last ones read their credentials.
    await setTimeout(20)
    return query(statement, params)
  })
  await run()
  const names = spy.mock.calls.map(([{ name }]) => name)
  spy.mockRestore()
  unsubscribe('http.server.request.start', arrive)
  return names
}

test('pages requested at the same time share statements, and each request gets its own', async () => {
  const names = await statementsOf(PAGES.length + 1, async () => {
    // One of them twice.
    const asked = [...PAGES, 'page-3']
    expect(await Promise.all(asked.map((page) => bodiesOf(page)))).toEqual(asked.map((page) => [`first of ${page}`]))
  })
  const reads = names.filter((name) => name.startsWith('roots'))
  expect(reads.length).toBeLessThan(PAGES.length)
  expect(reads).toContain('rootsOfEach_newest_start')
})

test('counts requested at the same time share statements, and each request gets its own', async () => {
  const names = await statementsOf(PAGES.length, async () => {
    const asked = PAGES.map((page, n) => (n % 2 === 0 ? [page, 'unknown', page] : ['unknown', page]))
    const counts = await Promise.all(asked.map((ids) => countsOf(ids)))
    expect(counts).toEqual(asked.map((_, n) => (n % 2 === 0 ? [1, 0, 1] : [0, 1])))
  })
  expect(names.filter((name) => name === 'discussion_counts').length).toBeLessThan(PAGES.length)
})

test('reactions of concurrent readers are read together, and each sees their own', async () => {
  const { json } = await service.call('GET', '/discussions/by-external/page-1/comments')
  const path = `/comments/${json.data[0].id}/reaction`
  const types = ['like', 'love', null, 'laugh', 'wow', null]
  const readers = await Promise.all(types.map((_, n) => service.as(`viewer-${n}`)))
  for (const [n, type] of types.entries()) {
    if (type !== null) await service.call('PUT', path, { body: { type }, headers: readers[n] ?? {} })
  }
  const look = (headers: Record<string, string>) =>
    service.call('GET', '/discussions/by-external/page-1/comments', { headers })
  // Their records are cached from here on.
  for (const headers of readers) await look(headers)
  const names = await statementsOf(readers.length, async () => {
    const pages = await Promise.all(readers.map(look))
    expect(pages.map((page) => page.json.data[0].viewerReaction)).toEqual(types)
  })
  expect(names.filter((name) => name === 'viewer_reactions').length).toBeLessThan(types.length)
})

test('GraphQL answers each of several concurrent readers with their own reactions, and others with none', async () => {
  await post('grouped', 'text')
  const { json } = await service.call('GET', '/discussions/by-external/grouped/comments')
  const path = `/comments/${json.data[0].id}/reaction`
  const types = ['like', null, 'love', null, 'like']
  const readers = await Promise.all(types.map((_, n) => service.as(`grouped-${n}`)))
  for (const [n, type] of types.entries()) {
    if (type !== null) await service.call('PUT', path, { body: { type }, headers: readers[n] ?? {} })
  }
  const query = `{ discussion(by: { externalId: "grouped" }) {
    comments { nodes { reactionGroups { type viewerHasReacted } } } } }`
  const held = async (headers: Record<string, string>): Promise<string | null> => {
    const { data } = (await service.graphql(query, {}, headers)).json
    const groups: { type: string; viewerHasReacted: boolean }[] = data.discussion.comments.nodes[0].reactionGroups
    return groups.find(({ viewerHasReacted }) => viewerHasReacted)?.type ?? null
  }
  // Their records are cached from here on.
  for (const headers of readers) await held(headers)
  const asked = [...readers, {}, ...readers, {}]
  const names = await statementsOf(asked.length, async () => {
    expect(await Promise.all(asked.map(held))).toEqual([...types, null, ...types, null])
  })
  expect(names.filter((name) => name.startsWith('roots')).length).toBeLessThan(asked.length)
})

test('pages of several sizes and orders do not mix', async () => {
  await post('long', 'one')
  await post('long', 'two')
  const queries = ['limit=1', 'limit=1&sort=oldest', 'limit=100', 'sort=oldest', 'sort=top&limit=1']
  const asked = [...queries, ...queries]
  const answers = await Promise.all(asked.map((query) => bodiesOf('long', query)))
  const expected = [['two'], ['one'], ['two', 'one'], ['one', 'two'], ['two']]
  expect(answers).toEqual([...expected, ...expected])
})

test('an answer is at least as new as its request, however many others are under way', async () => {
  let isOver = false
  const others = Array.from({ length: 6 }, async (_, n) => {
    while (!isOver) await Promise.all([bodiesOf(`page-${n}`), countsOf(['busy'])])
  })
  for (let n = 1; n <= effort(25, 8); n++) {
    await post('busy', `${n}`)
    const [bodies, counts] = await Promise.all([bodiesOf('busy', 'limit=1'), countsOf(['busy'])])
    expect(bodies).toEqual([`${n}`])
    expect(counts).toEqual([n])
  }
  isOver = true
  await Promise.all(others)
})

test('tenants share no statement', async () => {
  const other: TestTenant = await service.addTenant('other')
  const key = { 'x-api-key': other.apiKey }
  const body = { body: 'of the other tenant' }
  const headers = { ...key, ...(await other.as('ann')) }
  await service.call('POST', '/discussions/by-external/page-0/comments', { body, headers })
  const rounds = Array.from({ length: 8 }, () =>
    Promise.all([
      bodiesOf('page-0'),
      bodiesOf('page-0', '', key),
      countsOf(['page-0', 'page-1']),
      countsOf(['page-0', 'page-1'], key),
    ]),
  )
  for (const answers of await Promise.all(rounds)) {
    expect(answers).toEqual([['first of page-0'], ['of the other tenant'], [1, 1], [1, 0]])
  }
})

test('a failing statement fails only its own requests', async () => {
  const { query } = service.app.db
  let isFailed = false
  const spy = vi.spyOn(service.app.db, 'query').mockImplementation(async (statement, params) => {
    if (isFailed || statement.name !== 'discussion_counts') return query(statement, params)
    isFailed = true
    throw new Error('the database says no')
  })
  const ask = () => service.call('POST', '/discussions/counts', { body: { externalIds: ['page-0'] } })
  const statuses = (await Promise.all([ask(), ask(), ask()])).map(({ status }) => status)
  spy.mockRestore()
  expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 200, 500])
  expect(await countsOf(['page-0'])).toEqual([1])
})

test('a request in one transaction reads its own writes', async () => {
  const { json } = await service.graphql(
    `mutation { createComment(input: { discussion: { externalId: "page-5" }, body: "keyed" }) {
       comment { discussion { comments { edges { node { body } } } } } } }`,
    {},
    { ...ann, 'idempotency-key': 'keyed' },
  )
  const { edges } = json.data.createComment.comment.discussion.comments
  expect(edges.map(({ node }: { node: { body: string } }) => node.body)).toEqual(['keyed', 'first of page-5'])
})

test('a hanging statement delays no other request', async () => {
  const { query } = service.app.db
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  let hanging = 0
  const spy = vi.spyOn(service.app.db, 'query').mockImplementation(async (statement, params) => {
    if (statement.name === 'discussion_counts' && hanging < 2) {
      hanging++
      await released
    }
    return query(statement, params)
  })
  const stuck = [countsOf(['page-0']), countsOf(['page-1'])]
  await vi.waitFor(() => expect(hanging).toBe(2))
  expect(await Promise.all([countsOf(['page-2']), countsOf(['page-3'])])).toEqual([[1], [1]])
  release()
  expect(await Promise.all(stuck)).toEqual([[1], [1]])
  spy.mockRestore()
})

test('a request that has waited as long as for a connection answers 503', async () => {
  const { maxWaitMs } = service.app.db
  // So short that each request has waited too long when its turn comes.
  service.app.db.maxWaitMs = 0
  const { status, headers } = await service.call('POST', '/discussions/counts', { body: { externalIds: ['page-0'] } })
  service.app.db.maxWaitMs = maxWaitMs
  expect([status, headers.get('retry-after')]).toEqual([503, '1'])
})

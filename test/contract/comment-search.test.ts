import { beforeAll, describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { found, keyOf, page, post, queryOf } from '../harness/comment-search.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

describe('GET /comments?search=', () => {
  const TEXTS = [
    'Climate change: what now?',
    'The **climate** of opinion',
    'Changing places',
    'Élections à Genève – 1er tour',
    'Новости Москвы',
    '東京の天気',
    "O'Neill's “last” word at https://example.com/path",
    `${'x'.repeat(300)} end`,
  ] as const
  let tenant: TestTenant

  beforeAll(async () => {
    tenant = await service.addTenant(`texts-${newId()}`)
    for (const text of TEXTS) await post(service, tenant, text)
    await post(service, await service.addTenant(`others-${newId()}`), 'climate in another tenant')
  })

  test.each([
    ['a word', 'opinion', [1]],
    ['the beginning of the last word', 'clim', [1, 0]],
    ['all words, in any order', 'change climate', [0]],
    ['only the last one as a beginning', 'chang climate', []],
    ['case and accents aside', 'GENEVE elections', [3]],
    ['accents that are asked for aside', 'élèctions', [3]],
    ['other alphabets', 'МОСКВ', [4]],
    ['a script without spaces', '天気', [5]],
    ['words between punctuation', 'example path', [6]],
    ['no middle of a word', 'limate', []],
    ['a long word by its beginning', 'x'.repeat(200), [7]],
    ['what is syntax elsewhere', "o'neill & !last:*", [6]],
    ['nothing but punctuation', '&|!', []],
    ['nothing but a kashida', '\u0640', []],
    ['nothing but a vowel mark', '\u064E', []],
    ['a quote and a backslash', "\\' climate", [1, 0]],
  ])('finds %s: %s', async (_what, search, expected) => {
    expect((await found(service, tenant, { search })).map(({ body }) => body)).toEqual(expected.map((n) => TEXTS[n]))
  })

  test('follows edits and erasures, and keeps what is deleted', async () => {
    const reader = `reader-${newId()}`
    const word = `w${newId().replaceAll('-', '')}`
    const { id, author } = await post(service, tenant, `before ${word}`, { reader })
    const headers = { ...keyOf(tenant), ...(await tenant.as(reader)) }
    await service.ok('PATCH', `/comments/${id}`, { body: `after ${word}` }, headers)
    expect(await found(service, tenant, { search: `before ${word}` })).toEqual([])
    expect((await found(service, tenant, { search: `after ${word}` })).map((each) => each.id)).toEqual([id])
    await service.ok('DELETE', `/comments/${id}`, undefined, keyOf(tenant))
    expect((await found(service, tenant, { search: word })).map(({ status }) => status)).toEqual(['deleted'])
    await service.ok('DELETE', `/readers/${author.id}`, undefined, keyOf(tenant))
    expect(await found(service, tenant, { search: word })).toEqual([])
    const LEFT = unnamed('SELECT count(*)::int AS n FROM comment_search WHERE comment_id = $1')
    expect(await service.app.db.query(LEFT, [id])).toEqual([{ n: 0 }])
  })

  test.each([
    [{ search: '' }, 422, '/search'],
    [{ search: 'x'.repeat(256) }, 422, '/search'],
    [{ search: 'a\0b' }, 422, '/search'],
    [{ authorId: newId() }, 404, undefined],
    [{ discussionId: 'none' }, 404, undefined],
  ])('%j is %d', async (filter, status, pointer) => {
    const { json, ...answer } = await service.call('GET', `/comments?${queryOf(filter)}`, { headers: keyOf(tenant) })
    expect({ status: answer.status, pointer: json.errors?.[0]?.pointer }).toEqual({ status, pointer })
  })

  test('refuses a cursor of the other order, and a forged one', async () => {
    const { nextCursor } = await page(service, tenant, { limit: 1 })
    const forged = Buffer.from(JSON.stringify(['search-newest', newId(), 'index'])).toString('base64url')
    for (const filter of [{ cursor: nextCursor, sort: 'oldest' }, { cursor: forged }]) {
      const path = `/comments?${queryOf(filter)}`
      expect((await service.call('GET', path, { headers: keyOf(tenant) })).status).toBe(422)
    }
  })

  test('needs moderate_content', async () => {
    const { key } = await service.ok(
      'POST',
      '/keys',
      { label: 'plain', capabilities: ['manage_settings'] },
      keyOf(tenant),
    )
    const answer = await service.call('GET', '/comments', { headers: { 'x-api-key': key } })
    expect(answer.json.code).toBe('missing_capability')
  })
})

test('a search selects by the reason for which comments are held', async () => {
  const tenant = await service.addTenant(`reasons-${newId()}`)
  await service.ok('PATCH', '/settings', { suspectWords: ['casino'], maxLinks: 0 }, keyOf(tenant))
  const { id } = await post(service, tenant, 'a casino')
  await post(service, tenant, 'https://example.com/')
  expect((await found(service, tenant, { reason: 'suspect_word' })).map((each) => each.id)).toEqual([id])
  expect(await found(service, tenant, { reason: 'classifier' })).toEqual([])
})

test('GraphQL searches as REST does', async () => {
  const tenant = await service.addTenant(`graphql-${newId()}`)
  for (const text of ['one bee', 'two bees', 'a fox']) await post(service, tenant, text)
  const { json } = await service.graphql(
    `query { comments(search: "bee", sort: oldest, first: 1) {
      partial nodes { id body } pageInfo { hasNextPage endCursor } } }`,
    {},
    keyOf(tenant),
  )
  const { data, nextCursor } = await page(service, tenant, { search: 'bee', sort: 'oldest', limit: 1 })
  expect(json.data.comments).toEqual({
    partial: false,
    nodes: [{ id: data[0].id, body: 'one bee' }],
    pageInfo: { hasNextPage: true, endCursor: nextCursor },
  })
})

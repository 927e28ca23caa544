import { beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
let other: TestTenant
/** The key of a tenant with much text. */

beforeAll(async () => {
  other = await service.addTenant('other')
})
beforeEach(() => store({}))

const store = (settings: object) =>
  service.app.db.query(unnamed('UPDATE tenants SET settings = $2 WHERE id = $1'), [
    service.tenant.id,
    JSON.stringify(settings),
  ])
const patch = (body: object) => service.call('PATCH', '/settings', { body })
const settings = async () => (await service.call('GET', '/settings')).json
const post = async (body: string, headers?: Record<string, string>) =>
  service.ok('POST', '/discussions/by-external/words/comments', { body }, headers ?? (await service.as('ann')))
const attempt = (words: unknown) => service.call('POST', '/settings/word-matches', { body: { words } })

describe('an entry that would match nothing, or nearly everything', () => {
  test('is 422 with a pointer to it, and nothing is stored', async () => {
    const { status, json } = await patch({
      maxLinks: 7,
      bannedWords: ['fine', '*e*', 'C++'],
      suspectWords: ['\u0301abc', 'あ*'],
    })
    expect(status).toBe(422)
    expect(json.errors).toEqual([
      { pointer: '/bannedWords/1', code: 'wrong_format', message: expect.stringMatching(/nearly every text/) },
      { pointer: '/suspectWords/0', code: 'wrong_format', message: expect.stringMatching(/cannot match/) },
      { pointer: '/suspectWords/1', code: 'wrong_format', message: expect.stringMatching(/nearly every text/) },
    ])
    expect(await settings()).toMatchObject({ bannedWords: [], maxLinks: 5 })
  })

  test('is one error if it is empty', async () => {
    const { status, json } = await patch({ bannedWords: ['fine', '  '] })
    expect(status).toBe(422)
    expect(json.errors).toEqual([{ pointer: '/bannedWords/1', code: 'too_short', message: expect.any(String) }])
  })

  test('is not one with a * inside, which stands for itself', async () => {
    await post('So sh*t happens.')
    await post('So shoot happens.')
    expect((await attempt(['sh*t'])).json).toMatchObject({ matched: 1, entries: [{ entry: 'sh*t', matched: 1 }] })
  })

  test('that was stored under earlier rules stays to be read, matches nothing, and stops no other change', async () => {
    await store({ bannedWords: ['*e*', 'casino'] })
    expect((await settings()).bannedWords).toEqual(['*e*', 'casino'])
    expect((await patch({ maxLinks: 7 })).status).toBe(200)
    expect((await patch({ bannedWords: ['*e*', 'casino', 'poker'] })).status).toBe(200)
    expect((await patch({ bannedWords: ['*e*', 'poker', '*a*'] })).json.errors).toMatchObject([
      { pointer: '/bannedWords/2' },
    ])
    expect(await settings()).toMatchObject({ bannedWords: ['*e*', 'casino', 'poker'], maxLinks: 7 })
    await post('Here everyone agrees.')
  })
})

test('a banned word refuses what has it, in the text as written and as shown', async () => {
  await patch({ bannedWords: ['C++', '</a>', 'cặc', 'グロ', '*spam*', 'a < b'] })
  const refused = [
    'I dislike C++ a lot',
    'I dislike C\\+\\+ a lot',
    'x</a>',
    'đồ cặc này',
    'グロ画像',
    'anti**spam**mer',
  ]
  for (const body of refused) {
    const { json } = await service.call('POST', '/discussions/by-external/words/comments', {
      body: { body },
      headers: await service.as('ann'),
    })
    expect(json.errors, body).toMatchObject([{ pointer: '/body', code: 'banned_word' }])
  }
  for (const body of ['Vitamin C', 'a fine day', 'Các bạn', 'グローバル企業の話', 'a > b']) await post(body)
})

describe('POST /settings/word-matches', () => {
  test('answers how many of the latest comments a list would have caught, and which entries', async () => {
    const mine = await post('A casino in town')
    await post('Casinos in t**ow**n')
    await post('Good morning')
    const gone = await post('casino casino')
    await service.call('DELETE', `/comments/${gone.id}`)
    await service.call('POST', `/comments/${mine.id}/reject`)
    const theirs = { 'x-api-key': other.apiKey, ...(await other.as('bob')) }
    await post('A casino elsewhere', theirs)
    const { comments } = (await attempt(['nothing'])).json
    expect(comments).toBeGreaterThan(2)
    expect((await attempt(['lottery', 'casino', 'casino*', 'town', 'morning'])).json).toEqual({
      comments,
      matched: 3,
      entries: [
        { entry: 'casino*', matched: 2 },
        { entry: 'town', matched: 2 },
        { entry: 'casino', matched: 1 },
        { entry: 'morning', matched: 1 },
      ],
    })
    const query = 'query ($words: [String!]!) { wordMatches(words: $words) { comments matched } }'
    const { json } = await service.graphql(query, { words: ['casino'] })
    expect(json).toEqual({ data: { wordMatches: { comments, matched: 1 } } })
    expect((await settings()).bannedWords).toEqual([])
  })

  test('refuses entries as the settings do, and keys without the capability', async () => {
    const { status, json } = await attempt(['fine', '*e*'])
    expect([status, json.errors]).toEqual([422, [expect.objectContaining({ pointer: '/words/1' })]])
    expect((await attempt(['!!!'])).json.errors).toMatchObject([{ pointer: '/words/0' }])
    expect((await attempt('casino')).status).toBe(422)
    const { headers } = await service.newKey()
    const refused = await service.call('POST', '/settings/word-matches', { body: { words: ['casino'] }, headers })
    expect([refused.status, refused.json.code]).toEqual([403, 'missing_capability'])
  })
})

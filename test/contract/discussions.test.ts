import { describe, expect, test } from 'vitest'

import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

const create = (body: object) => service.call('POST', '/discussions', { body })

describe('POST /discussions', () => {
  test('answers 201 with the whole discussion, then 200 with the new title', async () => {
    const first = await create({ externalId: 'page-1', title: 'One', url: 'https://www.example.com/1' })
    expect(first.status).toBe(201)
    expect(first.json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      externalId: 'page-1',
      title: 'One',
      url: 'https://www.example.com/1',
      state: 'open',
      commentCount: 0,
      lastEventId: '0',
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: expect.any(String),
      lastCommentedAt: null,
      moderationMode: null,
      closesAt: null,
      slowModeSeconds: null,
    })
    const second = await create({ externalId: 'page-1', title: 'Two' })
    expect(second.status).toBe(200)
    expect(second.json).toMatchObject({ id: first.json.id, title: 'Two', url: 'https://www.example.com/1' })
  })

  test('20 at once with one external id create one discussion, and exactly one of them answers 201', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create({ externalId: 'race' })))
    expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1)
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  })

  test.each([
    [{}, '/externalId', 'required'],
    [{ externalId: '' }, '/externalId', 'too_short'],
    [{ externalId: 'x'.repeat(513) }, '/externalId', 'too_long'],
    [{ externalId: '.' }, '/externalId', 'invalid'],
    [{ externalId: '..' }, '/externalId', 'invalid'],
    [{ externalId: 'a\0b' }, '/externalId', 'invalid_character'],
    [{ externalId: 'a', url: 'javascript:alert(1)' }, '/url', 'invalid_url'],
  ])('a wrong body answers 422: %#', async (body, pointer, code) => {
    const answer = await create(body)
    expect(answer.status).toBe(422)
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/)
    expect(answer.json).toMatchObject({
      code: 'validation_failed',
      status: 422,
      requestId: answer.headers.get('x-request-id'),
    })
    expect(answer.json.errors).toContainEqual({ pointer, code, message: expect.any(String) })
  })
})

describe('GET /discussions', () => {
  test('pages by cursor, newest first, without repeats or gaps while more arrive', async () => {
    const made: string[] = []
    for (let n = 0; n < 7; n++) made.push((await create({ externalId: `list-${n}` })).json.id)
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const query = new URLSearchParams({ limit: '3', ...(cursor === null ? {} : { cursor }) })
      const page = await service.call('GET', `/discussions?${query}`)
      expect(page.status).toBe(200)
      expect(Object.keys(page.json).sort()).toEqual(['data', 'hasMore', 'nextCursor'])
      seen.push(...page.json.data.map(({ id }: { id: string }) => id))
      cursor = page.json.nextCursor
      expect(page.json.hasMore).toBe(cursor !== null)
      await create({ externalId: `late-${seen.length}` })
    } while (cursor !== null)
    expect(seen).toEqual([...new Set(seen)])
    expect(seen.filter((id) => made.includes(id))).toEqual(made.toReversed())
  })

  test('sort=active has the most recently commented first', async () => {
    const { json: quiet } = await create({ externalId: 'quiet' })
    await service.app.db.query(unnamed("UPDATE discussions SET active_at = now() - interval '1 day' WHERE id = $1"), [
      quiet.id,
    ])
    const page = await service.call('GET', '/discussions?sort=active&limit=100')
    expect(page.json.data.at(-1).id).toBe(quiet.id)
  })
})

describe('GET one discussion', () => {
  test('by id and by external id are the same, whatever characters the external id has', async () => {
    const externalId = 'a/b c?d=é&%#🎈'
    const { json } = await create({ externalId })
    const byId = await service.call('GET', `/discussions/${json.id}`)
    const byExternal = await service.call('GET', `/discussions/by-external/${encodeURIComponent(externalId)}`)
    expect(byId.json).toEqual(json)
    expect(byExternal.json).toEqual(json)
  })

  test.each([
    '/discussions/by-external/none',
    '/discussions/018f0000-0000-7000-8000-000000000000',
    '/discussions/not-an-id',
  ])('%s answers 404 not_found', async (path) => {
    const answer = await service.call('GET', path)
    expect(answer.status).toBe(404)
    expect(answer.json.code).toBe('not_found')
  })
})

test('POST /discussions/counts answers in the requested order, 0 for an unknown page', async () => {
  await create({ externalId: 'counted' })
  const comment = { body: { body: 'x' }, headers: await service.as('ann') }
  await service.call('POST', '/discussions/by-external/counted/comments', comment)
  const answer = await service.call('POST', '/discussions/counts', {
    body: { externalIds: ['never', 'counted', 'never'] },
  })
  expect(answer.status).toBe(200)
  expect(answer.json).toEqual({
    data: [
      { externalId: 'never', commentCount: 0, state: 'open', lastEventId: '0' },
      { externalId: 'counted', commentCount: 1, state: 'open', lastEventId: '1' },
      { externalId: 'never', commentCount: 0, state: 'open', lastEventId: '0' },
    ],
  })
  const tooMany = Array.from({ length: 201 }, (_, n) => String(n))
  for (const externalIds of [[], tooMany]) {
    expect((await service.call('POST', '/discussions/counts', { body: { externalIds } })).status).toBe(422)
  }
})

describe('a discussion whose comments alone are requested', () => {
  const COMMENTS = `query ($by: DiscussionBy!) {
    discussion(by: $by) { comments(first: 1) { edges { cursor } } } }`

  test('is found by either id, at the first time and from the cache', async () => {
    const { id } = (await create({ externalId: 'asked' })).json
    for (const key of [{ id }, { id }, { externalId: 'asked' }, { externalId: 'asked' }]) {
      const { json } = await service.graphql(COMMENTS, { by: key })
      expect(json).toEqual({ data: { discussion: { comments: { edges: [] } } } })
    }
    const whole = await service.graphql(COMMENTS.replace('comments', 'title externalId comments'), { by: { id } })
    expect(whole.json.data.discussion).toMatchObject({ title: null, externalId: 'asked' })
  })

  test('is not found in another tenant, by either id, although it is cached', async () => {
    const { id } = (await create({ externalId: 'mine' })).json
    expect((await service.graphql(COMMENTS, { by: { id } })).json.errors).toBeUndefined()
    const { apiKey } = await service.addTenant('other-comments')
    for (const key of [{ id }, { externalId: 'mine' }]) {
      const { json } = await service.graphql(COMMENTS, { by: key }, { 'x-api-key': apiKey })
      expect(json.errors).toMatchObject([{ path: ['discussion'], extensions: { code: 'not_found' } }])
    }
    const page = await service.call('GET', `/discussions/${id}/comments`, { headers: { 'x-api-key': apiKey } })
    expect(page.status).toBe(404)
  })

  test('is not found before it exists, and found from then on', async () => {
    const key = { externalId: 'not-yet' }
    expect((await service.graphql(COMMENTS, { by: key })).json.errors).toMatchObject([
      { extensions: { code: 'not_found' } },
    ])
    await create(key)
    expect((await service.graphql(COMMENTS, { by: key })).json.errors).toBeUndefined()
  })

  test('must be named by exactly one of its ids', async () => {
    const { id } = (await create({ externalId: 'both' })).json
    for (const key of [{ id, externalId: 'both' }, {}]) {
      const { json } = await service.graphql(COMMENTS, { by: key })
      expect(json.errors).toMatchObject([{ extensions: { code: 'validation_failed' } }])
    }
  })
})

test('a method that a path does not take answers 405 with Allow', async () => {
  const answer = await service.call('DELETE', '/discussions')
  expect(answer.status).toBe(405)
  expect(answer.json.code).toBe('method_not_allowed')
  expect(answer.headers.get('allow')?.split(', ').sort()).toEqual(['GET', 'POST'])
})

test.each([
  { body: '{"externalId":', type: 'application/json', status: 400, code: 'malformed_json' },
  { body: 'externalId=a', type: 'application/x-www-form-urlencoded', status: 415, code: 'unsupported_media_type' },
  { body: JSON.stringify({ a: 'x'.repeat(300_000) }), type: 'application/json', status: 413, code: 'body_too_large' },
])('a body that cannot be read answers $status $code', async ({ body, type, status, code }) => {
  const response = await fetch(`${service.url}/api/v1/discussions`, {
    method: 'POST',
    headers: { 'x-api-key': service.apiKey, 'content-type': type },
    body,
  })
  expect(response.status).toBe(status)
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/)
  expect(await response.json()).toMatchObject({ code })
})

test('X-Request-Id is echoed if it is well-formed, else generated', async () => {
  const given = await service.call('GET', '/discussions', { headers: { 'x-request-id': 'abc-123' } })
  expect(given.headers.get('x-request-id')).toBe('abc-123')
  const long = await service.call('GET', '/discussions', { headers: { 'x-request-id': 'x'.repeat(129) } })
  expect(long.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
})

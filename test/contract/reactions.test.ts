import { describe, expect, test, vi } from 'vitest'

import { eventRowsOf } from '../harness/event-rows.ts'
import { useReaders, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { statementsOf } from '../harness/statements.ts'

const service = useService()
const { ann, bob } = useReaders(service, 'ann', 'bob')

const newComment = async (page: string): Promise<{ id: string; discussionId: string }> =>
  (await service.call('POST', `/discussions/by-external/${page}/comments`, { body: { body: 'x' }, headers: ann })).json

const toggle = (id: string, type: string, headers = ann) =>
  service.call('POST', `/comments/${id}/reactions`, { body: { type }, headers })

const put = (id: string, type: string, headers = ann) =>
  service.call('PUT', `/comments/${id}/reaction`, { body: { type }, headers })

const eventsOf = (discussionId: string) => eventRowsOf(service.app.db, discussionId)

test('toggle adds, the same type again removes, another type replaces; each with its event', async () => {
  const { id, discussionId } = await newComment('toggle')
  expect((await toggle(id, 'like')).json).toEqual({ commentId: id, type: 'like', reactionCounts: { like: 1 } })
  expect((await toggle(id, 'love', bob)).json).toEqual({
    commentId: id,
    type: 'love',
    reactionCounts: { like: 1, love: 1 },
  })
  expect((await toggle(id, 'love')).json).toEqual({ commentId: id, type: 'love', reactionCounts: { love: 2 } })
  expect((await toggle(id, 'love')).json).toEqual({ commentId: id, type: null, reactionCounts: { love: 1 } })
  const events = await eventsOf(discussionId)
  expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
  expect(events.slice(1).map(({ data }) => [data.type, data.previousType, data.reactionCounts])).toEqual([
    ['like', null, { like: 1 }],
    ['love', null, { like: 1, love: 1 }],
    ['love', 'like', { love: 2 }],
    [null, 'love', { love: 1 }],
  ])
  expect(events[1]?.data).toMatchObject({ commentId: id, reader: { externalId: 'ann', name: 'Reader ann' } })
  expect((await service.call('GET', `/comments/${id}`)).json.reactionCounts).toEqual({ love: 1 })
})

test('PUT and DELETE are idempotent: the same answer, and no second event', async () => {
  const { id, discussionId } = await newComment('put')
  for (let n = 0; n < 3; n++)
    expect((await put(id, 'wow')).json).toEqual({ commentId: id, type: 'wow', reactionCounts: { wow: 1 } })
  for (let n = 0; n < 3; n++) {
    const removed = await service.call('DELETE', `/comments/${id}/reaction`, { headers: ann })
    expect([removed.status, removed.json]).toEqual([200, { commentId: id, type: null, reactionCounts: {} }])
  }
  expect(await eventsOf(discussionId)).toHaveLength(3)
})

test('60 toggles of three readers in parallel end in exact counts, one event each', async () => {
  const { id, discussionId } = await newComment('parallel')
  const cat = await service.as('cat')
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, n) => toggle(id, n % 2 === 0 ? 'like' : 'sad', [ann, bob, cat][n % 3])),
  )
  expect(answers.every(({ status }) => status === 200)).toBe(true)
  const held = await service.app.db.query<{ type: string; n: number }>(
    unnamed('SELECT type, count(*) AS n FROM reactions WHERE comment_id = $1 AND type IS NOT NULL GROUP BY type'),
    [id],
  )
  const { json } = await service.call('GET', `/comments/${id}`)
  expect(json.reactionCounts).toEqual(Object.fromEntries(held.map(({ type, n }) => [type, n])))
  expect((await eventsOf(discussionId)).map(({ seq }) => seq)).toEqual(Array.from({ length: 61 }, (_, n) => n + 1))
})

test('a reaction of a type that the tenant has removed is toggled off by its reader, and given by none', async () => {
  const { id } = await newComment('removed-type')
  const shadow = await service.as('shade')
  for (const headers of [ann, shadow]) expect((await toggle(id, 'angry', headers)).status).toBe(200)
  const { author } = await service.ok('POST', '/discussions/by-external/removed-type/comments', { body: 'y' }, shadow)
  await service.call('POST', `/readers/${author.id}/ban`, { body: { shadow: true } })
  const { reactionTypes } = (await service.call('GET', '/settings')).json
  const without = reactionTypes.filter((type: string) => type !== 'angry')
  expect((await service.call('PATCH', '/settings', { body: { reactionTypes: without } })).status).toBe(200)
  try {
    expect((await toggle(id, 'angry', bob)).json.errors).toMatchObject([{ pointer: '/type', code: 'not_allowed' }])
    expect((await put(id, 'angry')).json.errors).toMatchObject([{ pointer: '/type', code: 'not_allowed' }])
    expect((await toggle(id, 'angry', shadow)).json).toMatchObject({ type: null })
    expect((await toggle(id, 'angry')).json).toMatchObject({ type: null })
    expect((await toggle(id, 'angry')).json.errors).toMatchObject([{ code: 'not_allowed' }])
  } finally {
    await service.call('PATCH', '/settings', { body: { reactionTypes } })
  }
})

test.each([false, true])(
  'a toggle of a removed type leaves what another device sets meanwhile (shadow: %s)',
  async (isShadow) => {
    const page = `removed-type-${isShadow}`
    const { id } = await newComment(page)
    const name = `devices-${isShadow}`
    const reader = await service.as(name)
    expect((await toggle(id, 'angry', reader)).status).toBe(200)
    const path = `/discussions/by-external/${page}/comments`
    const { author } = (await service.call('POST', path, { body: { body: 'y' }, headers: reader })).json
    if (isShadow) await service.call('POST', `/readers/${author.id}/ban`, { body: { shadow: true } })
    const { reactionTypes } = (await service.call('GET', '/settings')).json
    const without = reactionTypes.filter((type: string) => type !== 'angry')
    await service.call('PATCH', '/settings', { body: { reactionTypes: without } })
    const { query } = service.app.db
    let hasSet = false
    const spy = vi.spyOn(service.app.db, 'query').mockImplementation(async (statement, ...params) => {
      const rows = await query(statement, ...params)
      if (!hasSet && statement.name === 'viewer_reactions') {
        hasSet = true
        expect((await put(id, 'like', reader)).status).toBe(200)
      }
      return rows
    })
    try {
      expect((await toggle(id, 'angry', reader)).json).toEqual({
        commentId: id,
        type: 'like',
        reactionCounts: { like: 1 },
      })
      expect(hasSet).toBe(true)
    } finally {
      spy.mockRestore()
      await service.call('PATCH', '/settings', { body: { reactionTypes } })
    }
  },
)

test('a type that the tenant does not have answers 422; an unknown comment 404; no identity 403', async () => {
  const { id } = await newComment('refused')
  const wrong = await toggle(id, 'meh')
  expect(wrong.json.errors).toEqual([{ pointer: '/type', code: 'not_allowed', message: expect.any(String) }])
  expect((await toggle('018f0000-0000-7000-8000-000000000000', 'like')).status).toBe(404)
  expect((await toggle('no-id', 'like')).status).toBe(404)
  expect((await toggle(id, 'like', {})).json.code).toBe('identity_required')
})

test.each([
  ['locked', 'discussion_locked'],
  ['archived', 'discussion_archived'],
])('in a discussion that is %s answers 409 %s, and changes nothing', async (state, code) => {
  const { id, discussionId } = await newComment(state)
  const set = unnamed(`UPDATE discussions SET state = '${state}' WHERE id = $1`)
  await service.app.db.query(set, [discussionId])
  expect((await toggle(id, 'like')).json.code).toBe(code)
  expect((await service.call('GET', `/comments/${id}`)).json.reactionCounts).toEqual({})
})

describe('GET /comments/{id}/reactions', () => {
  const who = (id: string, query = '', headers = {}) =>
    service.call('GET', `/comments/${id}/reactions?${query}`, { headers })

  test('answers the counts, and who reacted, the latest first', async () => {
    const { id } = await newComment('who')
    await put(id, 'like')
    await put(id, 'love', bob)
    await put(id, 'wow', await service.as('eve'))
    await service.call('DELETE', `/comments/${id}/reaction`, { headers: await service.as('eve') })
    await put(id, 'laugh')
    const { status, json } = await who(id)
    expect(status).toBe(200)
    const by = (externalId: string) => ({
      id: expect.any(String),
      externalId,
      name: `Reader ${externalId}`,
      avatarUrl: null,
      profileUrl: null,
      badges: [],
    })
    expect(json).toEqual({
      reactionCounts: { laugh: 1, love: 1 },
      data: [
        { type: 'laugh', reader: by('ann'), createdAt: expect.stringMatching(/Z$/) },
        { type: 'love', reader: by('bob'), createdAt: expect.stringMatching(/Z$/) },
      ],
      nextCursor: null,
      hasMore: false,
    })
  })

  test('pages of any size, of all types or of one, have each reader once, even if all reacted at one instant', async () => {
    const { id } = await newComment('who-many')
    for (let n = 0; n < 9; n++) await put(id, n % 3 === 0 ? 'like' : 'love', await service.as(`many-${n}`))
    const walk = async (query: string): Promise<string[]> => {
      const seen: string[] = []
      for (let cursor = ''; ;) {
        const { json } = await who(id, query + cursor)
        seen.push(...json.data.map(({ reader }: { reader: { externalId: string } }) => reader.externalId))
        if (json.hasMore !== true) return seen
        cursor = `&cursor=${json.nextCursor}`
      }
    }
    const all = Array.from({ length: 9 }, (_, n) => `many-${8 - n}`)
    for (const limit of [1, 4, 9, 100]) {
      expect(await walk(`limit=${limit}`)).toEqual(all)
      expect(await walk(`limit=${limit}&type=like`)).toEqual(['many-6', 'many-3', 'many-0'])
    }
    await service.app.db.query(unnamed('UPDATE reactions SET updated_at = now() WHERE comment_id = $1'), [id])
    expect((await walk('limit=2')).toSorted()).toEqual(all.toSorted())
    expect(await walk('type=angry')).toEqual([])
    expect(await walk('type=none-such')).toEqual([])
  })

  test('an impossible type, and a cursor of another list, answer 422', async () => {
    const { id } = await newComment('who-wrong')
    const list = await service.call('GET', '/discussions?limit=1')
    for (const [query, pointer] of [
      ['type=', '/type'],
      ['type=a%00b', '/type'],
      ['type=Like', '/type'],
      [`cursor=${list.json.nextCursor ?? 'x'}`, '/cursor'],
      ['limit=101', '/limit'],
    ]) {
      const { status, json } = await who(id, query)
      expect([status, json.errors?.[0].pointer]).toEqual([422, pointer])
    }
  })

  test('of a comment that is not in view answers 404, except to a moderator; GraphQL shows its author none', async () => {
    const { id } = await newComment('who-hidden')
    await put(id, 'like', bob)
    const plain = (await service.newKey()).headers
    expect((await who(id, '', plain)).json.data).toHaveLength(1)
    await service.call('PATCH', '/settings', { body: { moderationMode: 'pre' } })
    const { json } = await service.graphql(
      `mutation ($id: ID!) { updateComment(input: { commentId: $id, body: "held" }) {
        comment { status reactions { edges { node { type } } } } } }`,
      { id },
      { ...plain, ...ann },
    )
    await service.call('PATCH', '/settings', { body: { moderationMode: 'none' } })
    expect(json.data.updateComment.comment).toEqual({ status: 'pending', reactions: { edges: [] } })
    expect((await who(id, '', plain)).json).toMatchObject({ status: 404, code: 'not_found' })
    expect((await who(id)).json.data).toHaveLength(1)
  })
})

describe('reactionGroups of a comment', () => {
  const GROUPS = 'reactionGroups { type count viewerHasReacted }'
  const ONE = `query ($id: ID!) { comment(id: $id) { viewerReaction ${GROUPS} } }`
  type Group = [type: string, count: number, viewerHasReacted: boolean]

  const groupsIn = ({ reactionGroups }: { reactionGroups: Record<string, unknown>[] }): Group[] =>
    reactionGroups.map(({ type, count, viewerHasReacted }) => [type, count, viewerHasReacted] as Group)
  const groupsOf = async (id: string, headers = {}): Promise<Group[]> =>
    groupsIn((await service.graphql(ONE, { id }, headers)).json.data.comment)

  test('has all types of the tenant in their order, with zeros, and then former types', async () => {
    const tenant = await service.addTenant('groups')
    const key = { 'x-api-key': tenant.apiKey }
    const reader = { ...key, ...(await tenant.as('ann')) }
    const setTypes = (reactionTypes: string[]) =>
      service.call('PATCH', '/settings', { body: { reactionTypes }, headers: key })
    await setTypes(['zap', 'ant', 'mid', 'old'])
    const path = '/discussions/by-external/groups/comments'
    const { id } = (await service.call('POST', path, { body: { body: 'x' }, headers: reader })).json
    for (const [who, type] of [
      ['ann', 'old'],
      ['bob', 'old'],
      ['cat', 'ant'],
    ] as const) {
      await put(id, type, { ...key, ...(await tenant.as(who)) })
    }
    await setTypes(['mid', 'ant'])
    const expected: Group[] = [
      ['mid', 0, false],
      ['ant', 1, false],
      ['old', 2, true],
    ]
    expect(await groupsOf(id, reader)).toEqual(expected)
    expect(await groupsOf(id, key)).toEqual(expected.map(([type, count]) => [type, count, false]))
  })

  test('follows each write, in its own answer too', async () => {
    const { id } = await newComment('groups')
    const SET = `mutation ($id: ID!, $type: String!) { toggleReaction(input: { commentId: $id, type: $type }) {
      reaction { type } comment { viewerReaction ${GROUPS} } } }`
    for (const type of ['like', 'love', 'love', 'sad']) {
      const { json } = await service.graphql(SET, { id, type }, ann)
      const { reaction, comment } = json.data.toggleReaction
      expect(comment.viewerReaction).toBe(reaction.type)
      const held = groupsIn(comment).filter(([, count, isHeld]) => count > 0 || isHeld)
      expect(held).toEqual(reaction.type === null ? [] : [[reaction.type, 1, true]])
      expect(await groupsOf(id, ann)).toEqual(groupsIn(comment))
    }
  })

  test('costs no statement beside those of viewerReaction', async () => {
    const { id, discussionId } = await newComment('groups-cost')
    for (let n = 0; n < 4; n++) await newComment('groups-cost')
    await put(id, 'like')
    const statementsFor = async (fields: string): Promise<string[]> => {
      const query = `query ($id: ID!) { discussion(by: { id: $id }) { comments { edges { node { id ${fields} } } } } }`
      const { result, statements } = await statementsOf(service, () =>
        service.graphql(query, { id: discussionId }, ann),
      )
      expect(result.json.errors).toBeUndefined()
      return statements
    }
    const plain = await statementsFor('viewerReaction')
    expect(plain).toContain('viewer_reactions')
    for (const fields of [GROUPS, `viewerReaction ${GROUPS}`, `a: ${GROUPS} b: ${GROUPS}`]) {
      expect(await statementsFor(fields)).toEqual(plain)
    }
    expect(await statementsFor('reactionGroups { type count }')).not.toContain('viewer_reactions')
  })
})

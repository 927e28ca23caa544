import { beforeEach, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { exportText, importText } from '../harness/exports.ts'
import { type Headers, type Json, useKey, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { openStream } from '../harness/stream-client.ts'

const service = useService()
const moderator = useKey(service, 'moderate_content')
const settingsOnly = useKey(service, 'manage_settings')
let page: string

const IDS = ['staff', 'author', 'vip', 'helper', ...Array.from({ length: 16 }, (_, n) => `b${n}`)]
const BADGES = IDS.map((id) => ({ id, label: `The ${id}`, tone: 'info' }))
const EVENTS = unnamed('SELECT data::text AS data FROM events WHERE discussion_id = $1 ORDER BY seq')

beforeEach(async () => {
  page = newId()
  await define(BADGES)
})

const define = (badges: unknown, headers: Headers = {}) =>
  service.call('PATCH', '/settings', { headers, body: { badges } })
const give = (id: string, badges: unknown, headers: Headers = moderator) =>
  service.call('PUT', `/readers/${id}/badges`, { headers, body: { badges } })
const post = async (headers: Headers, body: object = {}): Promise<Json> =>
  service.ok('POST', `/discussions/by-external/${page}/comments`, { body: `Text ${newId()}`, ...body }, headers)
const stored = async (id: string): Promise<Json> =>
  (await service.call('GET', `/readers/${id}`, { headers: moderator })).json
const badgesOf = async (id: string): Promise<string[]> => (await stored(id)).badges

let seconds = Math.floor(Date.now() / 1000) - 300

/** The header of a newer assertion than all before it. */
const as = (name: string, claims: object = {}): Promise<Headers> => service.as(name, { iat: ++seconds, ...claims })

/** A new reader with a comment on the page. */
async function newReader(claims: object = {}): Promise<{ id: string; name: string; headers: Headers; comment: Json }> {
  const name = `reader-${newId()}`
  const headers = await as(name, claims)
  const comment = await post(headers)
  return { id: comment.author.id, name, headers, comment }
}

describe('the setting', () => {
  test('is empty at first, and public', async () => {
    const { apiKey } = await service.addTenant(`t-${newId()}`)
    const headers = { 'x-api-key': apiKey }
    expect((await service.call('GET', '/settings', { headers })).json.badges).toEqual([])
    await define([{ id: 'staff', label: '  Staff ' }], headers)
    const shown = [{ id: 'staff', label: 'Staff', tone: 'neutral' }]
    expect((await service.call('GET', '/settings', { headers })).json.badges).toEqual(shown)
    const query = '{ settings { badges { id label tone } } publicSettings { badges { id label tone } } }'
    const { data } = (await service.graphql(query, {}, headers)).json
    expect(data).toEqual({ settings: { badges: shown }, publicSettings: { badges: shown } })
    const body = (await service.call('GET', '/settings/public', { headers })).json
    expect(body.badges).toEqual(shown)
  })

  test('GraphQL sets it as a whole', async () => {
    const mutation = `mutation ($input: UpdateSettingsInput!) {
      updateSettings(input: $input) { settings { badges { id label tone } } } }`
    const badges = [{ id: 'one', label: 'One', tone: 'danger' }]
    const { data } = (await service.graphql(mutation, { input: { badges } })).json
    expect(data.updateSettings.settings.badges).toEqual(badges)
    expect((await service.call('GET', '/settings')).json.badges).toEqual(badges)
  })

  const badge = { id: 'a', label: 'A', tone: 'info' }
  test.each<[string, unknown, string]>([
    ['a text', 'staff', '/badges'],
    ['an object', { 0: badge }, '/badges'],
    ['null', null, '/badges'],
    ['texts', ['staff'], '/badges/0'],
    ['21', Array.from({ length: 21 }, (_, n) => ({ ...badge, id: `b${n}` })), '/badges'],
    ['the same id twice', [badge, { ...badge, label: 'B' }], '/badges'],
    ['no id', [{ label: 'A', tone: 'info' }], '/badges/0/id'],
    ['an empty id', [{ ...badge, id: '' }], '/badges/0/id'],
    ['an id of 33 characters', [{ ...badge, id: 'x'.repeat(33) }], '/badges/0/id'],
    ['an id in capitals', [{ ...badge, id: 'A' }], '/badges/0/id'],
    ['an id with a line break', [{ ...badge, id: 'a\n' }], '/badges/0/id'],
    ['__proto__', [{ ...badge, id: '__proto__' }], '/badges/0/id'],
    ['no label', [{ id: 'a', tone: 'info' }], '/badges/0/label'],
    ['a blank label', [{ ...badge, label: '  ' }], '/badges/0/label'],
    ['an invisible label', [{ ...badge, label: '\u200B\u2800' }], '/badges/0/label'],
    ['a label of 41 characters', [{ ...badge, label: 'x'.repeat(41) }], '/badges/0/label'],
    ['NUL in a label', [{ ...badge, label: 'a\0' }], '/badges/0/label'],
    ['an unknown tone', [{ ...badge, tone: 'loud' }], '/badges/0/tone'],
    ['an unknown field', [{ ...badge, grants: 'all' }], '/badges/0/grants'],
  ])('%s is 422', async (_what, badges, pointer) => {
    const { status, json } = await define(badges)
    expect([status, json.code]).toEqual([422, 'validation_failed'])
    expect(json.errors.map((error: Json) => error.pointer)).toContain(pointer)
    expect((await service.call('GET', '/settings')).json.badges).toEqual(BADGES)
  })

  test('a tone that only a newer release knows is neutral', async () => {
    const { tenant, apiKey } = await service.addTenant(`t-${newId()}`)
    const SET = unnamed('UPDATE tenants SET settings = $2::jsonb WHERE id = $1')
    const badges = [{ id: 'a', label: 'A', tone: 'loud' }]
    await service.app.db.query(SET, [tenant.id, JSON.stringify({ badges })])
    const { json } = await service.call('GET', '/settings', { headers: { 'x-api-key': apiKey } })
    expect(json.badges).toEqual([{ id: 'a', label: 'A', tone: 'neutral' }])
  })
})

describe('what moderators give', () => {
  test('is shown in the order of the setting, without repeats, and replaces the earlier ones', async () => {
    const { id } = await newReader()
    const answer = await give(id, ['vip', 'staff', 'vip'])
    expect([answer.status, answer.json]).toEqual([
      200,
      expect.objectContaining({ id, badges: ['staff', 'vip'], assignedBadges: ['staff', 'vip'], claimedBadges: [] }),
    ])
    await give(id, ['author'])
    expect(await badgesOf(id)).toEqual(['author'])
    await give(id, [])
    expect(await badgesOf(id)).toEqual([])
  })

  test('GraphQL does the same', async () => {
    const { id, comment } = await newReader()
    const mutation = `mutation ($input: SetReaderBadgesInput!) {
      setReaderBadges(input: $input) { reader { id badges assignedBadges claimedBadges } } }`
    const set = (badges: string[], headers = moderator) =>
      service.graphql(mutation, { input: { readerId: id, badges } }, headers)
    expect((await set(['vip'])).json.data.setReaderBadges.reader).toEqual({
      id,
      badges: ['vip'],
      assignedBadges: ['vip'],
      claimedBadges: [],
    })
    const query = 'query ($id: ID!) { comment(id: $id) { author { badges } } }'
    expect((await service.graphql(query, { id: comment.id })).json.data.comment.author.badges).toEqual(['vip'])
    const rest = await service.call('GET', `/comments/${comment.id}`)
    expect(rest.json.author).toEqual({ ...comment.author, badges: ['vip'] })
    const refused = await set(['vip', 'nobody'])
    expect(refused.json.errors[0].extensions).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: expect.stringMatching(/badges\/1$/) }],
    })
    expect((await set(['vip'], settingsOnly)).json.errors[0].extensions.code).toBe('missing_capability')
  })

  test.each<[string, unknown, string]>([
    ['a text', 'staff', '/badges'],
    ['a number', [1], '/badges/0'],
    ['a list with null', [null], '/badges/0'],
    ['a list in a list', [['staff']], '/badges/0'],
    ['an unknown id', ['staff', 'nobody'], '/badges/1'],
    ['an id in capitals', ['STAFF'], '/badges/0'],
    ['__proto__', ['__proto__'], '/badges/0'],
    ['constructor', ['constructor'], '/badges/0'],
    ['a very long id', ['x'.repeat(100_000)], '/badges/0'],
    ['eleven', IDS.slice(0, 11), '/badges'],
    ['10 000 times the same', Array(10_000).fill('staff'), '/badges'],
  ])('%s is 422', async (_what, badges, pointer) => {
    const { id } = await newReader()
    await give(id, ['vip'])
    const { status, json } = await give(id, badges)
    expect([status, json.code]).toEqual([422, 'validation_failed'])
    expect(json.errors.map((error: Json) => error.pointer)).toContain(pointer)
    expect(await badgesOf(id)).toEqual(['vip'])
  })

  test('needs moderate_content, and a reader of the tenant', async () => {
    const { id, headers } = await newReader()
    expect((await give(id, ['vip'], settingsOnly)).json.code).toBe('missing_capability')
    expect((await give(id, ['vip'], { 'x-api-key': '', ...headers })).json.code).toBe('missing_credentials')
    for (const unknown of [newId(), 'none']) expect((await give(unknown, ['vip'])).status).toBe(404)
    const other = await service.addTenant(`t-${newId()}`)
    const theirs = { 'x-api-key': other.apiKey }
    await define(BADGES, theirs)
    expect((await give(id, ['vip'], theirs)).json.code).toBe('not_found')
    const { json: minted } = await service.call('POST', '/client-tokens', { headers, body: {} })
    const mutation = `mutation ($id: ID!) {
      setReaderBadges(input: { readerId: $id, badges: ["vip"] }) { reader { id } } }`
    const asked = await service.graphql(mutation, { id }, { authorization: `Bearer ${minted.token}`, 'x-api-key': '' })
    expect(asked.json.errors).toHaveLength(1)
    expect(await badgesOf(id)).toEqual([])
  })

  test('has an audit entry for each change, and none for the same again', async () => {
    const { id } = await newReader()
    for (const badges of [[], ['vip'], ['vip', 'vip'], ['staff', 'vip'], []]) await give(id, badges)
    const AUDIT = unnamed('SELECT action, before, after FROM audit_log WHERE target_id = $1 ORDER BY id')
    const entry = (before: string[], after: string[]) => ({
      action: 'reader.set_badges',
      before: { badges: before },
      after: { badges: after },
    })
    expect(await service.app.db.query(AUDIT, [id])).toEqual([
      entry([], ['vip']),
      entry(['vip'], ['staff', 'vip']),
      entry(['staff', 'vip'], []),
    ])
  })

  test('the last of many at once is whole', async () => {
    const { id } = await newReader()
    const sets = [['vip'], ['staff', 'author'], [], ['helper']]
    const answers = await Promise.all([...sets, ...sets].map((badges) => give(id, badges)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(sets).toContainEqual(await badgesOf(id))
  })
})

describe('what an identity claims', () => {
  test('is shown in the order of the setting; unknown ids, repeats and what is beyond ten are ignored', async () => {
    const hostile = ['__proto__', 'constructor', 'x'.repeat(500), '', 'STAFF', '\0', 'a\ud800', 'staff ']
    const { id, comment } = await newReader({ badges: [...hostile, 'vip', 'staff', 'vip'] })
    expect(comment.author.badges).toEqual(['staff', 'vip'])
    expect(await stored(id)).toMatchObject({ badges: ['staff', 'vip'], assignedBadges: [] })
    const many = await newReader({ badges: [...IDS, ...IDS] })
    expect(many.comment.author.badges).toEqual(IDS.slice(0, 10))
  })

  test.each([['staff'], [{ 0: 'staff', length: 1 }], [[1]], [['staff', { id: 'staff' }]], [[null]], [7], [true]])(
    'is refused as %j',
    async (badges) => {
      const headers = await as(`reader-${newId()}`, { badges })
      const body = { body: 'Text' }
      const { status, json } = await service.call('POST', `/discussions/by-external/${page}/comments`, {
        headers,
        body,
      })
      expect([status, json.code]).toEqual([401, 'invalid_identity'])
    },
  )

  test('changes with a newer assertion, not with an older one, and ends where it is absent', async () => {
    const { id, name } = await newReader({ name: 'Ann', badges: ['vip'] })
    const iat = seconds
    expect((await post(await as(name, { name: 'Ann', badges: ['staff'] }))).author.badges).toEqual(['staff'])
    await post(await service.as(name, { iat, name: 'Ann', badges: ['vip'] }))
    expect(await badgesOf(id)).toEqual(['staff'])
    // Without any claim of the profile, an assertion changes nothing.
    await post(await as(name, { name: null }))
    expect(await badgesOf(id)).toEqual(['staff'])
    await post(await as(name, { name: 'Ann', badges: null }))
    expect(await badgesOf(id)).toEqual([])
    await post(await as(name, { name: 'Ann', badges: ['staff'] }))
    await post(await as(name, { name: null, badges: [] }))
    expect(await stored(id)).toMatchObject({ name: null, badges: [] })
  })

  test('writes nothing where it is the same', async () => {
    const { name } = await newReader({ name: 'Ann', badges: ['vip', 'staff'] })
    const VERSION = unnamed('SELECT profile_version::text AS version FROM tenants WHERE id = $1')
    const version = () => service.app.db.query(VERSION, [service.tenant.id])
    const before = await version()
    for (const badges of [
      ['vip', 'staff'],
      ['staff', 'vip', 'nobody'],
    ])
      await post(await as(name, { name: 'Ann', badges }))
    expect(await version()).toEqual(before)
    await post(await as(name, { name: 'Ann', badges: ['vip'] }))
    expect(await version()).not.toEqual(before)
  })

  test('a new badge of the setting counts from the next assertion on', async () => {
    const { name, comment } = await newReader({ name: 'Ann', badges: ['new', 'vip'] })
    expect(comment.author.badges).toEqual(['vip'])
    await define([{ id: 'new', label: 'New' }, ...BADGES.slice(0, 5)])
    expect((await post(await as(name, { name: 'Ann', badges: ['new', 'vip'] }))).author.badges).toEqual(['new', 'vip'])
  })

  test('grants nothing', async () => {
    await define([{ id: 'admin', label: 'Admin' }, ...BADGES.slice(0, 5)])
    const { headers } = await newReader({ badges: ['admin'] })
    const bare = { ...(await service.newKey()).headers, ...headers }
    expect((await service.call('GET', '/settings', { headers: bare })).json.code).toBe('missing_capability')
  })
})

describe('both', () => {
  test('are one list: first what moderators gave, then what is claimed; each can end by itself', async () => {
    const { id, name } = await newReader({ name: 'Ann', badges: ['staff', 'vip'] })
    await give(id, ['vip', 'author'])
    expect(await badgesOf(id)).toEqual(['author', 'vip', 'staff'])
    // The statement that takes the claim decides as the moderators' change does.
    const { author } = await post(await as(name, { name: 'Ann', badges: ['helper', 'vip'] }))
    expect(author.badges).toEqual(['author', 'vip', 'helper'])
    await give(id, [])
    expect(await badgesOf(id)).toEqual(['vip', 'helper'])
    await give(id, ['vip'])
    await post(await as(name, { name: 'Ann' }))
    expect(await stored(id)).toMatchObject({ badges: ['vip'], assignedBadges: ['vip'], claimedBadges: [] })
  })

  test('are ten at most, of which moderators have the first places', async () => {
    const claimed = IDS.slice(0, 10)
    const { id, name } = await newReader({ name: 'Ann', badges: claimed })
    const assigned = IDS.slice(10, 14)
    await give(id, assigned)
    const expected = [...assigned, ...claimed.slice(0, 6)]
    expect(await badgesOf(id)).toEqual(expected)
    await post(await as(name, { name: 'Anna', badges: claimed }))
    expect(await badgesOf(id)).toEqual(expected)
  })
})

describe('a change', () => {
  const DOCUMENT = `query Page($page: String!) { discussion(by: { externalId: $page }) {
    comments { nodes { id author { badges } replies(first: 3) { nodes { author { badges } } } } } } }`

  /** What pages of all kinds show of the only author. */
  async function shown(headers: Headers): Promise<string[][]> {
    const comments = `/discussions/by-external/${page}/comments`
    const query = { documentId: 'page', variables: JSON.stringify({ page }) }
    const kept = await fetch(`${service.url}/graphql?${String(new URLSearchParams(query))}`, { headers: moderator })
    const found = [
      (await service.call('GET', comments)).text,
      (await service.call('GET', `${comments}?replies=3&sort=top`)).text,
      (await service.call('GET', comments, { headers })).text,
      (await service.graphql(DOCUMENT, { page })).text,
      await kept.text(),
    ]
    return found.map((text) => [...new Set(text.match(/"badges":\[[^\]]*\]/g))])
  }

  test('reaches kept pages at once, by whomever it is', async () => {
    await service.call('POST', '/documents', { body: { manifest: { page: DOCUMENT } } })
    const { id, name, headers, comment } = await newReader({ name: 'Ann' })
    await post(headers, { parentId: comment.id })
    const expected = (...ids: string[]) => Array.from({ length: 5 }, () => [`"badges":${JSON.stringify(ids)}`])
    for (const _ of ['made', 'kept']) expect(await shown(headers)).toEqual(expected())
    await give(id, ['vip'])
    for (const _ of ['made', 'kept']) expect(await shown(headers)).toEqual(expected('vip'))
    const newer = await as(name, { name: 'Ann', badges: ['staff'] })
    await service.call('GET', '/readers/me', { headers: newer })
    expect(await shown(newer)).toEqual(expected('vip', 'staff'))
    await give(id, [])
    expect(await shown(newer)).toEqual(expected('staff'))
  })

  test('is in all events from then on; those of before keep what they had', async () => {
    const { id, headers, comment } = await newReader({ name: 'Ann' })
    await give(id, ['vip'])
    const second = await post(headers)
    await service.call('PATCH', `/comments/${comment.id}`, { headers, body: { body: 'Another text' } })
    await service.call('PUT', `/comments/${comment.id}/reaction`, { headers, body: { type: 'like' } })
    await service.call('POST', `/comments/${second.id}/pin`, { headers: moderator })
    const events = await service.app.db.query<{ data: string }>(EVENTS, [comment.discussionId])
    const badges = events.map(({ data }) => {
      const { comment: of, reader } = JSON.parse(data)
      return (of?.author ?? reader).badges
    })
    expect(badges).toEqual([[], ['vip'], ['vip'], ['vip'], ['vip']])
  })

  test('is streamed', async () => {
    const { id, headers, comment } = await newReader({ name: 'Ann' })
    const stream = await openStream(`${service.url}/api/v1/stream/${comment.discussionId}`, {
      'x-api-key': service.apiKey,
    })
    await vi.waitFor(() => expect(stream.connected).toBeDefined())
    await give(id, ['vip'])
    await post(headers)
    await vi.waitFor(() => expect(JSON.stringify(stream.events)).toContain('vip'))
    stream.close()
  })

  test('leaves events of before badges, which have none', async () => {
    const { headers, comment } = await newReader({ name: 'Ann', badges: ['vip'] })
    await service.call('PUT', `/comments/${comment.id}/reaction`, { headers, body: { type: 'like' } })
    const OLD = unnamed(
      "UPDATE events SET data = (data::jsonb #- '{reader,badges}')::json WHERE discussion_id = $1 AND seq = 2",
    )
    await service.app.db.query(OLD, [comment.discussionId])
    const query = `subscription ($id: ID!) { discussionEvents(discussionId: $id, lastEventId: "0") {
      seq data { ... on ReactionEventData { reader { badges } } } } }`
    const response = await fetch(`${service.url}/graphql/stream`, {
      method: 'POST',
      headers: { ...moderator, 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query, variables: { id: comment.discussionId } }),
    })
    const reader = response.body?.getReader()
    let text = ''
    await vi.waitFor(async () => {
      text += new TextDecoder().decode((await reader?.read())?.value)
      expect(text).toContain('"seq":2')
    })
    await reader?.cancel()
    expect(text).toContain('"reader":{"badges":[]}')
  })

  test('a new label changes no event and no author', async () => {
    const { id, comment } = await newReader()
    await give(id, ['vip'])
    await define([{ id: 'vip', label: 'Another label', tone: 'danger' }])
    expect((await service.call('GET', `/comments/${comment.id}`)).json.author.badges).toEqual(['vip'])
    // Pages ignore an id that the setting no longer has.
    await define([])
    expect(await badgesOf(id)).toEqual(['vip'])
    expect((await give(id, ['vip'])).status).toBe(422)
    expect((await give(id, [])).json.badges).toEqual([])
  })
})

describe('who sees which', () => {
  const QUERY = 'query ($id: ID!) { comment(id: $id) { author { badges assignedBadges claimedBadges } } }'

  test('everybody sees badges; who gave them is for those who see the record', async () => {
    const { id, headers, comment } = await newReader({ badges: ['staff'] })
    await give(id, ['vip'])
    const bare = await service.newKey()
    const author = async (as_: Headers) =>
      (await service.graphql(QUERY, { id: comment.id }, as_)).json.data.comment.author
    const all = { badges: ['vip', 'staff'], assignedBadges: ['vip'], claimedBadges: ['staff'] }
    const some = { badges: ['vip', 'staff'], assignedBadges: null, claimedBadges: null }
    for (const each of [moderator, settingsOnly]) expect(await author(each)).toEqual(all)
    expect(await author(bare.headers)).toEqual(some)
    const me = await service.call('GET', '/readers/me', { headers })
    expect(me.json).toMatchObject({ id, badges: ['vip', 'staff'] })
    expect(me.json).not.toHaveProperty('assignedBadges')
  })

  test('a tombstone has no author, and so none', async () => {
    const { id, headers, comment } = await newReader({ badges: ['staff'] })
    await post(headers, { parentId: comment.id })
    await service.call('DELETE', `/comments/${comment.id}`, { headers })
    expect((await service.call('GET', `/comments/${comment.id}`)).json.author).toBeNull()
    expect(await badgesOf(id)).toEqual(['staff'])
  })
})

test.each<[string[], string[], string[], string[]]>([
  [['vip'], ['staff'], ['staff', 'vip'], ['staff', 'vip', 'helper']],
  [[], ['staff'], ['staff'], ['staff', 'helper']],
  [['vip'], [], ['vip'], ['vip', 'helper']],
  [
    IDS.slice(5, 11),
    IDS.slice(11, 17),
    [...IDS.slice(11, 17), ...IDS.slice(5, 9)],
    [...IDS.slice(11, 17), ...IDS.slice(5, 9)],
  ],
])('the merge of a reader with %j into one with %j has %j', async (from, into, assigned, badges) => {
  const goes = await newReader({ badges: ['author'] })
  const stays = await newReader({ badges: ['helper'] })
  await give(goes.id, from)
  await give(stays.id, into)
  const list = () => service.call('GET', `/discussions/by-external/${page}/comments`)
  await list()
  const { json } = await service.call('POST', `/readers/${goes.id}/merge`, { body: { into: stays.id } })
  expect(json).toMatchObject({ badges, assignedBadges: assigned, claimedBadges: ['helper'] })
  const authors = (await list()).json.data.map(({ author }: Json) => [author.id, author.badges])
  expect(authors).toEqual([
    [stays.id, badges],
    [stays.id, badges],
  ])
  // The former reader's own assertions lead to the one who stays, and change no profile.
  expect((await post(await as(goes.name, { badges: ['author'] }))).author).toMatchObject({ id: stays.id, badges })
})

test("a reader's own data have them, and an erasure takes them", async () => {
  const { id, name, comment } = await newReader({ badges: ['staff'] })
  await give(id, ['vip'])
  const { json } = await service.call('GET', `/readers/${id}/export`)
  expect(json.reader).toMatchObject({ badges: ['vip', 'staff'], assignedBadges: ['vip'], claimedBadges: ['staff'] })
  expect((await service.call('DELETE', `/readers/${id}`)).status).toBe(204)
  const ROW = unnamed(
    'SELECT badges, assigned_badges AS assigned, claimed_badges AS claimed FROM readers WHERE id = $1',
  )
  for (const row of await service.app.db.query(ROW, [id]))
    expect(row).toEqual({ badges: [], assigned: [], claimed: [] })
  const events = await service.app.db.query<{ data: string }>(EVENTS, [comment.discussionId])
  expect(JSON.stringify(events)).not.toMatch(/vip|staff/)
  const AUDIT = unnamed("SELECT before, after FROM audit_log WHERE target_id = $1 AND action = 'reader.set_badges'")
  for (const row of await service.app.db.query(AUDIT, [id])) expect(row).toEqual({ before: null, after: null })
  expect((await post(await as(name))).author.badges).toEqual([])
})

describe('an export and an import', () => {
  test('keep them', async () => {
    const [from, to] = [await service.addTenant(`from-${newId()}`), await service.addTenant(`to-${newId()}`)]
    const key = { 'x-api-key': from.apiKey }
    await define([...BADGES.slice(0, 5), { id: 'null', label: 'Null' }], key)
    const ids: Record<string, string> = {}
    for (const [name, badges] of [
      ['both', ['staff']],
      ['claims', ['author', 'null']],
      ['given', []],
      ['none', null],
    ] as const) {
      const { author } = await post({ ...key, ...(await from.as(name, { name, badges })) })
      ids[name] = author.id
    }
    await give(String(ids.both), ['vip', 'null'], key)
    await give(String(ids.given), ['helper'], key)
    const text = await exportText(service.app, from)
    const readers = text.split('\n').filter((line) => line.includes('"kind":"reader"'))
    expect(readers.filter((line) => line.includes('Badges'))).toHaveLength(3)
    const report = await importText(service.app, to, text)
    expect([report.refused.total, report.changed.total]).toEqual([0, 0])
    const ROWS = unnamed(
      `SELECT external_id AS name, badges, assigned_badges AS assigned, claimed_badges AS claimed
       FROM readers WHERE tenant_id = $1 ORDER BY external_id`,
    )
    const rows = await service.app.db.query(ROWS, [to.tenant.id])
    expect(rows).toEqual(await service.app.db.query(ROWS, [from.tenant.id]))
    expect(rows).toEqual([
      { name: 'both', badges: ['vip', 'null', 'staff'], assigned: ['vip', 'null'], claimed: ['staff'] },
      { name: 'claims', badges: ['author', 'null'], assigned: [], claimed: ['author', 'null'] },
      { name: 'given', badges: ['helper'], assigned: ['helper'], claimed: [] },
      { name: 'none', badges: [], assigned: [], claimed: [] },
    ])
  })

  test('of a file that was made by hand, the form is checked', async () => {
    const to = await service.addTenant(`t-${newId()}`)
    const lines = [
      { assignedBadges: ['a', 'a'], claimedBadges: ['b'] },
      { assignedBadges: ['{"}'] },
      { assignedBadges: ['"},{"'] },
      { assignedBadges: ['__proto__'] },
      { claimedBadges: 'staff' },
      { claimedBadges: [null] },
      { claimedBadges: Array.from({ length: 11 }, (_, n) => `b${n}`) },
    ].map((badges, n) => JSON.stringify({ kind: 'reader', id: `r${n}`, externalId: `r${n}`, ...badges }))
    const report = await importText(service.app, to, lines.join('\n'))
    expect(report.refused.total).toBe(6)
    const ROWS = unnamed('SELECT external_id AS name, badges FROM readers WHERE tenant_id = $1')
    expect(await service.app.db.query(ROWS, [to.tenant.id])).toEqual([{ name: 'r0', badges: ['a', 'b'] }])
  })
})

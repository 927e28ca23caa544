import { beforeEach, describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { exportText, importText } from '../harness/exports.ts'
import { type Headers, type Json, useKey, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
const moderator = useKey(service, 'moderate_content')
const settingsOnly = useKey(service, 'manage_settings')

const DEFAULTS = {
  moderationMode: 'none',
  bannedWords: ['banned'],
  suspectWords: ['suspect'],
  maxLinks: 0,
  holdFirstComments: 0,
  classifier: null,
}
const set = (settings: object) => service.call('PATCH', '/settings', { body: { ...DEFAULTS, ...settings } })

beforeEach(() => set({}))

/** A new reader, with one comment. */
async function newReader(): Promise<{ id: string; name: string; headers: Headers }> {
  const name = `reader-${newId()}`
  const headers = await service.as(name)
  const { json } = await post(headers)
  return { id: json.author.id, name, headers }
}
const post = (headers: Headers, body = `Text ${newId()}`, more: object = {}, page = newId()) =>
  service.call('POST', `/discussions/by-external/${page}/comments`, { headers, body: { body, ...more } })
const trust = (id: string, value: string, headers = moderator) =>
  service.call('PUT', `/readers/${id}/trust`, { headers, body: { trust: value } })
async function reader(value: string) {
  const made = await newReader()
  const { status, json } = await trust(made.id, value)
  expect([status, json.trust]).toEqual([200, value])
  return made
}
const queued = async (id: string): Promise<Json> => {
  const queues = ['pending', 'reported'].map((status) =>
    service.call('GET', `/moderation/queue?status=${status}&sort=newest&limit=20`),
  )
  const items = (await Promise.all(queues)).flatMap(({ json }) => json.data)
  return items.find(({ comment }: Json) => comment.id === id)
}
const reasonOf = async (id: string): Promise<string | undefined> => (await queued(id))?.reason

describe('hold', () => {
  test('makes each comment, reply and edit pending, for a reason of its own', async () => {
    const { id, headers } = await newReader()
    const page = newId()
    const { json: before } = await post(headers, 'Written before', {}, page)
    await trust(id, 'hold')
    const { json: comment } = await post(headers)
    expect([comment.status, await reasonOf(comment.id)]).toEqual(['pending', 'held_reader'])
    const { json: reply } = await post(headers, 'A reply', { parentId: before.id }, page)
    expect([reply.status, await reasonOf(reply.id)]).toEqual(['pending', 'held_reader'])
    const edited = await service.call('PATCH', `/comments/${before.id}`, { headers, body: { body: 'Another text' } })
    expect([edited.json.status, await reasonOf(before.id)]).toEqual(['pending', 'held_reader'])
    // A moderator approves it as any other.
    expect((await service.call('POST', `/comments/${comment.id}/approve`)).json.status).toBe('approved')
  })

  test.each(['post', 'pre'])(
    'holds in moderation mode %s as well, of the tenant and of the discussion',
    async (mode) => {
      const { headers } = await reader('hold')
      await set({ moderationMode: mode })
      const { json } = await post(headers, 'A suspect text')
      expect([json.status, await reasonOf(json.id)]).toEqual(['pending', 'held_reader'])
      await set({})
      const { json: page } = await service.call('POST', '/discussions', { body: { externalId: newId() } })
      await service.call('PATCH', `/discussions/${page.id}`, { body: { moderationMode: mode } })
      const there = await post(headers, 'Text', {}, page.externalId)
      expect([there.json.status, await reasonOf(there.json.id)]).toEqual(['pending', 'held_reader'])
    },
  )

  test('asks no classifier', async () => {
    const { headers } = await reader('hold')
    await set({ classifier: { url: 'https://classifier.example.com/', fallback: 'approve' } })
    const { json } = await post(headers)
    expect([json.status, await reasonOf(json.id)]).toEqual(['pending', 'held_reader'])
    const ASKED = unnamed('SELECT 1 FROM classifier_requests WHERE comment_id = $1')
    expect(await service.app.db.query(ASKED, [json.id])).toEqual([])
  })

  test('ends with normal', async () => {
    const { id, headers } = await reader('hold')
    await trust(id, 'normal')
    expect((await post(headers)).json.status).toBe('approved')
  })

  test('is in force for the next comment, whichever process takes it', async () => {
    const { id, headers } = await newReader()
    await trust(id, 'hold')
    const many = await Promise.all(Array.from({ length: 8 }, () => post(headers)))
    expect(many.map(({ json }) => json.status)).toEqual(many.map(() => 'pending'))
  })
})

describe('never_hold', () => {
  const CASES: readonly [string, object, string][] = [
    ['suspect words', {}, 'A suspect text'],
    ['links', {}, 'See https://one.example'],
    ['first comments', { holdFirstComments: 50 }, 'A first text'],
    ['pre-moderation', { moderationMode: 'pre' }, 'A text'],
    ['the flag of mode post', { moderationMode: 'post' }, 'A suspect text'],
    ['the classifier', { classifier: { url: 'https://classifier.example.com/', fallback: 'hold' } }, 'A text'],
  ]
  test.each(CASES)('passes %s, in new comments and edits', async (_rule, settings, body) => {
    const { headers } = await reader('never_hold')
    await set(settings)
    const { json } = await post(headers, body)
    expect([json.status, await queued(json.id)]).toEqual(['approved', undefined])
    const edited = await service.call('PATCH', `/comments/${json.id}`, { headers, body: { body: `${body} again` } })
    expect([edited.json.status, await queued(json.id)]).toEqual(['approved', undefined])
  })

  test('passes pre-moderation of the discussion, and the same text twice', async () => {
    const { headers } = await reader('never_hold')
    const { json: page } = await service.call('POST', '/discussions', { body: { externalId: newId() } })
    await service.call('PATCH', `/discussions/${page.id}`, { body: { moderationMode: 'pre' } })
    const text = 'The same text, which is long enough'
    const both = [await post(headers, text, {}, page.externalId), await post(headers, text, {}, page.externalId)]
    expect(both.map(({ json }) => json.status)).toEqual(['approved', 'approved'])
  })

  test('is no way past banned words and bans', async () => {
    const { id, headers } = await reader('never_hold')
    expect((await post(headers, 'A banned text')).json.errors).toMatchObject([{ code: 'banned_word' }])
    await service.call('POST', `/readers/${id}/ban`, { body: { shadow: true } })
    const { json } = await post(headers)
    expect([json.status, await reasonOf(json.id)]).toEqual(['approved', 'shadow_ban'])
    await service.call('POST', `/readers/${id}/ban`, { body: {} })
    expect((await post(headers)).json.code).toBe('reader_banned')
  })
})

test('a ban refuses a reader who is held, and one in shadow holds their comments', async () => {
  const { id, headers } = await reader('hold')
  await service.call('POST', `/readers/${id}/ban`, { body: { shadow: true } })
  // Pending to the author too, as it is without the ban.
  const { json } = await post(headers)
  expect([json.status, await reasonOf(json.id)]).toEqual(['pending', 'held_reader'])
  await service.call('POST', `/readers/${id}/ban`, { body: {} })
  expect((await post(headers)).json.code).toBe('reader_banned')
})

describe('who sees it', () => {
  const QUERY = 'query ($id: ID!) { reader(id: $id) { trust } }'
  const AUTHOR = 'query ($id: ID!) { comment(id: $id) { author { trust } } }'

  test('those who moderate: of the reader, in lists, and of authors', async () => {
    const { id, name, headers } = await reader('hold')
    expect((await service.call('GET', `/readers/${id}`, { headers: moderator })).json.trust).toBe('hold')
    const list = await service.call('GET', `/readers?externalId=${name}`, { headers: moderator })
    expect(list.json.data).toMatchObject([{ id, trust: 'hold' }])
    expect((await service.graphql(QUERY, { id }, moderator)).json.data.reader.trust).toBe('hold')
    const { json: comment } = await post(headers)
    const { json } = await service.graphql(AUTHOR, { id: comment.id }, moderator)
    expect(json.data.comment.author.trust).toBe('hold')
  })

  test('neither readers, nor keys without moderate_content, nor client tokens, nor events', async () => {
    const { id, headers } = await newReader()
    const page = newId()
    const { json: comment } = await post(headers, 'Seen by all', {}, page)
    await trust(id, 'never_hold')
    // With a key that may moderate, the viewer is still the reader.
    const me = await service.call('GET', '/readers/me', { headers })
    expect(me.json).not.toHaveProperty('trust')
    const viewer = await service.graphql('{ viewer { trust } }', {}, headers)
    expect(viewer.json.data.viewer).toEqual({ trust: null })
    const author = await service.graphql(AUTHOR, { id: comment.id }, settingsOnly)
    expect(author.json.data.comment.author.trust).toBeNull()
    expect((await trust(id, 'hold', settingsOnly)).json.code).toBe('missing_capability')
    const { json: minted } = await service.call('POST', '/client-tokens', { headers, body: {} })
    const asked = await service.graphql(
      AUTHOR,
      { id: comment.id },
      { authorization: `Bearer ${minted.token}`, 'x-api-key': '' },
    )
    expect(JSON.stringify(asked.json)).not.toContain('never_hold')
    const listed = await service.call('GET', `/discussions/by-external/${page}/comments`)
    expect(listed.text).not.toContain('trust')
    await post(headers, 'One more', {}, page)
    const EVENTS = unnamed('SELECT data::text AS data, actor::text AS actor FROM events WHERE tenant_id = $1')
    const events = await service.app.db.query(EVENTS, [service.tenant.id])
    expect(JSON.stringify(events)).not.toContain('trust')
  })

  test('another tenant neither sees nor sets it', async () => {
    const { id } = await reader('hold')
    const other = await service.addTenant(`other-${newId()}`)
    const theirs = { 'x-api-key': other.apiKey }
    expect((await trust(id, 'normal', theirs)).json.code).toBe('not_found')
    const headers = { ...theirs, ...(await other.as('someone')) }
    expect((await post(headers)).json.status).toBe('approved')
    expect((await service.call('GET', `/readers/${id}`)).json.trust).toBe('hold')
  })
})

test('an unknown reader is 404', async () => {
  for (const id of [newId(), 'none']) expect((await trust(id, 'hold')).status).toBe(404)
})

test('each change is in the audit log once; the same value again writes no entry', async () => {
  const { id } = await newReader()
  for (const value of ['normal', 'hold', 'hold', 'never_hold']) await trust(id, value)
  const AUDIT = unnamed('SELECT action, before, after FROM audit_log WHERE target_id = $1 ORDER BY id')
  expect(await service.app.db.query(AUDIT, [id])).toEqual([
    { action: 'reader.set_trust', before: { trust: 'normal' }, after: { trust: 'hold' } },
    { action: 'reader.set_trust', before: { trust: 'hold' }, after: { trust: 'never_hold' } },
  ])
})

test('two at once leave one of both, and an entry for each change', async () => {
  const { id } = await newReader()
  const answers = await Promise.all(['hold', 'never_hold', 'hold', 'never_hold'].map((value) => trust(id, value)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  const AUDIT = unnamed(
    "SELECT before, after FROM audit_log WHERE target_id = $1 AND action = 'reader.set_trust' ORDER BY id",
  )
  const entries = await service.app.db.query<{ before: Json; after: Json }>(AUDIT, [id])
  const { json } = await service.call('GET', `/readers/${id}`)
  expect(entries.length).toBeGreaterThan(0)
  const afters = entries.map(({ after }) => after.trust)
  expect(afters).toContain(json.trust)
})

test('a new profile leaves it, and an erasure takes it', async () => {
  const { id, name } = await reader('hold')
  const renamed = await service.as(name, { name: 'Another name', iat: Math.floor(Date.now() / 1000) + 5 })
  expect((await post(renamed)).json).toMatchObject({ status: 'pending', author: { name: 'Another name' } })
  await service.call('DELETE', `/readers/${id}`)
  const TRUST = unnamed('SELECT trust::text AS trust FROM readers WHERE id = $1')
  for (const row of await service.app.db.query(TRUST, [id])) expect(row).toEqual({ trust: 'normal' })
  const AUDIT = unnamed('SELECT before, after FROM audit_log WHERE target_id = $1')
  for (const row of await service.app.db.query(AUDIT, [id])) expect(row).toEqual({ before: null, after: null })
  expect((await post(await service.as(name))).json.status).toBe('approved')
})

test.each([
  ['hold', 'never_hold', 'hold'],
  ['never_hold', 'hold', 'hold'],
  ['normal', 'never_hold', 'normal'],
  ['never_hold', 'normal', 'normal'],
  ['never_hold', 'never_hold', 'never_hold'],
])('the merge of %s into %s is %s', async (from, into, stays) => {
  const [goes, target] = [await reader(from), await reader(into)]
  const { json } = await service.call('POST', `/readers/${goes.id}/merge`, { body: { into: target.id } })
  expect(json.trust).toBe(stays)
})

test('an export and an import keep it', async () => {
  const [from, to] = [await service.addTenant(`from-${newId()}`), await service.addTenant(`to-${newId()}`)]
  for (const value of ['hold', 'never_hold', 'normal']) {
    const headers = { 'x-api-key': from.apiKey, ...(await from.as(value)) }
    const { json } = await post(headers)
    await trust(json.author.id, value, { 'x-api-key': from.apiKey })
  }
  const text = await exportText(service.app, from)
  expect(text.split('\n').filter((line) => line.includes('"kind":"reader"') && line.includes('trust'))).toHaveLength(2)
  const report = await importText(service.app, to, text)
  expect([report.refused.total, report.changed.total]).toEqual([0, 0])
  const TRUSTS = unnamed(
    'SELECT external_id AS name, trust::text AS trust FROM readers WHERE tenant_id = $1 ORDER BY external_id',
  )
  expect(await service.app.db.query(TRUSTS, [to.tenant.id])).toEqual(
    ['hold', 'never_hold', 'normal'].map((value) => ({ name: value, trust: value })),
  )
})

import { afterEach, beforeAll, describe, expect, test } from 'vitest'

import { tenantSettings } from '../../src/core/settings/tenant.ts'
import { type Headers, type TestTenant, useKey, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
let other: TestTenant
const publicKey = useKey(service)

beforeAll(async () => {
  other = await service.addTenant('other')
})

const { moderationMode, bannedWords, suspectWords, maxLinks, holdFirstComments, reportThreshold } = tenantSettings({})
const DEFAULTS = { moderationMode, bannedWords, suspectWords, maxLinks, holdFirstComments, reportThreshold }

const set = async (body: object) =>
  expect((await service.call('PATCH', '/settings', { body })).status, JSON.stringify(body)).toBe(200)
afterEach(() => set(DEFAULTS))

let readers = 0
/** A new reader. */
const newReader = () => service.as(`reader-${++readers}`)

const send = (body: string, headers: Headers, page = 'rules') =>
  service.call('POST', `/discussions/by-external/${page}/comments`, { body: { body }, headers })
const post = async (body: string, headers?: Headers, page?: string) => {
  const { status, json, text } = await send(body, headers ?? (await newReader()), page)
  expect(status, text).toBe(201)
  return json
}
const edit = (id: string, body: string, headers: Headers) =>
  service.call('PATCH', `/comments/${id}`, { body: { body }, headers })
const act = (id: string, verb: string) => service.call('POST', `/comments/${id}/${verb}`)
const isPublic = async (id: string) =>
  (await service.call('GET', `/comments/${id}`, { headers: publicKey })).status === 200

/** What moderators see of a comment in a queue; undefined where it is not in it. */
const queued = async (id: string, status = 'pending') => {
  const { data } = (await service.call('GET', `/moderation/queue?limit=100&status=${status}`)).json
  return data.find(({ comment }: { comment: { id: string } }) => comment.id === id)
}
const reasonOf = async (id: string, status?: string) => (await queued(id, status))?.reason

const EVENTS = unnamed(`SELECT type, audience FROM events WHERE data->'comment'->>'id' = $1 ORDER BY seq`)
const eventsOf = async (id: string) =>
  (await service.app.db.query<{ type: string; audience: string }>(EVENTS, [id])).map(
    ({ type, audience }) => `${type} ${audience}`,
  )

const LONG = 'A text that is long enough to be a repetition.'

test('a banned word refuses a comment and an edit with 422, and nothing is stored', async () => {
  await set({ bannedWords: ['forbidden fruit'] })
  const reader = await newReader()
  const refusal = {
    code: 'validation_failed',
    errors: [{ pointer: '/body', code: 'banned_word', message: 'has a word that is not allowed here' }],
  }
  const { status, json, text } = await send('Of FORBIDDEN fruit', reader, 'page-of-nobody')
  expect([status, json]).toEqual([422, expect.objectContaining(refusal)])
  expect(text).not.toMatch(/fruit/i)
  expect((await service.call('GET', '/discussions/by-external/page-of-nobody')).status).toBe(404)
  const { id } = await post('An apple', reader)
  expect((await edit(id, 'A *forbidden* fruit', reader)).json).toMatchObject(refusal)
  expect((await service.call('GET', `/comments/${id}`)).json).toMatchObject({ body: 'An apple', revision: 1 })
  expect(await eventsOf(id)).toEqual(['comment_created public'])
})

test.each([
  ['suspect_word', { suspectWords: ['casino'] }, 'To the Cas**ino**'],
  ['too_many_links', { maxLinks: 1 }, 'https://a.example and [b](https://b.example)'],
  ['first_comments', { holdFirstComments: 1 }, 'Hello'],
  ['pre_moderation', { moderationMode: 'pre' }, 'Hello'],
] as const)('%s holds a comment, tells nobody but the tenant, and moderators why', async (reason, settings, body) => {
  await set(settings)
  const comment = await post(body)
  expect(comment.status).toBe('pending')
  expect(comment).not.toHaveProperty('reason')
  expect(await queued(comment.id)).toMatchObject({ reason, comment: { body }, openReportCount: 0 })
  expect(await isPublic(comment.id)).toBe(false)
  expect(await eventsOf(comment.id)).toEqual(['comment_created tenant'])
  await act(comment.id, 'approve')
  expect(await isPublic(comment.id)).toBe(true)
  expect(await eventsOf(comment.id)).toEqual(['comment_created tenant', 'comment_approved public'])
})

test('the first rule that applies is the reason', async () => {
  await set({ suspectWords: ['casino'], maxLinks: 0, holdFirstComments: 1, moderationMode: 'pre' })
  const [words, links, first] = [
    await post('casino https://a.example'),
    await post('https://a.example'),
    await post('a'),
  ]
  const reasons = await Promise.all([words, links, first].map(({ id }) => reasonOf(id)))
  expect(reasons).toEqual(['suspect_word', 'too_many_links', 'first_comments'])
})

test("another tenant's words hold nothing", async () => {
  await set({ suspectWords: ['casino'], moderationMode: 'pre' })
  const headers = { 'x-api-key': other.apiKey, ...(await other.as('ann')) }
  expect(await post('casino', headers)).toMatchObject({ status: 'approved' })
})

describe('repeated text', () => {
  test('holds the same text of the same reader, on any page, whatever its spaces and case', async () => {
    const reader = await newReader()
    expect(await post(LONG, reader)).toMatchObject({ status: 'approved' })
    const again = await post(`  ${LONG.toUpperCase().replaceAll(' ', '\u200B \n')}`, reader, 'another-page')
    expect(again.status).toBe('pending')
    expect(await reasonOf(again.id)).toBe('repeated_text')
  })

  test('holds neither a short text, nor that of another reader, nor another text', async () => {
    const reader = await newReader()
    for (const body of ['Thank you!', 'Thank you!', LONG, `${LONG}.`]) {
      expect(await post(body, reader)).toMatchObject({ status: 'approved' })
    }
    expect(await post(LONG)).toMatchObject({ status: 'approved' })
    const theirs = { 'x-api-key': other.apiKey, ...(await other.as(`reader-${readers - 1}`)) }
    expect(await post(LONG, theirs)).toMatchObject({ status: 'approved' })
  })

  test('looks at the last 20 comments of the last 24 hours', async () => {
    const reader = await newReader()
    await post(LONG, reader)
    for (let n = 0; n < 19; n++) await post(`${n}`, reader)
    expect(await post(LONG, reader)).toMatchObject({ status: 'pending' })
    for (let n = 0; n < 20; n++) await post(`${n}`, reader)
    expect(await post(LONG, reader)).toMatchObject({ status: 'approved' })

    const late = await newReader()
    const { id, author } = await post(LONG, late)
    const age = unnamed(`UPDATE comments SET id = $2 WHERE id = $1`)
    const dayOld = (Date.now() - 24 * 3_600_000 - 1000).toString(16).padStart(12, '0')
    await service.app.db.query(age, [id, `${dayOld.slice(0, 8)}-${dayOld.slice(8)}${id.slice(13)}`])
    expect(await post(LONG, late)).toMatchObject({ status: 'approved', author: { id: author.id } })
  })

  test('lets one of many at once through, whatever happened to the others', async () => {
    const reader = await newReader()
    const answers = await Promise.all(Array.from({ length: 24 }, (_, n) => send(LONG, reader, `hot-${n % 5}`)))
    const statuses = answers.map(({ json }) => json.status)
    expect(statuses.filter((status) => status === 'approved')).toHaveLength(1)
    expect(statuses.filter((status) => status === 'pending')).toHaveLength(23)
  })

  test('does not include refused comments', async () => {
    const { id } = (await service.call('POST', '/discussions', { body: { externalId: 'locked' } })).json
    await service.call('POST', `/discussions/${id}/lock`)
    const reader = await newReader()
    const [refused, taken] = await Promise.all([send(LONG, reader, 'locked'), send(LONG, reader)])
    expect([refused.status, taken.json.status]).toEqual([409, 'approved'])
  })

  test('holds an edit, but not for the text that it replaces', async () => {
    const reader = await newReader()
    const [first, second] = [await post(LONG, reader), await post('another', reader)]
    expect((await edit(first.id, `${LONG} `.toUpperCase(), reader)).json).toMatchObject({ status: 'approved' })
    expect((await edit(second.id, LONG, reader)).json).toMatchObject({ status: 'pending' })
    expect(await reasonOf(second.id)).toBe('repeated_text')
  })
})

describe('first comments', () => {
  test('are held until as many are approved', async () => {
    await set({ holdFirstComments: 2 })
    const reader = await newReader()
    const [one, two, three] = [await post('1', reader), await post('2', reader), await post('3', reader)]
    expect([one.status, two.status, three.status]).toEqual(['pending', 'pending', 'pending'])
    await act(one.id, 'approve')
    await act(two.id, 'reject')
    expect(await post('4', reader)).toMatchObject({ status: 'pending' })
    await act(three.id, 'approve')
    expect(await post('5', reader)).toMatchObject({ status: 'approved' })
    expect(await post('6')).toMatchObject({ status: 'pending' })
  })

  test('cannot be evaded by many at once', async () => {
    await set({ holdFirstComments: 1 })
    const reader = await newReader()
    const answers = await Promise.all(Array.from({ length: 24 }, (_, n) => send(`${n}`, reader, `crowd-${n % 3}`)))
    expect(new Set(answers.map(({ json }) => json.status))).toEqual(new Set(['pending']))
  })

  test('are held in an edit as well', async () => {
    const reader = await newReader()
    const { id } = await post('harmless', reader)
    await set({ holdFirstComments: 2 })
    expect((await edit(id, 'not harmless', reader)).json).toMatchObject({ status: 'pending' })
  })
})

test('a ban in shadow applies after the rules', async () => {
  const reader = await newReader()
  const { author } = await post('before', reader)
  await service.call('POST', `/readers/${author.id}/ban`, { body: { shadow: true } })
  const hidden = await post('within', reader)
  // Its author takes it for public.
  expect([hidden.status, await reasonOf(hidden.id)]).toEqual(['approved', 'shadow_ban'])
  await set({ suspectWords: ['casino'], moderationMode: 'post' })
  const suspect = await post('casino', reader)
  expect([suspect.status, await reasonOf(suspect.id)]).toEqual(['approved', 'shadow_ban'])
  await set({ moderationMode: 'none' })
  const held = await post('casino', reader)
  expect([held.status, await reasonOf(held.id)]).toEqual(['pending', 'suspect_word'])
  expect(await queued(suspect.id, 'reported')).toBeUndefined()
})

test('reports that queue a comment are the reason', async () => {
  await set({ reportThreshold: 1 })
  const { id } = await post('reported')
  await service.call('POST', `/comments/${id}/report`, { body: { reason: 'spam' }, headers: await newReader() })
  expect(await reasonOf(id)).toBe('reports')
  await act(id, 'reject')
  expect(await queued(id, 'rejected')).toMatchObject({ reason: null })
})

describe('an edit', () => {
  test('that a rule holds leaves the view with its pin, and returns by approval', async () => {
    await set({ suspectWords: ['casino'] })
    const reader = await newReader()
    const { id } = await post('harmless', reader)
    await act(id, 'pin')
    expect((await edit(id, 'casino', reader)).json).toMatchObject({ status: 'pending', pinnedAt: null, revision: 2 })
    expect(await isPublic(id)).toBe(false)
    expect(await reasonOf(id)).toBe('suspect_word')
    await act(id, 'approve')
    expect((await service.call('GET', `/comments/${id}`)).json).toMatchObject({ status: 'approved', body: 'casino' })
  })

  test('of a held comment still waits, with the newest objection or else the earlier one', async () => {
    await set({ suspectWords: ['casino'], maxLinks: 0 })
    const reader = await newReader()
    const { id } = await post('casino', reader)
    expect((await edit(id, 'https://a.example', reader)).json.status).toBe('pending')
    expect(await reasonOf(id)).toBe('too_many_links')
    expect((await edit(id, 'harmless', reader)).json.status).toBe('pending')
    expect(await reasonOf(id)).toBe('too_many_links')
  })
})

describe('post-moderation', () => {
  const flag = async () => {
    await set({ moderationMode: 'post', suspectWords: ['casino'] })
    const reader = await newReader()
    return { reader, comment: await post('casino', reader) }
  }

  test('publishes at once, and flags what a rule would have held', async () => {
    const { comment, reader } = await flag()
    const harmless = await post('harmless', reader)
    expect([comment.status, harmless.status]).toEqual(['approved', 'approved'])
    expect(await isPublic(comment.id)).toBe(true)
    expect(await eventsOf(comment.id)).toEqual(['comment_created public'])
    expect(await queued(comment.id, 'reported')).toMatchObject({ reason: 'suspect_word', openReportCount: 0 })
    expect(await queued(comment.id)).toBeUndefined()
    expect(await queued(harmless.id, 'reported')).toBeUndefined()
  })

  test('is answered by an approval, once and without an event', async () => {
    const { comment } = await flag()
    expect((await act(comment.id, 'approve')).status).toBe(200)
    expect(await queued(comment.id, 'reported')).toBeUndefined()
    expect(await eventsOf(comment.id)).toEqual(['comment_created public'])
    expect((await act(comment.id, 'approve')).json.code).toBe('invalid_transition')
  })

  test('is answered by a rejection', async () => {
    const { comment } = await flag()
    expect((await act(comment.id, 'reject')).status).toBe(200)
    expect(await queued(comment.id, 'reported')).toBeUndefined()
    await act(comment.id, 'approve')
    expect(await queued(comment.id, 'reported')).toBeUndefined()
  })

  test('keeps a flag over a pin, an edit without objection and a report', async () => {
    const { comment, reader } = await flag()
    await act(comment.id, 'pin')
    expect((await edit(comment.id, 'harmless', reader)).json).toMatchObject({ status: 'approved' })
    await service.ok('POST', `/comments/${comment.id}/report`, { reason: 'spam' }, await newReader())
    expect(await queued(comment.id, 'reported')).toMatchObject({ reason: 'suspect_word', openReportCount: 1 })
  })

  test('flags an edit', async () => {
    const { reader } = await flag()
    const { id } = await post('harmless', reader)
    expect((await edit(id, 'casino', reader)).json).toMatchObject({ status: 'approved', body: 'casino' })
    expect(await reasonOf(id, 'reported')).toBe('suspect_word')
  })

  test('still refuses banned words', async () => {
    await set({ moderationMode: 'post', bannedWords: ['casino'] })
    expect((await send('casino', await newReader())).status).toBe(422)
  })
})

test('hostile texts are judged and stored unchanged', async () => {
  await set({ suspectWords: ['bad'] })
  const texts = ['\u202Eb\u200Ba\u2060d\u202C', 'ｂａｄ', 'b\u0336a\u0336d', '🏴‍☠️ 𝐛𝐚𝐝', `${'a'.repeat(9990)} **b**ad`]
  for (const text of texts) expect(await post(text)).toMatchObject({ status: 'pending', body: text })
  const harmless = [
    'שלום عليكم',
    '👨‍👩‍👧‍👦'.repeat(100),
    `b${'\u0301'.repeat(5000)}`,
    `a ${'`'.repeat(9990)}`,
    '[a](b'.repeat(1500),
  ]
  for (const text of harmless) expect(await post(text)).toMatchObject({ status: 'approved', body: text })
})

test('only moderators see the reasons', async () => {
  const queue = await service.call('GET', '/moderation/queue', { headers: publicKey })
  expect([queue.status, queue.json.code]).toEqual([403, 'missing_capability'])
})

test('an edit of a comment that a classifier was asked about waits for a moderator once the classifier is switched off', async () => {
  await set({ classifier: { url: 'https://classifier.example.com/' } })
  const reader = await newReader()
  const { id, status } = await post('Shall this be seen?', reader)
  expect(status).toBe('pending')
  await set({ classifier: null })
  expect((await edit(id, 'This shall be seen.', reader)).json).toMatchObject({ status: 'pending', revision: 2 })
  expect((await service.call('GET', `/comments/${id}`, { headers: publicKey })).status).toBe(404)
  expect((await act(id, 'approve')).json).toMatchObject({ status: 'approved', body: 'This shall be seen.' })
})

import { beforeEach, describe, expect, test } from 'vitest'

import { firstIdAt, newId } from '../../src/core/ids.ts'
import { findCopies } from '../../src/domains/comments/history/posted-texts-sql.ts'
import { digestOf, normalizeText } from '../../src/domains/comments/text/normalize.ts'
import { deleteOldPostedTexts } from '../../src/worker/statements/old-rows-sql.ts'
import { tokenFor } from '../harness/members.ts'
import { type Headers, type Json, type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

const DEFAULTS = {
  moderationMode: 'none',
  holdRepeatedText: 0,
  holdAfterRejections: 0,
  holdFirstComments: 0,
  suspectWords: [],
  slowModeSeconds: 0,
}
const set = (settings: object) => service.call('PATCH', '/settings', { body: { ...DEFAULTS, ...settings } })

beforeEach(() => set({}))

const reader = (name = `reader-${newId()}`): Promise<Headers> => service.as(name)
const newText = (): string => `A text that is long enough: ${newId()}`
const post = (headers: Headers, body: string, more: object = {}, page = newId()) =>
  service.call('POST', `/discussions/by-external/${page}/comments`, { headers, body: { body, ...more } })
/** Of a reader of their own, on a page of its own. */
const posted = async (body: string): Promise<Json> => (await post(await reader(), body)).json
const edit = async (headers: Headers, { id }: Json, body: string): Promise<Json> =>
  (await service.call('PATCH', `/comments/${id}`, { headers, body: { body } })).json
const entryOf = async (id: string): Promise<Json> => {
  const queues = ['pending', 'reported'].map((status) =>
    service.call('GET', `/moderation/queue?status=${status}&sort=newest&limit=20`),
  )
  const items = (await Promise.all(queues)).flatMap(({ json }) => json.data)
  return items.find(({ comment }: Json) => comment.id === id)
}
const copiesOf = (body: string, { tenant }: TestTenant = service): Promise<number> =>
  findCopies(service.app.prisma, { tenantId: tenant.id, textDigest: digestOf(normalizeText(body)) ?? '' })

describe('holdRepeatedText', () => {
  test('holds a text that readers have posted as often, on any pages, and says how often', async () => {
    await set({ holdRepeatedText: 2 })
    const text = newText()
    const [one, two, three, four] = [await posted(text), await posted(text), await posted(text), await posted(text)]
    expect([one, two, three, four].map(({ status }) => status)).toEqual(['approved', 'approved', 'pending', 'pending'])
    expect(await entryOf(four.id)).toMatchObject({
      reason: 'repeated_text',
      holdDetails: [{ rule: 'repeated_text', match: '3', start: null, end: null }],
    })
    expect((await posted(newText())).status).toBe('approved')
  })

  test('knows the text in another case, width and spacing; not another text', async () => {
    await set({ holdRepeatedText: 1 })
    await posted('Buy our  watches, they are CHEAP today')
    expect((await posted('buy our watches,\nthey are ｃｈｅａｐ today ')).status).toBe('pending')
    expect((await posted('buy our watches, they are cheap tomorrow')).status).toBe('approved')
  })

  test('lets many readers thank', async () => {
    await set({ holdRepeatedText: 1 })
    expect([(await posted('Thank you!')).status, (await posted('Thank you!')).status]).toEqual(['approved', 'approved'])
  })

  test('counts replies and edits, and holds them', async () => {
    await set({ holdRepeatedText: 1 })
    const [headers, page] = [await reader(), newId()]
    const { json: parent } = await post(headers, newText(), {}, page)
    const text = newText()
    expect((await post(await reader(), text, { parentId: parent.id }, page)).json.status).toBe('approved')
    expect((await post(await reader(), text, { parentId: parent.id }, page)).json.status).toBe('pending')
    const another = newText()
    expect((await edit(headers, parent, another)).status).toBe('approved')
    // The same text in another form is no copy of itself.
    expect((await edit(headers, parent, another.toUpperCase())).status).toBe('approved')
    expect((await posted(another)).status).toBe('pending')
    expect((await edit(headers, parent, text)).status).toBe('pending')
    expect(await entryOf(parent.id)).toMatchObject({ reason: 'repeated_text', holdDetails: [{ match: '2' }] })
  })

  test('lets exactly as many through of many at once', async () => {
    await set({ holdRepeatedText: 3 })
    const text = newText()
    const all = await Promise.all(Array.from({ length: 12 }, () => posted(text)))
    expect(all.filter(({ status }) => status === 'approved')).toHaveLength(3)
    expect(all.filter(({ status }) => status === 'pending')).toHaveLength(9)
  })

  test('flags with post, and waits below the other rules', async () => {
    await set({ holdRepeatedText: 1, moderationMode: 'post', suspectWords: ['casino'] })
    const text = newText()
    await posted(text)
    const copy = await posted(text)
    expect(copy.status).toBe('approved')
    expect(await entryOf(copy.id)).toMatchObject({ reason: 'repeated_text', holdDetails: [{ match: '1' }] })
    const held = await posted(`In the casino: ${newText()}`)
    expect((await entryOf(held.id)).reason).toBe('suspect_word')
    await set({ holdRepeatedText: 1, moderationMode: 'pre' })
    const more = newText()
    expect((await entryOf((await posted(more)).id)).reason).toBe('pre_moderation')
    expect((await entryOf((await posted(more)).id)).reason).toBe('repeated_text')
  })

  test('does not count what was not posted', async () => {
    await set({ holdRepeatedText: 1 })
    const [text, page, headers] = [newText(), newId(), await reader()]
    const { json: first } = await post(headers, newText(), {}, page)
    await service.call('POST', `/discussions/${first.discussionId}/lock`)
    expect((await post(headers, text, {}, page)).json.code).toBe('discussion_locked')
    expect((await post(headers, text, { parentId: newId() })).json.code).toBe('not_found')
    await service.call('POST', `/readers/${first.author.id}/ban`, { body: {} })
    expect((await post(headers, text)).json.code).toBe('reader_banned')
    await set({ holdRepeatedText: 1, slowModeSeconds: 60 })
    const [eager, elsewhere] = [await reader(), newId()]
    await post(eager, newText(), {}, elsewhere)
    expect((await post(eager, text, {}, elsewhere)).json.code).toBe('slow_mode')
    expect(await copiesOf(text)).toBe(0)
    expect((await posted(text)).status).toBe('approved')
  })

  test('counts a request with an Idempotency-Key once', async () => {
    await set({ holdRepeatedText: 2 })
    const [text, page] = [newText(), newId()]
    const headers = { ...(await reader()), 'idempotency-key': newId() }
    const [one, again] = [await post(headers, text, {}, page), await post(headers, text, {}, page)]
    expect([one.status, again.json.id]).toEqual([201, one.json.id])
    expect(await copiesOf(text)).toBe(1)
    // One that is refused in the transaction of its request leaves nothing either.
    const refused = { ...(await reader()), 'idempotency-key': newId() }
    expect((await post(refused, text, { parentId: newId() })).status).toBe(404)
    expect(await copiesOf(text)).toBe(1)
  })

  test('forgets a copy after 24 hours, and its count a day after the last one', async () => {
    await set({ holdRepeatedText: 1 })
    const text = newText()
    await posted(text)
    const AGE = unnamed(`UPDATE posted_texts SET ids = ARRAY[$2::uuid], expires_at = now() - interval '1 s'
      WHERE tenant_id = $1 AND text_digest = $3`)
    const yesterday = firstIdAt(new Date(Date.now() - 24 * 3_600_000 - 1000))
    await service.app.db.query(AGE, [service.tenant.id, yesterday, digestOf(normalizeText(text))])
    expect(await copiesOf(text)).toBe(0)
    expect((await posted(text)).status).toBe('approved')
    await service.app.db.query(AGE, [service.tenant.id, yesterday, digestOf(normalizeText(text))])
    expect(await deleteOldPostedTexts(service.app.db.query, 100)).toBe(1)
    expect(await deleteOldPostedTexts(service.app.db.query, 100)).toBe(0)
  })

  test('keeps no more than it may ask for', async () => {
    await set({ holdRepeatedText: 100 })
    const text = newText()
    const IDS = unnamed(`INSERT INTO posted_texts (tenant_id, text_digest, ids, expires_at)
      VALUES ($1, $2, $3::uuid[], now() + interval '1 day')`)
    const ids = Array.from({ length: 101 }, () => newId())
    await service.app.db.query(IDS, [service.tenant.id, digestOf(normalizeText(text)), ids])
    expect((await posted(text)).status).toBe('pending')
    expect(await copiesOf(text)).toBe(101)
  })

  test('passes a reader who is never held, whose copies count', async () => {
    await set({ holdRepeatedText: 1 })
    const [text, headers] = [newText(), await reader()]
    const { author } = (await post(headers, newText())).json
    await service.call('PUT', `/readers/${author.id}/trust`, { body: { trust: 'never_hold' } })
    await posted(text)
    expect((await post(headers, text)).json.status).toBe('approved')
    expect((await entryOf((await posted(text)).id)).holdDetails).toMatchObject([{ match: '2' }])
  })

  test('costs nothing while it is off, and is of one tenant', async () => {
    const text = newText()
    await posted(text)
    expect(await copiesOf(text)).toBe(0)
    await set({ holdRepeatedText: 1 })
    await posted(text)
    const other = await service.addTenant(`other-${newId()}`)
    const theirs = { 'x-api-key': other.apiKey, ...(await other.as('ann')) }
    await service.call('PATCH', '/settings', { headers: theirs, body: { holdRepeatedText: 1 } })
    expect((await post(theirs, text)).json.status).toBe('approved')
    expect([await copiesOf(text), await copiesOf(text, other)]).toEqual([1, 1])
  })
})

describe('holdAfterRejections', () => {
  const judge = async (id: string, verb: 'approve' | 'reject' | 'review') => {
    await service.ok('POST', `/comments/${id}/${verb}`, {})
  }
  const rejected = async (headers: Headers, times: number): Promise<Json[]> => {
    const comments: Json[] = []
    for (let n = 0; n < times; n++) {
      const { json } = await post(headers, newText())
      await judge(json.id, 'reject')
      comments.push(json)
    }
    return comments
  }

  test('holds a reader whose last judged comments were all rejected', async () => {
    await set({ holdAfterRejections: 2 })
    const headers = await reader()
    await rejected(headers, 1)
    expect((await post(headers, newText())).json.status).toBe('approved')
    await rejected(headers, 1)
    const { json: held } = await post(headers, newText())
    expect([held.status, (await entryOf(held.id)).reason]).toEqual(['pending', 'earlier_rejections'])
    expect((await entryOf(held.id)).holdDetails).toEqual([])
    // Of this reader alone.
    expect((await posted(newText())).status).toBe('approved')
    await judge(held.id, 'approve')
    expect((await post(headers, newText())).json.status).toBe('approved')
  })

  test('counts what moderators have judged alone, and a review as an approval', async () => {
    await set({ holdAfterRejections: 2 })
    const headers = await reader()
    await rejected(headers, 2)
    await set({ holdAfterRejections: 0 })
    const { json } = await post(headers, newText())
    await set({ holdAfterRejections: 2 })
    // Nobody has looked at the last one: the rules have approved it.
    expect((await post(headers, newText())).json.status).toBe('pending')
    await judge(json.id, 'review')
    expect((await post(headers, newText())).json.status).toBe('approved')
  })

  test('holds edits and replies as well', async () => {
    await set({ holdAfterRejections: 1 })
    const [headers, page] = [await reader(), newId()]
    const { json: comment } = await post(headers, newText(), {}, page)
    const { json: parent } = await post(await reader(), newText(), {}, page)
    await rejected(headers, 1)
    expect((await edit(headers, comment, newText())).status).toBe('pending')
    expect((await entryOf(comment.id)).reason).toBe('earlier_rejections')
    expect((await post(headers, newText(), { parentId: parent.id }, page)).json.status).toBe('pending')
  })

  test('flags with post, stands before first comments, and passes a reader who is never held', async () => {
    const headers = await reader()
    const [{ author }] = await rejected(headers, 1)
    await set({ holdAfterRejections: 1, holdFirstComments: 5, moderationMode: 'post' })
    const { json } = await post(headers, newText())
    expect([json.status, (await entryOf(json.id)).reason]).toEqual(['approved', 'earlier_rejections'])
    await service.call('PUT', `/readers/${author.id}/trust`, { body: { trust: 'never_hold' } })
    expect(await entryOf((await post(headers, newText())).json.id)).toBeUndefined()
  })

  test('follows a reader who is merged', async () => {
    await set({ holdAfterRejections: 2 })
    const [from, into] = [await reader(), await reader()]
    const [goes] = await rejected(from, 1)
    const [stays] = await rejected(into, 1)
    await service.call('POST', `/readers/${goes.author.id}/merge`, { body: { into: stays.author.id } })
    expect((await post(from, newText())).json.status).toBe('pending')
  })
})

describe('POST /moderation/try', () => {
  const attempt = async (body: string, settings: object): Promise<Json> =>
    service.ok('POST', '/moderation/try', { body, settings })

  test('tells what readers have posted, and counts nothing', async () => {
    await set({ holdRepeatedText: 5 })
    const text = newText()
    await posted(text)
    await posted(text)
    expect(await attempt(text, { holdRepeatedText: 2 })).toMatchObject({
      outcome: 'pending',
      reason: 'repeated_text',
      details: [{ rule: 'repeated_text', match: '2', start: null, end: null }],
    })
    expect(await attempt(text, {})).toMatchObject({ outcome: 'approved', reason: null, details: [] })
    expect(await attempt(`${text} casino`, { holdRepeatedText: 1, suspectWords: ['casino'] })).toMatchObject({
      reason: 'suspect_word',
    })
    expect(await copiesOf(text)).toBe(2)
  })

  test('names the rule that depends on earlier judgements', async () => {
    const { dependsOnAuthor } = await attempt('Fine words', { holdAfterRejections: 3 })
    expect(dependsOnAuthor).toEqual(['repeated_text', 'earlier_rejections'])
  })
})

test.each([
  ['holdRepeatedText', -1],
  ['holdRepeatedText', 101],
  ['holdAfterRejections', 21],
  ['holdAfterRejections', 1.5],
])('%s %d is 422', async (name, value) => {
  expect((await service.call('PATCH', '/settings', { body: { [name]: value } })).status).toBe(422)
})

test('a change of both is in the audit log', async () => {
  const headers = { authorization: `Bearer ${await tokenFor(service, service.admin)}` }
  await service.call('PATCH', '/settings', { headers, body: { holdRepeatedText: 3, holdAfterRejections: 4 } })
  const { json } = await service.call('GET', '/audit-log?limit=1', { headers })
  expect(json.data).toMatchObject([
    {
      action: 'settings.update',
      before: { holdRepeatedText: 0, holdAfterRejections: 0 },
      after: { holdRepeatedText: 3, holdAfterRejections: 4 },
    },
  ])
})

import { beforeEach, describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { renderAgain } from '../../src/domains/comments/history/render-again.ts'
import { callsTo } from '../harness/calls.ts'
import { exportText, importText } from '../harness/exports.ts'
import { type KnownReader as Reader, newReader } from '../harness/people.ts'
import { type Headers, type Json, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
let ann: Reader
let bob: Reader
let page: string
/** A comment of ann's. */
let root: Json

beforeEach(async () => {
  page = newId()
  ann = await reader('Ann')
  bob = await reader('Bob')
  root = await post(ann, 'first')
})

const { call, ok } = callsTo(() => service)

const reader = (name: string): Promise<Reader> => newReader(service, 'r', { name })

const at = ({ id }: Pick<Reader, 'id'>): string => `[@](reader:${id})`
const post = ({ headers }: Reader, body: string, parentId?: string): Promise<Json> =>
  ok('POST', `/discussions/by-external/${page}/comments`, { body, parentId }, headers)
const edit = ({ headers }: Reader, { id }: Json, body: string): Promise<Json> =>
  ok('PATCH', `/comments/${id}`, { body }, headers)
const html = async ({ id }: Json): Promise<string> => (await ok('GET', `/comments/${id}`)).bodyHtml
const inbox = async ({ headers }: Reader): Promise<Json[]> =>
  (await ok('GET', '/readers/me/notifications', undefined, headers)).data
const told = async (who: Reader): Promise<string[][]> =>
  (await inbox(who)).map(({ kind, comment }) => [kind, comment.id])
const settings = (body: object) => ok('PATCH', '/settings', body)
const moderate = (id: string, verb: string): Promise<Json> => ok('POST', `/comments/${id}/${verb}`, {})
const span = ({ id }: Pick<Reader, 'id'>, name: string): string =>
  `<span class="mention" data-reader="${id}">@${name}</span>`

/** A comment that waits for a moderator. */
async function held(who: Reader, body: string, parentId?: string): Promise<Json> {
  await settings({ moderationMode: 'pre' })
  const comment = await post(who, body, parentId)
  await settings({ moderationMode: 'none' })
  return comment
}

const query = <Row extends object>(text: string, params: unknown[]): Promise<Row[]> =>
  service.app.db.query<Row>(unnamed(text), params as never)

describe('a mention', () => {
  test('shows the present name everywhere, and only the id is stored', async () => {
    const body = `hello ${at(ann)}!`
    const comment = await post(bob, body)
    const shown = `<p>hello ${span(ann, 'Ann')}!</p>\n`
    expect([comment.body, comment.bodyHtml, await html(comment)]).toEqual([body, shown, shown])
    const list = await ok('GET', `/discussions/by-external/${page}/comments`)
    expect(list.data[0].bodyHtml).toBe(shown)
    const { json } = await service.graphql('query ($id: ID!) { comment(id: $id) { bodyHtml } }', { id: comment.id })
    expect(json.data.comment.bodyHtml).toBe(shown)
    const stored = await query<{ html: string; data: string }>(
      `SELECT c.body_html AS html, e.data::text AS data FROM comments c JOIN events e ON e.discussion_id = c.discussion_id
       WHERE c.id = $1 AND e.data -> 'comment' ->> 'id' = $1::text`,
      [comment.id],
    )
    expect(stored).toHaveLength(1)
    expect(stored[0]?.html).toBe(`<p>hello ${span(ann, '')}!</p>\n`)
    expect(JSON.parse(stored[0]?.data ?? '').comment.bodyHtml).toBe(stored[0]?.html)
  })

  test('shows a new name at once, also in kept pages', async () => {
    await post(bob, at(ann))
    const path = `/discussions/by-external/${page}/comments`
    const before = await call('GET', path)
    expect(before.text).toContain('@Ann</span>')
    const etag = before.headers.get('etag') ?? ''
    expect((await call('GET', path, undefined, { 'if-none-match': etag })).status).toBe(304)
    const later = { name: 'Anna', iat: Math.floor(Date.now() / 1000) + 5 }
    await ok('GET', '/readers/me', undefined, await service.as(ann.externalId, later))
    const after = await call('GET', path, undefined, { 'if-none-match': etag })
    expect([after.status, after.json.data[0].bodyHtml]).toEqual([200, `<p>${span(ann, 'Anna')}</p>\n`])
  })

  test('takes the id in upper case, in a post and an edit', async () => {
    const upper = at({ id: ann.id.toUpperCase() })
    const comment = await post(bob, upper)
    expect([comment.body, comment.bodyHtml]).toEqual([at(ann), `<p>${span(ann, 'Ann')}</p>\n`])
    expect((await edit(bob, comment, `${upper} again`)).bodyHtml).toBe(`<p>${span(ann, 'Ann')} again</p>\n`)
    expect(await told(ann)).toEqual([['mention', comment.id]])
  })

  test('of a hostile name is text', async () => {
    const name = '<img src=x onerror=alert(1)>"&\'$&'
    const mallory = await reader(name)
    await post(mallory, 'here')
    expect((await post(bob, at(mallory))).bodyHtml).toBe(
      `<p>${span(mallory, '&lt;img src=x onerror=alert(1)&gt;"&amp;\'$&amp;')}</p>\n`,
    )
  })

  test.each([
    ['a reader who never wrote there', async () => at(await reader('Carl'))],
    ['an unknown id', () => at({ id: newId() })],
    ['code', () => `\`${at(ann)}\``],
    ['an escape', () => `\\${at(ann)}`],
    ['another label', () => `[@Ann](reader:${ann.id})`],
    ['more than the id', () => `[@](reader:${ann.id}?x)`],
    ['a title', () => `[@](reader:${ann.id} "x")`],
    ['another scheme', () => `[@](javascript:${ann.id})`],
    ['an address in it', () => `[@](reader:javascript:alert(1))`],
    ['a definition', () => `[@][a]\n\n[a]: reader:${ann.id}`],
    ['HTML', () => span(ann, 'Ann')],
  ] as [string, () => string | Promise<string>][])('is none with %s', async (_what, text) => {
    const comment = await post(bob, await text())
    expect(comment.bodyHtml).not.toMatch(/<span|<a |href/)
    expect(await told(ann)).toEqual([])
  })

  test('does not name a reader whose comment there waits, or who only reacted', async () => {
    const carl = await reader('Carl')
    await held(carl, 'waiting')
    const dora = await reader('Dora')
    await ok('POST', `/comments/${root.id}/reactions`, { type: 'like' }, dora.headers)
    expect((await post(bob, `${at(carl)} ${at(dora)}`)).bodyHtml).not.toContain('<span')
    expect([await told(carl), await told(dora)]).toEqual([[], []])
  })

  test("does not name another tenant's reader", async () => {
    const other = await service.addTenant(`t-${newId()}`)
    const theirs = { 'x-api-key': other.apiKey, ...(await other.as('eve', { name: 'Eve' })) }
    const there = await ok('POST', `/discussions/by-external/${page}/comments`, { body: 'x' }, theirs)
    const comment = await post(bob, at(there.author))
    expect([comment.bodyHtml.includes('Eve'), comment.bodyHtml.includes('<span')]).toEqual([false, false])
    expect(await ok('GET', '/readers/me/notifications', undefined, theirs)).toMatchObject({ data: [] })
  })

  test('names at most ten readers', async () => {
    const people = await Promise.all(Array.from({ length: 11 }, (_, n) => reader(`P${n}`)))
    for (const each of people) await post(each, 'here')
    const comment = await post(bob, `${people.map(at).join(' ')} ${at(people[0] ?? ann)}`)
    expect(comment.bodyHtml.match(/<span/g)).toHaveLength(11)
    expect(comment.bodyHtml).toContain(`[@](reader:${people[10]?.id})`)
    expect(await Promise.all(people.map(async (each) => (await inbox(each)).length))).toEqual([
      ...people.slice(1).map(() => 1),
      0,
    ])
  })

  test('may stand in emphasis, and its id does not make short texts repetitions', async () => {
    const named = `<p><strong>${span(ann, 'Ann')}</strong></p>\n`
    for (let n = 0; n < 5; n++) {
      expect(await post(bob, `**${at(ann)}**`)).toMatchObject({ bodyHtml: named, status: 'approved' })
    }
  })

  test('is no word of a word list, and places of other words stay right', async () => {
    await settings({ bannedWords: ['reader'], suspectWords: ['casino'] })
    const comment = await post(bob, `${at(ann)} casino`)
    await settings({ bannedWords: [], suspectWords: [] })
    expect(comment.status).toBe('pending')
    const { data } = await ok('GET', '/moderation/queue?status=pending&limit=100')
    const item = data.find((each: Json) => (each.comment ?? each).id === comment.id)
    const start = at(ann).length + 1
    expect(JSON.stringify(item)).toContain(`"match":"casino","start":${start},"end":${start + 6}`)
  })

  test('stays when stored texts are rendered again, and text stays text', async () => {
    const comment = await post(bob, `${at(ann)} ${at({ id: newId() })}`)
    const before = await html(comment)
    await query(`UPDATE comments SET body_html = '<p>old</p>' || body_html WHERE id = $1`, [comment.id])
    for (let position: unknown = null; ;) {
      const { last } = await renderAgain(service.app.db.query, position)
      if (last === null) break
      position = last
    }
    expect(await html(comment)).toBe(before)
  })
})

describe('a reader who is named', () => {
  test('is told of it, once for a comment', async () => {
    const comment = await post(bob, `${at(ann)} ${at(ann)}`)
    expect(await inbox(ann)).toMatchObject([
      { kind: 'mention', actor: { id: bob.id }, comment: { id: comment.id, bodyHtml: comment.bodyHtml } },
    ])
    expect(await ok('GET', '/readers/me/notifications/count', undefined, ann.headers)).toMatchObject({ count: 1 })
  })

  test('in a reply to them is told of the reply; of the mention if they want no replies', async () => {
    const reply = await post(bob, at(ann), root.id)
    expect(await told(ann)).toEqual([['reply', reply.id]])
    await ok('PATCH', '/readers/me/preferences', { reply: 'none' }, ann.headers)
    const other = await post(bob, at(ann), root.id)
    expect((await told(ann))[0]).toEqual(['mention', other.id])
  })

  test('in a refused reply is not told', async () => {
    await moderate(root.id, 'reject')
    const carl = await reader('Carl')
    await post(carl, 'here')
    const body = { body: at(carl), parentId: root.id }
    const { status } = await call('POST', `/discussions/by-external/${page}/comments`, body, bob.headers)
    expect([status, await told(carl)]).toEqual([404, []])
  })

  test('in a reply that waits is told of the reply once it is approved', async () => {
    const reply = await held(bob, at(ann), root.id)
    await moderate(reply.id, 'approve')
    expect(await told(ann)).toEqual([['reply', reply.id]])
  })

  test('is not told by themselves, by those they have muted, or against their preference', async () => {
    await post(ann, at(ann))
    await post(bob, 'here')
    await ok('PUT', `/readers/${bob.id}/mute`, undefined, ann.headers)
    const muted = await post(bob, at(ann))
    await ok('DELETE', `/readers/${bob.id}/mute`, undefined, ann.headers)
    await ok('PATCH', '/readers/me/preferences', { mention: 'none' }, ann.headers)
    await post(bob, at(ann))
    expect(await told(ann)).toEqual([])
    await ok('PATCH', '/readers/me/preferences', { mention: 'all' }, ann.headers)
    // An approval tells those whom the comment has not told, so this one says that none was stored.
    await moderate(muted.id, 'reject')
    await moderate(muted.id, 'approve')
    expect(await told(ann)).toEqual([['mention', muted.id]])
  })

  test('is told when the comment is approved, once, by many moderators at once', async () => {
    const comment = await held(bob, at(ann))
    expect(await told(ann)).toEqual([])
    const verbs = ['approve', 'reject', 'approve', 'approve', 'reject', 'approve']
    await Promise.all(verbs.map((verb) => call('POST', `/comments/${comment.id}/${verb}`, {})))
    await call('POST', `/comments/${comment.id}/approve`, {})
    expect(await told(ann)).toEqual([['mention', comment.id]])
    await moderate(comment.id, 'reject')
    expect(await told(ann)).toEqual([])
  })

  test('by a reader who is banned in shadow is not told', async () => {
    await ok('POST', `/readers/${bob.id}/ban`, { shadow: true })
    expect((await post(bob, at(ann))).bodyHtml).toContain('@Ann')
    expect(await told(ann)).toEqual([])
  })

  test('by an edit is told, and those who were named before are not told again', async () => {
    const carl = await reader('Carl')
    await post(carl, 'here')
    await ok('PATCH', '/readers/me/preferences', { mention: 'none' }, ann.headers)
    const comment = await post(bob, at(ann))
    await ok('PATCH', '/readers/me/preferences', { mention: 'all' }, ann.headers)
    const edited = await edit(bob, comment, `${at(ann)} and ${at(carl)}`)
    expect(edited.bodyHtml).toBe(`<p>${span(ann, 'Ann')} and ${span(carl, 'Carl')}</p>\n`)
    expect([await told(ann), await told(carl)]).toEqual([[], [['mention', comment.id]]])
  })

  test('by an edit that waits is told once it is approved', async () => {
    const comment = await post(bob, 'text')
    await settings({ moderationMode: 'pre' })
    expect((await edit(bob, comment, at(ann))).status).toBe('pending')
    await settings({ moderationMode: 'none' })
    expect(await told(ann)).toEqual([])
    await moderate(comment.id, 'approve')
    expect(await told(ann)).toEqual([['mention', comment.id]])
  })

  test('keeps the mention in an edit after they have left the discussion', async () => {
    const comment = await post(bob, at(ann))
    await ok('DELETE', `/comments/${root.id}`, undefined, ann.headers)
    expect((await edit(bob, comment, `${at(ann)} again`)).bodyHtml).toContain('@Ann')
    expect((await post(bob, at(ann))).bodyHtml).not.toContain('@Ann')
  })

  test('is told in slow mode, and in one transaction with an Idempotency-Key', async () => {
    await settings({ slowModeSeconds: 1 })
    const slow = await post(bob, at(ann))
    await settings({ slowModeSeconds: 0 })
    const key = { ...bob.headers, 'idempotency-key': newId() }
    const path = `/discussions/by-external/${page}/comments`
    const first = await ok('POST', path, { body: at(ann) }, key)
    expect(await ok('POST', path, { body: at(ann) }, key)).toEqual(first)
    expect(await told(ann)).toEqual([
      ['mention', first.id],
      ['mention', slow.id],
    ])
  })

  test('is told of every comment that many write at once', async () => {
    const people = await Promise.all(Array.from({ length: 8 }, (_, n) => reader(`P${n}`)))
    for (const each of people) await post(each, 'here')
    const everyone = [ann, ...people]
    const posts = await Promise.all(everyone.map((each) => post(each, everyone.map(at).join(' '))))
    for (const each of everyone) {
      const others = posts.filter(({ author }) => author.id !== each.id).map(({ id }) => id)
      expect(new Set((await told(each)).map(([, id]) => id))).toEqual(new Set(others))
    }
  })
})

describe('an erasure', () => {
  test('leaves no name, no notification, and no kept answer', async () => {
    const key = { ...bob.headers, 'idempotency-key': newId() }
    const path = `/discussions/by-external/${page}/comments`
    const comment = await ok('POST', path, { body: at(ann) }, key)
    expect((await call('GET', path)).text).toContain('@Ann')
    await ok('DELETE', `/readers/${ann.id}`)
    expect(await html(comment)).toBe(`<p>${span(ann, '')}</p>\n`)
    expect((await call('GET', path)).text).not.toContain('Ann')
    expect((await call('POST', path, { body: at(ann) }, key)).text).not.toContain('Ann')
    expect(await query('SELECT id FROM notifications WHERE reader_id = $1', [ann.id])).toEqual([])
  })

  test('during posts and approvals that name the reader leaves nothing behind', async () => {
    const waiting = [await held(bob, at(ann)), await held(bob, at(ann))]
    await ok('DELETE', `/comments/${root.id}`, undefined, ann.headers)
    const last = await post(ann, 'again')
    await Promise.all([
      ...Array.from({ length: 4 }, () => call('POST', `/comments/${last.id}/report`, { reason: 'spam' }, bob.headers)),
      ...Array.from({ length: 4 }, () => post(bob, at(ann))),
      ok('DELETE', `/readers/${ann.id}`),
      ...waiting.map(({ id }) => moderate(id, 'approve')),
    ])
    expect(await query('SELECT id FROM notifications WHERE reader_id = $1', [ann.id])).toEqual([])
  })
})

test('a merge has mentions show and notify the reader who stays, and their erasure leaves no name', async () => {
  const before = await post(bob, at(ann))
  const path = `/discussions/by-external/${page}/comments`
  expect((await call('GET', path)).text).toContain('@Ann')
  const stays = await reader('Annabel')
  await ok('POST', `/readers/${ann.id}/merge`, { into: stays.id })
  expect((await call('GET', path)).json.data[0].bodyHtml).toBe(`<p>${span(stays, 'Annabel')}</p>\n`)
  const key = { ...bob.headers, 'idempotency-key': newId() }
  const after = await ok('POST', path, { body: at(ann) }, key)
  expect(after.bodyHtml).toBe(`<p>${span(stays, 'Annabel')}</p>\n`)
  expect(await told(stays)).toEqual([
    ['mention', after.id],
    ['mention', before.id],
  ])
  await post(stays, at(ann))
  expect(await told(stays)).toHaveLength(2)
  await ok('DELETE', `/readers/${stays.id}`)
  expect((await call('GET', path)).text).not.toContain('Annabel')
  expect((await call('POST', path, { body: at(ann) }, key)).text).not.toContain('Annabel')
})

test('an export and its import keep mentions, also of ids in upper case', async () => {
  const source = await service.addTenant(`t-${newId()}`)
  const theirs = async (name: string): Promise<Headers> => ({
    'x-api-key': source.apiKey,
    ...(await source.as(name, { name })),
  })
  const path = `/discussions/by-external/${page}/comments`
  const first = await ok('POST', path, { body: 'first' }, await theirs('Ann'))
  const comment = await ok('POST', path, { body: at(first.author) }, await theirs('Bob'))
  const text = await exportText(service.app, source)
  expect(text).not.toContain('@Ann')
  const target = await service.addTenant(`t-${newId()}`)
  // As another program may write the id.
  const upper = text.replace(at(first.author), at({ id: first.author.id.toUpperCase() }))
  await importText(service.app, target, upper)
  const { data } = await ok('GET', path, undefined, { 'x-api-key': target.apiKey })
  expect(data[0]).toMatchObject({
    body: comment.body,
    bodyHtml: comment.bodyHtml.replaceAll(first.author.id, data[1].author.id),
  })
  expect(await query('SELECT id FROM notifications WHERE tenant_id = $1', [target.tenant.id])).toEqual([])
})

describe('the authors of a discussion', () => {
  const authors = async (path: string, headers: Headers = {}): Promise<string[]> =>
    (await ok('GET', `/discussions/${path}`, undefined, headers)).data.map(({ name }: Json) => name)

  test('are those who wrote there, the last one first, by the beginning of a word of the name', async () => {
    const zoe = await reader('Zoë Ann-Marie')
    await post(bob, 'here', root.id)
    await post(zoe, 'here')
    await reader('Nobody')
    expect(await authors(`${root.discussionId}/authors`)).toEqual(['Zoë Ann-Marie', 'Bob', 'Ann'])
    const byPage = `by-external/${page}/authors`
    expect(await authors(`${byPage}?limit=1`)).toEqual(['Zoë Ann-Marie'])
    expect(await authors(`${byPage}?prefix=zoe`)).toEqual(['Zoë Ann-Marie'])
    expect(await authors(`${byPage}?prefix=AN`)).toEqual(['Zoë Ann-Marie', 'Ann'])
    expect(await authors(`${byPage}?prefix=nn`)).toEqual([])
    expect((await ok('GET', `/discussions/${byPage}?limit=1`)).data).toEqual([
      expect.objectContaining({ id: zoe.id, externalId: zoe.externalId }),
    ])
  })

  test('are without the viewer, the muted, those banned in shadow, the erased and those not in view', async () => {
    const [carl, dora, emil] = await Promise.all([reader('Carl'), reader('Dora'), reader('Emil')])
    for (const each of [bob, carl, dora, emil]) await post(each, 'here')
    await held(await reader('Held'), 'waits')
    await ok('PUT', `/readers/${bob.id}/mute`, undefined, ann.headers)
    await ok('POST', `/readers/${carl.id}/ban`, { shadow: true })
    await ok('DELETE', `/readers/${dora.id}`)
    expect(await authors(`${root.discussionId}/authors`, ann.headers)).toEqual(['Emil'])
    expect(await authors(`${root.discussionId}/authors`, bob.headers)).toEqual(['Emil', 'Ann'])
  })

  test('take bounded input, and none of another tenant', async () => {
    const path = `/discussions/${root.discussionId}/authors`
    for (const bad of ['limit=0', 'limit=101', 'prefix=', `prefix=${'x'.repeat(81)}`, 'prefix=%00', 'other=1']) {
      expect((await call('GET', `${path}?${bad}`)).status, bad).toBe(422)
    }
    expect(await authors(`${root.discussionId}/authors?prefix=${encodeURIComponent("%_\\'--")}`)).toEqual([])
    const other = await service.addTenant(`t-${newId()}`)
    expect((await call('GET', path, undefined, { 'x-api-key': other.apiKey })).status).toBe(404)
    expect((await call('GET', `/discussions/by-external/${newId()}/authors`)).status).toBe(404)
  })
})

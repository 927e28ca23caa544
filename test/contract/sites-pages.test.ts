import { get } from 'node:http'

import { beforeAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { beginPage } from '../../src/domains/discussions/begin-page.ts'
import { admitTenant } from '../../src/domains/tenants/tenants.ts'
import { suspendTenant } from '../../src/domains/tenants/suspend.ts'
import { addSite, keyOf, ORIGIN, page, type TestSite } from '../harness/sites.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { openStream } from '../harness/stream-client.ts'

const EXPIRE = unnamed(`UPDATE discussion_aliases SET expires_at = now() - interval '1 s' WHERE discussion_id = $1`)

const service = useService()
let site: TestSite

beforeAll(async () => {
  site = await addSite(service, service)
})

let pages = 0
/** The address of a page that no other test uses. */
const newPage = (): string => `${ORIGIN}/page-${++pages}`

const post = async (address: string, body: object = { body: 'Hello' }, token?: string, more = {}) =>
  site.ask('POST', `/comments${page(address, more)}`, { body, token: token ?? (await site.token({ sub: newId() })) })

describe('a page reads and writes', () => {
  test('the first comment begins its discussion, with the address and the title of the page', async () => {
    const address = newPage()
    const before = await site.ask('GET', `/thread${page(address)}`)
    expect(before.status, before.text).toBe(200)
    expect(before.json).toMatchObject({ reader: null, discussion: null, comments: null, ticket: null })
    const posted = await post(address, { body: 'Hello **you**' }, await site.token(), { title: ` ${'t'.repeat(600)}` })
    expect(posted.status, posted.text).toBe(201)
    expect(posted.json).toMatchObject({ status: 'approved', author: { externalId: 'ann', name: 'Ann' } })
    const { json } = await site.ask('GET', `/thread${page(address)}`)
    expect(json.discussion).toMatchObject({ externalId: address, url: address, title: 't'.repeat(500) })
    expect(json.comments.data).toHaveLength(1)
    const { json: counts } = await site.ask('GET', `/counts${page(address)}`)
    expect(counts.data).toEqual([expect.objectContaining({ externalId: address, commentCount: 1 })])
  })

  test('neither reading nor a ticket begins a discussion', async () => {
    const address = newPage()
    const token = await site.token()
    for (const path of ['/thread', '/comments', '/discussion', '/counts']) {
      for (const more of [{}, { signedIn: '1' }] as Record<string, string>[]) {
        const { status, text } = await site.ask('GET', `${path}${page(address, more)}`, { token })
        expect(status, text).toBe(200)
      }
    }
    for (const asked of [{}, { token }]) {
      const ticket = await site.ask('POST', `/ticket${page(address)}`, asked)
      expect([ticket.status, ticket.json]).toEqual([200, null])
    }
    const found = await service.call('GET', `/discussions/by-external/${encodeURIComponent(address)}`)
    expect(found.status).toBe(404)
  })

  test('a comment that is refused begins none', async () => {
    const address = newPage()
    expect((await post(address, { body: '' })).json.code).toBe('validation_failed')
    expect((await post(address, { body: 'x', parentId: site.id })).status).toBe(404)
    expect((await site.ask('GET', `/discussion${page(address)}`)).json).toBe(null)
  })

  test('a ticket is there once the page has comments, and opens a stream to pages of the site alone', async () => {
    const address = newPage()
    await post(address)
    const { json: ticket } = await site.ask('POST', `/ticket${page(address)}`)
    const open = (origin: string) => {
      const gone = new AbortController()
      return fetch(ticket.streamUrl, { headers: { origin }, signal: gone.signal }).then((response) => {
        gone.abort()
        return response
      })
    }
    const opened = await open(ORIGIN)
    expect(opened.status).toBe(200)
    expect(opened.headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect((await open('https://elsewhere.example')).status).toBe(403)
  })

  test('a ticket for several pages opens those that have comments, and goes on without one that leaves', async () => {
    const own = await addSite(service, service)
    const [first, second, quiet] = [newPage(), newPage(), newPage()]
    const several = (...addresses: string[]) => `/tickets?${addresses.map((each) => page(each).slice(1)).join('&')}`
    expect((await own.ask('POST', several(quiet, 'https://elsewhere.example/'))).json).toBe(null)
    for (const address of [first, second]) await post(address)
    const { json: ticket } = await own.ask('POST', several(first, quiet, second, 'https://elsewhere.example/'))
    const ids = ticket.discussions.map(({ discussionId }: { discussionId: string }) => discussionId)
    expect(ticket.discussions.map(({ externalId }: { externalId: string }) => externalId).toSorted()).toEqual([
      first,
      second,
    ])
    const open = async (headers: Record<string, string> = { origin: ORIGIN }) => {
      const stream = await openStream(ticket.streamUrl, headers)
      await vi.waitFor(() => expect(stream.closed || stream.connected !== undefined).toBe(true))
      stream.close()
      return stream
    }
    expect((await open()).connected?.data).toMatchObject({ gone: [], complete: true })
    expect((await open({ origin: 'https://elsewhere.example' })).status).toBe(403)
    // A former address holds for a year.
    const rename = async (id: string) => {
      await service.call('PATCH', `/discussions/${id}`, { body: { externalId: `moved-${newId()}` } })
      await service.app.db.query(EXPIRE, [id])
    }
    await rename(ids[0])
    const left = await open({ origin: ORIGIN, 'last-event-id': ticket.lastEventId })
    expect(left.connected?.data).toMatchObject({ gone: [ids[0]], complete: true, lastEventId: ticket.lastEventId })
    await rename(ids[1])
    expect((await open()).status).toBe(401)
  })

  test('a reader edits, reacts, and reads what is their own with signedIn=1 alone', async () => {
    const address = newPage()
    const token = await site.token()
    const { json: comment } = await post(address, { body: 'Mine' }, token)
    const edited = await site.ask('PATCH', `/comments/${comment.id}`, { token, body: { body: 'Changed' } })
    expect(edited.json.body, edited.text).toBe('Changed')
    const bob = await site.token({ sub: 'bob', name: 'Bob' })
    const refused = await site.ask('PATCH', `/comments/${comment.id}`, { token: bob, body: { body: 'Theirs' } })
    expect(refused.json.code).toBe('not_author')
    await site.ask('PUT', `/comments/${comment.id}/reaction`, { token: bob, body: { type: 'like' } })
    const seen = async (more: Record<string, string>) =>
      (await site.ask('GET', `/comments${page(address, more)}`, { token: bob })).json.data[0].viewerReaction
    expect(await seen({ signedIn: '1' })).toBe('like')
    expect(await seen({})).toBe(null)
    const me = await site.ask('GET', '/me?signedIn=1', { token: bob })
    expect(me.json.reader).toMatchObject({ id: 'bob', name: 'Bob', ban: null })
    expect((await site.ask('GET', '/me', { token: bob })).json).toEqual({ reader: null })
    expect((await site.ask('GET', `/me/comments?signedIn=1`, { token })).json.data).not.toHaveLength(0)
    expect((await site.ask('DELETE', `/comments/${comment.id}`, { token })).status).toBe(204)
  })

  test('a retried post with an Idempotency-Key is one comment, for its own reader alone', async () => {
    const address = newPage()
    const headers = { 'idempotency-key': 'once' }
    const token = await site.token()
    const send = (by: string) =>
      site.ask('POST', `/comments${page(address)}`, { token: by, body: { body: 'Once' }, headers })
    const first = await send(token)
    const again = await send(await site.token({ iat: Math.floor(Date.now() / 1000) - 5 }))
    expect(again.json).toEqual(first.json)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect((await send(await site.token({ sub: 'bob' }))).json.id).not.toBe(first.json.id)
    expect((await site.ask('GET', `/comments${page(address)}`)).json.data).toHaveLength(2)
  })
})

describe('addresses that are no pages of the site are unknown', () => {
  const others = [
    'article-1',
    ORIGIN,
    `${ORIGIN}.evil.example/`,
    `${ORIGIN}@evil.example/`,
    `${ORIGIN}:8443/`,
    'http://www.example.com/article',
    'https://WWW.example.com/article',
    `${ORIGIN}/a b`,
    `${ORIGIN}/a\n`,
  ]
  test.each(others)('%j', async (address) => {
    const token = await site.token()
    const asked = [
      ['GET', '/thread'],
      ['GET', '/comments'],
      ['GET', '/discussion'],
      ['POST', '/ticket'],
    ] as const
    for (const [method, path] of asked) {
      const { status, json } = await site.ask(method, `${path}${page(address)}`)
      expect([status, json.errors?.[0].code], path).toEqual([404, 'unknown_page'])
    }
    // A list of pages with one such address still has the counts of the others.
    const own = newPage()
    const { json } = await site.ask('GET', `/counts${page(address)}&${page(own).slice(1)}`)
    expect(json.data.map(({ externalId }: { externalId: string }) => externalId)).toEqual([own])
    expect((await site.ask('GET', `/counts${page(address)}`)).json.data).toEqual([])
    const posted = await site.ask('POST', `/comments${page(address)}`, { token, body: { body: 'x' } })
    expect(posted.json.errors[0].code).toBe('unknown_page')
  })

  test('and so are comments on other pages, and pages of another tenant', async () => {
    const hidden = await service.ok(
      'POST',
      '/discussions/by-external/members-only/comments',
      { body: 'Secret' },
      await service.as('ann'),
    )
    const token = await site.token()
    expect((await site.ask('GET', `/comments/${hidden.id}`)).status).toBe(404)
    expect((await site.ask('PATCH', `/comments/${hidden.id}`, { token, body: { body: 'x' } })).status).toBe(404)
    expect((await site.ask('DELETE', `/comments/${hidden.id}`, { token })).status).toBe(404)
    const reply = await post(newPage(), { body: 'x', parentId: hidden.id })
    expect(reply.status).toBe(404)
    const latest = await site.ask('GET', '/latest-comments')
    expect(latest.text).not.toContain('Secret')
    const other = await service.addTenant('other-pages')
    const address = newPage()
    await service.ok(
      'POST',
      `/discussions/by-external/${encodeURIComponent(address)}/comments`,
      { body: 'Of another tenant' },
      { ...keyOf(other), ...(await other.as('ann')) },
    )
    expect((await site.ask('GET', `/thread${page(address)}`)).json.discussion).toBe(null)
  })
})

test('a page that was given an address of another site is read and edited by its former one', async () => {
  const address = newPage()
  const token = await site.token({ sub: newId() })
  const { json: comment } = await post(address, { body: 'Mine' }, token)
  const body = { externalId: `https://elsewhere.example/${newId()}` }
  await service.ok('PATCH', `/discussions/${comment.discussionId}`, body)
  expect((await site.ask('GET', `/comments${page(address)}`)).json.data).toHaveLength(1)
  expect((await site.ask('GET', `/comments/${comment.id}`)).status).toBe(200)
  const edited = await site.ask('PATCH', `/comments/${comment.id}`, { token, body: { body: 'Changed' } })
  expect([edited.status, edited.json.body]).toEqual([200, 'Changed'])
  const { json: ticket } = await site.ask('POST', `/ticket${page(address)}`)
  const opened = await fetch(ticket.streamUrl, { headers: { origin: ORIGIN } })
  expect(opened.status).toBe(200)
  await opened.body?.cancel()
  // A former address leads to the page for a year.
  await service.app.prisma.discussionAlias.updateMany({
    where: { tenantId: service.tenant.id, externalId: address },
    data: { expiresAt: new Date(0) },
  })
  expect((await site.ask('GET', `/comments/${comment.id}`)).status).toBe(404)
  expect((await site.ask('PATCH', `/comments/${comment.id}`, { token, body: { body: 'x' } })).status).toBe(404)
})

test('of two readers who begin a page, the second one is not the one who has begun it', async () => {
  const address = newPage()
  const { app } = service
  const tenant = await admitTenant(app, service.tenant.id)
  const actor = {
    kind: 'site',
    id: site.id,
    origins: [ORIGIN],
    capabilities: new Set<never>(),
    expiresAt: null,
  } as const
  const begin = (externalId: string) => {
    const identity = { externalId, issuedAt: new Date(), name: null, avatarUrl: null, profileUrl: null, badges: null }
    const caller = { tenant, actor: { ...actor, title: null, graphql: null }, identity }
    return beginPage({ app, requestId: newId(), caller, address: '192.0.2.1' }, address)
  }
  const [first, second] = [await begin('ann'), await begin('bob')]
  expect([first.isNew, second.isNew, second.id === first.id]).toEqual([true, false, true])
  await post(address, { body: 'Hello' }, undefined, { title: 'Later' })
  expect((await site.ask('GET', `/discussion${page(address)}`)).json.title).toBe(null)
})

test('the bell of a site counts and lists what is on its own pages, and marks nothing else', async () => {
  const [ann, bob] = [{ sub: newId(), name: 'Ann' }, newId()]
  const token = await site.token(ann)
  const address = newPage()
  const own = (await post(address, { body: 'Ann' }, token)).json
  await post(address, { body: 'Bob', parentId: own.id })
  // A page of the same tenant that is none of the site.
  const path = `/discussions/by-external/${newId()}/comments`
  const say = async (reader: string, body: object) =>
    (await service.call('POST', path, { body, headers: await service.as(reader) })).json
  const { id: parentId } = await say(ann.sub, { body: 'Ann elsewhere' })
  await say(bob, { body: 'Bob elsewhere', parentId })
  const ask = (rest: string) => site.ask('GET', `/me/notifications${rest}signedIn=1`, { token })
  expect((await ask('/count?')).json).toEqual({ count: 1, hasMore: false })
  const { data } = (await ask('?')).json
  expect(data.map(({ discussion }: { discussion: { externalId: string } }) => discussion.externalId)).toEqual([address])
  const body = { before: new Date(Date.now() + 60_000).toISOString() }
  expect((await site.ask('POST', '/me/notifications/read', { token, body })).status).toBeLessThan(300)
  expect((await ask('/count?')).json.count).toBe(0)
  const all = await service.call('GET', '/readers/me/notifications/count', { headers: await service.as(ann.sub) })
  expect(all.json).toEqual({ count: 1, hasMore: false })
})

describe('a deleted site', () => {
  test('says that it is gone, also to a write, whose preflight passes', async () => {
    const { json: gone } = await service.call('POST', '/sites', { body: { name: 'Gone', origins: [ORIGIN] } })
    await service.call('DELETE', `/sites/${gone.id}`)
    const url = `${service.url}/engagement/${gone.publicKey}/comments${page()}`
    const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }
    const preflight = await fetch(url, { method: 'OPTIONS', headers: { origin: ORIGIN, ...asked } })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization')
    const refused = await fetch(url, { method: 'POST', headers: { origin: ORIGIN } })
    expect(refused.headers.get('access-control-allow-origin')).toBe('*')
    expect([refused.status, (await refused.json()).errors]).toEqual([
      404,
      [{ pointer: '/publicKey', code: 'unknown_site', message: 'is the key of no site' }],
    ])
  })
})

describe('origins', () => {
  test('an answer names the one origin, and no credentials', async () => {
    const { headers } = await site.ask('GET', `/thread${page()}`)
    expect(headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(headers.get('access-control-allow-credentials')).toBe(null)
    expect(headers.get('vary')).toContain('Origin')
    const none = await site.ask('GET', `/thread${page()}`, { origin: null })
    expect([none.status, none.headers.get('access-control-allow-origin')]).toEqual([200, null])
    expect(none.headers.get('vary')).toContain('Origin')
  })

  test.each(['https://elsewhere.example', 'null', 'https://www.example.com:444', 'http://www.example.com'])(
    'a page of %s gets 403 origin_not_allowed',
    async (origin) => {
      const token = await site.token()
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const { status, json, headers } = await site.ask(method, `/comments${page()}`, { origin, token })
        expect([status, json.code], method).toEqual([403, 'origin_not_allowed'])
        expect(headers.get('access-control-allow-origin')).toBe(null)
      }
    },
  )

  test('a refusal can be read by a page of the site', async () => {
    const refused = await site.ask('GET', '/nothing')
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([404, ORIGIN])
    const wrong = await site.ask('POST', `/comments${page()}`, { token: 'x', body: {} })
    expect([wrong.status, wrong.headers.get('access-control-allow-origin')]).toEqual([401, ORIGIN])
  })

  test('a preflight lets a page send its token and its writes', async () => {
    const { status, headers } = await site.ask('OPTIONS', `/comments${page()}`, {
      headers: {
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, content-type, x-requested-with, x-api-key',
      },
    })
    expect(status).toBe(204)
    expect(headers.get('access-control-allow-headers')).toBe('authorization, content-type, x-requested-with')
    expect(headers.get('access-control-allow-methods')).toBe('GET, POST, PUT, PATCH, DELETE')
    expect(headers.get('access-control-allow-credentials')).toBe(null)
  })

  test('a write needs an Origin, and the header of pages', async () => {
    const token = await site.token()
    const body = { body: 'x' }
    const without = await site.ask('POST', `/comments${page()}`, { token, body, origin: null })
    expect(without.json.code).toBe('origin_not_allowed')
    const headers = { 'x-requested-with': 'XMLHttpRequest' }
    expect((await site.ask('POST', `/comments${page()}`, { token, body, headers })).json.code).toBe(
      'origin_not_allowed',
    )
  })
})

test('a title is a reader’s text: it is shown where the comment is, and where the rules pass it', async () => {
  const tenant = await service.addTenant('titled-sites')
  const settings = { bannedWords: ['viagra'], suspectWords: ['casino'] }
  const own = await addSite(service, tenant, { settings })
  const titleAfter = async (title: string, body: string): Promise<unknown> => {
    const address = newPage()
    const token = await own.token({ sub: newId() })
    const posted = await own.ask('POST', `/comments${page(address, { title })}`, { body: { body }, token })
    expect(posted.status, posted.text).toBe(201)
    return (await own.ask('GET', `/discussion${page(address)}`)).json.title
  }
  expect(await titleAfter('A \u202Etitle\u0007', 'Hello')).toBe('A title')
  expect(await titleAfter('Buy viagra', 'Hello')).toBe(null)
  expect(await titleAfter('The casino', 'Hello')).toBe(null)
  expect(await titleAfter('A title', 'Is held: casino')).toBe(null)
})

test('what nobody asks is not remembered: no key of theirs leads to an answer of another', async () => {
  const address = newPage()
  await post(address)
  const stored = () => service.app.prisma.idempotencyRecord.count({ where: { tenantId: service.tenant.id } })
  const before = await stored()
  const tickets = new Set<string>()
  for (let n = 0; n < 3; n++) {
    const headers = { 'idempotency-key': 'one-key' }
    const { status, json, headers: told } = await site.ask('POST', `/ticket${page(address)}`, { headers })
    expect([status, told.get('idempotency-replayed')]).toEqual([201, null])
    tickets.add(json.ticket)
  }
  expect(tickets.size).toBe(3)
  expect(await stored()).toBe(before)
})

test('a write without a token is refused before its body is read', async () => {
  const headers = { origin: ORIGIN, 'x-requested-with': 'engagement', 'content-type': 'application/json' }
  const url = `${service.url}/engagement/${site.publicKey}/comments${page(newPage())}`
  for (const body of ['{bad', JSON.stringify({ body: 'x'.repeat(300_000) })]) {
    const answer = await fetch(url, { method: 'POST', headers, body })
    expect([answer.status, (await answer.json()).code]).toEqual([403, 'identity_required'])
  }
})

test('a page has one address: others are no pages', async () => {
  for (const query of [`${page()}&externalId=`, `?externalId=&${page().slice(1)}`, `${page()}&${page().slice(1)}`])
    expect((await site.ask('GET', `/thread${query}`)).status, query).toBe(422)
  for (const path of ['/x/../settings', '/./settings', '/x\\..\\settings']) {
    const { status } = await rawGet(`/engagement/${site.publicKey}${path}`)
    expect(status, path).toBe(404)
  }
  expect((await rawGet(`/engagement/${site.publicKey}/settings`)).status).toBe(200)
})

/** Without the changes that fetch makes to an address. */
const rawGet = (path: string): Promise<{ status: number | undefined }> =>
  new Promise((resolve, reject) => {
    const { port } = new URL(service.url)
    get({ port, path, headers: { origin: ORIGIN } }, (answer) => {
      answer.resume()
      resolve({ status: answer.statusCode })
    }).on('error', reject)
  })

describe('what caches may keep', () => {
  const PUBLIC = 'public, max-age=0, s-maxage=5, stale-while-revalidate=30'

  test('what nobody is answered is the same with and without a token, and has an ETag', async () => {
    const address = newPage()
    await post(address)
    const paths = ['/thread', '/comments', '/discussion', '/counts'].map((path) => path + page(address))
    const isAlike = async (path: string): Promise<void> => {
      const plain = await site.ask('GET', path)
      const bearing = await site.ask('GET', path, { token: await site.token() })
      expect(bearing.text, path).toBe(plain.text)
      expect(plain.headers.get('cache-control'), path).toBe(PUBLIC)
      expect(plain.headers.get('vary'), path).toBe('Origin, Accept-Encoding')
      const etag = plain.headers.get('etag') ?? ''
      expect(bearing.headers.get('etag'), path).toBe(etag)
      const again = await site.ask('GET', path, { headers: { 'if-none-match': etag } })
      expect([again.status, again.text, again.headers.get('cache-control')], path).toEqual([304, '', PUBLIC])
    }
    // The service keeps lists for seconds: two requests may be on both sides of their end.
    for (const path of [...paths, '/settings', '/me', '/latest-comments', '/most-discussed'])
      await vi.waitFor(() => isAlike(path))
    expect((await site.ask('GET', `/thread${page(address)}`)).json.ticket).toBe(null)
    await post(address)
    const changed = await site.ask('GET', paths[0] ?? '', { headers: { 'if-none-match': '"x"' } })
    expect(changed.json.comments.data).toHaveLength(2)
  })

  test('what a reader is answered is kept by nobody', async () => {
    const address = newPage()
    await post(address)
    const token = await site.token()
    for (const path of ['/thread', '/comments', '/settings', '/me', '/latest-comments']) {
      const query = path === '/thread' || path === '/comments' ? page(address, { signedIn: '1' }) : '?signedIn=1'
      for (const asked of [{ token }, {}]) {
        const { status, headers } = await site.ask('GET', path + query, asked)
        expect([status, headers.get('cache-control')], path).toEqual([200, 'private, no-store'])
      }
    }
    const thread = await site.ask('GET', `/thread${page(address, { signedIn: '1' })}`, { token })
    expect(thread.json).toMatchObject({ reader: { id: 'ann' }, ticket: { recipient: { externalId: 'ann' } } })
  })

  test('no refusal is kept', async () => {
    for (const path of [`/thread${page('elsewhere')}`, '/nothing', '/me/comments', '/thread']) {
      const { status, headers } = await site.ask('GET', path)
      expect(status, path).toBeGreaterThanOrEqual(400)
      expect(headers.get('cache-control'), path).toMatch(/no-store/)
    }
  })

  test('a parameter that is unknown, repeated or wrong is refused', async () => {
    for (const query of ['&x=1', '&signedIn=0', '&signedIn=1&signedIn=1', '&limit=1&limit=1', '&title=x']) {
      expect((await site.ask('GET', `/comments${page()}${query}`)).json.code, query).toBe('validation_failed')
    }
  })

  test('the setting sites.cacheSeconds says how long', async () => {
    const tenant = await service.addTenant('cached-sites')
    const own = await addSite(service, tenant, { settings: { sites: { cacheSeconds: 0 } } })
    expect((await own.ask('GET', '/settings')).headers.get('cache-control')).toBe('public, max-age=0, s-maxage=0')
  })

  test('HEAD answers as GET does', async () => {
    const { status, text, headers } = await site.ask('HEAD', '/settings')
    expect([status, text, headers.get('cache-control')]).toEqual([200, '', PUBLIC])
  })
})

test('an unknown, malformed or deleted public key is 404 not_found', async () => {
  const tenant = await service.addTenant('ended-sites')
  const own = await addSite(service, tenant)
  expect((await own.ask('GET', '/settings')).status).toBe(200)
  await service.call('DELETE', `/sites/${own.id}`, { headers: keyOf(tenant) })
  // Its processes hear of it by the bus.
  await vi.waitFor(async () => expect((await own.ask('GET', '/settings')).status).toBe(404))
  for (const key of [`pk_${'0'.repeat(64)}`, 'pk_', 'ek_x', service.apiKey]) {
    const response = await fetch(`${service.url}/engagement/${key}/settings`, { headers: { origin: ORIGIN } })
    expect([response.status, ((await response.json()) as { code: string }).code], key).toEqual([404, 'not_found'])
  }
})

test('a changed origin is in force, and streams of the site end', async () => {
  const tenant = await service.addTenant('moved-sites')
  const own = await addSite(service, tenant)
  const token = await own.token()
  await own.ask('POST', `/comments${page()}`, { token, body: { body: 'x' } })
  const { json: ticket } = await own.ask('POST', `/ticket${page()}`)
  const stream = await fetch(ticket.streamUrl, { headers: { origin: ORIGIN } })
  expect(stream.status).toBe(200)
  const ended = stream.text()
  const body = { origins: ['https://new.example'] }
  await service.call('PATCH', `/sites/${own.id}`, { body, headers: keyOf(tenant) })
  await ended
  await vi.waitFor(async () => expect((await own.ask('GET', '/settings')).status).toBe(403))
  // The page is none of the site's any more.
  for (const headers of [{ origin: ORIGIN }, { origin: 'https://new.example' }, {}]) {
    expect((await fetch(ticket.streamUrl, { headers })).status).toBe(401)
  }
  expect((await own.ask('GET', '/settings', { origin: 'https://new.example' })).status).toBe(200)
})

test('another name of the site leaves its streams open', async () => {
  const address = newPage()
  await post(address)
  const { json: ticket } = await site.ask('POST', `/ticket${page(address)}`)
  const stream = await fetch(ticket.streamUrl, { headers: { origin: ORIGIN } })
  let [text, isOver] = ['', false]
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  const read = async (): Promise<void> => {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) text += part.value
    isOver = true
  }
  const reading = read()
  await service.ok('PATCH', `/sites/${site.id}`, { name: 'Another name' })
  await post(address, { body: 'After the change' })
  await vi.waitFor(() => expect(text).toContain('After the change'))
  expect(isOver).toBe(false)
  await reader?.cancel()
  await reading
})

test('with posting off, all writes are refused, and reading goes on', async () => {
  const tenant = await service.addTenant('closed-sites')
  const own = await addSite(service, tenant)
  const token = await own.token()
  const { json: comment } = await own.ask('POST', `/comments${page()}`, { token, body: { body: 'x' } })
  await service.call('PATCH', `/sites/${own.id}`, { body: { posting: false }, headers: keyOf(tenant) })
  const postMore = () => own.ask('POST', `/comments${page()}`, { token, body: { body: 'x' } })
  await vi.waitFor(async () => expect((await postMore()).json.code).toBe('missing_capability'))
  for (const [method, path] of [
    ['PATCH', `/comments/${comment.id}`],
    ['DELETE', `/comments/${comment.id}`],
    ['PUT', `/comments/${comment.id}/reaction`],
    ['POST', '/me/notifications/read'],
  ] as const) {
    const { status, json } = await own.ask(method, path, { token })
    expect([status, json.code], path).toEqual([403, 'missing_capability'])
  }
  expect((await own.ask('GET', `/thread${page(undefined, { signedIn: '1' })}`, { token })).status).toBe(200)
  expect((await own.ask('POST', `/ticket${page()}`)).status).toBe(201)
})

test('pages learn that they take no writes: posting is off, or no issuer signs readers in', async () => {
  const tenant = await service.addTenant('reading-sites')
  const own = await addSite(service, tenant)
  const shown = async (): Promise<unknown[]> => {
    const [settings, thread] = [await own.ask('GET', '/settings'), await own.ask('GET', `/thread${page()}`)]
    expect(thread.json.settings).toEqual(settings.json)
    return [settings.status, settings.json.posting]
  }
  expect(await shown()).toEqual([200, undefined])
  await service.call('PATCH', `/sites/${own.id}`, { body: { posting: false }, headers: keyOf(tenant) })
  await vi.waitFor(async () => expect(await shown()).toEqual([200, false]))
  await service.call('PATCH', `/sites/${own.id}`, { body: { posting: true }, headers: keyOf(tenant) })
  await vi.waitFor(async () => expect(await shown()).toEqual([200, undefined]))
  const identity = { issuer: null, jwksUrl: null }
  await service.call('PATCH', '/settings', { body: { identity }, headers: keyOf(tenant) })
  await vi.waitFor(async () => expect(await shown()).toEqual([200, false]))
})

test('a suspended tenant serves none of its pages', async () => {
  const tenant = await service.addTenant('suspended-sites')
  const own = await addSite(service, tenant)
  await suspendTenant(service.app, tenant.tenant.id)
  await vi.waitFor(async () => expect((await own.ask('GET', '/settings')).json.code).toBe('tenant_suspended'))
})

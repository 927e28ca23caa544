import { describe, expect, test, vi } from 'vitest'

import { deleteExpiredGuestTokens } from '../../src/domains/guests/tokens.ts'
import { useGuestSite } from '../harness/guest-sites.ts'
import { addGuest, askFor, confirm, mailsTo } from '../harness/guests.ts'
import { ORIGIN, page } from '../harness/sites.ts'

const at = useGuestSite()
const { age, another, newPage, post, query, shownOn } = at

describe('the link', () => {
  test('makes a guest, whose token is the reader on the pages of the site', async () => {
    const { token, expiresAt, reader } = await addGuest(at.site, at.mailer, 'ann@example.com')
    expect(token).toMatch(/^gt_[0-9a-f]{64}$/)
    const days = (Date.parse(expiresAt) - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(29)
    expect(reader).toEqual({ id: expect.any(String), name: 'Gia' })
    const me = await at.site.ask('GET', '/me?signedIn=1', { token })
    expect(me.json.reader).toMatchObject({ name: 'Gia', id: expect.stringMatching(/^guest:/) })
    const record = await at.service.call('GET', `/readers/${reader.id}`)
    expect(record.json).toMatchObject({ kind: 'guest', name: 'Gia', externalId: me.json.reader.id })
    const stored = await query<{ row: string }>(
      'SELECT t::text AS row FROM guest_tokens t UNION SELECT r::text FROM readers r',
    )
    expect(stored.map(({ row }) => row).join()).not.toMatch(/gt_|ann@/)
  })

  test('is spent by the first of many', async () => {
    await askFor(at.site, 'once@example.com')
    await vi.waitFor(() => expect(mailsTo(at.mailer, 'once@example.com')).toHaveLength(1))
    const answers = await Promise.all(Array.from({ length: 5 }, () => confirm(at.site, at.mailer, 'once@example.com')))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 403, 403, 403, 403])
    expect(answers.find(({ status }) => status === 403)?.json.code).toBe('invalid_guest_token')
  })

  test('ends after 30 minutes, and is not that of another tenant', async () => {
    const { site: own } = await another()
    await askFor(own, 'foreign@example.com')
    await vi.waitFor(() => expect(mailsTo(at.mailer, 'foreign@example.com')).toHaveLength(1))
    expect((await confirm(at.site, at.mailer, 'foreign@example.com')).json.code).toBe('invalid_guest_token')
    await age(31)
    expect((await confirm(own, at.mailer, 'foreign@example.com')).json.code).toBe('invalid_guest_token')
    for (const token of ['', 'x', '0'.repeat(64), 'gt_0'])
      expect((await own.ask('POST', '/guests/confirm', { body: { token } })).json.code).toBe('invalid_guest_token')
    expect((await own.ask('POST', '/guests/confirm', { body: { token: 7 } })).status).toBe(422)
  })

  test('is tried ten times a minute by one address of the internet, and a wrong one locks nothing', async () => {
    const { site: own } = await another()
    const transactions = vi.spyOn(at.service.app.db, 'transaction')
    const answers = []
    for (let n = 0; n < 11; n++)
      answers.push(await own.ask('POST', '/guests/confirm', { body: { token: String(n).padStart(64, '0') } }))
    expect(transactions).not.toHaveBeenCalled()
    transactions.mockRestore()
    expect(answers.map(({ status }) => status)).toEqual([...Array<number>(10).fill(403), 429])
  })

  test('gives a known guest no other name: neither a stranger nor they themselves write over it', async () => {
    const { token, reader } = await addGuest(at.site, at.mailer, 'named@example.com')
    const address = newPage()
    const { json: comment } = await post(token, address)
    await at.service.call('POST', `/comments/${comment.id as string}/approve`)
    const author = async () =>
      (await at.site.ask('GET', `/comments${page(address)}`)).json.data[0]?.author.name as string
    await vi.waitFor(async () => expect(await author()).toBe('Gia'))
    const confirmAs = async (name: string, nth: number) => {
      await askFor(at.site, 'named@example.com', { name })
      const { status, json } = await confirm(at.site, at.mailer, 'named@example.com', nth)
      expect(status).toBe(200)
      expect(json.data.reader).toEqual({ id: reader.id, name: 'Gia' })
      const { json: shown } = await at.site.ask('GET', '/me?signedIn=1', { token: json.data.token })
      expect(shown.reader.name).toBe('Gia')
    }
    await confirmAs('Buy at Mallory', 2)
    expect((await at.service.call('POST', `/readers/${reader.id}/ban`, { body: {} })).status).toBe(200)
    // One asker has two mails an hour sent to a mailbox.
    await age(61)
    await confirmAs('Banned, and back', 3)
    expect((await at.service.call('GET', `/readers/${reader.id}`)).json.name).toBe('Gia')
    expect(await author()).toBe('Gia')
  })

  test('of one address is the same guest, also of two at once; of another tenant another', async () => {
    await Promise.all([askFor(at.site, 'twice@example.com'), askFor(at.site, 'Twice@Example.com', { name: 'Another' })])
    await vi.waitFor(() =>
      expect(at.mailer.requests.filter(({ body }) => /^twice@/i.test(String(body['email'])))).toHaveLength(2),
    )
    const [one, other] = await Promise.all([
      confirm(at.site, at.mailer, 'twice@example.com'),
      confirm(at.site, at.mailer, 'Twice@Example.com'),
    ])
    expect([one.status, other.status]).toEqual([200, 200])
    expect(one.json.data.reader.id).toBe(other.json.data.reader.id)
    expect(one.json.data.token).not.toBe(other.json.data.token)
    const { site: own } = await another()
    const third = await askFor(own, 'twice@example.com')
    expect(third.status).toBe(202)
    const { json } = await confirm(own, at.mailer, 'twice@example.com', 2)
    expect(json.data.reader.id).not.toBe(one.json.data.reader.id)
  })
})

describe('the token', () => {
  const isRefused = async (token: string, of = at.site) => {
    const { status, json } = await of.ask('GET', '/me?signedIn=1', { token })
    return status === 401 && json.code === 'invalid_identity'
  }

  test('is unknown elsewhere: at another tenant, and at the interfaces for backends and staff', async () => {
    const { token } = await addGuest(at.site, at.mailer, 'elsewhere@example.com')
    const { site: other } = await another()
    expect(await isRefused(token, other)).toBe(true)
    expect(await isRefused(`gt_${'0'.repeat(64)}`)).toBe(true)
    expect(await isRefused('gt_')).toBe(true)
    for (const headers of [{ 'x-api-key': token }, { authorization: `Bearer ${token}` }]) {
      const { status } = await fetch(`${at.service.url}/api/v1/readers/me`, {
        headers: headers as Record<string, string>,
      })
      expect(status).toBe(401)
    }
  })

  test('ends with a sign-out, which does not end that of another device', async () => {
    const first = await addGuest(at.site, at.mailer, 'leaves@example.com')
    await askFor(at.site, 'leaves@example.com')
    const second = (await confirm(at.site, at.mailer, 'leaves@example.com', 2)).json.data
    expect((await at.site.ask('DELETE', '/guests/me', { token: first.token })).status).toBe(204)
    expect(await isRefused(first.token)).toBe(true)
    expect(await isRefused(second.token)).toBe(false)
    expect((await at.site.ask('DELETE', '/guests/me', { token: first.token })).status).toBe(401)
    expect((await at.site.ask('DELETE', '/guests/me', { token: await at.site.token() })).status).toBe(401)
    expect((await at.site.ask('DELETE', '/guests/me')).status).toBe(403)
  })

  test('is renewed while it is used, to 90 days at most', async () => {
    const { token, reader } = await addGuest(at.site, at.mailer, 'renewed@example.com')
    const set = (createdDaysAgo: number, expiresInDays: number) =>
      query(
        `UPDATE guest_tokens SET created_at = now() - $2::int * interval '1 day', expires_at = now() + $3::int * interval '1 day'
         WHERE reader_id = $1`,
        [reader.id, createdDaysAgo, expiresInDays],
      )
    const daysLeft = async () => {
      const [row] = await query<{ days: number }>(
        'SELECT round(extract(epoch FROM expires_at - now()) / 86400)::int AS days FROM guest_tokens WHERE reader_id = $1',
        [reader.id],
      )
      return row?.days
    }
    await set(5, 10)
    expect(await isRefused(token)).toBe(false)
    expect(await daysLeft()).toBe(30)
    await set(80, 3)
    at.service.app.bus.publish('caches', JSON.stringify({ kind: 'guest', readerId: reader.id }))
    await vi.waitFor(async () => {
      expect(await isRefused(token)).toBe(false)
      expect(await daysLeft()).toBe(10)
    })
    await set(90, 0)
    await deleteExpiredGuestTokens(at.service.app)
    expect(await daysLeft()).toBe(undefined)
  })

  test.each<[string, (id: string) => Promise<unknown>]>([
    ['a ban', (id) => at.service.call('POST', `/readers/${id}/ban`, { body: {} })],
    ['an erasure', (id) => at.service.call('DELETE', `/readers/${id}`)],
  ])('ends with %s', async (name, end) => {
    const email = `${name.replace(/\W/g, '-')}@example.com`
    const { token, reader } = await addGuest(at.site, at.mailer, email)
    expect(await isRefused(token)).toBe(false)
    await end(reader.id)
    expect(await isRefused(token)).toBe(true)
    await askFor(at.site, email)
    const again = await confirm(at.site, at.mailer, email, 2)
    // The banned one comes back as who they are; the erased one is unknown.
    expect(again.json.data.reader.id === reader.id).toBe(name === 'a ban')
    if (name === 'a ban') expect((await post(again.json.data.token)).json.code).toBe('reader_banned')
  })

  test('ends with the merge into a reader, whom the address does not become; no reader merges into a guest', async () => {
    const { token, reader } = await addGuest(at.site, at.mailer, 'merged@example.com')
    const other = await addGuest(at.site, at.mailer, 'stays@example.com')
    await post(await at.site.token({ sub: 'registered' }))
    const [registered] = (await at.service.call('GET', '/readers?externalId=registered')).json.data as { id: string }[]
    const merge = (from: string, into: string) => at.service.call('POST', `/readers/${from}/merge`, { body: { into } })
    const refused = await merge(String(registered?.id), reader.id)
    expect([refused.status, refused.json.errors?.[0]?.code]).toEqual([422, 'is_guest'])
    expect((await merge(other.reader.id, reader.id)).status).toBe(422)
    expect((await merge(reader.id, String(registered?.id))).status).toBe(200)
    expect(await isRefused(token)).toBe(true)
    await askFor(at.site, 'merged@example.com')
    const again = (await confirm(at.site, at.mailer, 'merged@example.com', 2)).json.data
    expect([reader.id, registered?.id]).not.toContain(again.reader.id)
  })

  test('ends while the site takes no guests', async () => {
    const { site: own, headers } = await another()
    const { token } = await addGuest(own, at.mailer, 'switched@example.com')
    const set = (guests: string) => at.service.call('PATCH', `/sites/${own.id}`, { body: { guests }, headers })
    await set('off')
    expect(await isRefused(token, own)).toBe(true)
    await set('email')
    expect(await isRefused(token, own)).toBe(false)
  })

  test('stays where mails cannot be signed: its guest can write, others are offered nothing', async () => {
    const { site: own, headers, kid } = await another()
    const { token } = await addGuest(own, at.mailer, 'unsigned-later@example.com')
    await at.service.call('DELETE', `/mail-secrets/${kid}`, { headers })
    const guests = async (path: string, more = {}) => (await own.ask('GET', path, more)).json.guests
    expect([await guests('/settings'), await guests('/settings?signedIn=1', { token })]).toEqual([false, true])
    expect((await post(token, newPage(), 'Hello', own)).status).toBe(201)
  })

  test('is no identity that a backend or the issuer can assert', async () => {
    const { token } = await addGuest(at.site, at.mailer, 'asserted@example.com')
    const { id } = (await at.site.ask('GET', '/me?signedIn=1', { token })).json.reader as { id: string }
    expect(await isRefused(await at.site.token({ sub: id }))).toBe(true)
    const asserted = await at.service.call('GET', '/readers/me', { headers: await at.service.as(id) })
    expect([asserted.status, asserted.json.code]).toEqual([401, 'invalid_identity'])
    expect((await at.service.call('GET', '/readers/me', { headers: await at.service.as('guest:7') })).status).toBe(200)
  })
})

describe('comments of a guest', () => {
  test('wait until one was approved, whatever the moderation mode is', async () => {
    for (const moderationMode of ['none', 'post']) {
      const { site: own, headers } = await another({ settings: { moderationMode } })
      const { token } = await addGuest(own, at.mailer, `first-${moderationMode}@example.com`)
      const address = newPage()
      const first = await post(token, address, 'First', own)
      expect(first.json).toMatchObject({ status: 'pending' })
      // A word that this mode would publish, and flag.
      const second = await post(token, address, 'Second', own)
      expect(second.json).toMatchObject({ status: 'pending' })
      expect(await shownOn(address, own)).toEqual([])
      const queue = await at.service.call('GET', '/moderation/queue?status=pending', { headers })
      expect(queue.json.data.map((each: { reason: string }) => each.reason)).toEqual(['guest', 'guest'])
      // Neither an edit nor a reply makes it public.
      const edited = await own.ask('PATCH', `/comments/${first.json.id}`, { body: { body: 'First!' }, token })
      expect(edited.json.status, edited.text).toBe('pending')
      expect((await at.service.call('POST', `/comments/${first.json.id}/approve`, { headers })).status).toBe(200)
      const third = await post(token, address, 'Third', own)
      expect(third.json.status).toBe('approved')
      const answer = await own.ask('POST', `/comments${page(address)}`, {
        body: { body: 'Reply', parentId: first.json.id },
        token,
      })
      expect(answer.json.status, answer.text).toBe('approved')
    }
  })

  test('wait again where the only approved one is edited, and not where others were approved', async () => {
    const { site: own, headers } = await another({ settings: { moderationMode: 'post' } })
    const { token } = await addGuest(own, at.mailer, 'edits@example.com')
    const address = newPage()
    const approve = (id: string) => at.service.call('POST', `/comments/${id}/approve`, { headers })
    const edit = async (id: string, body: string) =>
      (await own.ask('PATCH', `/comments/${id}`, { body: { body }, token })).json.status as string
    const { json: first } = await post(token, address, 'Harmless', own)
    await approve(first.id)
    expect(await edit(first.id, 'Not what was approved')).toBe('pending')
    expect(await shownOn(address, own)).toEqual([])
    await approve(first.id)
    expect((await post(token, address, 'Second', own)).json.status).toBe('approved')
    expect(await edit(first.id, 'With another one approved')).toBe('approved')
  })

  test('come before reactions and before reports that count', async () => {
    const { site: own, headers } = await another({ settings: { moderationMode: 'post', reportThreshold: 2 } })
    const address = newPage()
    const { json: comment } = await post(await own.token(), address, 'Of a reader', own)
    const { token, reader } = await addGuest(own, at.mailer, 'reacts@example.com')
    const other = await addGuest(own, at.mailer, 'reports@example.com')
    const path = `/comments/${comment.id as string}`
    const react = (method: string, body?: object) => own.ask(method, `${path}/reaction`, { token, body })
    const refused = await react('PUT', { type: 'like' })
    expect([refused.status, refused.json.code], refused.text).toEqual([403, 'guest_on_hold'])
    expect((await react('DELETE')).status).toBeLessThan(300)
    // Their name is told by nothing else.
    const node = { query: '{ reader: node(id: "' + reader.id + '") { id } }' }
    const found = await fetch(`${at.service.url}/graphql`, {
      method: 'POST',
      headers: { origin: ORIGIN, 'content-type': 'application/json', 'x-service-site': own.publicKey },
      body: JSON.stringify(node),
    })
    expect(await found.json()).toMatchObject({ data: { reader: null } })
    for (const guest of [token, other.token]) {
      const reported = await own.ask('POST', `${path}/report`, { body: { reason: 'spam' }, token: guest })
      expect(reported.status, reported.text).toBe(201)
    }
    expect(await shownOn(address, own)).toEqual(['Of a reader'])
    const reports = await at.service.call('GET', `${path}/reports`, { headers })
    expect(reports.json.data.map((each: { counted: boolean }) => each.counted)).toEqual([false, false])
    const { json: first } = await post(token, address, 'Harmless', own)
    await at.service.call('POST', `/comments/${first.id as string}/approve`, { headers })
    expect((await react('PUT', { type: 'like' })).status).toBe(200)
  })

  test('wait in replies, in batches and in discussions with a mode of their own', async () => {
    const { site: own, headers } = await another({ hold: 2 })
    const { token } = await addGuest(own, at.mailer, 'replies@example.com')
    const address = newPage()
    const { json } = await post(await own.token(), address, 'Of a reader', own)
    await at.service.ok('PATCH', `/discussions/${json.discussionId as string}`, { moderationMode: 'post' }, headers)
    const say = (body: string, parentId?: string) =>
      own.ask('POST', `/comments${page(address)}`, { body: { body, ...(parentId && { parentId }) }, token })
    const many = await Promise.all([say('a', json.id), say('b'), say('c', json.id), say('d')])
    expect(many.map((each) => each.json.status)).toEqual(Array(4).fill('pending'))
    const approveOne = (n: number) => at.service.call('POST', `/comments/${many[n]?.json.id}/approve`, { headers })
    await approveOne(0)
    expect((await say('e')).json.status).toBe('pending')
    await approveOne(1)
    expect((await say('f')).json.status).toBe('approved')
    expect(await shownOn(address, own)).not.toContain('e')
  })

  test('do not wait with hold 0, or where a moderator trusts them', async () => {
    const { site: own, headers } = await another({ hold: 0 })
    const { token } = await addGuest(own, at.mailer, 'free@example.com')
    expect((await post(token, newPage(), 'Free', own)).json.status).toBe('approved')
    const trusted = await another()
    const guest = await addGuest(trusted.site, at.mailer, 'trusted@example.com')
    await at.service.ok('PUT', `/readers/${guest.reader.id}/trust`, { trust: 'never_hold' }, trusted.headers)
    expect((await post(guest.token, newPage(), 'Trusted', trusted.site)).json.status).toBe('approved')
    expect(headers).not.toEqual(trusted.headers)
  })
})

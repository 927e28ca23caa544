import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { keyIdOf, seal } from '../../src/core/secrets/seals.ts'
import { guestKeyContext } from '../../src/domains/guests/address.ts'
import { noteSuccess } from '../../src/domains/guests/mailer.ts'
import { forgetOldRequests, requestMail } from '../../src/domains/guests/requests.ts'
import { deleteExpiredGuestTokens } from '../../src/domains/guests/tokens.ts'
import { findSiteByKey } from '../../src/domains/sites/sites.ts'
import { admitTenant } from '../../src/domains/tenants/tenants.ts'
import {
  addGuest,
  addGuestSite,
  askFor,
  confirm,
  easeProofs,
  mailsTo,
  PAGE,
  startHandingOut,
} from '../harness/guests.ts'
import { decode, encode, proofOf, solve } from '../harness/guests.ts'
import { takeLog } from '../harness/log.ts'
import { isGenuine, type Receiver, reply, startReceiver } from '../harness/receiver.ts'
import { startService, type TestService } from '../harness/service.ts'
import { keyOf, now, ORIGIN, page, type TestSite } from '../harness/sites.ts'
import { unnamed } from '../harness/sql.ts'

let mailer: Receiver
let service: TestService
let site: TestSite
let secrets: Record<string, string>
let stopHandingOut: () => Promise<unknown>

beforeAll(async () => {
  easeProofs()
  mailer = await startReceiver()
  service = await startService({ worker: false, env: { WEBHOOK_CA_FILE: mailer.caFile } })
  const { mailSecret, ...rest } = await addGuestSite(service, service, { mailUrl: `${mailer.url}/mails` })
  site = rest
  secrets = { [mailSecret.kid]: mailSecret.secret }
  stopHandingOut = await startHandingOut(service.app)
})
// All tests come from one address of the internet.
beforeEach(() => {
  for (const kind of ['guest', 'guestLink'] as const)
    service.app.limits.giveBack(kind, `${site.id}/127.0.0.1`, { perSecond: 1, burst: 10 }, 10)
})
afterEach(() => mailer.on('/mails', null))
afterAll(async () => {
  await stopHandingOut()
  await service.close()
  await mailer.close()
})

const query = <Row extends object>(sql: string, params: unknown[] = []) =>
  service.app.db.query<Row>(unnamed(sql), params as never)

let pages = 0
const newPage = (): string => `${ORIGIN}/page-${++pages}`
const post = (token: string, address = newPage(), body = 'Hello', of = site) =>
  of.ask('POST', `/comments${page(address)}`, { body: { body }, token })
const shownOn = async (address: string, of = site) =>
  ((await of.ask('GET', `/comments${page(address)}`)).json.data as { body: string }[]).map(({ body }) => body)

/** Moves the requests of an address into the past: it has no clock of its own. */
const age = (minutes: number) =>
  query(`UPDATE guest_requests SET created_at = created_at - $1::int * interval '1 minute'`, [minutes])

/** A tenant of its own, so that limits and settings are its own too. */
let tenants = 0
async function another(options: { hold?: number; settings?: Record<string, unknown> } = {}) {
  const tenant = await service.addTenant(`guests-${++tenants}`)
  const { mailSecret, ...own } = await addGuestSite(service, tenant, { mailUrl: `${mailer.url}/mails`, ...options })
  return { tenant, site: own, headers: keyOf(tenant), kid: mailSecret.kid }
}

describe('pages', () => {
  test('learn whether the site takes guests', async () => {
    const { site: own, headers, kid } = await another()
    const settings = async () => {
      const { json } = await own.ask('GET', '/settings')
      const thread = await own.ask('GET', `/thread${page()}`)
      expect(thread.json.settings).toMatchObject({ guests: json.guests })
      // The console says the same.
      const query = `{ site(id: "${own.id}") { takesGuests } }`
      const { data } = (await service.graphql(query, {}, headers)).json
      expect(data.site).toEqual({ takesGuests: json.guests })
      return [json.guests, json.posting]
    }
    expect(await settings()).toEqual([true, undefined])
    const set = async (path: string, body: object) =>
      expect((await service.call('PATCH', path, { body, headers })).status).toBe(200)
    // Guests alone are enough to write.
    await set('/settings', { identity: { issuer: null, jwksUrl: null } })
    expect(await settings()).toEqual([true, undefined])
    await set('/settings', { guests: { mailUrl: null } })
    expect(await settings()).toEqual([false, false])
    expect((await own.ask('GET', '/challenge')).json.code).toBe('guests_disabled')
    await set('/settings', { guests: { mailUrl: `${mailer.url}/mails` } })
    await set(`/sites/${own.id}`, { guests: 'off' })
    expect(await settings()).toEqual([false, false])
    await set(`/sites/${own.id}`, { guests: 'email' })
    await service.call('DELETE', `/mail-secrets/${kid}`, { headers })
    expect(await settings()).toEqual([false, false])
    expect((await own.ask('GET', '/challenge')).json.code).toBe('guests_disabled')
    await service.call('POST', '/mail-secrets', { headers })
    expect(await settings()).toEqual([true, undefined])
    await set(`/sites/${own.id}`, { posting: false })
    expect(await settings()).toEqual([false, false])
    for (const path of ['/guests', '/guests/confirm'])
      expect((await own.ask('POST', path, { body: { token: '' } })).status, path).toBe(403)
  })

  test('need an origin of the site and the header of writes', async () => {
    const body = { token: '' }
    const answers = await Promise.all([
      site.ask('GET', '/challenge', { origin: 'https://evil.example' }),
      site.ask('POST', '/guests', { body, origin: null }),
      site.ask('POST', '/guests/confirm', { body, origin: 'https://evil.example' }),
      site.ask('POST', '/guests', { body, headers: { 'x-requested-with': 'fetch' } }),
    ])
    expect(answers.map(({ json }) => json.code)).toEqual(Array(4).fill('origin_not_allowed'))
  })
})

describe('the challenge', () => {
  test('is one of ALTCHA, which no cache keeps', async () => {
    const { status, headers, json } = await site.ask('GET', '/challenge')
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(json).toEqual({
      parameters: expect.objectContaining({ algorithm: 'PBKDF2/SHA-256', keyLength: 32 }),
      signature: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(json.parameters.expiresAt).toBeGreaterThan(now() + 500)
    expect(JSON.stringify(json)).not.toContain('counter')
  })

  test('asks for more work the more are solved, of this site alone', async () => {
    const { site: busy } = await another()
    const { site: calm } = await another()
    const counterOf = async (of: TestSite) => Number(decode(await solve(of)).solution['counter'])
    // What costs the asker nothing makes nothing harder.
    for (let n = 0; n < 70; n++) await busy.ask('GET', '/challenge')
    for (let n = 0; n < 5; n++) await askFor(busy, 'x@example.com', { proof: encode(decode(await solve(calm))) })
    expect(await counterOf(busy)).toBeLessThanOrEqual(4)
    for (let n = 0; n < 35; n++) {
      service.app.limits.giveBack('guest', `${busy.id}/127.0.0.1`, { perSecond: 1, burst: 10 }, 10)
      expect((await askFor(busy, `solver-${n}@example.com`)).status).toBe(202)
    }
    expect(await counterOf(busy)).toBeGreaterThanOrEqual(8)
    expect(await counterOf(calm)).toBeLessThanOrEqual(4)
  })

  test.each<[string, (proof: string) => unknown]>([
    ['none', () => undefined],
    ['no text', () => ({})],
    ['an empty one', () => ''],
    ['no base64', () => '{"challenge":{}}'],
    ['a long one', () => 'A'.repeat(3000)],
    ['no JSON', () => Buffer.from('{').toString('base64')],
    ['JSON of another form', () => encode([1, 2])],
    ['deep JSON', () => Buffer.from('{"challenge":'.repeat(100) + '1' + '}'.repeat(100)).toString('base64')],
    ['a wrong counter', (proof) => encode({ ...decode(proof), solution: { ...decode(proof).solution, counter: -1 } })],
    ['a wrong key', (proof) => encode({ ...decode(proof), solution: { counter: 1, derivedKey: '0'.repeat(64) } })],
    [
      'a wrong key with options of the check',
      (proof) => withOptions(proof, { hmacAlgorithm: 'x', counterMode: 'string' }),
    ],
    ['a wrong key with an option of another type', (proof) => withOptions(proof, { hmacAlgorithm: {}, deriveKey: 1 })],
    ['a changed challenge', (proof) => changed(proof, { expiresAt: now() + 100_000 })],
    ['an easier challenge', (proof) => changed(proof, { keyPrefix: '00' })],
    ['a challenge without a key signature', (proof) => changed(proof, { keySignature: undefined })],
    ['a challenge that has expired', (proof) => changed(proof, { expiresAt: now() - 1 })],
    ['a challenge of another key', (proof) => changed(proof, { data: { site: site.id, key: '00000000' } })],
  ])('is not solved by %s', async (_name, make) => {
    const { status, json } = await askFor(site, 'nobody@example.com', { proof: make(await solve(site)) })
    expect([status, json.code]).toEqual([403, 'invalid_proof'])
  })

  test('is not solved by the proof of another site, nor twice', async () => {
    const { site: other } = await another()
    const ofOther = await askFor(site, 'nobody@example.com', { proof: await solve(other) })
    expect([ofOther.status, ofOther.json.code]).toEqual([403, 'invalid_proof'])
    const proof = await solve(site)
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => askFor(site, `racer-${n}@example.com`, { proof })),
    )
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, ...Array<number>(7).fill(403)])
  })

  test('is checked before the fields, and not spent where they are wrong', async () => {
    const proof = await solve(site)
    const wrong = { email: 'a@b', name: ' \u200B', pageUrl: 'https://evil.example/' }
    const fields = await askFor(site, '', { ...wrong, proof })
    expect(fields.status).toBe(422)
    expect(fields.json.errors.map((each: { pointer: string }) => each.pointer).sort()).toEqual(['/email', '/name'])
    const foreign = await askFor(site, 'a@example.com', { pageUrl: 'https://evil.example/', proof })
    expect(foreign.json.errors).toMatchObject([{ pointer: '/pageUrl' }])
    expect((await askFor(site, 'spent-late@example.com', { proof })).status).toBe(202)
  })
})

const withOptions = (proof: string, options: Record<string, unknown>): string =>
  encode({ ...decode(proof), solution: { counter: 1, derivedKey: '0'.repeat(64) }, ...options })

test('a name that mail programs would make a link of is refused', async () => {
  const proof = await solve(site)
  for (const name of [
    'https://evil.example',
    'Win at evil.example now',
    'www.evil',
    'evil。example',
    'ev\u200Bil.example',
  ]) {
    const { status, json } = await askFor(site, 'linked@example.com', { name, proof })
    expect([status, json.errors], name).toEqual([
      422,
      [expect.objectContaining({ pointer: '/name', code: 'not_allowed' })],
    ])
  }
  const { status, text } = await askFor(site, 'initials@example.com', { name: 'Dr. J.R.R. Tolkien', proof })
  expect(status, text).toBe(202)
})

test('a name with a banned word is refused, as such a comment is', async () => {
  const { site: own } = await another({ settings: { bannedWords: ['rascal'] } })
  for (const name of ['Rascal', 'Gia, the RASCAL!']) {
    const { status, json } = await askFor(own, 'rascal@example.com', { name })
    expect([status, json.errors], name).toEqual([
      422,
      [expect.objectContaining({ pointer: '/name', code: 'banned_word' })],
    ])
  }
})

test('a link leads to no page that has another address in its path, where the token would be sent on', async () => {
  const proof = await solve(site)
  for (const path of [
    '/out/https://evil.example',
    '/out/HTTP:/evil.example',
    '/out//evil.example',
    '/out/%2F%2Fevil.example',
    '/out/https%3A%2F%2Fevil.example',
    '/out/https%253a%252f%252fevil.example',
    '/out/%5Cevil.example',
    '/out/\\evil.example',
    '/%09/evil.example',
    '/out/%20%7F/evil.example',
    '/out/ht%0Atps%3A/evil.example',
    '/out/%2%09F%2Fevil.example',
    // It could go on for ever.
    `/out/%${'25'.repeat(900)}2F/evil.example`,
  ]) {
    const { status, json } = await askFor(site, 'sent-on@example.com', { pageUrl: `${ORIGIN}${path}`, proof })
    expect([status, json.errors], path).toEqual([422, [expect.objectContaining({ pointer: '/pageUrl' })]])
  }
  const pageUrl = `${ORIGIN}/wiki/Talk:Main_(1)/%C3%A9t%C3%A9/100%2525%20a/v1.2/index.html?to=//evil.example`
  const { status, text } = await askFor(site, 'stays-here@example.com', { pageUrl, proof })
  expect(status, text).toBe(202)
})

/** A proof whose challenge was tampered with. */
function changed(proof: string, parameters: Record<string, unknown>): string {
  const { challenge, solution } = decode(proof)
  return encode({ challenge: { ...challenge, parameters: { ...challenge.parameters, ...parameters } }, solution })
}

describe('the mail', () => {
  test('is handed out signed, with a link to the page', async () => {
    const asked = await askFor(site, 'Gia@Example.com', {
      name: ' Gia\u202E ',
      pageUrl: `${PAGE}?to=https://evil.example/#old`,
    })
    expect([asked.status, Object.keys(asked.json.data)]).toEqual([202, ['expiresAt']])
    const inMs = Date.parse(asked.json.data.expiresAt) - Date.now()
    expect(inMs).toBeGreaterThan(29 * 60_000)
    await vi.waitFor(() => expect(mailsTo(mailer, 'Gia@Example.com')).toHaveLength(1))
    const [mail] = mailsTo(mailer, 'Gia@Example.com')
    if (mail === undefined) throw new Error('no mail')
    expect(mail.body).toEqual({
      email: 'Gia@Example.com',
      name: 'Gia',
      url: expect.stringMatching(/^https:\/\/www\.example\.com\/article#engagement-guest=[0-9a-f]{64}$/),
    })
    expect(isGenuine(mail, secrets)).toBe(true)
    expect(mail.headers).toMatchObject({ 'webhook-id': expect.stringMatching(/^guest_mail:/) })
    // From then on no row has the address, sealed or not.
    const rows = await query<{ sealed: unknown; row: string }>('SELECT sealed, r::text AS row FROM guest_requests r')
    await vi.waitFor(async () =>
      expect(await query('SELECT 1 FROM guest_requests WHERE sealed IS NOT NULL')).toEqual([]),
    )
    expect(rows.map(({ row }) => row).join()).not.toMatch(/gia@/i)
  })

  test('is handed out again after a failure, with the same id, and no log has the address', async () => {
    takeLog()
    mailer.on('/mails', (_request, response) => reply(response, 500, 'no mail to fails@example.com'))
    await askFor(site, 'fails@example.com')
    await vi.waitFor(() => expect(mailsTo(mailer, 'fails@example.com')).toHaveLength(1))
    await vi.waitFor(async () =>
      expect(await query('SELECT 1 FROM guest_requests WHERE due_at > now()')).not.toEqual([]),
    )
    mailer.on('/mails', null)
    await query('UPDATE guest_requests SET due_at = now() WHERE sealed IS NOT NULL')
    await vi.waitFor(() => expect(mailsTo(mailer, 'fails@example.com')).toHaveLength(2))
    const ids = mailsTo(mailer, 'fails@example.com').map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids).size).toBe(1)
    const log = takeLog()
    expect(log).toContain('the mail for a guest was not handed out')
    expect(log).not.toContain('fails@example.com')
  })

  test('goes to a mailbox three times an hour, in any spelling, the third for another asker', async () => {
    const spellings = ['often@example.com', 'Often@example.com', 'often+1@EXAMPLE.com']
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => askFor(site, spellings[n % spellings.length] ?? '')),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(202))
    const tenant = await admitTenant(service.app, service.tenant.id)
    const visited = await findSiteByKey(service.app, site.publicKey, () => undefined)
    if (visited === null) throw new Error('no site')
    // The asker of the six had two of the mails.
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
      const body = { name: 'Gia', email: 'often@example.com', pageUrl: PAGE, proof: await solve(site) }
      await requestMail(service.app, { site: visited, tenant, address }, body)
    }
    const count = async () =>
      (await query(`SELECT 1 FROM guest_requests WHERE name = 'Gia' AND created_at > now() - interval '1 minute'`))
        .length
    await vi.waitFor(async () =>
      expect(await query('SELECT 1 FROM guest_requests WHERE sealed IS NOT NULL')).toEqual([]),
    )
    const sent = () => mailer.requests.filter(({ body }) => /^often/i.test(String(body['email']))).length
    expect(sent()).toBe(3)
    expect(await count()).toBeGreaterThanOrEqual(3)
  })

  test('is not handed out after 25 minutes, and the address is forgotten then', async () => {
    const { tenant, site: own, headers } = await another()
    mailer.on('/late', (_request, response) => reply(response, 503))
    await service.call('PATCH', '/settings', { body: { guests: { mailUrl: `${mailer.url}/late` } }, headers })
    await askFor(own, 'late@example.com')
    await vi.waitFor(() => expect(mailsTo(mailer, 'late@example.com')).toHaveLength(1))
    const of = [tenant.tenant.id]
    await query(`UPDATE guest_requests SET created_at = now() - interval '26 minutes' WHERE tenant_id = $1`, of)
    mailer.on('/late', null)
    await forgetOldRequests(service.app)
    const rows = () =>
      query<{ sealed: unknown; name: string | null }>(
        'SELECT sealed, name FROM guest_requests WHERE tenant_id = $1',
        of,
      )
    expect(await rows()).toEqual([{ sealed: null, name: 'Gia' }])
    await query(`UPDATE guest_requests SET created_at = now() - interval '31 minutes' WHERE tenant_id = $1`, of)
    await forgetOldRequests(service.app)
    expect(await rows()).toEqual([{ sealed: null, name: null }])
    await query(`UPDATE guest_requests SET created_at = now() - interval '61 minutes' WHERE tenant_id = $1`, of)
    await forgetOldRequests(service.app)
    expect(await rows()).toEqual([])
    expect(mailsTo(mailer, 'late@example.com')).toHaveLength(1)
  })

  test('waits for a secret to be signed with, and is dropped where guests are off', async () => {
    const { tenant, site: own, headers, kid } = await another()
    const { id } = tenant.tenant
    const attempts = () => query<{ attempts: number }>('SELECT attempts FROM guest_requests WHERE tenant_id = $1', [id])
    const retry = () => query('UPDATE guest_requests SET due_at = now() WHERE tenant_id = $1', [id])
    mailer.on('/mails', (_request, response) => reply(response, 503))
    await askFor(own, 'unsigned@example.com')
    await vi.waitFor(async () =>
      expect((await service.call('GET', '/guest-mailer', { headers })).json.state).toBe('failing'),
    )
    mailer.on('/mails', null)
    // It was stored before the only secret ended.
    await service.call('DELETE', `/mail-secrets/${kid}`, { headers })
    await retry()
    await vi.waitFor(async () => expect(await attempts()).toEqual([{ attempts: 2 }]))
    await service.call('PATCH', '/settings', { body: { guests: { mailUrl: null } }, headers })
    await vi.waitFor(async () => {
      await retry()
      expect(await query('SELECT 1 FROM guest_requests WHERE sealed IS NOT NULL AND tenant_id = $1', [id])).toEqual([])
    })
    expect(mailsTo(mailer, 'unsigned@example.com')).toHaveLength(1)
  })

  test('is refused to an address of the internet that asks for many', async () => {
    const { site: own } = await another()
    const answers = []
    for (let n = 0; n < 11; n++) answers.push(await askFor(own, `many-${n}@example.com`))
    expect(answers.map(({ status }) => status)).toEqual([...Array<number>(10).fill(202), 429])
    expect(Number(answers.at(-1)?.headers.get('retry-after'))).toBeGreaterThan(0)
    // Nothing else of theirs is looked at.
    const wrong = await askFor(own, '', { name: '', pageUrl: 'https://evil.example/', proof: 'wrong' })
    expect([wrong.status, wrong.json.code]).toEqual([429, 'rate_limited'])
  })

  test('is refused while the key of its digests is missing, and the proof is good afterwards', async () => {
    const { tenant, site: own } = await another()
    await askFor(own, 'before@example.com')
    const { id } = tenant.tenant
    const lost = { ...service.app.settings, ENCRYPTION_KEY: randomBytes(32) }
    const put = (sealed: Uint8Array) => query('UPDATE guest_keys SET sealed = $2 WHERE tenant_id = $1', [id, sealed])
    const [stored] = await query<{ sealed: Buffer }>('SELECT sealed FROM guest_keys WHERE tenant_id = $1', [id])
    if (stored === undefined) throw new Error('no key')
    await put(seal(lost, 'of another key', guestKeyContext(id)))
    const proof = await solve(own)
    const refused = await askFor(own, 'key@example.com', { proof })
    expect([refused.status, refused.json.code], refused.text).toEqual([503, 'unavailable'])
    expect(refused.json.detail).toBe('A key of the service is missing. Its log says which.')
    await put(stored.sealed)
    expect((await askFor(own, 'key@example.com', { proof })).status).toBe(202)
    // An operator who has lost the key deletes it: the tenant gets another.
    await put(seal(lost, 'of another key', guestKeyContext(id)))
    const documented = /DELETE FROM guest_keys .*'0a1b2c3d'/.exec(
      readFileSync('docs/operations/operate.md', 'utf8'),
    )?.[0]
    await query(String(documented?.replace('0a1b2c3d', keyIdOf(lost.ENCRYPTION_KEY))))
    expect((await askFor(own, 'key@example.com')).status).toBe(202)
  })
})

describe('the link', () => {
  test('makes a guest, whose token is the reader on the pages of the site', async () => {
    const { token, expiresAt, reader } = await addGuest(site, mailer, 'ann@example.com')
    expect(token).toMatch(/^gt_[0-9a-f]{64}$/)
    const days = (Date.parse(expiresAt) - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(29)
    expect(reader).toEqual({ id: expect.any(String), name: 'Gia' })
    const me = await site.ask('GET', '/me?signedIn=1', { token })
    expect(me.json.reader).toMatchObject({ name: 'Gia', id: expect.stringMatching(/^guest:/) })
    const record = await service.call('GET', `/readers/${reader.id}`)
    expect(record.json).toMatchObject({ kind: 'guest', name: 'Gia', externalId: me.json.reader.id })
    const stored = await query<{ row: string }>(
      'SELECT t::text AS row FROM guest_tokens t UNION SELECT r::text FROM readers r',
    )
    expect(stored.map(({ row }) => row).join()).not.toMatch(/gt_|ann@/)
  })

  test('is spent by the first of many', async () => {
    await askFor(site, 'once@example.com')
    await vi.waitFor(() => expect(mailsTo(mailer, 'once@example.com')).toHaveLength(1))
    const answers = await Promise.all(Array.from({ length: 5 }, () => confirm(site, mailer, 'once@example.com')))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 403, 403, 403, 403])
    expect(answers.find(({ status }) => status === 403)?.json.code).toBe('invalid_guest_token')
  })

  test('ends after 30 minutes, and is not that of another tenant', async () => {
    const { site: own } = await another()
    await askFor(own, 'foreign@example.com')
    await vi.waitFor(() => expect(mailsTo(mailer, 'foreign@example.com')).toHaveLength(1))
    expect((await confirm(site, mailer, 'foreign@example.com')).json.code).toBe('invalid_guest_token')
    await age(31)
    expect((await confirm(own, mailer, 'foreign@example.com')).json.code).toBe('invalid_guest_token')
    for (const token of ['', 'x', '0'.repeat(64), 'gt_0'])
      expect((await own.ask('POST', '/guests/confirm', { body: { token } })).json.code).toBe('invalid_guest_token')
    expect((await own.ask('POST', '/guests/confirm', { body: { token: 7 } })).status).toBe(422)
  })

  test('is tried ten times a minute by one address of the internet, and a wrong one locks nothing', async () => {
    const { site: own } = await another()
    const transactions = vi.spyOn(service.app.db, 'transaction')
    const answers = []
    for (let n = 0; n < 11; n++)
      answers.push(await own.ask('POST', '/guests/confirm', { body: { token: String(n).padStart(64, '0') } }))
    expect(transactions).not.toHaveBeenCalled()
    transactions.mockRestore()
    expect(answers.map(({ status }) => status)).toEqual([...Array<number>(10).fill(403), 429])
  })

  test('gives a known guest no other name: neither a stranger nor they themselves write over it', async () => {
    const { token, reader } = await addGuest(site, mailer, 'named@example.com')
    const address = newPage()
    const { json: comment } = await post(token, address)
    await service.call('POST', `/comments/${comment.id as string}/approve`)
    const author = async () => (await site.ask('GET', `/comments${page(address)}`)).json.data[0]?.author.name as string
    await vi.waitFor(async () => expect(await author()).toBe('Gia'))
    const confirmAs = async (name: string, nth: number) => {
      await askFor(site, 'named@example.com', { name })
      const { status, json } = await confirm(site, mailer, 'named@example.com', nth)
      expect(status).toBe(200)
      expect(json.data.reader).toEqual({ id: reader.id, name: 'Gia' })
      const { json: shown } = await site.ask('GET', '/me?signedIn=1', { token: json.data.token })
      expect(shown.reader.name).toBe('Gia')
    }
    await confirmAs('Buy at Mallory', 2)
    expect((await service.call('POST', `/readers/${reader.id}/ban`, { body: {} })).status).toBe(200)
    // One asker has two mails an hour sent to a mailbox.
    await age(61)
    await confirmAs('Banned, and back', 3)
    expect((await service.call('GET', `/readers/${reader.id}`)).json.name).toBe('Gia')
    expect(await author()).toBe('Gia')
  })

  test('of one address is the same guest, also of two at once; of another tenant another', async () => {
    await Promise.all([askFor(site, 'twice@example.com'), askFor(site, 'Twice@Example.com', { name: 'Another' })])
    await vi.waitFor(() =>
      expect(mailer.requests.filter(({ body }) => /^twice@/i.test(String(body['email'])))).toHaveLength(2),
    )
    const [one, other] = await Promise.all([
      confirm(site, mailer, 'twice@example.com'),
      confirm(site, mailer, 'Twice@Example.com'),
    ])
    expect([one.status, other.status]).toEqual([200, 200])
    expect(one.json.data.reader.id).toBe(other.json.data.reader.id)
    expect(one.json.data.token).not.toBe(other.json.data.token)
    const { site: own } = await another()
    const third = await askFor(own, 'twice@example.com')
    expect(third.status).toBe(202)
    const { json } = await confirm(own, mailer, 'twice@example.com', 2)
    expect(json.data.reader.id).not.toBe(one.json.data.reader.id)
  })
})

describe('the token', () => {
  const isRefused = async (token: string, of = site) => {
    const { status, json } = await of.ask('GET', '/me?signedIn=1', { token })
    return status === 401 && json.code === 'invalid_identity'
  }

  test('is unknown elsewhere: at another tenant, and at the interfaces for backends and staff', async () => {
    const { token } = await addGuest(site, mailer, 'elsewhere@example.com')
    const { site: other } = await another()
    expect(await isRefused(token, other)).toBe(true)
    expect(await isRefused(`gt_${'0'.repeat(64)}`)).toBe(true)
    expect(await isRefused('gt_')).toBe(true)
    for (const headers of [{ 'x-api-key': token }, { authorization: `Bearer ${token}` }]) {
      const { status } = await fetch(`${service.url}/api/v1/readers/me`, { headers: headers as Record<string, string> })
      expect(status).toBe(401)
    }
  })

  test('ends with a sign-out, which does not end that of another device', async () => {
    const first = await addGuest(site, mailer, 'leaves@example.com')
    await askFor(site, 'leaves@example.com')
    const second = (await confirm(site, mailer, 'leaves@example.com', 2)).json.data
    expect((await site.ask('DELETE', '/guests/me', { token: first.token })).status).toBe(204)
    expect(await isRefused(first.token)).toBe(true)
    expect(await isRefused(second.token)).toBe(false)
    expect((await site.ask('DELETE', '/guests/me', { token: first.token })).status).toBe(401)
    expect((await site.ask('DELETE', '/guests/me', { token: await site.token() })).status).toBe(401)
    expect((await site.ask('DELETE', '/guests/me')).status).toBe(403)
  })

  test('is renewed while it is used, to 90 days at most', async () => {
    const { token, reader } = await addGuest(site, mailer, 'renewed@example.com')
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
    service.app.bus.publish('caches', JSON.stringify({ kind: 'guest', readerId: reader.id }))
    await vi.waitFor(async () => {
      expect(await isRefused(token)).toBe(false)
      expect(await daysLeft()).toBe(10)
    })
    await set(90, 0)
    await deleteExpiredGuestTokens(service.app)
    expect(await daysLeft()).toBe(undefined)
  })

  test.each<[string, (id: string) => Promise<unknown>]>([
    ['a ban', (id) => service.call('POST', `/readers/${id}/ban`, { body: {} })],
    ['an erasure', (id) => service.call('DELETE', `/readers/${id}`)],
  ])('ends with %s', async (name, end) => {
    const email = `${name.replace(/\W/g, '-')}@example.com`
    const { token, reader } = await addGuest(site, mailer, email)
    expect(await isRefused(token)).toBe(false)
    await end(reader.id)
    expect(await isRefused(token)).toBe(true)
    await askFor(site, email)
    const again = await confirm(site, mailer, email, 2)
    // The banned one comes back as who they are; the erased one is unknown.
    expect(again.json.data.reader.id === reader.id).toBe(name === 'a ban')
    if (name === 'a ban') expect((await post(again.json.data.token)).json.code).toBe('reader_banned')
  })

  test('ends with the merge into a reader, whom the address does not become; no reader merges into a guest', async () => {
    const { token, reader } = await addGuest(site, mailer, 'merged@example.com')
    const other = await addGuest(site, mailer, 'stays@example.com')
    await post(await site.token({ sub: 'registered' }))
    const [registered] = (await service.call('GET', '/readers?externalId=registered')).json.data as { id: string }[]
    const merge = (from: string, into: string) => service.call('POST', `/readers/${from}/merge`, { body: { into } })
    const refused = await merge(String(registered?.id), reader.id)
    expect([refused.status, refused.json.errors?.[0]?.code]).toEqual([422, 'is_guest'])
    expect((await merge(other.reader.id, reader.id)).status).toBe(422)
    expect((await merge(reader.id, String(registered?.id))).status).toBe(200)
    expect(await isRefused(token)).toBe(true)
    await askFor(site, 'merged@example.com')
    const again = (await confirm(site, mailer, 'merged@example.com', 2)).json.data
    expect([reader.id, registered?.id]).not.toContain(again.reader.id)
  })

  test('ends while the site takes no guests', async () => {
    const { site: own, headers } = await another()
    const { token } = await addGuest(own, mailer, 'switched@example.com')
    const set = (guests: string) => service.call('PATCH', `/sites/${own.id}`, { body: { guests }, headers })
    await set('off')
    expect(await isRefused(token, own)).toBe(true)
    await set('email')
    expect(await isRefused(token, own)).toBe(false)
  })

  test('stays where mails cannot be signed: its guest can write, others are offered nothing', async () => {
    const { site: own, headers, kid } = await another()
    const { token } = await addGuest(own, mailer, 'unsigned-later@example.com')
    await service.call('DELETE', `/mail-secrets/${kid}`, { headers })
    const guests = async (path: string, more = {}) => (await own.ask('GET', path, more)).json.guests
    expect([await guests('/settings'), await guests('/settings?signedIn=1', { token })]).toEqual([false, true])
    expect((await post(token, newPage(), 'Hello', own)).status).toBe(201)
  })

  test('is no identity that a backend or the issuer can assert', async () => {
    const { token } = await addGuest(site, mailer, 'asserted@example.com')
    const { id } = (await site.ask('GET', '/me?signedIn=1', { token })).json.reader as { id: string }
    expect(await isRefused(await site.token({ sub: id }))).toBe(true)
    const asserted = await service.call('GET', '/readers/me', { headers: await service.as(id) })
    expect([asserted.status, asserted.json.code]).toEqual([401, 'invalid_identity'])
    expect((await service.call('GET', '/readers/me', { headers: await service.as('guest:7') })).status).toBe(200)
  })
})

describe('comments of a guest', () => {
  test('wait until one was approved, whatever the moderation mode is', async () => {
    for (const moderationMode of ['none', 'post']) {
      const { site: own, headers } = await another({ settings: { moderationMode } })
      const { token } = await addGuest(own, mailer, `first-${moderationMode}@example.com`)
      const address = newPage()
      const first = await post(token, address, 'First', own)
      expect(first.json).toMatchObject({ status: 'pending' })
      // A word that this mode would publish, and flag.
      const second = await post(token, address, 'Second', own)
      expect(second.json).toMatchObject({ status: 'pending' })
      expect(await shownOn(address, own)).toEqual([])
      const queue = await service.call('GET', '/moderation/queue?status=pending', { headers })
      expect(queue.json.data.map((each: { reason: string }) => each.reason)).toEqual(['guest', 'guest'])
      // Neither an edit nor a reply makes it public.
      const edited = await own.ask('PATCH', `/comments/${first.json.id}`, { body: { body: 'First!' }, token })
      expect(edited.json.status, edited.text).toBe('pending')
      expect((await service.call('POST', `/comments/${first.json.id}/approve`, { headers })).status).toBe(200)
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
    const { token } = await addGuest(own, mailer, 'edits@example.com')
    const address = newPage()
    const approve = (id: string) => service.call('POST', `/comments/${id}/approve`, { headers })
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
    const { token, reader } = await addGuest(own, mailer, 'reacts@example.com')
    const other = await addGuest(own, mailer, 'reports@example.com')
    const path = `/comments/${comment.id as string}`
    const react = (method: string, body?: object) => own.ask(method, `${path}/reaction`, { token, body })
    const refused = await react('PUT', { type: 'like' })
    expect([refused.status, refused.json.code], refused.text).toEqual([403, 'guest_on_hold'])
    expect((await react('DELETE')).status).toBeLessThan(300)
    // Their name is told by nothing else.
    const node = { query: '{ reader: node(id: "' + reader.id + '") { id } }' }
    const found = await fetch(`${service.url}/graphql`, {
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
    const reports = await service.call('GET', `${path}/reports`, { headers })
    expect(reports.json.data.map((each: { counted: boolean }) => each.counted)).toEqual([false, false])
    const { json: first } = await post(token, address, 'Harmless', own)
    await service.call('POST', `/comments/${first.id as string}/approve`, { headers })
    expect((await react('PUT', { type: 'like' })).status).toBe(200)
  })

  test('wait in replies, in batches and in discussions with a mode of their own', async () => {
    const { site: own, headers } = await another({ hold: 2 })
    const { token } = await addGuest(own, mailer, 'replies@example.com')
    const address = newPage()
    const { json } = await post(await own.token(), address, 'Of a reader', own)
    const set = await service.call('PATCH', `/discussions/${json.discussionId as string}`, {
      body: { moderationMode: 'post' },
      headers,
    })
    expect(set.status, set.text).toBe(200)
    const say = (body: string, parentId?: string) =>
      own.ask('POST', `/comments${page(address)}`, { body: { body, ...(parentId && { parentId }) }, token })
    const many = await Promise.all([say('a', json.id), say('b'), say('c', json.id), say('d')])
    expect(many.map((each) => each.json.status)).toEqual(Array(4).fill('pending'))
    const approveOne = (n: number) => service.call('POST', `/comments/${many[n]?.json.id}/approve`, { headers })
    await approveOne(0)
    expect((await say('e')).json.status).toBe('pending')
    await approveOne(1)
    expect((await say('f')).json.status).toBe('approved')
    expect(await shownOn(address, own)).not.toContain('e')
  })

  test('do not wait with hold 0, or where a moderator trusts them', async () => {
    const { site: own, headers } = await another({ hold: 0 })
    const { token } = await addGuest(own, mailer, 'free@example.com')
    expect((await post(token, newPage(), 'Free', own)).json.status).toBe('approved')
    const trusted = await another()
    const guest = await addGuest(trusted.site, mailer, 'trusted@example.com')
    await service.call('PUT', `/readers/${guest.reader.id}/trust`, {
      body: { trust: 'never_hold' },
      headers: trusted.headers,
    })
    expect((await post(guest.token, newPage(), 'Trusted', trusted.site)).json.status).toBe('approved')
    expect(headers).not.toEqual(trusted.headers)
  })
})

describe('the state of the mailer', () => {
  const stateOf = async (headers: Record<string, string>) =>
    (await service.call('GET', '/guest-mailer', { headers })).json
  const never = { lastFailureAt: null, lastFailure: null, recoveredAt: null }

  test('says what is missing', async () => {
    const tenant = await service.addTenant('without-mailer')
    const headers = keyOf(tenant)
    const url = `${mailer.url}/mails`
    expect(await stateOf(headers)).toEqual({ url: null, state: 'none', ...never })
    const setUrl = (mailUrl: string) =>
      service.app.prisma.tenant.update({
        where: { id: tenant.tenant.id },
        data: { settings: { guests: { mailUrl } } },
      })
    await setUrl(url)
    expect(await stateOf(headers)).toEqual({ url, state: 'unsigned', ...never })
    const { json } = await service.call('POST', '/mail-secrets', { headers })
    expect(await stateOf(headers)).toEqual({ url, state: 'ready', ...never })
    // An earlier release has taken it.
    await setUrl('http://mailer.example.com/')
    expect(await stateOf(headers)).toMatchObject({ state: 'refused' })
    await setUrl(url)
    await service.call('DELETE', `/mail-secrets/${json.kid}`, { headers })
    expect(await stateOf(headers)).toMatchObject({ state: 'unsigned' })
  })

  test('says why a mail was last not taken, and when, until one is taken or the address changes', async () => {
    const { tenant, site: own, headers } = await another()
    mailer.on('/mails', (_request, response) => reply(response, 503, 'no'))
    await askFor(own, 'later@example.com')
    await vi.waitFor(async () => expect(await stateOf(headers)).toMatchObject({ state: 'failing' }))
    const { lastFailureAt, lastFailure, recoveredAt } = await stateOf(headers)
    expect([lastFailure, recoveredAt]).toEqual(['status 503', null])
    expect(Date.now() - Date.parse(lastFailureAt)).toBeLessThan(600_000)

    const { id } = tenant.tenant
    await service.call('PATCH', '/settings', { body: { guests: { mailUrl: `${mailer.url}/new` } }, headers })
    expect(await stateOf(headers)).toEqual({ url: `${mailer.url}/new`, state: 'ready', ...never })
    await service.call('PATCH', '/settings', { body: { guests: { mailUrl: `${mailer.url}/mails` } }, headers })

    // A mail that the former address took late says nothing of this one.
    await noteSuccess(service.app, { tenantId: id, url: `${mailer.url}/new` })
    expect(await stateOf(headers)).toMatchObject({ state: 'failing' })

    mailer.on('/mails', null)
    await query('UPDATE guest_requests SET due_at = now() WHERE tenant_id = $1', [id])
    await vi.waitFor(async () => expect(await stateOf(headers)).toMatchObject({ state: 'ready' }))
    const after = await stateOf(headers)
    expect(after).toMatchObject({ lastFailure: 'status 503', lastFailureAt })
    expect(Date.parse(after.recoveredAt)).toBeGreaterThanOrEqual(Date.parse(lastFailureAt))
  })
})

test('the secrets of the mails are shown once, listed and ended', async () => {
  const { headers } = await another()
  const list = async () => (await service.call('GET', '/mail-secrets', { headers })).json.data as { kid: string }[]
  const [{ kid } = { kid: '' }] = await list()
  expect(Object.keys((await list())[0] ?? {}).sort()).toEqual(['createdAt', 'expiresAt', 'kid'])
  expect((await service.call('DELETE', `/mail-secrets/${kid}`, { headers })).status).toBe(204)
  expect((await service.call('DELETE', `/mail-secrets/${kid}`)).status).toBe(404)
})

test('a proof that was made for a challenge in another form is not taken as one of today', async () => {
  const { json } = await site.ask('GET', '/challenge')
  const proof = await proofOf(json)
  const { challenge, solution } = decode(proof)
  const wrongSite = { ...challenge, parameters: { ...challenge.parameters, data: { site: 'x' } } }
  expect((await askFor(site, 'a@example.com', { proof: encode({ challenge: wrongSite, solution }) })).status).toBe(403)
  expect((await askFor(site, 'form@example.com', { proof })).status).toBe(202)
})

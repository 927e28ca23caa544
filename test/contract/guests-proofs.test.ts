import { describe, expect, test, vi } from 'vitest'

import { useGuestSite } from '../harness/guest-sites.ts'
import { askFor, decode, encode, mailsTo, proofOf, solve } from '../harness/guests.ts'
import { now, ORIGIN, page, type TestSite } from '../harness/sites.ts'

const at = useGuestSite()
const { another } = at

describe('pages', () => {
  test('learn whether the site takes guests, and whether anybody can write', async () => {
    const { site: own, headers, kid } = await another()
    const settings = async () => {
      const { json } = await own.ask('GET', '/settings')
      const thread = await own.ask('GET', `/thread${page()}`)
      expect(thread.json.settings).toMatchObject({ guests: json.guests })
      // The console says the same.
      const query = `{ site(id: "${own.id}") { takesGuests } }`
      const { data } = (await at.service.graphql(query, {}, headers)).json
      expect(data.site).toEqual({ takesGuests: json.guests })
      return [json.guests, json.posting, json.closed]
    }
    expect(await settings()).toEqual([true, undefined, undefined])
    const set = async (path: string, body: object) =>
      expect((await at.service.call('PATCH', path, { body, headers })).status).toBe(200)
    // Guests alone are enough to write.
    await set('/settings', { identity: { issuer: null, jwksUrl: null } })
    expect(await settings()).toEqual([true, undefined, undefined])
    await set('/settings', { guests: { mailUrl: null } })
    expect(await settings()).toEqual([false, false, 'nobody_yet'])
    expect((await own.ask('GET', '/challenge')).json.code).toBe('guests_disabled')
    await set('/settings', { guests: { mailUrl: `${at.mailer.url}/mails` } })
    await set(`/sites/${own.id}`, { guests: 'off' })
    expect(await settings()).toEqual([false, false, 'nobody_yet'])
    await set(`/sites/${own.id}`, { guests: 'email' })
    await at.service.call('DELETE', `/mail-secrets/${kid}`, { headers })
    expect(await settings()).toEqual([false, false, 'nobody_yet'])
    expect((await own.ask('GET', '/challenge')).json.code).toBe('guests_disabled')
    await at.service.call('POST', '/mail-secrets', { headers })
    expect(await settings()).toEqual([true, undefined, undefined])
    await set(`/sites/${own.id}`, { posting: false })
    expect(await settings()).toEqual([false, false, undefined])
    for (const path of ['/guests', '/guests/confirm'])
      expect((await own.ask('POST', path, { body: { token: '' } })).status, path).toBe(403)
  })

  test('need an origin of the site and the header of writes', async () => {
    const body = { token: '' }
    const answers = await Promise.all([
      at.site.ask('GET', '/challenge', { origin: 'https://evil.example' }),
      at.site.ask('POST', '/guests', { body, origin: null }),
      at.site.ask('POST', '/guests/confirm', { body, origin: 'https://evil.example' }),
      at.site.ask('POST', '/guests', { body, headers: { 'x-requested-with': 'fetch' } }),
    ])
    expect(answers.map(({ json }) => json.code)).toEqual(Array(4).fill('origin_not_allowed'))
  })
})

describe('the challenge', () => {
  test('is one of ALTCHA, which no cache keeps', async () => {
    const { status, headers, json } = await at.site.ask('GET', '/challenge')
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
      at.service.app.limits.giveBack('guest', `${busy.id}/127.0.0.1`, { perSecond: 1, burst: 10 }, 10)
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
    ['a challenge of another key', (proof) => changed(proof, { data: { site: at.site.id, key: '00000000' } })],
  ])('is not solved by %s', async (_name, make) => {
    const { status, json } = await askFor(at.site, 'nobody@example.com', { proof: make(await solve(at.site)) })
    expect([status, json.code]).toEqual([403, 'invalid_proof'])
  })

  test('is not solved by the proof of another site, nor twice', async () => {
    const { site: other } = await another()
    const ofOther = await askFor(at.site, 'nobody@example.com', { proof: await solve(other) })
    expect([ofOther.status, ofOther.json.code]).toEqual([403, 'invalid_proof'])
    const proof = await solve(at.site)
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => askFor(at.site, `racer-${n}@example.com`, { proof })),
    )
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, ...Array<number>(7).fill(403)])
  })

  test('is checked before the fields, and not spent where they are wrong', async () => {
    const proof = await solve(at.site)
    const wrong = { email: 'a@b', name: ' \u200B', pageUrl: 'https://evil.example/' }
    const fields = await askFor(at.site, '', { ...wrong, proof })
    expect(fields.status).toBe(422)
    expect(fields.json.errors.map((each: { pointer: string }) => each.pointer).sort()).toEqual(['/email', '/name'])
    const foreign = await askFor(at.site, 'a@example.com', { pageUrl: 'https://evil.example/', proof })
    expect(foreign.json.errors).toMatchObject([{ pointer: '/pageUrl' }])
    expect((await askFor(at.site, 'spent-late@example.com', { proof })).status).toBe(202)
  })
})

const withOptions = (proof: string, options: Record<string, unknown>): string =>
  encode({ ...decode(proof), solution: { counter: 1, derivedKey: '0'.repeat(64) }, ...options })

/** A proof whose challenge was tampered with. */
function changed(proof: string, parameters: Record<string, unknown>): string {
  const { challenge, solution } = decode(proof)
  return encode({ challenge: { ...challenge, parameters: { ...challenge.parameters, ...parameters } }, solution })
}

test('a proof that was made for a challenge in another form is not taken as one of today', async () => {
  const { json } = await at.site.ask('GET', '/challenge')
  const proof = await proofOf(json)
  const { challenge, solution } = decode(proof)
  const wrongSite = { ...challenge, parameters: { ...challenge.parameters, data: { site: 'x' } } }
  expect((await askFor(at.site, 'a@example.com', { proof: encode({ challenge: wrongSite, solution }) })).status).toBe(
    403,
  )
  expect((await askFor(at.site, 'form@example.com', { proof })).status).toBe(202)
})

test('a name that mail programs would make a link of is refused', async () => {
  const proof = await solve(at.site)
  for (const name of [
    'https://evil.example',
    'Win at evil.example now',
    'www.evil',
    'evil。example',
    'ev\u200Bil.example',
  ]) {
    const { status, json } = await askFor(at.site, 'linked@example.com', { name, proof })
    expect([status, json.errors], name).toEqual([
      422,
      [expect.objectContaining({ pointer: '/name', code: 'not_allowed' })],
    ])
  }
  const { status, text } = await askFor(at.site, 'initials@example.com', { name: 'Dr. J.R.R. Tolkien', proof })
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
  const proof = await solve(at.site)
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
    const { status, json } = await askFor(at.site, 'sent-on@example.com', { pageUrl: `${ORIGIN}${path}`, proof })
    expect([status, json.errors], path).toEqual([422, [expect.objectContaining({ pointer: '/pageUrl' })]])
  }
  const pageUrl = `${ORIGIN}/wiki/Talk:Main_(1)/%C3%A9t%C3%A9/100%2525%20a/v1.2/index.html?to=//evil.example`
  const { status, text } = await askFor(at.site, 'stays-here@example.com', { pageUrl, proof })
  expect(status, text).toBe(202)
})

test('a link has no sign that ends an address in HTML', async () => {
  const email = 'quotes@example.com'
  expect((await askFor(at.site, email, { pageUrl: `${ORIGIN}/a'b"><i>c&d\u00e9` })).status).toBe(202)
  await vi.waitFor(() => expect(mailsTo(at.mailer, email)).toHaveLength(1))
  expect(String(mailsTo(at.mailer, email)[0]?.body['url']).split('#')[0]).toBe(`${ORIGIN}/a%27b%22%3E%3Ci%3Ec&d%C3%A9`)
})

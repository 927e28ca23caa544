import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'

import { describe, expect, test, vi } from 'vitest'

import { keyIdOf, seal } from '../../src/core/secrets/seals.ts'
import { guestKeyContext } from '../../src/domains/guests/address.ts'
import { announceChange } from '../../src/core/read-cache.ts'
import { noteSuccess, takesGuests } from '../../src/domains/guests/mailer.ts'
import { forgetOldRequests, requestMail } from '../../src/domains/guests/requests.ts'
import { findSiteByKey } from '../../src/domains/sites/sites.ts'
import { admitTenant } from '../../src/domains/tenants/tenants.ts'
import { useGuestSite } from '../harness/guest-sites.ts'
import { askFor, mailsTo, PAGE, solve } from '../harness/guests.ts'
import { takeLog } from '../harness/log.ts'
import { isGenuine, reply } from '../harness/receiver.ts'
import { keyOf } from '../harness/sites.ts'

const at = useGuestSite()
const { another, query } = at

describe('the mail', () => {
  test('is handed out signed, with a link to the page', async () => {
    const asked = await askFor(at.site, 'Gia@Example.com', {
      name: ' Gia\u202E ',
      pageUrl: `${PAGE}?to=https://evil.example/#old`,
    })
    expect([asked.status, Object.keys(asked.json.data)]).toEqual([202, ['expiresAt']])
    const inMs = Date.parse(asked.json.data.expiresAt) - Date.now()
    expect(inMs).toBeGreaterThan(29 * 60_000)
    await vi.waitFor(() => expect(mailsTo(at.mailer, 'Gia@Example.com')).toHaveLength(1))
    const [mail] = mailsTo(at.mailer, 'Gia@Example.com')
    if (mail === undefined) throw new Error('no mail')
    expect(mail.body).toEqual({
      email: 'Gia@Example.com',
      name: 'Gia',
      url: expect.stringMatching(/^https:\/\/www\.example\.com\/article#engagement-guest=[0-9a-f]{64}$/),
    })
    expect(isGenuine(mail, at.secrets)).toBe(true)
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
    at.mailer.on('/mails', (_request, response) => reply(response, 500, 'no mail to fails@example.com'))
    await askFor(at.site, 'fails@example.com')
    await vi.waitFor(() => expect(mailsTo(at.mailer, 'fails@example.com')).toHaveLength(1))
    await vi.waitFor(async () =>
      expect(await query('SELECT 1 FROM guest_requests WHERE due_at > now()')).not.toEqual([]),
    )
    at.mailer.on('/mails', null)
    await query('UPDATE guest_requests SET due_at = now() WHERE sealed IS NOT NULL')
    await vi.waitFor(() => expect(mailsTo(at.mailer, 'fails@example.com')).toHaveLength(2))
    const ids = mailsTo(at.mailer, 'fails@example.com').map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids).size).toBe(1)
    const log = takeLog()
    expect(log).toContain('the mail for a guest was not handed out')
    expect(log).not.toContain('fails@example.com')
  })

  test('goes to a mailbox three times an hour, in any spelling, the third for another asker', async () => {
    const spellings = ['often@example.com', 'Often@example.com', 'often+1@EXAMPLE.com']
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => askFor(at.site, spellings[n % spellings.length] ?? '')),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(202))
    const tenant = await admitTenant(at.service.app, at.service.tenant.id)
    const visited = await findSiteByKey(at.service.app, at.site.publicKey, () => undefined)
    if (visited === null) throw new Error('no site')
    // The asker of the six had two of the mails.
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
      const body = { name: 'Gia', email: 'often@example.com', pageUrl: PAGE, proof: await solve(at.site) }
      await requestMail(at.service.app, { site: visited, tenant, address }, body)
    }
    const count = async () =>
      (await query(`SELECT 1 FROM guest_requests WHERE name = 'Gia' AND created_at > now() - interval '1 minute'`))
        .length
    await vi.waitFor(async () =>
      expect(await query('SELECT 1 FROM guest_requests WHERE sealed IS NOT NULL')).toEqual([]),
    )
    const sent = () => at.mailer.requests.filter(({ body }) => /^often/i.test(String(body['email']))).length
    expect(sent()).toBe(3)
    expect(await count()).toBeGreaterThanOrEqual(3)
  })

  test('is not handed out after 25 minutes, and the address is forgotten then', async () => {
    const { tenant, site: own, headers } = await another()
    at.mailer.on('/late', (_request, response) => reply(response, 503))
    await at.service.call('PATCH', '/settings', { body: { guests: { mailUrl: `${at.mailer.url}/late` } }, headers })
    await askFor(own, 'late@example.com')
    await vi.waitFor(() => expect(mailsTo(at.mailer, 'late@example.com')).toHaveLength(1))
    const of = [tenant.tenant.id]
    await query(`UPDATE guest_requests SET created_at = now() - interval '26 minutes' WHERE tenant_id = $1`, of)
    at.mailer.on('/late', null)
    await forgetOldRequests(at.service.app)
    const rows = () =>
      query<{ sealed: unknown; name: string | null }>(
        'SELECT sealed, name FROM guest_requests WHERE tenant_id = $1',
        of,
      )
    expect(await rows()).toEqual([{ sealed: null, name: 'Gia' }])
    await query(`UPDATE guest_requests SET created_at = now() - interval '31 minutes' WHERE tenant_id = $1`, of)
    await forgetOldRequests(at.service.app)
    expect(await rows()).toEqual([{ sealed: null, name: null }])
    await query(`UPDATE guest_requests SET created_at = now() - interval '61 minutes' WHERE tenant_id = $1`, of)
    await forgetOldRequests(at.service.app)
    expect(await rows()).toEqual([])
    expect(mailsTo(at.mailer, 'late@example.com')).toHaveLength(1)
  })

  test('waits for a secret to be signed with, and is dropped where guests are off', async () => {
    const { tenant, site: own, headers, kid } = await another()
    const { id } = tenant.tenant
    const attempts = () => query<{ attempts: number }>('SELECT attempts FROM guest_requests WHERE tenant_id = $1', [id])
    const retry = () => query('UPDATE guest_requests SET due_at = now() WHERE tenant_id = $1', [id])
    at.mailer.on('/mails', (_request, response) => reply(response, 503))
    await askFor(own, 'unsigned@example.com')
    await vi.waitFor(async () =>
      expect((await at.service.call('GET', '/guest-mailer', { headers })).json.state).toBe('failing'),
    )
    at.mailer.on('/mails', null)
    // It was stored before the only secret ended.
    await at.service.call('DELETE', `/mail-secrets/${kid}`, { headers })
    await retry()
    await vi.waitFor(async () => expect(await attempts()).toEqual([{ attempts: 2 }]))
    await at.service.call('PATCH', '/settings', { body: { guests: { mailUrl: null } }, headers })
    await vi.waitFor(async () => {
      await retry()
      expect(await query('SELECT 1 FROM guest_requests WHERE sealed IS NOT NULL AND tenant_id = $1', [id])).toEqual([])
    })
    expect(mailsTo(at.mailer, 'unsigned@example.com')).toHaveLength(1)
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
    const lost = { ...at.service.app.settings, ENCRYPTION_KEY: randomBytes(32) }
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

describe('the state of the mailer', () => {
  const stateOf = async (headers: Record<string, string>) =>
    (await at.service.call('GET', '/guest-mailer', { headers })).json
  const never = { lastFailureAt: null, lastFailure: null, recoveredAt: null }

  test('says what is missing', async () => {
    const tenant = await at.service.addTenant('without-mailer')
    const headers = keyOf(tenant)
    const url = `${at.mailer.url}/mails`
    expect(await stateOf(headers)).toEqual({ url: null, state: 'none', ...never })
    const setUrl = (mailUrl: string) =>
      at.service.app.prisma.tenant.update({
        where: { id: tenant.tenant.id },
        data: { settings: { guests: { mailUrl } } },
      })
    await setUrl(url)
    expect(await stateOf(headers)).toEqual({ url, state: 'unsigned', ...never })
    const { json } = await at.service.call('POST', '/mail-secrets', { headers })
    expect(await stateOf(headers)).toEqual({ url, state: 'ready', ...never })
    // An earlier release has taken it.
    await setUrl('http://mailer.example.com/')
    expect(await stateOf(headers)).toMatchObject({ state: 'refused' })
    await setUrl(url)
    await at.service.call('DELETE', `/mail-secrets/${json.kid}`, { headers })
    expect(await stateOf(headers)).toMatchObject({ state: 'unsigned' })
  })

  test('knows no failure where a mail was not sent', async () => {
    const { tenant, site: own, headers, kid } = await another()
    at.mailer.on('/mails', (_request, response) => reply(response, 503))
    await askFor(own, 'not-sent@example.com')
    await vi.waitFor(async () => expect(await stateOf(headers)).toMatchObject({ state: 'failing' }))
    await at.service.call('DELETE', `/mail-secrets/${kid}`, { headers })
    // Nothing is known of another address.
    const url = `${at.mailer.url}/mails?again`
    await at.service.call('PATCH', '/settings', { body: { guests: { mailUrl: url } }, headers })
    // After the third attempt the second one is over.
    for (const attempts of [2, 3]) {
      await query('UPDATE guest_requests SET due_at = now() WHERE tenant_id = $1', [tenant.tenant.id])
      const rows = () => query('SELECT attempts FROM guest_requests WHERE tenant_id = $1', [tenant.tenant.id])
      await vi.waitFor(async () => expect(await rows()).toEqual([{ attempts }]))
    }
    expect(await stateOf(headers)).toEqual({ url, state: 'unsigned', ...never })
    await at.service.call('POST', '/mail-secrets', { headers })
    expect(await stateOf(headers)).toEqual({ url, state: 'ready', ...never })
  })

  test('says why a mail was last not taken, and when, until one is taken or the address changes', async () => {
    const { tenant, site: own, headers } = await another()
    at.mailer.on('/mails', (_request, response) => reply(response, 503, 'no'))
    await askFor(own, 'later@example.com')
    await vi.waitFor(async () => expect(await stateOf(headers)).toMatchObject({ state: 'failing' }))
    const { lastFailureAt, lastFailure, recoveredAt } = await stateOf(headers)
    expect([lastFailure, recoveredAt]).toEqual(['status 503', null])
    expect(Date.now() - Date.parse(lastFailureAt)).toBeLessThan(600_000)

    const { id } = tenant.tenant
    await at.service.call('PATCH', '/settings', { body: { guests: { mailUrl: `${at.mailer.url}/new` } }, headers })
    expect(await stateOf(headers)).toEqual({ url: `${at.mailer.url}/new`, state: 'ready', ...never })
    await at.service.call('PATCH', '/settings', { body: { guests: { mailUrl: `${at.mailer.url}/mails` } }, headers })

    // A mail that the former address took late says nothing of this one.
    await noteSuccess(at.service.app, { tenantId: id, url: `${at.mailer.url}/new` })
    expect(await stateOf(headers)).toMatchObject({ state: 'failing' })

    at.mailer.on('/mails', null)
    await query('UPDATE guest_requests SET due_at = now() WHERE tenant_id = $1', [id])
    await vi.waitFor(async () => expect(await stateOf(headers)).toMatchObject({ state: 'ready' }))
    const after = await stateOf(headers)
    expect(after).toMatchObject({ lastFailure: 'status 503', lastFailureAt })
    expect(Date.parse(after.recoveredAt)).toBeGreaterThanOrEqual(Date.parse(lastFailureAt))
  })
})

test('a site takes no guests from the end of the last secret, also by a tenant that is cached', async () => {
  const { app } = at.service
  const { tenant, site: own } = await another()
  const { id } = tenant.tenant
  const visited = await findSiteByKey(app, own.publicKey, () => undefined)
  if (visited === null) throw new Error('no site')
  expect(await admitTenant(app, id)).toMatchObject({ mailSecretUntil: Infinity })
  const until = Date.now() + 3_600_000
  await query('UPDATE mail_secrets SET expires_at = $2 WHERE tenant_id = $1', [id, new Date(until)])
  announceChange(app, { kind: 'tenant', tenantId: id })
  const cached = await admitTenant(app, id)
  const takesAt = (now: number): boolean => {
    const clock = vi.spyOn(Date, 'now').mockReturnValue(now)
    const takes = takesGuests(app, visited, cached)
    clock.mockRestore()
    return takes
  }
  expect([until - 1, until].map(takesAt)).toEqual([true, false])
  await query('DELETE FROM mail_secrets WHERE tenant_id = $1', [id])
  announceChange(app, { kind: 'tenant', tenantId: id })
  expect(await admitTenant(app, id)).toMatchObject({ mailSecretUntil: null })
})

test('the secrets of the mails are shown once, listed and ended', async () => {
  const { headers } = await another()
  const list = async () => (await at.service.call('GET', '/mail-secrets', { headers })).json.data as { kid: string }[]
  const [{ kid } = { kid: '' }] = await list()
  expect(Object.keys((await list())[0] ?? {}).sort()).toEqual(['createdAt', 'expiresAt', 'kid'])
  expect((await at.service.call('DELETE', `/mail-secrets/${kid}`, { headers })).status).toBe(204)
  expect((await at.service.call('DELETE', `/mail-secrets/${kid}`)).status).toBe(404)
})

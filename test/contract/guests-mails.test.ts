import { afterAll, beforeAll, expect, test } from 'vitest'

import type { App } from '../../src/core/app.ts'
import { resealSecrets } from '../../src/domains/encryption-keys/reseal.ts'
import { formerDigestsOf } from '../../src/domains/guests/address.ts'
import { leaseMails } from '../../src/domains/guests/mails.ts'
import { openMail, storeRequest } from '../../src/domains/guests/requests.ts'
import { confirmGuest } from '../../src/domains/guests/tokens.ts'
import { findSiteByKey } from '../../src/domains/sites/sites.ts'
import { admitTenant } from '../../src/domains/tenants/tenants.ts'
import { addGuestSite } from '../harness/guests.ts'
import { startService, type TestService } from '../harness/service.ts'
import { ORIGIN } from '../harness/sites.ts'

let service: TestService

beforeAll(async () => {
  service = await startService({ worker: false })
})
afterAll(() => service.close())

const ASKER = '192.0.2.1'
const given = (email: string) => ({ name: 'Gia', email, pageUrl: `${ORIGIN}/a` })

test('the mails that are due longest are handed out first, whose tenant it is', async () => {
  const ids: string[] = []
  for (const slug of ['mails-a', 'mails-b', 'mails-c']) ids.push((await service.addTenant(slug)).tenant.id)
  const [first = '', second = '', third = ''] = ids.toSorted()
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1000)
  for (const seconds of [30, 29, 28])
    await storeRequest(service.app, first, given(`${seconds}@example.com`), ASKER, ago(seconds))
  await storeRequest(service.app, second, given('b@example.com'), ASKER, ago(10))
  await storeRequest(service.app, third, given('c@example.com'), ASKER, ago(60))
  const lease = async (limit: number) =>
    (await leaseMails(service.app.db.query, { busy: new Map(), perTenant: 2, limit, leaseMs: 60_000 })).map(
      ({ tenantId }) => tenantId,
    )
  expect(await lease(1)).toEqual([third])
  // Of one tenant at most its share.
  expect((await lease(10)).toSorted()).toEqual([first, first, second])
})

test('a mailbox gets three mails an hour in any spelling, two of them for one asker', async () => {
  const tenantId = (await service.addTenant('counted')).tenant.id
  const spellings = ['gia.m@gmail.com', 'giam@googlemail.com', 'Gia.M+a@Gmail.com', 'g.i.a.m@gmail.com']
  const ask = (n: number, asker: string, now = new Date()) =>
    storeRequest(service.app, tenantId, given(spellings[n % spellings.length] ?? ''), asker, now)
  const stored = () => service.app.prisma.guestRequest.count({ where: { tenantId } })
  await Promise.all(Array.from({ length: 10 }, (_, n) => ask(n, '192.0.2.1')))
  expect(await stored()).toBe(2)
  await Promise.all(Array.from({ length: 10 }, (_, n) => ask(n, `198.51.100.${n}`)))
  expect(await stored()).toBe(3)
  // Another mailbox has its own mails, and an hour later this one has new ones.
  await storeRequest(service.app, tenantId, given('gia.m@example.com'), '192.0.2.1', new Date())
  expect(await stored()).toBe(4)
  await ask(0, '192.0.2.1', new Date(Date.now() + 3_600_001))
  expect(await stored()).toBe(5)
})

test('a rotation of ENCRYPTION_KEY makes no second guest, and ends no link', async () => {
  const owner = await service.addTenant('rotated')
  const { publicKey } = await addGuestSite(service, owner, { mailUrl: 'https://mailer.example/guests' })
  const withKeys = (ENCRYPTION_KEY: Buffer, ...ENCRYPTION_KEYS: Buffer[]): App => ({
    ...service.app,
    settings: { ...service.app.settings, ENCRYPTION_KEY, ENCRYPTION_KEYS },
  })
  const [old, next] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const [before, during, after] = [withKeys(old, next), withKeys(next, old), withKeys(next)]
  const tenantId = owner.tenant.id
  let asked = 0
  const ask = async (app: App, email: string) => {
    await storeRequest(app, tenantId, given(email), `192.0.2.${++asked}`, new Date())
    const [request] = await app.prisma.guestRequest.findMany({ where: { tenantId }, orderBy: { id: 'desc' }, take: 1 })
    const mail = request?.sealed && openMail(app.settings, tenantId, request.id, request.sealed)
    return String(mail?.url.split('=')[1])
  }
  const confirm = async (app: App, token: string) => {
    const [site, tenant] = [await findSiteByKey(app, publicKey, () => undefined), await admitTenant(app, tenantId)]
    if (site === null) throw new Error('no site')
    return (await confirmGuest(app, { site, tenant, address: `192.0.2.${++asked}` }, { token })).reader.id
  }
  // Processes of both steps run at once.
  const [first, second] = [await ask(before, 'gia@example.com'), await ask(during, 'Gia@example.com')]
  const guest = await confirm(during, second)
  expect(await confirm(during, first)).toBe(guest)
  const other = await confirm(before, await ask(during, 'ann@example.com'))
  expect(await confirm(during, await ask(before, 'ann@example.com'))).toBe(other)
  expect((await resealSecrets(during)).resealed.guest_keys).toBe(1)
  expect(await confirm(after, await ask(after, 'gia@example.com'))).toBe(guest)
  // A guest of a release that made the digests with ENCRYPTION_KEY itself.
  for (const addressDigest of formerDigestsOf(withKeys(old), tenantId, 'ann@example.com'))
    await service.app.prisma.guest.updateMany({ where: { tenantId, readerId: other }, data: { addressDigest } })
  expect(await confirm(during, await ask(during, 'Ann@example.com'))).toBe(other)
  expect(await service.app.prisma.guest.count({ where: { tenantId } })).toBe(2)
})

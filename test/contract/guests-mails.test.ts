import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import type { App } from '../../src/core/app.ts'
import { resealSecrets } from '../../src/domains/encryption-keys/reseal.ts'
import { formerDigestsOf } from '../../src/domains/guests/address.ts'
import { leaseMails } from '../../src/domains/guests/mails.ts'
import { openMail, storeRequest } from '../../src/domains/guests/requests.ts'
import { confirmGuest } from '../../src/domains/guests/tokens.ts'
import { findSiteByKey } from '../../src/domains/sites/sites.ts'
import { lockReaders } from '../../src/domains/merges/sql.ts'
import { ofTenant } from '../../src/core/queues/patience.ts'
import { admitTenant } from '../../src/domains/tenants/tenants.ts'
import { onServer } from '../harness/database.ts'
import { addGuestSite } from '../harness/guests.ts'
import { startService, type TestService } from '../harness/service.ts'
import { ORIGIN } from '../harness/sites.ts'
import { unnamed } from '../harness/sql.ts'

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
  const app = ofTenant(service.app, tenantId)
  const spellings = ['gia.m@gmail.com', 'giam@googlemail.com', 'Gia.M+a@Gmail.com', 'g.i.a.m@gmail.com']
  const ask = (n: number, asker: string, now = new Date()) =>
    storeRequest(app, tenantId, given(spellings[n % spellings.length] ?? ''), asker, now)
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

/** A tenant whose site takes guests: what asks for a link at a process, and what confirms it. */
async function guestsOf(slug: string) {
  const owner = await service.addTenant(slug)
  const tenantId = owner.tenant.id
  const { publicKey } = await addGuestSite(service, owner, { mailUrl: 'https://mailer.example/guests' })
  let asked = 0
  const nextAsker = () => `192.0.2.${++asked}`
  const ask = async (app: App, email: string): Promise<string> => {
    await storeRequest(app, tenantId, given(email), nextAsker(), new Date())
    const [request] = await app.prisma.guestRequest.findMany({ where: { tenantId }, orderBy: { id: 'desc' }, take: 1 })
    const mail = request?.sealed && openMail(app.settings, tenantId, request.id, request.sealed)
    return String(mail?.url.split('=')[1])
  }
  const confirm = async (app: App, token: string): Promise<string> => {
    const [site, tenant] = [await findSiteByKey(app, publicKey, () => undefined), await admitTenant(app, tenantId)]
    if (site === null) throw new Error('no site')
    return (await confirmGuest(app, { site, tenant, address: nextAsker() }, { token })).reader.id
  }
  return { tenantId, ask, confirm }
}

test('a rotation of ENCRYPTION_KEY makes no second guest, and ends no link', async () => {
  const { tenantId, ask, confirm } = await guestsOf('rotated')
  const withKeys = (ENCRYPTION_KEY: Buffer, ...ENCRYPTION_KEYS: Buffer[]): App => ({
    ...service.app,
    settings: { ...service.app.settings, ENCRYPTION_KEY, ENCRYPTION_KEYS },
  })
  const [old, next] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const [before, during, after] = [withKeys(old, next), withKeys(next, old), withKeys(next)]
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

// The embedded database has one connection.
test.runIf(onServer)(
  'a link that is confirmed within a merge waits for it, and holds nothing that it needs',
  async () => {
    const { app } = service
    const { tenantId, ask, confirm } = await guestsOf('merging')
    const guest = await confirm(app, await ask(app, 'gia@example.com'))
    const token = await ask(app, 'gia@example.com')
    let confirming: Promise<string> | undefined
    await app.db.transaction(async (sql) => {
      await lockReaders(sql, tenantId, [guest])
      confirming = confirm(ofTenant(app, tenantId), token)
      const waiting = unnamed(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
      await vi.waitFor(async () => expect(await app.db.query(waiting)).not.toHaveLength(0))
      // As the merge does last. If the other held this row, each would wait for the other.
      await sql(unnamed('SELECT 1 FROM tenants WHERE id = $1 FOR NO KEY UPDATE NOWAIT'), [tenantId])
    })
    expect(await confirming).toBe(guest)
  },
)

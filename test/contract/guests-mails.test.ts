import { describe, expect, test, vi } from 'vitest'

import type { App } from '../../src/core/app.ts'
import { resealSecrets } from '../../src/domains/encryption-keys/reseal.ts'
import { digestsOf, formerDigestsOf } from '../../src/domains/guests/address.ts'
import { leaseMails } from '../../src/domains/guests/mails.ts'
import { openMail, storeRequest } from '../../src/domains/guests/requests.ts'
import { confirmGuest } from '../../src/domains/guests/tokens.ts'
import { findSiteByKey } from '../../src/domains/sites/sites.ts'
import { lockReaders } from '../../src/domains/merges/sql.ts'
import { ofTenant } from '../../src/core/queues/patience.ts'
import { admitTenant } from '../../src/domains/tenants/tenants.ts'
import { onServer } from '../harness/database.ts'
import { addGuestSite } from '../harness/guests.ts'
import { useService } from '../harness/service.ts'
import { ORIGIN } from '../harness/sites.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

const ASKER = '192.0.2.1'
const ask = async (app: App, tenantId: string, email: string, asker = ASKER, now = new Date()) =>
  storeRequest(
    app,
    tenantId,
    { name: 'Gia', email, pageUrl: `${ORIGIN}/a` },
    await digestsOf(app, tenantId, email, asker),
    now,
  )

test('the mails that are due longest are handed out first, whose tenant it is', async () => {
  const ids: string[] = []
  for (const slug of ['mails-a', 'mails-b', 'mails-c']) ids.push((await service.addTenant(slug)).tenant.id)
  const [first = '', second = '', third = ''] = ids.toSorted()
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1000)
  for (const seconds of [30, 29, 28]) await ask(service.app, first, `${seconds}@example.com`, ASKER, ago(seconds))
  await ask(service.app, second, 'b@example.com', ASKER, ago(10))
  await ask(service.app, third, 'c@example.com', ASKER, ago(60))
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
  const app = ofTenant(service.app, tenantId)
  const askAs = (n: number, asker: string, now = new Date()) =>
    ask(app, tenantId, spellings[n % spellings.length] ?? '', asker, now)
  const stored = () => service.app.prisma.guestRequest.count({ where: { tenantId } })
  await Promise.all(Array.from({ length: 10 }, (_, n) => askAs(n, '192.0.2.1')))
  expect(await stored()).toBe(2)
  await Promise.all(Array.from({ length: 10 }, (_, n) => askAs(n, `198.51.100.${n}`)))
  expect(await stored()).toBe(3)
  // What is refused anyway lets nobody wait.
  const transactions = vi.spyOn(service.app.db, 'transaction')
  await askAs(0, '192.0.2.1')
  expect(transactions).not.toHaveBeenCalled()
  transactions.mockRestore()
  // Another mailbox has its own mails, and an hour later this one has new ones.
  await ask(service.app, tenantId, 'gia.m@example.com')
  expect(await stored()).toBe(4)
  await askAs(0, '192.0.2.1', new Date(Date.now() + 3_600_001))
  expect(await stored()).toBe(5)
})

/** A tenant that takes guests, whose requests all come from other addresses of the internet. */
async function addOwner(slug: string) {
  const owner = await service.addTenant(slug)
  const { publicKey } = await addGuestSite(service, owner, { mailUrl: 'https://mailer.example/guests' })
  const tenantId = owner.tenant.id
  let asked = 0
  return {
    tenantId,
    /** The token of the link that is asked for. */
    ask: async (app: App, email: string) => {
      await ask(app, tenantId, email, `192.0.2.${++asked}`)
      const [request] = await app.prisma.guestRequest.findMany({
        where: { tenantId },
        orderBy: { id: 'desc' },
        take: 1,
      })
      const mail = request?.sealed && openMail(app.settings, tenantId, request.id, request.sealed)
      return String(mail?.url.split('=')[1])
    },
    /** The id of the guest. */
    confirm: async (app: App, token: string) => {
      const [site, tenant] = [await findSiteByKey(app, publicKey, () => undefined), await admitTenant(app, tenantId)]
      if (site === null) throw new Error('no site')
      return (await confirmGuest(app, { site, tenant, address: `192.0.2.${++asked}` }, { token })).reader.id
    },
    guests: () => service.app.prisma.guest.count({ where: { tenantId } }),
  }
}

test('a rotation of ENCRYPTION_KEY makes no second guest, and ends no link', async () => {
  const owner = await addOwner('rotated')
  const withKeys = (ENCRYPTION_KEY: Buffer, ...ENCRYPTION_KEYS: Buffer[]): App => ({
    ...service.app,
    settings: { ...service.app.settings, ENCRYPTION_KEY, ENCRYPTION_KEYS },
  })
  const [old, next] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const [before, during, after] = [withKeys(old, next), withKeys(next, old), withKeys(next)]
  // Processes of both steps run at once.
  const first = await owner.ask(before, 'gia@example.com')
  const guest = await owner.confirm(during, await owner.ask(during, 'Gia@example.com'))
  expect(await owner.confirm(during, first)).toBe(guest)
  const other = await owner.confirm(before, await owner.ask(during, 'ann@example.com'))
  expect(await owner.confirm(during, await owner.ask(before, 'ann@example.com'))).toBe(other)
  expect((await resealSecrets(during)).resealed.guest_keys).toBe(1)
  expect(await owner.confirm(after, await owner.ask(after, 'gia@example.com'))).toBe(guest)
  expect(await owner.guests()).toBe(2)
})

describe('of the release before, which made digests with ENCRYPTION_KEY itself,', () => {
  const formerOf = (tenantId: string, email: string) => {
    const [addressDigest] = formerDigestsOf(service.app, tenantId, email)
    if (addressDigest === undefined) throw new Error('no key')
    return { addressDigest }
  }

  test('a guest is the guest of their address', async () => {
    const { tenantId, ...owner } = await addOwner('former-guest')
    const guest = await owner.confirm(service.app, await owner.ask(service.app, 'ann@example.com'))
    await service.app.prisma.guest.updateMany({ where: { tenantId }, data: formerOf(tenantId, 'ann@example.com') })
    expect(await owner.confirm(service.app, await owner.ask(service.app, 'Ann@example.com'))).toBe(guest)
    expect(await owner.guests()).toBe(1)
  })

  test('a link is the guest of its address, who is confirmed meanwhile, and counts for the mailbox', async () => {
    const { tenantId, ...owner } = await addOwner('former-link')
    const link = await owner.ask(service.app, 'ann@example.com')
    const asBefore = { ...formerOf(tenantId, 'ann@example.com'), mailboxDigest: null, askerDigest: null }
    await service.app.prisma.guestRequest.updateMany({ where: { tenantId }, data: asBefore })
    const guest = await owner.confirm(service.app, await owner.ask(service.app, 'ann@example.com'))
    expect(await owner.confirm(service.app, link)).toBe(guest)
    for (let n = 0; n < 3; n++) await owner.ask(service.app, 'ann@example.com')
    expect(await service.app.prisma.guestRequest.count({ where: { tenantId } })).toBe(3)
    expect(await owner.guests()).toBe(1)
  })

  test('a link finds the guest whom another request moves to the digest of now meanwhile', async () => {
    const { tenantId, ...owner } = await addOwner('former-race')
    const { app } = service
    const guest = await owner.confirm(app, await owner.ask(app, 'ann@example.com'))
    const link = await owner.ask(app, 'ann@example.com')
    const data = formerOf(tenantId, 'ann@example.com')
    await app.prisma.guest.updateMany({ where: { tenantId }, data })
    await app.prisma.guestRequest.updateMany({ where: { tenantId }, data: { ...data, mailboxDigest: null } })
    const find = app.prisma.guest.findUnique.bind(app.prisma.guest)
    const spy = vi.spyOn(app.prisma.guest, 'findUnique').mockImplementationOnce((async (args: never) => {
      await owner.ask(app, 'ann@example.com')
      return find(args)
    }) as never)
    expect(await owner.confirm(app, link)).toBe(guest)
    expect(spy).toHaveBeenCalledTimes(2)
    spy.mockRestore()
    expect(await owner.guests()).toBe(1)
  })

  test('a link whose address is moved within each attempt is refused for a second', async () => {
    const { tenantId, ...owner } = await addOwner('former-moves')
    const { app } = service
    const link = await owner.ask(app, 'ann@example.com')
    const request = await app.prisma.guestRequest.findFirst({ where: { tenantId } })
    const stale = { ...request, ...formerOf(tenantId, 'ann@example.com') }
    const spy = vi.spyOn(app.prisma.guestRequest, 'findFirst').mockResolvedValue(stale as never)
    const refusal = { code: 'unavailable', extras: { retryAfterSeconds: 1 } }
    await expect(owner.confirm(app, link)).rejects.toMatchObject(refusal)
    expect(spy).toHaveBeenCalledTimes(2)
    spy.mockRestore()
    await owner.confirm(app, link)
    expect(await owner.guests()).toBe(1)
  })

  test('a second guest of an address changes nothing for the one of now', async () => {
    const { tenantId, ...owner } = await addOwner('former-second')
    const guest = await owner.confirm(service.app, await owner.ask(service.app, 'ann@example.com'))
    const second = await owner.confirm(service.app, await owner.ask(service.app, 'bob@example.com'))
    const data = formerOf(tenantId, 'ann@example.com')
    await service.app.prisma.guest.updateMany({ where: { tenantId, readerId: second }, data })
    expect(await owner.confirm(service.app, await owner.ask(service.app, 'ann@example.com'))).toBe(guest)
  })
})

// The embedded database has one connection.
test.runIf(onServer)(
  'a link that is confirmed within a merge waits for it, and holds nothing that it needs',
  async () => {
    const { app } = service
    const { tenantId, ...owner } = await addOwner('merging')
    const guest = await owner.confirm(app, await owner.ask(app, 'gia@example.com'))
    const token = await owner.ask(app, 'gia@example.com')
    let confirming: Promise<string> | undefined
    await app.db.transaction(async (sql) => {
      await lockReaders(sql, tenantId, [guest])
      confirming = owner.confirm(ofTenant(app, tenantId), token)
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

test('an address that is known and one that is not cost as many statements', async () => {
  const { tenantId, ...owner } = await addOwner('statements')
  await owner.confirm(service.app, await owner.ask(service.app, 'known@example.com'))
  const statementsFor = async (email: string) => {
    const asked: string[] = []
    const db: App['db'] = {
      ...service.app.db,
      transaction: (work) =>
        service.app.db.transaction((sql) =>
          work(
            sql.within((statement, run) => {
              asked.push(statement.text)
              return run()
            }),
          ),
        ),
    }
    await ask({ ...service.app, db, prisma: noting(service.app.prisma, asked) }, tenantId, email, '198.51.100.7')
    return asked
  }
  const known = await statementsFor('known@example.com')
  expect(known.length).toBeGreaterThan(5)
  expect(await statementsFor('unknown@example.com')).toEqual(known)
})

/** Prisma that notes each call. */
const noting = (prisma: App['prisma'], calls: string[]): App['prisma'] =>
  new Proxy(prisma, {
    get: (models, model) =>
      new Proxy(Reflect.get(models, model) as object, {
        get: (methods, method) => {
          calls.push(`${String(model)}.${String(method)}`)
          return Reflect.get(methods, method) as unknown
        },
      }),
  })

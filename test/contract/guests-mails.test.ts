import { afterAll, beforeAll, expect, test } from 'vitest'

import type { App } from '../../src/core/app.ts'
import { newId } from '../../src/core/ids.ts'
import { digestsOf } from '../../src/domains/guests/address.ts'
import { leaseMails } from '../../src/domains/guests/mails.ts'
import { storeRequest } from '../../src/domains/guests/requests.ts'
import { startService, type TestService } from '../harness/service.ts'
import { ORIGIN } from '../harness/sites.ts'

let service: TestService

beforeAll(async () => {
  service = await startService({ worker: false })
})
afterAll(() => service.close())

const given = (email: string) => ({ name: 'Gia', email, pageUrl: `${ORIGIN}/a` })

test('the mails that are due longest are handed out first, whose tenant it is', async () => {
  const ids: string[] = []
  for (const slug of ['mails-a', 'mails-b', 'mails-c']) ids.push((await service.addTenant(slug)).tenant.id)
  const [first = '', second = '', third = ''] = ids.toSorted()
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1000)
  for (const seconds of [30, 29, 28])
    await storeRequest(service.app, first, given(`${seconds}@example.com`), ago(seconds))
  await storeRequest(service.app, second, given('b@example.com'), ago(10))
  await storeRequest(service.app, third, given('c@example.com'), ago(60))
  const lease = async (limit: number) =>
    (await leaseMails(service.app.db.query, { busy: new Map(), perTenant: 2, limit, leaseMs: 60_000 })).map(
      ({ tenantId }) => tenantId,
    )
  expect(await lease(1)).toEqual([third])
  // Of one tenant at most its share.
  expect((await lease(10)).toSorted()).toEqual([first, first, second])
})

test('of guests of one address by several keys, one is found by the current key', async () => {
  const tenantId = (await service.addTenant('rotated')).tenant.id
  const key = (byte: number) => Buffer.alloc(32, byte)
  const settings = { ...service.app.settings, ENCRYPTION_KEY: key(1), ENCRYPTION_KEYS: [key(2), key(3)] }
  const app: App = { ...service.app, settings }
  const add = async (addressDigest: Buffer<ArrayBuffer>) => {
    const id = newId()
    const reader = { tenantId, id, externalId: `guest:${newId()}`, profileIssuedAt: new Date() }
    await app.prisma.reader.create({ data: reader })
    await app.prisma.guest.create({ data: { tenantId, readerId: id, addressDigest } })
    return id
  }
  const found = async (email: string) => {
    await storeRequest(app, tenantId, given(email), new Date())
    const [addressDigest] = digestsOf(app, tenantId, email)
    const where = { tenantId_addressDigest: { tenantId, addressDigest } }
    return (await app.prisma.guest.findUnique({ where }))?.readerId
  }
  const [, former] = digestsOf(app, tenantId, 'moved@example.com')
  if (former === undefined) throw new Error('no former key')
  const moved = await add(former)
  expect(await found('moved@example.com')).toBe(moved)
  const [current, ...others] = digestsOf(app, tenantId, 'twice@example.com')
  for (const each of others) await add(each)
  const latest = await add(current)
  expect(await found('twice@example.com')).toBe(latest)
  const [, ...two] = digestsOf(app, tenantId, 'former@example.com')
  const both = []
  for (const each of two) both.push(await add(each))
  expect(both).toContain(await found('former@example.com'))
})

import { afterAll, beforeAll, expect, test } from 'vitest'

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

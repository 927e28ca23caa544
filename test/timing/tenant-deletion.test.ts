import { afterAll, beforeAll, expect, test } from 'vitest'

import type { App } from '../../src/core/app.ts'
import { newId } from '../../src/core/ids.ts'
import { foldWaiting } from '../../src/domains/analytics/fold.ts'
import { removeOfDeletedTenant } from '../../src/domains/tenant-removal/remove.ts'
import { countTables } from '../harness/every-table.ts'
import type { TestService } from '../harness/service.ts'
import { callOf, deleteNow, hurryRemoval, isTenantThere, startTwo, useTenant } from '../harness/tenant-removal.ts'

let service: TestService
/** Another process on the same database. */
let second: App
let close: () => Promise<void>
beforeAll(async () => {
  ;({ service, second, close } = await startTwo())
})
afterAll(() => close())

test('workers that die, and several at once beside the others, leave nothing, and hold up no other tenant', async () => {
  const [tenant, other] = [await service.addTenant(`t-${newId()}`), await service.addTenant(`t-${newId()}`)]
  await useTenant(service, tenant, 12)
  await useTenant(service, other, 1)
  await deleteNow(service.app, tenant.tenant.id)
  let isOver = false
  const writing = (async () => {
    const call = callOf(service, other)
    let slowest = 0
    const ada = await other.as('ada')
    while (!isOver) {
      const since = performance.now()
      await call('POST', '/discussions/by-external/busy/comments', { body: 'x' }, ada)
      slowest = Math.max(slowest, performance.now() - since)
    }
    return slowest
  })()
  const folding = (async () => {
    while (!isOver) await foldWaiting(second)
  })()
  while (await isTenantThere(service.app, tenant.tenant.id)) {
    await Promise.all([removeOfDeletedTenant(service.app), removeOfDeletedTenant(second)])
    // As the lease of a worker that died.
    await hurryRemoval(service.app, tenant.tenant.id)
  }
  isOver = true
  expect(await writing).toBeLessThan(5000)
  await folding
  await foldWaiting(second)
  expect(await countTables(service.app.db, tenant.tenant.id)).toEqual({})
})

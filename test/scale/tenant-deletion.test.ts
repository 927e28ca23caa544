import { expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { removeOfDeletedTenant } from '../../src/domains/tenant-removal/remove.ts'
import { countTables } from '../harness/every-table.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { deleteNow, hurryRemoval } from '../harness/tenant-removal.ts'

const service = useService()

const run = <Row>(text: string, ...params: string[]): Promise<Row[]> => service.app.db.query<Row>(unnamed(text), params)

test('a batch reads its rows by key, however many rows other tenants have before them', async () => {
  const [tenant, other] = [await service.addTenant(`t-${newId()}`), await service.addTenant(`t-${newId()}`)]
  const fill = (id: string) =>
    run(
      `INSERT INTO audit_log (tenant_id, id, actor_kind, action, target_type)
       SELECT $1, new_id(), 'system', 'settings.update', 'settings' FROM generate_series(1, 40000)`,
      id,
    )
  await fill(other.tenant.id)
  await fill(tenant.tenant.id)
  await run('ANALYZE audit_log')
  await deleteNow(service.app, tenant.tenant.id)
  const figures = async () => {
    const [row] = await run<{ read: number; deleted: number }>(
      `SELECT seq_tup_read::int AS read, n_tup_del::int AS deleted FROM pg_stat_user_tables WHERE relname = 'audit_log'`,
    )
    return row ?? { read: 0, deleted: 0 }
  }
  const before = await figures()
  for (let n = 0; n < 12; n++) {
    await hurryRemoval(service.app, tenant.tenant.id)
    await removeOfDeletedTenant(service.app)
  }
  const { audit_log: left = 0 } = await countTables(service.app.db, tenant.tenant.id)
  const deleted = 40_000 - left
  expect(deleted).toBeGreaterThan(1000)
  // The figures of a connection appear later, those of its reads with those of its deletions.
  await vi.waitFor(async () => {
    await Promise.all(Array.from({ length: 10 }, () => run('SELECT pg_stat_force_next_flush()')))
    expect((await figures()).deleted - before.deleted).toBeGreaterThanOrEqual(deleted)
  })
  // The test itself reads the whole table as well.
  expect((await figures()).read - before.read).toBeLessThan(80_000 * 3)
})

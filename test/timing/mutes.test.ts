import { expect, test } from 'vitest'

import { callsTo } from '../harness/calls.ts'
import { effort } from '../harness/effort.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

const { ok } = callsTo(() => service)

interface Reader {
  id: string
}

async function reader(externalId: string): Promise<Reader> {
  const options = { body: { body: 'text' }, headers: await service.as(externalId) }
  return (await service.call('POST', '/discussions/by-external/page/comments', options)).json.author
}

test('a merge, and an erasure, of one whom thousands have muted hold nobody up', async () => {
  const [carl, dora] = [await reader('carl'), await reader('dora')]
  const many = effort(20_000, 500)
  const externalIds = Array.from({ length: many }, (_, n) => `muter-${n}-${carl.id}`)
  const MUTERS = unnamed(
    `WITH made AS (
       INSERT INTO readers (tenant_id, id, external_id, profile_issued_at)
       SELECT $1, gen_random_uuid(), unnest($2::text[]), now() RETURNING id
     )
     INSERT INTO reader_mutes (tenant_id, id, reader_id, muted_id) SELECT $1, gen_random_uuid(), id, $3 FROM made`,
  )
  await service.app.db.query(MUTERS, [service.tenant.id, externalIds, carl.id])
  const MUTES = unnamed('SELECT count(*)::int AS n FROM reader_mutes WHERE tenant_id = $1 AND muted_id = $2')
  const mutesOf = async ({ id }: Reader) => (await service.app.db.query(MUTES, [service.tenant.id, id]))[0]
  // On PostgreSQL a statement for each row took 40 seconds.
  const begin = performance.now()
  await ok('POST', `/readers/${carl.id}/merge`, { into: dora.id })
  await expect.poll(() => mutesOf(dora), { timeout: 10_000 }).toEqual({ n: many })
  await ok('DELETE', `/readers/${dora.id}`)
  await expect.poll(() => mutesOf(dora), { timeout: 10_000 }).toEqual({ n: 0 })
  expect(performance.now() - begin).toBeLessThan(10_000)
})

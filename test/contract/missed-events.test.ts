import { beforeAll, expect, test } from 'vitest'

import type { Db } from '../../src/core/database/database.ts'
import { databaseLog, type MissedEvents, type ReplayBounds } from '../../src/live/event-log.ts'
import type { StreamViewer } from '../../src/live/viewer.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const HOUR = 3_600_000
const COUNT = 2000
/** Only keys get these, which come first. */
const HIDDEN = 100
const PUBLIC: StreamViewer = { kind: 'public', readerId: null }

const service = useService()
let key: { tenantId: string; discussionId: string }

beforeAll(async () => {
  const id = await service.newDiscussion()
  key = { tenantId: service.tenant.id, discussionId: id }
  const insert =
    unnamed(`INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, occurred_at, actor, data)
     SELECT $1::uuid, $2::uuid, n, gen_random_uuid(), 'comment_created',
       CASE WHEN n <= $4::int THEN 'tenant' ELSE 'public' END, now() - interval '2 hours', '{"kind":"system"}', '{}'
     FROM generate_series(1, $3::int) AS n`)
  await service.app.db.query(insert, [key.tenantId, key.discussionId, COUNT, HIDDEN])
  await service.app.db.query(unnamed('ANALYZE events'), [])
})

interface Plan {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

/** The rows of tables that a plan has looked at. */
function rowsOf(plan: Plan): number {
  const rows = plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)
  const own = plan['Relation Name'] === undefined ? 0 : rows * plan['Actual Loops']
  return (plan.Plans ?? []).reduce((sum, inner) => sum + rowsOf(inner), own)
}

/** The answer, and how many rows it took. */
async function missed(
  range: { after: number; upTo?: number },
  bounds: Partial<ReplayBounds> & { hours?: number },
  viewer = PUBLIC,
): Promise<MissedEvents & { rows: number }> {
  const { hours = 24, most = 10_000 } = bounds
  let rows = 0
  const query: Db['query'] = async (statement, params) => {
    const explain = unnamed(`EXPLAIN (ANALYZE, FORMAT JSON) ${statement.text}`)
    const [plan] = await service.app.db.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(explain, params)
    rows = rowsOf(plan?.['QUERY PLAN'][0].Plan as Plan)
    return service.app.db.query(statement, params)
  }
  const log = databaseLog({ ...service.app.db, query })
  const since = new Date(Date.now() - hours * HOUR)
  return { ...(await log.missed(key, { upTo: COUNT, ...range }, viewer, { since, most })), rows }
}

test('a replay within the bounds is counted, and is whole', async () => {
  const within = await missed({ after: 0 }, {})
  expect(within).toMatchObject({ visible: COUNT - HIDDEN, firstAt: expect.any(Date), isWhole: true })
  expect(await missed({ after: 0 }, {}, { kind: 'tenant' })).toMatchObject({ visible: COUNT, isWhole: true })
  const exactly = { most: COUNT - HIDDEN }
  expect(await missed({ after: 0 }, exactly)).toMatchObject({ visible: COUNT - HIDDEN, isWhole: true })
})

test('hidden events count in no bound', async () => {
  const hidden = await missed({ after: 0, upTo: HIDDEN }, { hours: 1, most: 1 })
  expect(hidden).toMatchObject({ visible: 0, firstAt: null, isWhole: true })
})

test('the count ends with a first event that is too old', async () => {
  const tooOld = await missed({ after: 0 }, { hours: 1 })
  expect(tooOld).toMatchObject({ firstAt: expect.any(Date), isWhole: false })
  expect(tooOld.rows).toBeLessThanOrEqual(HIDDEN + 10)
})

test('the count ends with more events than are replayed', async () => {
  const tooMany = await missed({ after: HIDDEN }, { most: 100 })
  expect(tooMany).toMatchObject({ visible: 101, isWhole: false })
  // A small table is read from its beginning.
  expect(tooMany.rows).toBeLessThanOrEqual(HIDDEN + 110)
})

test('a range of which events are gone is not whole', async () => {
  const remove = unnamed('DELETE FROM events WHERE tenant_id = $1 AND discussion_id = $2 AND seq = $3')
  await service.app.db.query(remove, [key.tenantId, key.discussionId, 150])
  expect(await missed({ after: 140 }, {})).toMatchObject({ visible: COUNT - 141, isWhole: false })
  expect(await missed({ after: 150 }, {})).toMatchObject({ visible: COUNT - 150, isWhole: true })
})

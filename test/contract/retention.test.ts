import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { foldWaiting } from '../../src/domains/analytics/fold.ts'
import { HOURS_KEPT_DAYS } from '../../src/domains/analytics/kept.ts'
import { deleteOldAnalytics, deleteOldAuditEntries } from '../../src/worker/statements/old-rows-sql.ts'
import { deleteOldDeliveries, deleteOldEvents, type LookedAt } from '../../src/worker/statements/retention-sql.ts'
import { effort } from '../harness/effort.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
let endpointId: string
beforeAll(async () => {
  const { json } = await service.call('POST', '/webhooks', { body: { url: 'https://127.0.0.1:9/' } })
  endpointId = json.id
})

const run = <Row>(text: string, params: Parameters<typeof service.app.db.query>[1] = []): Promise<Row[]> =>
  service.app.db.query<Row>(unnamed(text), params)

const DAYS = 30
const STATUSES = ['pending', 'delivering', 'delivered', 'failed', 'held'] as const

interface DeliveryCase {
  status: (typeof STATUSES)[number]
  days: number
}
interface EventCase {
  days: number
  deliveries: DeliveryCase[]
}

// Days away from the retention: the clock goes on meanwhile. Many share one instant.
const ages = fc.constantFrom(0, 1, 29, 31, 31, 31, 60, 90)
const events = fc.array(
  fc.record<EventCase>({
    days: ages,
    deliveries: fc.array(fc.record<DeliveryCase>({ status: fc.constantFrom(...STATUSES), days: ages }), {
      maxLength: 3,
    }),
  }),
  { maxLength: 25 },
)

const MAKE_EVENTS = `INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, occurred_at, actor, data)
  SELECT $1, $2, n, id, 'comment_created', 'public', $5::timestamptz - days * interval '1 day', '{}', '{}'
  FROM unnest($3::uuid[], $4::int[]) WITH ORDINALITY AS t (id, days, n)`
const MAKE_DELIVERIES = `INSERT INTO deliveries (tenant_id, id, endpoint_id, event_id, event_type, discussion_id, seq, status, created_at, lease_id, delivered_at)
  SELECT $1, encode(overlay(uuid_send(gen_random_uuid()) PLACING substring(uuid_send(first_id($8::timestamptz - days * interval '1 day')) FROM 1 FOR 7) FROM 1 FOR 7), 'hex')::uuid,
    $2, event_id, 'comment_created', $3, seq, status::delivery_status, $8::timestamptz - days * interval '1 day',
    CASE status WHEN 'delivering' THEN gen_random_uuid() END, CASE status WHEN 'delivered' THEN $8::timestamptz END
  FROM unnest($4::uuid[], $5::int[], $6::text[], $7::int[]) AS t (event_id, seq, status, days)`

async function store(cases: readonly EventCase[], discussionId: string, now: Date): Promise<string[]> {
  const ids = cases.map(newId)
  await run(MAKE_EVENTS, [service.tenant.id, discussionId, ids, cases.map((each) => each.days), now])
  const deliveries = cases.flatMap((each, n) =>
    each.deliveries.map((delivery) => ({ ...delivery, eventId: ids[n] ?? '', seq: n + 1 })),
  )
  await run(MAKE_DELIVERIES, [
    service.tenant.id,
    endpointId,
    discussionId,
    deliveries.map(({ eventId }) => eventId),
    deliveries.map(({ seq }) => seq),
    deliveries.map(({ status }) => status),
    deliveries.map((delivery) => delivery.days),
    now,
  ])
  return ids
}

/** Deletes as a worker does, `limit` rows in a statement. */
async function deleteOld(limit: number): Promise<number> {
  const { query } = service.app.db
  const lookedAt: LookedAt = new Map()
  while ((await deleteOldDeliveries(query, limit)) === limit) continue
  let statements = 1
  for (let hasMore = true; hasMore; statements++) ({ hasMore } = await deleteOldEvents(query, limit, lookedAt))
  return statements
}

const isFinished = ({ status }: DeliveryCase): boolean => status === 'delivered' || status === 'failed'
const isKept = (delivery: DeliveryCase): boolean => !isFinished(delivery) || delivery.days < DAYS

test('an event is kept while it is young, or has a delivery that is kept, and no other event is kept for it', async () => {
  const property = fc.asyncProperty(events, fc.integer({ min: 1, max: 10 }), async (cases, limit) => {
    await run('DELETE FROM deliveries')
    await run('DELETE FROM events')
    const { json } = await service.call('POST', '/discussions', { body: { externalId: newId() } })
    const ids = await store(cases, json.id, new Date())
    // Events of one instant that are kept, in more than one batch, end a look at that instant.
    const atOnce = Math.max(
      limit,
      1 + Math.max(0, ...[31, 60, 90].map((age) => cases.filter((each) => each.days === age).length)),
    )
    await deleteOld(atOnce)
    const left = await run<{ id: string }>('SELECT id FROM events ORDER BY id')
    const expected = ids.filter((_id, n) => {
      const each = cases[n]
      return each !== undefined && (each.days < DAYS || each.deliveries.some(isKept))
    })
    expect(left.map(({ id }) => id)).toEqual(expected.toSorted())
    const deliveries = await run('SELECT 1 FROM deliveries')
    expect(deliveries).toHaveLength(cases.flatMap((each) => each.deliveries.filter(isKept)).length)
  })
  await fc.assert(property, { numRuns: effort(60) })
})

test('a held delivery of each old event: every event is looked at once in a round', async () => {
  await run('DELETE FROM deliveries')
  await run('DELETE FROM events')
  const { json } = await service.call('POST', '/discussions', { body: { externalId: newId() } })
  const now = new Date()
  const held: DeliveryCase = { status: 'held', days: 90 }
  const cases = Array.from({ length: 200 }, (_, n) => ({ days: 31 + n, deliveries: n % 2 === 0 ? [held] : [] }))
  await store(cases, json.id, now)
  expect(await deleteOld(20)).toBeLessThanOrEqual(13)
  expect(await run('SELECT 1 FROM events')).toHaveLength(100)
})

test('audit entries are deleted after auditRetentionDays of their own tenant', async () => {
  const other = await service.addTenant('keeps-audit-longer')
  await service.call('PATCH', '/settings', { body: { auditRetentionDays: 30 } })
  const insert = `INSERT INTO audit_log (tenant_id, id, actor_kind, action, target_type, at)
    SELECT t, encode(overlay(uuid_send(gen_random_uuid()) PLACING substring(uuid_send(first_id(at)) FROM 1 FOR 7) FROM 1 FOR 7), 'hex')::uuid,
      'system', 'test.age', days::text, at
    FROM unnest($1::uuid[]) AS t, unnest($2::int[]) AS days CROSS JOIN LATERAL (SELECT now() - days * interval '1 day' AS at) a`
  await run(insert, [
    [service.tenant.id, other.tenant.id],
    [0, 29, 31, 1094, 1096],
  ])
  while ((await deleteOldAuditEntries(service.app.db.query, 1)) > 0) continue
  const left = (tenantId: string) =>
    run<{ days: string }>(
      `SELECT target_type AS days FROM audit_log WHERE tenant_id = $1 AND action = 'test.age' ORDER BY at DESC`,
      [tenantId],
    )
  expect((await left(service.tenant.id)).map(({ days }) => days)).toEqual(['0', '29'])
  expect((await left(other.tenant.id)).map(({ days }) => days)).toEqual(['0', '29', '31', '1094'])
})

test("readers' activity is deleted when it is old, the counts stay, and a later change is counted in them", async () => {
  const tenant = await service.addTenant('old-activity')
  const headers = { 'x-api-key': tenant.apiKey, ...(await tenant.as('ann')) }
  const { json: page } = await service.call('POST', '/discussions', { body: { externalId: 'old' }, headers })
  const old = await service.ok('POST', `/discussions/${page.id}/comments`, { body: 'Old' }, headers)
  const new_ = await service.ok('POST', `/discussions/${page.id}/comments`, { body: 'New' }, headers)
  const days = HOURS_KEPT_DAYS + 2
  const at = new Date(Date.now() - days * 86_400_000)
  await run('UPDATE comments SET created_at = $2 WHERE id = $1', [old.id, at])
  while (await foldWaiting(service.app)) continue
  const activity = async () =>
    (
      await run<{ interval: string }>(
        `SELECT interval::text FROM analytics_activity WHERE tenant_id = $1 ORDER BY interval, at`,
        [tenant.tenant.id],
      )
    ).map(({ interval }) => interval)
  expect(await activity()).toEqual(['day', 'day', 'hour', 'hour'])
  while ((await deleteOldAnalytics(service.app.db.query, 1)) > 0) continue
  expect(await activity()).toEqual(['day', 'day', 'hour'])

  const summary = async (interval: string) => {
    const query = `interval=${interval}&from=${at.toISOString()}&to=${new Date(at.getTime() + 1).toISOString()}`
    const { json } = await service.call('GET', `/analytics/summary?${query}`, { headers })
    return json.series[0]
  }
  expect(await summary('hour')).toMatchObject({ activeReaders: 1, comments: { approved: 1 } })
  await service.call('DELETE', `/comments/${old.id}`, { headers })
  for (const when of ['waiting', 'folded']) {
    if (when === 'folded') while (await foldWaiting(service.app)) continue
    // The number of readers of so old an hour stays as it is.
    expect(await summary('hour'), when).toMatchObject({ activeReaders: 1, comments: { approved: 0, deleted: 1 } })
    expect(await summary('day'), when).toMatchObject({ comments: { approved: 0, deleted: 1 } })
  }
  expect(await activity()).toEqual(['day', 'day', 'hour'])
  expect(new_.status).toBe('approved')
})

test('the top of days that are not kept is refused', async () => {
  const ago = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString()
  const top = (from: number, to: number) => service.call('GET', `/analytics/top?from=${ago(from)}&to=${ago(to)}`)
  expect((await top(400, 390)).status).toBe(200)
  const { status, json } = await top(401, 390)
  expect([status, json.code, json.errors[0].pointer]).toEqual([422, 'validation_failed', '/from'])
  await service.call('PATCH', '/settings', { body: { analyticsRetentionDays: 93 } })
  expect((await top(94, 90)).status).toBe(422)
  expect((await service.call('GET', `/analytics/top?from=${ago(91)}`)).status).toBe(200)
})

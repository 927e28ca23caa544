import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import { startChores } from '../../src/worker/chores.ts'
import { openOutbound, type Outbound } from '../../src/outbound/outbound.ts'
import { callsTo } from '../harness/calls.ts'
import { addDelivery, deliveryState } from '../harness/outbox.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
let endpointId: string
let outbound: Outbound
const workers: { stop(): Promise<void> }[] = []
beforeAll(async () => {
  outbound = openOutbound(service.app.settings)
  endpointId = (await ok('POST', '/webhooks', { url: 'https://127.0.0.1:9/' })).id
})
afterAll(() => outbound.close())
afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.stop())))

const { ok } = callsTo(() => service)

const startWorker = (): void => void workers.push(startChores(service.app, outbound))

const AGE = unnamed(`UPDATE deliveries SET
     id = first_id(now() - $2::int * interval '1 day'), created_at = now() - $2::int * interval '1 day',
     status = $3::delivery_status, delivered_at = CASE WHEN $3 = 'delivered' THEN now() END
   WHERE id = $1 RETURNING id`)
const AGE_EVENT = unnamed(`UPDATE events SET occurred_at = now() - $2::int * interval '1 day' WHERE id = $1`)
const ATTEMPT = unnamed(
  `INSERT INTO attempts (tenant_id, delivery_id, n, at, duration_ms) VALUES ($1, $2, 1, now(), 5)`,
)

/** A delivery of an event, both as old as that. */
async function old(days: number, status: string, at = endpointId, tenantId = service.tenant.id) {
  const { deliveryId, eventId } = await addDelivery(service.app, tenantId, at)
  const [row] = await service.app.db.query<{ id: string }>(AGE, [deliveryId, days, status])
  await service.app.db.query(ATTEMPT, [tenantId, row?.id ?? null])
  await service.app.db.query(AGE_EVENT, [eventId, days])
  return { id: row?.id ?? '', eventId }
}

const exists = async ({ id, eventId }: { id: string; eventId: string }) => [
  (await deliveryState(service.app, id)) !== undefined,
  (await service.app.db.query(unnamed('SELECT 1 FROM events WHERE id = $1'), [eventId])).length > 0,
]

describe('retention', () => {
  test("deletes finished deliveries and events that are older than the tenant's retention, and nothing else", async () => {
    const [delivered, failed, young] = [await old(31, 'delivered'), await old(32, 'failed'), await old(29, 'delivered')]
    const other = await service.addTenant('keeps-less')
    const headers = { 'x-api-key': other.apiKey }
    await ok('PATCH', '/settings', { deliveryRetentionDays: 2 }, headers)
    const theirs = (await ok('POST', '/webhooks', { url: 'https://127.0.0.1:9/' }, headers)).id
    const [gone, kept] = [
      await old(3, 'delivered', theirs, other.tenant.id),
      await old(1, 'failed', theirs, other.tenant.id),
    ]
    startWorker()
    startWorker()
    await vi.waitFor(async () => {
      for (const each of [delivered, failed, gone]) expect(await exists(each)).toEqual([false, false])
    })
    for (const each of [young, kept]) expect(await exists(each)).toEqual([true, true])
    const attempts = unnamed('SELECT delivery_id AS id FROM attempts')
    const left = (await service.app.db.query<{ id: string }>(attempts)).map(({ id }) => id)
    expect(left.toSorted()).toEqual([young.id, kept.id].toSorted())
  })

  test.each(['pending', 'held'])('keeps a %s delivery, with its event, however old it is', async (status) => {
    const waiting = await old(90, status)
    const finished = await old(91, 'delivered')
    startWorker()
    await vi.waitFor(async () => expect(await exists(finished)).toEqual([false, false]))
    expect(await exists(waiting)).toEqual([true, true])
    await service.app.db.query(unnamed('DELETE FROM deliveries WHERE id = $1'), [waiting.id])
  })

  test('keeps events for streams that replay further back', async () => {
    await ok('PATCH', '/settings', { deliveryRetentionDays: 1, stream: { replayHours: 72 } })
    const [recent, ancient] = [await old(2, 'delivered'), await old(4, 'delivered')]
    startWorker()
    await vi.waitFor(async () => expect(await exists(ancient)).toEqual([false, false]))
    expect(await exists(recent)).toEqual([false, true])
  })

  test('deletes webhook, identity and classifier secrets that have expired, and no others', async () => {
    for (const path of [`/webhooks/${endpointId}/rotate-secret`, '/identity-secrets', '/classifier-secrets']) {
      await ok('POST', path)
    }
    // Only a second one has an older one to expire.
    await ok('POST', '/classifier-secrets')
    const { query } = service.app.db
    const count = async () => {
      const all = TABLES.map((table) => `SELECT '${table}' AS of, expires_at AS at FROM ${table}`).join(' UNION ALL ')
      const counts = `SELECT of, count(at)::int AS ending, (count(*) - count(at))::int AS kept FROM (${all}) s GROUP BY 1`
      return query<{ of: string; ending: number; kept: number }>(unnamed(`${counts} ORDER BY 1`))
    }
    const before = await count()
    expect(before.map(({ of, ending }) => ({ of, ending }))).toEqual(TABLES.map((of) => ({ of, ending: 1 })))
    for (const table of TABLES) {
      // A day later: until then, ending one again finds it.
      const past = `UPDATE ${table} SET expires_at = now() - interval '25 hours' WHERE expires_at IS NOT NULL`
      await query(unnamed(past))
    }
    startWorker()
    await vi.waitFor(async () => expect(await count()).toEqual(before.map((each) => ({ ...each, ending: 0 }))))
  })
})

const TABLES = ['classifier_secrets', 'identity_secrets', 'webhook_secrets']

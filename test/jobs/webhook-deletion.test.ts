import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import type { Param } from '../../src/core/database/statements.ts'
import { clearDeletedEndpoints, forgetDeletedEndpoints } from '../../src/worker/statements/retention-sql.ts'
import { lockForReplay, replayEvents } from '../../src/domains/webhooks/sending/sending-sql.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { onServer } from '../harness/database.ts'
import { addDelivery } from '../harness/outbox.ts'
import { reply } from '../harness/receiver.ts'
import { PATIENT, type TestResponse } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { useReceiver } from '../harness/webhooks.ts'

/**
 * How many writes go on while endpoints come and go. The embedded form has one connection, on which
 * nothing races.
 */
const WRITES = Number(process.env.WEBHOOK_WRITES ?? (onServer ? 600 : 80))
const AT_ONCE = 24
const { receiver, service } = useReceiver({ env: PATIENT, worker: false })
let path: string
let counter = 0
const workers: { stop(): Promise<void> }[] = []

beforeAll(async () => {
  const body = { reportThreshold: 1000, rateLimit: { perSecond: 100_000, burst: 100_000 } }
  await service.call('PATCH', '/settings', { body })
})
beforeEach(() => {
  path = `/hook-${++counter}`
  return async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop()))
  }
})

const run = async <Row>(text: string, params: readonly Param[] = []): Promise<Row[]> =>
  service.app.db.query<Row>(unnamed(text), params)

const VERIFY = `UPDATE webhook_endpoints SET state = 'verified', challenge = NULL, verification_due_at = NULL WHERE id = $1`

/** A verified endpoint, without a handshake. */
async function endpoint(body: object = {}): Promise<string> {
  const json = await service.ok('POST', '/webhooks', { url: receiver.url + path, ...body })
  await run(VERIFY, [json.id])
  return json.id as string
}

async function add(endpointId: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await addDelivery(service.app, service.tenant.id, endpointId)
}

const remove = (id: string): Promise<TestResponse> => service.call('DELETE', `/webhooks/${id}`)

const clear = (limit: number): Promise<number> => clearDeletedEndpoints(service.app.db.query, limit)
const clearAll = async (): Promise<void> => {
  while ((await clear(1000)) > 0);
}

/** The statuses of an endpoint's remaining deliveries. */
const left = async (id: string): Promise<string[]> =>
  (await run<{ status: string }>('SELECT status::text FROM deliveries WHERE endpoint_id = $1', [id])).map(
    ({ status }) => status,
  )

describe('while endpoints come and go', () => {
  test(`none of ${WRITES} writes fails, of whatever kind`, { timeout: 600_000 }, async () => {
    const readers = await Promise.all(Array.from({ length: 6 }, (_, n) => service.as(`reader-${n}`)))
    const comments: string[] = []
    const failed: string[] = []
    const kept = await endpoint()
    let goesOn = true

    const churn = async (): Promise<number> => {
      let deleted = 0
      while (goesOn) {
        const some = await Promise.all([endpoint(), endpoint()])
        for (const id of some) {
          const { status, text } = await remove(id)
          if (status !== 204) failed.push(`DELETE: ${status} ${text}`)
          deleted++
        }
      }
      return deleted
    }

    const write = async (n: number): Promise<void> => {
      const headers = readers[n % readers.length] ?? {}
      const id = comments[(n * 7) % Math.max(comments.length, 1)]
      const at = '/discussions/by-external'
      const requests: [method: string, route: string, body?: object, headers?: Record<string, string>][] = [
        ['POST', `${at}/page-${n % 3}/comments`, { body: `comment ${n}` }, headers],
        ['PUT', `/comments/${id}/reaction`, { type: n % 2 === 0 ? 'like' : 'love' }, headers],
        ['POST', `${at}/new-${n}/comments`, { body: `the first of ${n}` }, headers],
        ['POST', `/comments/${id}/reactions`, { type: 'wow' }, headers],
        ['POST', `${at}/page-${n % 3}/comments`, { body: `another comment ${n}` }, headers],
        ['POST', `/comments/${id}/${n % 2 === 0 ? 'pin' : 'reject'}`],
        ['DELETE', `/comments/${id}`],
        ['POST', `/comments/${id}/approve`],
        ['POST', `/webhooks/${kept}/test`, { eventType: 'comment_created' }],
        ['POST', `/webhooks/${kept}/replay`, { from: new Date(Date.now() - 5).toISOString() }],
      ]
      const [method, route, body, as] = requests[n % requests.length] ?? requests[0] ?? []
      if (method === undefined || route === undefined || (id === undefined && route.includes('undefined'))) return
      const answer = await service.call(method, route, { ...(as && { headers: as }), ...(body && { body }) })
      if (answer.status >= 500) failed.push(`${method} ${route}: ${answer.status} ${answer.text}`)
      if (answer.status === 201 && answer.json?.body !== undefined) comments.push(answer.json.id as string)
    }

    const churning = [churn(), churn(), churn()]
    let next = 0
    const writing = Array.from({ length: AT_ONCE }, async () => {
      for (let n = next++; n < WRITES; n = next++) await write(n)
    })
    await Promise.all(writing)
    goesOn = false
    const deleted = (await Promise.all(churning)).reduce((sum, n) => sum + n, 0)
    expect(failed).toEqual([])
    expect(deleted).toBeGreaterThan(5)
    expect(comments.length).toBeGreaterThan(WRITES / 10)
    // The endpoint that stays has lost nothing.
    const [lost] = await run<{ n: number }>(
      `SELECT count(*)::int AS n FROM events v WHERE type <> 'notification_reply' AND NOT EXISTS (
         SELECT 1 FROM deliveries d WHERE d.tenant_id = v.tenant_id AND d.event_id = v.id AND d.endpoint_id = $1)`,
      [kept],
    )
    expect(lost).toEqual({ n: 0 })
    await remove(kept)
  })

  test.runIf(onServer)(
    'a replay under way does not prevent the deletion of its endpoint, and ends with it',
    async () => {
      const id = await endpoint()
      const tenantId = service.tenant.id
      const headers = await service.as('replayed')
      const from = new Date(Date.now() - 60_000)
      await service.call('POST', '/discussions/by-external/replayed/comments', { body: { body: 'text' }, headers })
      await run('DELETE FROM deliveries WHERE endpoint_id = $1', [id])
      let replayed = 0
      let answer: TestResponse | undefined
      await service.app.db.transaction(async (sql) => {
        await lockForReplay(sql, tenantId, id)
        const span = { from, to: new Date(), discussionIds: [], eventTypes: ['comment_created' as const] }
        replayed = await replayEvents(sql, tenantId, id, { ...span, limit: 10, paceMs: 0 })
        answer = await remove(id)
      })
      expect([answer?.status, replayed > 0]).toEqual([204, true])
      expect(await left(id)).toHaveLength(replayed)
      await clearAll()
      expect(await left(id)).toEqual([])
    },
  )
})

describe('DELETE /webhooks/{id}', () => {
  test('changes none of its deliveries', async () => {
    const id = await endpoint()
    await add(id, 20)
    expect((await remove(id)).status).toBe(204)
    const TOUCHED = 'SELECT count(*)::int AS n FROM deliveries WHERE endpoint_id = $1 AND xmax = 0'
    expect(await run(TOUCHED, [id])).toEqual([{ n: 20 }])
  })

  test('deletes its secrets at once; all its routes answer 404 from then on', async () => {
    const id = await endpoint()
    const { deliveryId } = await addDelivery(service.app, service.tenant.id, id)
    await remove(id)
    expect(await run('SELECT 1 FROM webhook_secrets WHERE endpoint_id = $1', [id])).toEqual([])
    const routes: [string, string, object?][] = [
      ['GET', ''],
      ['PATCH', '', { description: 'gone' }],
      ['DELETE', ''],
      ['POST', '/verify'],
      ['POST', '/rotate-secret'],
      ['POST', '/test', { eventType: 'comment_created' }],
      ['GET', '/deliveries'],
      ['GET', `/deliveries/${deliveryId}`],
      ['POST', `/deliveries/${deliveryId}/redeliver`],
      ['POST', '/replay', { from: '2026-01-01T00:00:00Z' }],
    ]
    for (const [method, route, body] of routes) {
      const { status } = await service.call(method, `/webhooks/${id}${route}`, body && { body })
      expect([method, route, status]).toEqual([method, route, 404])
    }
    const { json } = await service.call('GET', '/webhooks?limit=100')
    expect(json.data.map((each: { id: string }) => each.id)).not.toContain(id)
  })

  test('an Idempotency-Key answers 204 again', async () => {
    const id = await endpoint()
    const headers = { 'idempotency-key': `delete-${id}` }
    const again = [1, 2].map(() => service.call('DELETE', `/webhooks/${id}`, { headers }))
    for (const { status } of await Promise.all(again)) expect([204, 409]).toContain(status)
    expect((await service.call('DELETE', `/webhooks/${id}`, { headers })).status).toBe(204)
  })

  test('of two concurrent ones, one succeeds and the other answers 404', async () => {
    const id = await endpoint()
    const statuses = (await Promise.all([remove(id), remove(id)])).map(({ status }) => status)
    expect(new Set(statuses)).toEqual(new Set([204, 404]))
  })

  test('held deliveries no longer count in the overview', async () => {
    const id = await endpoint()
    await add(id, 2)
    await run(`UPDATE deliveries SET status = 'held' WHERE endpoint_id = $1`, [id])
    await run(`UPDATE webhook_endpoints SET state = 'disabled' WHERE id = $1`, [id])
    expect((await service.call('GET', '/overview')).json).toMatchObject({ endpointsDisabled: 1, deliveriesHeld: 2 })
    await remove(id)
    expect((await service.call('GET', '/overview')).json).toMatchObject({ endpointsDisabled: 0, deliveriesHeld: 0 })
  })

  test('attempts under way end and are counted; nothing is sent afterwards', async () => {
    const answers: (() => void)[] = []
    receiver.on(path, (_request, response) => {
      answers.push(() => reply(response, answers.length % 2 === 0 ? 204 : 500))
      return true
    })
    const id = await endpoint({ policy: { timeoutMs: 30_000, backoffBaseMs: 10 } })
    await add(id, 12)
    workers.push(await startWorker(service.app))
    await vi.waitFor(() => expect(answers).toHaveLength(8))
    expect((await remove(id)).status).toBe(204)
    await vi.waitFor(async () => expect(await left(id)).toEqual(Array.from({ length: 8 }, () => 'delivering')))
    for (const answer of answers) answer()
    await vi.waitFor(async () => expect(await left(id)).toEqual([]))
    expect(receiver.deliveries(path)).toHaveLength(8)
  })

  test('a handshake under way has no effect', async () => {
    const answers: (() => void)[] = []
    receiver.on(path, ({ body }, response) => {
      answers.push(() => reply(response, 200, JSON.stringify({ challenge: body.challenge })))
      return true
    })
    const { json } = await service.call('POST', '/webhooks', { body: { url: receiver.url + path } })
    workers.push(await startWorker(service.app))
    await vi.waitFor(() => expect(answers).toHaveLength(1))
    await remove(json.id)
    for (const answer of answers) answer()
    await Promise.all(workers.splice(0).map((worker) => worker.stop()))
    expect(receiver.handshakes(path)).toHaveLength(1)
    expect((await service.call('GET', `/webhooks/${json.id}`)).status).toBe(404)
  })
})

describe('the deliveries of a deleted endpoint', () => {
  beforeEach(clearAll)

  test('are cleared in batches by any worker, and those of others stay', async () => {
    const [gone, kept] = [await endpoint(), await endpoint()]
    await add(gone, 7)
    await add(kept, 2)
    await remove(gone)
    expect(await clear(3)).toBe(3)
    expect(await left(gone)).toHaveLength(4)
    expect(await clear(3)).toBe(3)
    expect(await clear(3)).toBe(1)
    expect([await left(gone), await left(kept)]).toEqual([[], ['pending', 'pending']])
  })

  test.runIf(onServer)('are skipped while locked, not awaited', async () => {
    const id = await endpoint()
    await add(id, 3)
    await remove(id)
    let unlock = (): void => undefined
    const isUnlocked = new Promise<void>((resolve) => (unlock = resolve))
    let locked = (): void => undefined
    const isLocked = new Promise<void>((resolve) => (locked = resolve))
    const holding = service.app.db.transaction(async (sql) => {
      const LOCK = 'SELECT id FROM deliveries WHERE endpoint_id = $1 LIMIT 1 FOR UPDATE'
      await sql(unnamed(LOCK), [id])
      locked()
      await isUnlocked
    })
    await isLocked
    expect(await clear(10)).toBe(2)
    unlock()
    await holding
    expect(await clear(10)).toBe(1)
  })

  test('are cleared even if a write from before the deletion queued them after it; an hour later nothing is kept', async () => {
    const id = await endpoint()
    await remove(id)
    await clear(10)
    await forgetDeletedEndpoints(service.app.db.query)
    await add(id, 1)
    expect(await clear(10)).toBe(1)
    const AGE = `UPDATE deleted_endpoints SET deleted_at = now() - interval '2 hours' WHERE endpoint_id = $1`
    await run(AGE, [id])
    await add(id, 1)
    await forgetDeletedEndpoints(service.app.db.query)
    const known = () => run('SELECT 1 FROM deleted_endpoints WHERE endpoint_id = $1', [id])
    expect(await known()).toHaveLength(1)
    await clear(10)
    await forgetDeletedEndpoints(service.app.db.query)
    expect(await known()).toEqual([])
  })
})

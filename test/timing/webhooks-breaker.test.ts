import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { addDelivery, deliveryState } from '../harness/outbox.ts'
import { randomOf } from '../harness/random.ts'
import { type Behaviour, hang, reply } from '../harness/receiver.ts'
import { SEED } from '../harness/seed.ts'
import { unnamed } from '../harness/sql.ts'
import { useReceiver } from '../harness/webhooks.ts'

const { receiver, service, whenVerified } = useReceiver({ env: { SHUTDOWN_GRACE_SECONDS: '0.1' }, worker: false })
let path: string
let counter = 0
let workers: { stop(): Promise<void> }[] = []

const WAIT = { timeout: 25_000, interval: 20 }
const HOUR_MS = 3_600_000
const random = randomOf(SEED)

beforeEach(() => {
  path = `/hook-${++counter}`
})

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()))
  await service.app.db.query(unnamed('DELETE FROM webhook_endpoints'))
})

/** Each as in a process of its own: they know of each other by the database alone. */
async function startWorkers(count = 3): Promise<void> {
  workers = await Promise.all(Array.from({ length: count }, () => startWorker(service.app)))
}

const SET = unnamed(`UPDATE webhook_endpoints SET state = 'verified', challenge = NULL, verification_due_at = NULL,
     last_verification_ok = true, last_verification_at = now(), consecutive_failures = $2 WHERE id = $1`)

const OPEN = unnamed(`UPDATE webhook_endpoints SET circuit_open_until = now() + interval '1 hour' WHERE id = $1`)

// Another delivery of the same discussion, which is due.
const FOLLOW = unnamed(`INSERT INTO deliveries (tenant_id, id, endpoint_id, event_id, event_type, discussion_id, seq)
  SELECT tenant_id, $2, endpoint_id, event_id, event_type, discussion_id, seq FROM deliveries WHERE id = $1`)

async function endpoint(policy: object, at = path, failures = 0): Promise<string> {
  const { json } = await service.call('POST', '/webhooks', { body: { url: receiver.url + at, policy } })
  await service.app.db.query(SET, [json.id, failures])
  return json.id
}

const read = async (id: string) => (await service.call('GET', `/webhooks/${id}`)).json
const list = async (id: string, status: string) =>
  (await service.call('GET', `/webhooks/${id}/deliveries?limit=100&status=${status}`)).json.data
const add = async (id: string, count: number): Promise<string[]> => {
  const added = await Promise.all(Array.from({ length: count }, () => addDelivery(service.app, service.tenant.id, id)))
  return added.map(({ deliveryId }) => deliveryId)
}
const sent = (at = path) => receiver.deliveries(at)

const fail: Behaviour = (_request, response) => {
  setTimeout(() => reply(response, 500), random() * 20)
  return true
}

/** Holds the requests to the path. Each entry answers one of them. */
function held(): ((status: number) => void)[] {
  const answers: ((status: number) => void)[] = []
  receiver.on(path, (_request, response) => {
    answers.push((status) => reply(response, status))
    return true
  })
  return answers
}

/** By then every worker has polled more than once, so that everything due was done. */
async function workersWent(): Promise<void> {
  for (const at of [`${path}-healthy-1`, `${path}-healthy-2`]) {
    const healthy = await endpoint({}, at)
    await add(healthy, 30)
    await vi.waitFor(() => expect(sent(at)).toHaveLength(30), WAIT)
  }
}

describe('verified → circuit open', () => {
  test('on exactly the 10th failure, with three workers and a backlog; nothing is attempted from then on', async () => {
    receiver.on(path, fail)
    const id = await endpoint({ maxAttempts: 1, breakerCooldownMs: HOUR_MS })
    const ids = await add(id, 60)
    await startWorkers()
    await vi.waitFor(async () => expect((await read(id)).circuit).toBe('open'), WAIT)
    await workersWent()
    expect(sent()).toHaveLength(10)
    const { state, consecutiveFailures, circuit, circuitOpenUntil } = await read(id)
    expect({ state, consecutiveFailures, circuit }).toEqual({
      state: 'verified',
      consecutiveFailures: 10,
      circuit: 'open',
    })
    expect(Date.parse(circuitOpenUntil) - Date.now()).toBeGreaterThan(HOUR_MS - 60_000)
    const states = await Promise.all(ids.map((each) => deliveryState(service.app, each)))
    // Waiting deliveries have used up no attempt.
    expect(states.filter((each) => each?.status === 'failed')).toHaveLength(10)
    expect(states.filter((each) => each?.status === 'pending' && each.attemptCount === 0)).toHaveLength(50)
  })

  test.each([1, 3])('on exactly failure %i if the policy says so', async (breakerThreshold) => {
    receiver.on(path, fail)
    const id = await endpoint({ maxAttempts: 10, backoffBaseMs: 10, breakerThreshold, breakerCooldownMs: HOUR_MS })
    await add(id, 20)
    await startWorkers()
    await vi.waitFor(async () => expect((await read(id)).circuit).toBe('open'), WAIT)
    await workersWent()
    expect(sent()).toHaveLength(breakerThreshold)
  })

  test("the tenant's policy applies if the endpoint has none of its own", async () => {
    receiver.on(path, fail)
    const webhookPolicy = { breakerThreshold: 4, breakerCooldownMs: HOUR_MS, maxAttempts: 1 }
    expect((await service.call('PATCH', '/settings', { body: { webhookPolicy } })).status).toBe(200)
    const id = await endpoint({})
    await add(id, 20)
    await startWorkers()
    await vi.waitFor(async () => expect((await read(id)).circuit).toBe('open'), WAIT)
    await service.ok('PATCH', '/settings', {
      webhookPolicy: { breakerThreshold: 10, breakerCooldownMs: 60_000, maxAttempts: 3 },
    })
    await workersWent()
    expect([sent().length, (await read(id)).consecutiveFailures]).toEqual([4, 4])
  })

  test('attempts in flight are at most as many as failures are left', async () => {
    const open: (() => void)[] = []
    let most = 0
    receiver.on(path, (_request, response) => {
      open.push(() => reply(response, 204))
      most = Math.max(most, open.length)
      // All at once, as soon as there are as many as there may be: fewer would hang, and the test
      // with them.
      if (open.length === 10) setTimeout(() => open.splice(0).forEach((answer) => answer()), 50)
      return true
    })
    const id = await endpoint({ timeoutMs: 30_000 })
    await add(id, 50)
    await startWorkers()
    await vi.waitFor(async () => expect(await list(id, 'delivered')).toHaveLength(50), WAIT)
    expect(most).toBe(10)
  })

  test('after 9 failures an endpoint gets one attempt; its success resets the counter', async () => {
    const answer = receiver.hold(path, 204)
    const id = await endpoint({ timeoutMs: 30_000 }, path, 9)
    await add(id, 20)
    await startWorkers()
    await vi.waitFor(() => expect(sent()).toHaveLength(1), WAIT)
    await workersWent()
    expect(sent()).toHaveLength(1)
    receiver.on(path, null)
    answer()
    await vi.waitFor(async () => expect(await list(id, 'delivered')).toHaveLength(20), WAIT)
    expect(await read(id)).toMatchObject({ consecutiveFailures: 0, circuit: 'closed' })
  })
})

describe('circuit open → half open', () => {
  /**
   * An endpoint whose circuit has opened at the 10th failure, with a backlog for a receiver that
   * behaves so.
   */
  async function tripped(policy: object, { backlog = 20, behaviour = hang } = {}): Promise<string> {
    receiver.on(path, fail)
    const id = await endpoint({ maxAttempts: 1, timeoutMs: 30_000, ...policy })
    await add(id, 10)
    await startWorkers()
    await vi.waitFor(async () => expect((await read(id)).circuitOpenUntil).not.toBeNull(), WAIT)
    receiver.on(path, behaviour)
    await add(id, backlog)
    return id
  }

  test('lets exactly one probe through, over all workers', async () => {
    const id = await tripped({ breakerCooldownMs: 300 })
    await vi.waitFor(() => expect(sent()).toHaveLength(11), WAIT)
    await workersWent()
    expect(sent()).toHaveLength(11)
    expect(await read(id)).toMatchObject({ circuit: 'half_open', consecutiveFailures: 10 })
  })

  describe('POST /webhooks/{id}/probe', () => {
    const probe = (id: string) => service.call('POST', `/webhooks/${id}/probe`, { body: {} })

    test('lets exactly one probe through at once, over all workers, however often it is asked', async () => {
      const id = await tripped({ breakerCooldownMs: HOUR_MS })
      const { lastFailure } = await read(id)
      expect(lastFailure).toEqual({ at: expect.any(String), error: expect.stringContaining('500') })
      const answers = await Promise.all(Array.from({ length: 8 }, () => probe(id)))
      expect(answers.map(({ status, json }) => [status, json.circuit])).toEqual(answers.map(() => [202, 'half_open']))
      await vi.waitFor(() => expect(sent()).toHaveLength(11), WAIT)
      await probe(id)
      await workersWent()
      expect(sent()).toHaveLength(11)
    })

    test('a success closes the circuit, and everything is sent once', async () => {
      const id = await tripped(
        { breakerCooldownMs: HOUR_MS },
        { behaviour: (_request, response) => reply(response, 204) },
      )
      expect((await probe(id)).status).toBe(202)
      await vi.waitFor(async () => expect(await list(id, 'pending')).toEqual([]), WAIT)
      await vi.waitFor(async () => expect(await read(id)).toMatchObject({ circuit: 'closed' }), WAIT)
      const keys = sent()
        .slice(10)
        .map(({ headers }) => headers['x-service-idempotency-key'])
      expect([keys.length, new Set(keys).size]).toEqual([20, 20])
      const { status, json } = await probe(id)
      expect([status, json.code]).toEqual([409, 'invalid_transition'])
    })

    test('a failure opens it again for its cooldown', async () => {
      const id = await tripped({ breakerCooldownMs: HOUR_MS }, { behaviour: fail })
      const before = (await read(id)).circuitOpenUntil
      await probe(id)
      await vi.waitFor(() => expect(sent()).toHaveLength(11), WAIT)
      await vi.waitFor(async () => expect((await read(id)).circuit).toBe('open'), WAIT)
      expect(Date.parse((await read(id)).circuitOpenUntil)).toBeGreaterThan(Date.parse(before))
      await workersWent()
      expect(sent()).toHaveLength(11)
    })

    test('an ordered endpoint is sent the first delivery of the discussion, also while that waits for its retry', async () => {
      receiver.on(path, fail)
      const id = await endpoint({
        ordered: true,
        backoffBaseMs: 60_000,
        breakerThreshold: 1,
        breakerCooldownMs: HOUR_MS,
      })
      const [first = ''] = await add(id, 1)
      await startWorkers(2)
      await vi.waitFor(async () => expect((await read(id)).circuit).toBe('open'), WAIT)
      await service.app.db.query(FOLLOW, [first, newId()])
      receiver.on(path, null)
      await probe(id)
      await vi.waitFor(async () => expect(await list(id, 'delivered')).toHaveLength(2), WAIT)
      expect(sent().map(({ headers }) => headers['x-service-delivery-id'])).toEqual([first, first, expect.any(String)])
    })

    test('answers 409 for an endpoint that is closed, paused or not verified, and 404 for an unknown one', async () => {
      const id = await endpoint({})
      const code = async (at: string) => (await probe(at)).json.code
      expect(await code(id)).toBe('invalid_transition')
      await service.app.db.query(OPEN, [id])
      await service.call('POST', `/webhooks/${id}/pause`, { body: {} })
      expect(await code(id)).toBe('invalid_transition')
      await service.call('POST', `/webhooks/${id}/resume`, { body: {} })
      await service.call('POST', `/webhooks/${id}/verify`, { body: {} })
      expect(await code(id)).toBe('invalid_transition')
      expect(await code(newId())).toBe('not_found')
    })
  })

  test('→ closed by a success; the backlog is sent step by step', async () => {
    const id = await tripped({ breakerCooldownMs: 300 }, { backlog: 200 })
    await vi.waitFor(() => expect(sent()).toHaveLength(11), WAIT)
    let [open, most] = [0, 0]
    receiver.on(path, (_request, response) => {
      most = Math.max(most, ++open)
      setTimeout(() => {
        open--
        reply(response, 204)
      }, 60)
      return true
    })
    // The hanging probe ends with its worker, which is no failure.
    await Promise.all(workers.splice(0).map((worker) => worker.stop()))
    await startWorkers()
    await vi.waitFor(async () => expect((await read(id)).circuit).toBe('closed'), WAIT)
    const recovered = unnamed('SELECT recovered_at AS at FROM webhook_endpoints WHERE id = $1')
    const [row] = await service.app.db.query<{ at: Date }>(recovered, [id])
    expect(await read(id)).toMatchObject({ consecutiveFailures: 0, circuitOpenUntil: null })
    await vi.waitFor(() => expect(sent().length).toBeGreaterThan(15), WAIT)
    // One at a time for two seconds: checked only if the machine got here within them.
    const [asked, early] = [Date.now(), most]
    if (row !== undefined && asked - row.at.getTime() < 1900) expect(early).toBe(1)
    await vi.waitFor(async () => expect(await list(id, 'pending')).toEqual([]), WAIT)
    expect(most).toBeGreaterThan(1)
  })

  test('→ open by a failure, for another cooldown', async () => {
    const id = await tripped({ breakerCooldownMs: 300 }, { behaviour: fail })
    let uncounted = 0
    await vi.waitFor(async () => {
      const attempts = sent().length
      const { consecutiveFailures } = await read(id)
      uncounted = Math.max(uncounted, attempts - consecutiveFailures)
      expect(consecutiveFailures).toBeGreaterThanOrEqual(12)
    }, WAIT)
    expect(uncounted).toBeLessThanOrEqual(1)
    const times = sent().map(({ at }) => at)
    for (let n = 10; n < times.length; n++) expect(times[n]! - times[n - 1]!).toBeGreaterThanOrEqual(290)
  })

  test('a probe whose worker died is no failure: once its lease ends another one is made', async () => {
    const id = await tripped({ breakerCooldownMs: 300 })
    await vi.waitFor(() => expect(sent()).toHaveLength(11), WAIT)
    const die =
      unnamed(`UPDATE deliveries SET lease_id = gen_random_uuid(), next_attempt_at = now() + interval '300 milliseconds'
       WHERE endpoint_id = $1 AND status = 'delivering'`)
    await service.app.db.query(die, [id])
    await vi.waitFor(() => expect(sent().length).toBeGreaterThanOrEqual(12), WAIT)
    expect(await read(id)).toMatchObject({ consecutiveFailures: 10, state: 'verified' })
    expect((await list(id, 'pending')).every(({ attempts }: { attempts: unknown[] }) => attempts.length === 0)).toBe(
      true,
    )
  })
})

describe('verified → disabled', () => {
  const POLICY = { maxAttempts: 1, breakerThreshold: 10, breakerCooldownMs: 100, disableThreshold: 50 }

  async function disabled(policy: object = POLICY, failures = 0): Promise<string> {
    receiver.on(path, fail)
    const id = await endpoint(policy, path, failures)
    await add(id, 60)
    await startWorkers()
    await vi.waitFor(async () => expect((await read(id)).state).toBe('disabled'), WAIT)
    return id
  }

  const audit = async (id: string) => {
    const entries = await service.app.prisma.auditEntry.findMany({ where: { targetId: id }, orderBy: { at: 'asc' } })
    return entries.filter(({ actorKind }) => actorKind === 'system')
  }

  test('on exactly the 50th failure; waiting deliveries are held, and the audit log has the warnings', async () => {
    const id = await disabled()
    await vi.waitFor(async () => expect(await list(id, 'held')).toHaveLength(10), WAIT)
    await workersWent()
    expect(sent()).toHaveLength(50)
    expect(await read(id)).toMatchObject({
      state: 'disabled',
      consecutiveFailures: 50,
      disabledReason: '50 attempts in a row have failed',
    })
    expect(await list(id, 'pending')).toEqual([])
    const entries = await audit(id)
    expect(entries.map(({ action, after }) => [action, after])).toEqual([
      ['webhook.failing', { percent: 50, consecutiveFailures: 25, disableThreshold: 50 }],
      ['webhook.failing', { percent: 70, consecutiveFailures: 35, disableThreshold: 50 }],
      ['webhook.failing', { percent: 90, consecutiveFailures: 45, disableThreshold: 50 }],
      ['webhook.disable', { state: 'disabled', consecutiveFailures: 50 }],
    ])
    expect(entries.every(({ actorId }) => actorId === null)).toBe(true)
  })

  test('new events queue no deliveries for it', async () => {
    const id = await disabled({ ...POLICY, breakerThreshold: 5, disableThreshold: 5 })
    const known = (await service.call('GET', `/webhooks/${id}/deliveries?limit=100`)).json.data.length
    const headers = await service.as('reader-1')
    const comments = '/discussions/by-external/page/comments'
    expect((await service.call('POST', comments, { body: { body: 'x' }, headers })).status).toBe(201)
    expect((await service.call('GET', `/webhooks/${id}/deliveries?limit=100`)).json.data).toHaveLength(known)
  })

  const admin = async () => {
    const json = await service.ok('POST', '/admin/auth/login', service.admin, { 'x-api-key': '' })
    return { authorization: `Bearer ${json.token}` }
  }
  const enable = async (id: string) => service.call('POST', `/admin/webhooks/${id}/enable`, { headers: await admin() })

  test('→ verified by an admin: counter 0, circuit closed, held deliveries queued and delivered', async () => {
    const id = await disabled({ ...POLICY, breakerThreshold: 5, disableThreshold: 5 })
    await vi.waitFor(async () => expect(await list(id, 'held')).toHaveLength(55), WAIT)
    receiver.on(path, null)
    expect((await service.call('POST', `/admin/webhooks/${id}/enable`)).json.code).toBe('admin_only')
    const { status, json } = await enable(id)
    expect([status, json]).toEqual([
      200,
      expect.objectContaining({
        state: 'verified',
        circuit: 'closed',
        circuitOpenUntil: null,
        consecutiveFailures: 0,
        disabledReason: null,
      }),
    ])
    expect(await list(id, 'held')).toEqual([])
    await vi.waitFor(async () => expect(await list(id, 'delivered')).toHaveLength(55), WAIT)
    expect((await enable(id)).json).toMatchObject({ status: 409, code: 'invalid_transition' })
  })

  test('stays so through verify and another url, by a key; the handshakes are made, and count once it is enabled', async () => {
    const id = await disabled({ ...POLICY, breakerThreshold: 5, disableThreshold: 5 })
    const verify = await service.call('POST', `/webhooks/${id}/verify`)
    expect([verify.status, verify.json.state]).toEqual([202, 'disabled'])
    await vi.waitFor(() => expect(receiver.handshakes(path)).toHaveLength(1), WAIT)
    const next = `${path}-next`
    const patched = await service.call('PATCH', `/webhooks/${id}`, { body: { url: receiver.url + next } })
    expect([patched.status, patched.json.state, patched.json.lastVerification]).toEqual([200, 'disabled', null])
    await vi.waitFor(async () => expect((await read(id)).lastVerification?.ok).toBe(true), WAIT)
    expect(receiver.handshakes(next)).toHaveLength(1)
    expect((await read(id)).state).toBe('disabled')
    expect((await enable(id)).json.state).toBe('verified')
    await vi.waitFor(() => expect(sent(next)).toHaveLength(55), WAIT)
  })

  test('→ unverified by an admin if its url is not verified', async () => {
    const id = await disabled({ ...POLICY, breakerThreshold: 5, disableThreshold: 5 })
    const next = `${path}-next`
    receiver.on(next, (_request, response) => reply(response, 404))
    await service.call('PATCH', `/webhooks/${id}`, { body: { url: receiver.url + next } })
    await vi.waitFor(async () => expect((await read(id)).lastVerification?.ok).toBe(false), WAIT)
    receiver.on(next, null)
    expect((await enable(id)).json.state).toBe('unverified')
    await whenVerified(id)
  })

  test('→ verified by an admin: answers to attempts from before change neither its state nor its counter', async () => {
    const answers = held()
    const id = await endpoint({ maxAttempts: 1, timeoutMs: 30_000 })
    await add(id, 3)
    await startWorkers()
    await vi.waitFor(() => expect(answers).toHaveLength(3), WAIT)
    const [gone, again, failing] = answers
    gone?.(410)
    await vi.waitFor(async () => expect((await read(id)).state).toBe('disabled'), WAIT)
    expect((await enable(id)).json).toMatchObject({ state: 'verified', consecutiveFailures: 0 })
    again?.(410)
    failing?.(500)
    await vi.waitFor(async () => expect(await list(id, 'failed')).toHaveLength(3), WAIT)
    expect(await read(id)).toMatchObject({ state: 'verified', disabledReason: null, consecutiveFailures: 0 })
  })

  test('→ unverified by an admin: answers to attempts from before change nothing once it is verified', async () => {
    const answers = held()
    const id = await endpoint({ maxAttempts: 1, timeoutMs: 30_000 })
    await add(id, 2)
    await startWorkers()
    await vi.waitFor(() => expect(answers).toHaveLength(2), WAIT)
    const [gone, failing] = answers
    gone?.(410)
    await vi.waitFor(async () => expect((await read(id)).state).toBe('disabled'), WAIT)
    receiver.on(path, fail)
    await service.call('POST', `/webhooks/${id}/verify`)
    await vi.waitFor(async () => expect((await read(id)).lastVerification?.ok).toBe(false), WAIT)
    receiver.on(path, null)
    expect((await enable(id)).json).toMatchObject({ state: 'unverified' })
    await whenVerified(id)
    failing?.(500)
    await vi.waitFor(async () => expect(await list(id, 'failed')).toHaveLength(2), WAIT)
    expect(await read(id)).toMatchObject({ state: 'verified', consecutiveFailures: 0 })
  })

  test('can be deleted, with its held deliveries', async () => {
    const id = await disabled({ ...POLICY, breakerThreshold: 5, disableThreshold: 5 })
    expect((await service.call('DELETE', `/webhooks/${id}`)).status).toBe(204)
    expect((await service.call('GET', `/webhooks/${id}`)).status).toBe(404)
  })
})

describe('a receiver that asks for a pause', () => {
  const asks =
    (status: number, retryAfter: string): Behaviour =>
    (_request, response) =>
      reply(response, status, '', { 'retry-after': retryAfter })

  test.each([429, 503])('with %i: deliveries wait that long, over all workers, and none has failed', async (status) => {
    receiver.on(path, asks(status, '3600'))
    const id = await endpoint({ breakerThreshold: 2, maxAttempts: 2 })
    const ids = await add(id, 20)
    await startWorkers()
    await vi.waitFor(async () => expect((await read(id)).pausedUntil).not.toBeNull(), WAIT)
    await vi.waitFor(async () => expect(await list(id, 'delivering')).toEqual([]), WAIT)
    await workersWent()
    const known = sent().length
    expect(known).toBeLessThanOrEqual(2)
    expect(await read(id)).toMatchObject({ state: 'verified', circuit: 'closed', consecutiveFailures: 0 })
    const pausedMs = Date.parse((await read(id)).pausedUntil) - Date.now()
    expect(pausedMs).toBeGreaterThan(HOUR_MS - 60_000)
    expect(pausedMs).toBeLessThanOrEqual(HOUR_MS)
    // Each answer has used up an attempt of its delivery.
    const states = await Promise.all(ids.map((each) => deliveryState(service.app, each)))
    expect(states.filter((each) => each?.attemptCount === 1)).toHaveLength(known)
    for (const { nextAttemptAt } of await list(id, 'pending')) {
      expect(Date.parse(nextAttemptAt) - Date.now()).toBeGreaterThan(HOUR_MS - 60_000)
    }
  })

  test('gets them after the pause, one at a time at first', async () => {
    receiver.on(path, asks(429, '1'))
    const id = await endpoint({})
    await add(id, 20)
    await startWorkers()
    await vi.waitFor(async () => expect((await read(id)).pausedUntil).not.toBeNull(), WAIT)
    const until = Date.parse((await read(id)).pausedUntil)
    await vi.waitFor(async () => expect(await list(id, 'delivering')).toEqual([]), WAIT)
    const known = sent().length
    receiver.on(path, null)
    await vi.waitFor(async () => expect(await list(id, 'delivered')).toHaveLength(20), WAIT)
    const [first] = sent().slice(known)
    expect(first?.at).toBeGreaterThanOrEqual(until)
  })

  test('at the last attempt of a delivery: it has failed', async () => {
    receiver.on(path, asks(429, '1'))
    const id = await endpoint({ maxAttempts: 1 })
    const [deliveryId = ''] = await add(id, 1)
    await startWorkers()
    await vi.waitFor(async () => expect((await deliveryState(service.app, deliveryId))?.status).toBe('failed'), WAIT)
    expect(await read(id)).toMatchObject({ consecutiveFailures: 0 })
  })

  test('without a time, or with another status, has failed', async () => {
    const [plain, other] = [`${path}-plain`, `${path}-other`]
    receiver.on(plain, (_request, response) => reply(response, 429))
    receiver.on(other, asks(500, '60'))
    await startWorkers()
    for (const at of [plain, other]) {
      const id = await endpoint({ maxAttempts: 1 }, at)
      await add(id, 1)
      await vi.waitFor(async () => expect(await read(id)).toMatchObject({ consecutiveFailures: 1 }), WAIT)
      expect((await read(id)).pausedUntil).toBeNull()
    }
  })

  test('by its answer to the probe: its circuit stays open, and the failures are those of before', async () => {
    receiver.on(path, fail)
    const id = await endpoint({ maxAttempts: 1, breakerThreshold: 3, breakerCooldownMs: 200 })
    await add(id, 30)
    await startWorkers()
    await vi.waitFor(async () => expect((await read(id)).circuitOpenUntil).not.toBeNull(), WAIT)
    receiver.on(path, asks(503, '3600'))
    await vi.waitFor(async () => expect((await read(id)).pausedUntil).not.toBeNull(), WAIT)
    const { circuit, consecutiveFailures, circuitOpenUntil, state } = await read(id)
    expect([state, circuit]).toEqual(['verified', 'open'])
    expect(Date.parse(circuitOpenUntil) - Date.now()).toBeGreaterThan(HOUR_MS - 60_000)
    const known = sent().length
    expect(consecutiveFailures).toBe(known - 1)
    await workersWent()
    expect(sent()).toHaveLength(known)
  })

  test('gets them at once at another url', async () => {
    receiver.on(path, asks(429, '3600'))
    const id = await endpoint({})
    await add(id, 5)
    await startWorkers()
    await vi.waitFor(async () => expect((await read(id)).pausedUntil).not.toBeNull(), WAIT)
    await vi.waitFor(async () => expect(await list(id, 'delivering')).toEqual([]), WAIT)
    const next = `${path}-next`
    await service.call('PATCH', `/webhooks/${id}`, { body: { url: receiver.url + next } })
    expect((await read(id)).pausedUntil).toBeNull()
    await vi.waitFor(() => expect(sent(next).length).toBeGreaterThan(0), WAIT)
  })
})

describe('a receiver that answers 410', () => {
  test('is disabled at once; its deliveries are held, and the audit log says why', async () => {
    receiver.on(path, (_request, response) => reply(response, 410))
    const id = await endpoint({})
    await add(id, 20)
    await startWorkers()
    await vi.waitFor(
      async () => expect(await read(id)).toMatchObject({ state: 'disabled', disabledReason: 'gone' }),
      WAIT,
    )
    await vi.waitFor(async () => expect(await list(id, 'held')).toHaveLength(20), WAIT)
    await workersWent()
    // Those under way at that moment, at most.
    expect(sent().length).toBeLessThanOrEqual(10)
    const entries = await service.app.prisma.auditEntry.findMany({ where: { targetId: id, actorKind: 'system' } })
    expect(entries.map(({ action, after }) => [action, after])).toEqual([
      ['webhook.disable', expect.objectContaining({ state: 'disabled', disabledReason: 'gone' })],
    ])
  })

  test('is not, where the answer came from a former url', async () => {
    const answer = receiver.hold(path, 410)
    const id = await endpoint({ maxAttempts: 1, timeoutMs: 30_000 })
    await add(id, 1)
    await startWorkers()
    await vi.waitFor(() => expect(sent()).toHaveLength(1), WAIT)
    await service.call('PATCH', `/webhooks/${id}`, { body: { url: `${receiver.url}${path}-next` } })
    answer()
    await vi.waitFor(async () => expect(await list(id, 'failed')).toHaveLength(1), WAIT)
    expect(await read(id)).toMatchObject({ disabledReason: null, consecutiveFailures: 0 })
  })
})

describe('while attempts are under way', () => {
  test('another url: attempts at the old one say nothing about the new one', async () => {
    const answers = held()
    const id = await endpoint({ maxAttempts: 1, timeoutMs: 30_000 }, path, 4)
    await add(id, 6)
    await startWorkers()
    await vi.waitFor(() => expect(answers).toHaveLength(6), WAIT)
    const next = `${path}-next`
    await service.call('PATCH', `/webhooks/${id}`, { body: { url: receiver.url + next } })
    expect(await read(id)).toMatchObject({ consecutiveFailures: 0 })
    for (const answer of answers) answer(500)
    await vi.waitFor(async () => expect(await list(id, 'failed')).toHaveLength(6), WAIT)
    await whenVerified(id)
    expect(await read(id)).toMatchObject({ consecutiveFailures: 0, circuit: 'closed' })
  })

  test('a handshake that verifies it again: failures of attempts from before count', async () => {
    const answers = held()
    const id = await endpoint({ maxAttempts: 1, timeoutMs: 30_000 })
    await add(id, 2)
    await startWorkers()
    await vi.waitFor(() => expect(answers).toHaveLength(2), WAIT)
    receiver.on(path, null)
    await service.call('POST', `/webhooks/${id}/verify`)
    await whenVerified(id)
    for (const answer of answers) answer(500)
    await vi.waitFor(async () => expect(await list(id, 'failed')).toHaveLength(2), WAIT)
    expect(await read(id)).toMatchObject({ state: 'verified', consecutiveFailures: 2 })
  })

  test('deletion: outcomes of deleted deliveries do no harm', async () => {
    const answers = held()
    const id = await endpoint({ timeoutMs: 30_000 })
    await add(id, 5)
    await startWorkers()
    await vi.waitFor(() => expect(answers).toHaveLength(5), WAIT)
    expect((await service.call('DELETE', `/webhooks/${id}`)).status).toBe(204)
    for (const answer of answers) answer(500)
    await workersWent()
    expect(sent()).toHaveLength(5)
  })
})

test("an event that is no longer stored fails its delivery, and does not count as the endpoint's failure", async () => {
  const id = await endpoint({ breakerThreshold: 1 })
  const ids = await add(id, 3)
  const forget = unnamed('DELETE FROM events')
  await service.app.db.query(forget)
  await startWorkers()
  await vi.waitFor(async () => expect(await list(id, 'failed')).toHaveLength(ids.length), WAIT)
  expect(await read(id)).toMatchObject({ consecutiveFailures: 0, circuit: 'closed' })
  expect(sent()).toEqual([])
})

import { beforeAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { readMigrations } from '../../src/data/migrations/files.ts'
import { callsTo } from '../harness/calls.ts'
import { reply } from '../harness/receiver.ts'
import type { Json } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { useReceiver } from '../harness/webhooks.ts'

const { receiver, service } = useReceiver()
let counter = 0

const UNKNOWN = '019a0000-0000-7000-8000-000000000000'
const POLICY = { maxAttempts: 1, breakerThreshold: 100, disableThreshold: 1000 }

beforeAll(async () => {
  await ok('PATCH', '/settings', { moderationMode: 'none' })
})

const { ok } = callsTo(() => service)

interface Endpoint {
  id: string
  path: string
  status: { now: number | null }
}

/** A verified endpoint that answers with the status that `status` has. */
async function register(body: object = {}, headers = {}): Promise<Endpoint> {
  const path = `/deliveries-${++counter}`
  const status: { now: number | null } = { now: 200 }
  receiver.on(path, (request, response) => {
    if (request.headers['x-service-event'] === 'verification') return undefined
    if (status.now !== null) return reply(response, status.now)
    response.destroy()
    return true
  })
  const { id } = await ok('POST', '/webhooks', { url: receiver.url + path, policy: POLICY, ...body }, headers)
  await vi.waitFor(async () => expect((await ok('GET', `/webhooks/${id}`, undefined, headers)).state).toBe('verified'))
  return { id, path, status }
}

const post = async (text: string, reader = 'ada'): Promise<Json> =>
  ok('POST', '/discussions/by-external/page/comments', { body: text }, await service.as(reader))

/** The ids of all deliveries that a query lists, `limit` a page. */
async function idsOf(path: string, query: string, limit = 100, headers = {}): Promise<string[]> {
  const found: string[] = []
  for (let cursor = ''; ;) {
    const { data, hasMore, nextCursor } = await ok('GET', `${path}?limit=${limit}${query}${cursor}`, undefined, headers)
    found.push(...data.map((delivery: { id: string }) => delivery.id))
    if (hasMore !== true) return found
    cursor = `&cursor=${nextCursor}`
  }
}

/** Waits until no delivery of an endpoint is under way. Returns all, newest first. */
async function settled(endpointId: string, count: number): Promise<Json[]> {
  return vi.waitFor(async () => {
    const { data } = await ok('GET', `/webhooks/${endpointId}/deliveries?limit=100`)
    expect(data).toHaveLength(count)
    for (const { status } of data) expect(['delivered', 'failed']).toContain(status)
    return data as Json[]
  })
}

const ANSWERS = { http_2xx: 204, http_3xx: 302, http_4xx: 404, http_5xx: 503, none: null } as const

describe('GET /webhooks/{id}/deliveries', () => {
  test('lists deliveries by what the last attempt got', async () => {
    const { id, status } = await register()
    const path = `/webhooks/${id}/deliveries`
    const made: Record<string, string[]> = {}
    for (const [n, [answer, code]] of [...Object.entries(ANSWERS), ...Object.entries(ANSWERS)].entries()) {
      status.now = code
      await post(`${answer} ${n}`)
      const [newest] = await settled(id, n + 1)
      made[answer] = [newest.id, ...(made[answer] ?? [])]
    }
    for (const answer of Object.keys(ANSWERS)) {
      expect(await idsOf(path, `&answer=${answer}`), answer).toEqual(made[answer])
      expect(await idsOf(path, `&answer=${answer}`, 1), answer).toEqual(made[answer])
      const isDelivered = answer === 'http_2xx'
      expect(await idsOf(path, `&answer=${answer}&status=delivered`)).toEqual(isDelivered ? made[answer] : [])
      expect(await idsOf(path, `&answer=${answer}&status=failed`)).toEqual(isDelivered ? [] : made[answer])
      expect(await idsOf(path, `&answer=${answer}&eventType=comment_created`)).toEqual(made[answer])
      expect(await idsOf(path, `&answer=${answer}&eventType=comment_pinned`)).toEqual([])
    }
    const { data } = await ok('GET', `${path}?answer=none`)
    expect(await idsOf(path, `&answer=none&eventId=${data[0].eventId}`)).toEqual([data[0].id])
    expect(await idsOf(path, `&answer=http_2xx&eventId=${data[0].eventId}`)).toEqual([])
    // One that was not attempted yet got nothing, which is not "no answer".
    await ok('POST', `/webhooks/${id}/pause`)
    await ok('POST', `${path}/${data[0].id}/redeliver`)
    expect(await idsOf(path, '&answer=none')).toEqual(made.none)
    status.now = 200
    await ok('POST', `/webhooks/${id}/resume`)
    await settled(id, 11)
    expect(await idsOf(path, '&answer=http_2xx')).toHaveLength(3)
  })

  test('lists the deliveries of events about a comment, redeliveries and replays included', async () => {
    const { id } = await register()
    const path = `/webhooks/${id}/deliveries`
    const [first, second] = [await post('first'), await post('second')]
    await ok('POST', `/comments/${first.id}/reactions`, { type: 'like' }, await service.as('bob'))
    await ok('PATCH', `/comments/${first.id}`, { body: 'edited' }, await service.as('ada'))
    await ok('POST', `/discussions/${first.discussionId}/lock`)
    await ok('POST', `/discussions/${first.discussionId}/unlock`)
    const all = await settled(id, 6)
    const ofFirst = all.filter((_each, n) => [2, 3, 5].includes(n)).map((each) => each.id)
    expect(all.map(({ eventType }) => eventType)).toEqual([
      'discussion_unlocked',
      'discussion_locked',
      'comment_edited',
      'reaction_toggled',
      'comment_created',
      'comment_created',
    ])
    expect(await idsOf(path, `&commentId=${first.id}`)).toEqual(ofFirst)
    expect(await idsOf(path, `&commentId=${first.id}`, 1)).toEqual(ofFirst)
    expect(await idsOf(path, `&commentId=${second.id}`)).toEqual([all[4].id])
    expect(await idsOf(path, `&commentId=${first.id}&eventType=comment_edited`)).toEqual([all[2].id])
    expect(await idsOf(path, `&commentId=${first.id}&answer=http_2xx&status=delivered`)).toEqual(ofFirst)
    expect(await idsOf(path, `&commentId=${first.id}&answer=none`)).toEqual([])
    expect(await idsOf(path, `&commentId=${first.id}&eventId=${all[4].eventId}`)).toEqual([])
    const again = await ok('POST', `${path}/${all[3].id}/redeliver`)
    expect(await idsOf(path, `&commentId=${first.id}`)).toEqual([again.id, ...ofFirst])

    // An endpoint that comes later, by a replay.
    const later = await register()
    const from = new Date(Date.now() - 3_600_000).toISOString()
    await ok('POST', `/webhooks/${later.id}/replay`, { from })
    expect(await idsOf(`/webhooks/${later.id}/deliveries`, `&commentId=${first.id}`)).toHaveLength(3)
    expect(await idsOf(`/webhooks/${later.id}/deliveries`, `&commentId=${second.id}`)).toHaveLength(1)

    const none = await post('without deliveries yet')
    const quiet = await register()
    expect(await idsOf(`/webhooks/${quiet.id}/deliveries`, `&commentId=${none.id}`)).toEqual([])
    const theirs = await service.addTenant('comments-of-others')
    const foreign = await service.ok(
      'POST',
      '/discussions/by-external/page/comments',
      { body: 'theirs' },
      { 'x-api-key': theirs.apiKey, ...(await theirs.as('eve')) },
    )
    expect(foreign.id).toMatch(/^[0-9a-f-]{36}$/)
    for (const unknown of [foreign.id, UNKNOWN, 'nonsense', '']) {
      const answer = await service.call('GET', `${path}?commentId=${unknown}`)
      expect([answer.status, answer.json.code], unknown).toEqual([404, 'not_found'])
    }
  })

  test('lists what the previous release has written, once the backfill has run', async () => {
    const { id, status } = await register()
    status.now = 500
    const comment = await post('old')
    await settled(id, 1)
    await service.app.db.query(
      unnamed('UPDATE deliveries SET comment_id = NULL, last_answer = NULL WHERE endpoint_id = $1'),
      [id],
    )
    const path = `/webhooks/${id}/deliveries`
    const found = async () => [
      (await idsOf(path, `&commentId=${comment.id}`)).length,
      (await idsOf(path, '&answer=http_5xx')).length,
    ]
    expect(await found()).toEqual([0, 0])
    const backfill = readMigrations().find(({ name }) => name.endsWith('_delivery_answers'))?.backfill ?? ''
    const pass = async (): Promise<number> => {
      let sum = 0
      for (let last: unknown = null; ;) {
        const [row] = await service.app.db.query<{ last: unknown; changed: number }>(unnamed(backfill), [
          last === null ? null : JSON.stringify(last),
          2,
        ])
        sum += row?.changed ?? 0
        if (row?.last == null) return sum
        last = row.last
      }
    }
    expect(await pass()).toBe(1)
    expect(await found()).toEqual([1, 1])
    expect(await pass()).toBe(0)
  })
})

describe('GET /deliveries', () => {
  test('lists the deliveries to all endpoints, of one event or about one comment', async () => {
    const theirs = await service.addTenant('all-deliveries')
    const headers = { 'x-api-key': theirs.apiKey }
    const of = (method: string, path: string, body?: object, more = {}) =>
      ok(method, path, body, { ...headers, ...more })
    await of('PATCH', '/settings', { moderationMode: 'none' })
    const first = await register({}, headers)
    const second = await register({ eventTypes: ['reaction_toggled'] }, headers)
    const ada = await theirs.as('ada')
    const write = (text: string) => of('POST', '/discussions/by-external/page/comments', { body: text }, ada)
    const [one, other] = [await write('one'), await write('other')]
    await of('POST', `/comments/${one.id}/reactions`, { type: 'like' }, await theirs.as('bob'))
    const listed = async (query = '', limit = 100) => idsOf('/deliveries', query, limit, headers)
    const all = await listed()
    expect(all).toHaveLength(4)
    expect(all).toEqual(all.toSorted().toReversed())
    expect(await listed('', 1)).toEqual(all)
    const { data } = await of('GET', '/deliveries')
    expect(new Set(data.map((each: Json) => each.endpointId))).toEqual(new Set([first.id, second.id]))
    expect(data[0].attempts).toBeInstanceOf(Array)

    const [reaction, again] = [data[0].eventId, data[0]]
    const ofReaction = data.filter((each: Json) => each.eventId === reaction).map((each: Json) => each.id)
    expect(ofReaction).toHaveLength(2)
    const repeated = await of('POST', `/webhooks/${again.endpointId}/deliveries/${again.id}/redeliver`)
    expect(await listed(`&eventId=${reaction}`)).toEqual([repeated.id, ...ofReaction])
    expect(await listed(`&eventId=${reaction}`, 1)).toEqual([repeated.id, ...ofReaction])
    expect(await listed(`&commentId=${one.id}`)).toEqual([repeated.id, ...ofReaction, all[3]])
    expect(await listed(`&commentId=${one.id}`, 1)).toEqual([repeated.id, ...ofReaction, all[3]])
    expect(await listed(`&commentId=${other.id}`)).toEqual([all[2]])
    expect(await listed(`&commentId=${other.id}&eventId=${reaction}`)).toEqual([])
    expect(await listed(`&commentId=${one.id}&eventId=${reaction}`)).toHaveLength(3)

    const query =
      'query ($of: ID) { deliveries(eventId: $of) { nodes { id endpoint { id url } discussion { id externalId } } } }'
    const { json } = await service.graphql(query, { of: reaction }, headers)
    expect(json.errors).toBeUndefined()
    expect(json.data.deliveries.nodes.map((each: Json) => each.id)).toEqual([repeated.id, ...ofReaction])
    expect(json.data.deliveries.nodes.map((each: Json) => each.endpoint.id)).toContain(second.id)
    const page = { id: one.discussionId, externalId: 'page' }
    expect(json.data.deliveries.nodes.map((each: Json) => each.discussion)).toEqual([page, page, page])
    await of('POST', `/webhooks/${second.id}/test`, { eventType: 'comment_created' })
    const newest = (await service.graphql(query, {}, headers)).json.data.deliveries.nodes[0]
    expect(newest).toMatchObject({ endpoint: { id: second.id }, discussion: null })

    for (const [text, status] of [
      [`eventId=${UNKNOWN}`, 404],
      ['eventId=nonsense', 422],
      [`commentId=${UNKNOWN}`, 404],
      ['commentId=nonsense', 404],
    ] as const)
      expect((await service.call('GET', `/deliveries?${text}`, { headers })).status, text).toBe(status)
    for (const text of [`eventId=${reaction}`, `commentId=${one.id}`])
      expect((await service.call('GET', `/deliveries?${text}`)).status, text).toBe(404)
    expect(await idsOf('/deliveries', '')).not.toContain(all[0])
    const key = await of('POST', '/keys', { label: 'reads', capabilities: ['moderate_content'] })
    const refused = await service.call('GET', '/deliveries', { headers: { 'x-api-key': key.key } })
    expect([refused.status, refused.json.code]).toEqual([403, 'missing_capability'])
  })
})

describe('POST /webhooks/{id}/redeliver', () => {
  test('sends several deliveries again, each once, under their idempotency keys', async () => {
    const { id, path: hook } = await register()
    for (let n = 0; n < 4; n++) await post(`again ${n}`)
    const all = await settled(id, 4)
    const [newest, second, third] = all.map((each) => each.id)
    const deliveryIds = [newest, third, newest, second, third]
    const route = `/webhooks/${id}/redeliver`
    const answer = await service.ok('POST', route, { deliveryIds })
    const copies = answer.data
    expect(copies.map(({ eventId }: Json) => eventId)).toEqual([2, 1, 0].map((n) => all[n].eventId))
    const after = await settled(id, 7)
    expect(after.slice(0, 3).map((each) => each.id)).toEqual(copies.map((each: Json) => each.id).toReversed())
    const keys = receiver.deliveries(hook).map(({ headers }) => headers['x-service-idempotency-key'])
    expect(keys).toHaveLength(7)
    expect(new Set(keys.slice(4))).toEqual(new Set(keys.slice(1, 4)))
    const [entry] = (await ok('GET', '/audit-log?action=webhook.redeliver')).data
    expect(entry.after).toEqual({
      deliveryIds: [third, second, newest],
      queued: copies.map((each: Json) => each.id),
    })

    // All or none.
    const other = await register()
    await post('elsewhere')
    const [foreign] = await settled(other.id, 1)
    await settled(id, 8)
    for (const unknown of [foreign.id, UNKNOWN, 'nonsense']) {
      const refused = await service.call('POST', route, { body: { deliveryIds: [newest, unknown] } })
      expect([refused.status, refused.json.code], unknown).toEqual([404, 'not_found'])
    }
    for (const wrong of [[], Array.from({ length: 101 }, () => newest), null])
      expect((await service.call('POST', route, { body: { deliveryIds: wrong } })).status).toBe(422)
    await service.app.db.query(unnamed('UPDATE deliveries SET seq = 999 WHERE id = $1'), [third])
    const gone = await service.call('POST', route, { body: { deliveryIds: [newest, third] } })
    expect([gone.status, gone.json.detail]).toEqual([409, `The event of delivery ${third} is no longer stored.`])
    await service.app.db.query(unnamed(`UPDATE webhook_endpoints SET state = 'unverified' WHERE id = $1`), [id])
    expect((await service.call('POST', route, { body: { deliveryIds: [newest] } })).status).toBe(409)
    expect(await idsOf(`/webhooks/${id}/deliveries`, '')).toHaveLength(8)
  })
})

describe('the headers of attempts', () => {
  test('are read for one delivery, and not for a list, which so reads a tenth', async () => {
    const { id } = await register()
    const rows = await service.app.db.query<{ id: string }>(
      unnamed(`INSERT INTO deliveries (tenant_id, id, endpoint_id, event_id, event_type, discussion_id, seq, status)
        SELECT $1, new_id(), $2, new_id(), 'comment_created', new_id(), 1, 'failed' FROM generate_series(1, 20)
        RETURNING id`),
      [service.tenant.id, id],
    )
    const ids = rows.map((row) => row.id)
    const headers = { sent: { 'x-sent': 'x'.repeat(500) }, answered: { 'x-answered': 'y'.repeat(2000) } }
    await service.app.db.query(
      unnamed(`INSERT INTO attempts (tenant_id, delivery_id, n, at, duration_ms, headers)
        SELECT $1, d.id, n, now(), 1, $3::jsonb FROM unnest($2::uuid[]) AS d (id), generate_series(1, 3) AS n`),
      [service.tenant.id, ids, JSON.stringify(headers)],
    )
    const { attempt } = service.app.prisma
    const find = attempt.findMany.bind(attempt)
    let bytes = 0
    const spy = vi.spyOn(attempt, 'findMany').mockImplementation(((args: Parameters<typeof find>[0]) =>
      find(args).then((found) => {
        bytes += JSON.stringify(found).length
        return found
      })) as never)
    try {
      const { data } = await ok('GET', `/webhooks/${id}/deliveries?limit=100`)
      expect(data.flatMap((each: Json) => each.attempts)).toHaveLength(60)
      expect([spy.mock.calls.length, bytes < 60 * 300]).toEqual([1, true])
      const one = await ok('GET', `/webhooks/${id}/deliveries/${ids[0]}`)
      const shown = { requestHeaders: headers.sent, responseHeaders: headers.answered }
      expect(one.attempts).toMatchObject([
        { n: 1, ...shown },
        { n: 2, ...shown },
        { n: 3, ...shown },
      ])
      // One statement for the attempts, and one for the headers of all of them.
      expect(spy).toHaveBeenCalledTimes(3)
      expect(bytes).toBeGreaterThan(3 * 2500)
    } finally {
      spy.mockRestore()
    }
  })
})

describe('GET /webhooks/{id}/health', () => {
  const HOUR_MS = 3_600_000
  const QUEUE =
    unnamed(`INSERT INTO deliveries (tenant_id, id, endpoint_id, event_id, event_type, discussion_id, seq, status)
    SELECT $1, d.id, $2, new_id(), 'comment_created', new_id(), 1, 'failed' FROM unnest($3::uuid[]) AS d (id)`)
  const TRY = unnamed(`INSERT INTO attempts (tenant_id, delivery_id, n, at, duration_ms, status_code, error)
    SELECT $1, t.id, t.n, now(), t.ms, t.code, CASE WHEN t.code <> 200 THEN 'no' END
    FROM unnest($2::uuid[], $3::int[], $4::int[], $5::int[]) AS t (id, n, ms, code)`)

  const hourNow = (): number => Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  /** Ids of the hour that begins at `ms`. */
  const idsAt = (ms: number, count: number): string[] => {
    const time = (n: number) => (ms + n).toString(16).padStart(12, '0')
    return Array.from({ length: count }, (_, n) =>
      newId().replace(/^.{13}/, `${time(n).slice(0, 8)}-${time(n).slice(8)}`),
    )
  }

  test('has success and latency of the last 24 hours, of at most 100 deliveries each', async () => {
    const { id } = await register()
    const other = await register()
    const { db } = service.app
    const path = `/webhooks/${id}/health`
    const read = async (): Promise<Json[]> => (await ok('GET', path)).data
    const hourBefore = hourNow()
    const empty = await read()
    expect(empty).toHaveLength(24)
    const nothing = { deliveries: 0, isSample: false, attempts: 0, succeeded: 0, medianMs: null, p95Ms: null }
    const current = Date.parse(empty.at(-1)?.at)
    expect([hourBefore, hourNow()]).toContain(current)
    for (const [n, hour] of empty.entries())
      expect(hour).toEqual({ at: new Date(current - (23 - n) * HOUR_MS).toISOString(), ...nothing })

    const queue = (endpointId: string, ids: string[]) => db.query(QUEUE, [service.tenant.id, endpointId, ids])
    const attempt = (ids: string[], n: number, ms: number[], codes: number[]) =>
      db.query(TRY, [service.tenant.id, ids, ids.map(() => n), ms, codes])
    const ago = (hours: number): number => current - hours * HOUR_MS
    const [few, many, old] = [idsAt(ago(3), 20), idsAt(ago(5), 103), idsAt(ago(24), 2)]
    for (const ids of [few, many, old]) await queue(id, ids)
    await queue(other.id, idsAt(ago(3), 4))
    // 1 to 20 ms; the last five are refused, and tried again in vain.
    await attempt(
      few,
      1,
      few.map((_each, n) => n + 1),
      few.map((_each, n) => (n < 15 ? 200 : 500)),
    )
    await attempt(few.slice(15), 2, [100, 100, 100, 100, 100], [500, 500, 500, 500, 500])
    // The oldest three are not among the newest hundred.
    await attempt(
      many,
      1,
      many.map((_each, n) => (n < 3 ? 9000 : 7)),
      many.map((_each, n) => (n < 3 ? 500 : 200)),
    )
    const hours = await read()
    // By its time: another hour may have begun.
    const at = (hour: number, of = hours) => of.find((each) => each.at === new Date(ago(hour)).toISOString())
    expect(at(3)).toMatchObject({
      deliveries: 20,
      isSample: false,
      attempts: 25,
      succeeded: 15,
      medianMs: 13,
      p95Ms: 100,
    })
    expect(at(5)).toMatchObject({
      deliveries: 100,
      isSample: true,
      attempts: 100,
      succeeded: 100,
      medianMs: 7,
      p95Ms: 7,
    })
    expect(hours.filter(({ deliveries }) => deliveries === 0)).toHaveLength(22)
    const query = 'query ($id: ID!) { webhookEndpointHealth(id: $id) { hours { at attempts } } }'
    const asked = await service.graphql(query, { id })
    expect(at(3, asked.json.data.webhookEndpointHealth.hours).attempts).toBe(25)
    for (const unknown of [UNKNOWN, 'nonsense'])
      expect((await service.call('GET', `/webhooks/${unknown}/health`)).status).toBe(404)
  })
})

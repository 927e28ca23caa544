import { beforeAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { foldWaiting, forgetInAnalytics } from '../../src/domains/analytics/fold.ts'
import { clearDeletedEndpoints } from '../../src/worker/statements/retention-sql.ts'
import {
  countTables,
  daysBefore,
  deliveriesOf,
  type DeliveryRow,
  rankTables,
  readTables,
  tomorrow,
} from '../harness/analytics.ts'
import { onServer } from '../harness/database.ts'
import { addDelivery } from '../harness/outbox.ts'
import { type TestResponse, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
const readers = ['ann', 'ben', 'cleo']
const as = new Map<string, Record<string, string>>()
const ids: Record<string, string> = {}

beforeAll(async () => {
  for (const name of readers) as.set(name, await service.as(name))
  ids.first = await post('page-1', 'ann')
  ids.second = await post('page-1', 'ann')
  ids.third = await post('page-1', 'ben')
  ids.fourth = await post('page-2', 'cleo')
  await ok(service.call('POST', `/comments/${ids.second}/reject`))
  await ok(service.call('DELETE', `/comments/${ids.fourth}`, { headers: as.get('cleo') ?? {} }))
  for (const name of ['ann', 'ben']) await react(name, 'like')
  await react('ann', 'like')
  await ok(
    service.call('POST', `/comments/${ids.first}/report`, { body: { reason: 'spam' }, headers: as.get('cleo') ?? {} }),
  )
})

async function ok(answer: Promise<TestResponse>): Promise<TestResponse['json']> {
  const { status, json, text } = await answer
  expect(status, text).toBeLessThan(300)
  return json
}

const post = async (page: string, reader: string): Promise<string> => {
  const path = `/discussions/by-external/${page}/comments`
  const text = `text ${Math.random()}`
  return (await ok(service.call('POST', path, { body: { body: text }, headers: as.get(reader) ?? {} }))).id as string
}

const react = (reader: string, type: string) =>
  ok(service.call('POST', `/comments/${ids.third}/reactions`, { body: { type }, headers: as.get(reader) ?? {} }))

const summary = (query = '') => ok(service.call('GET', `/analytics/summary${query}`))
const activeIn = ({ series }: { series: { activeReaders: number }[] }): number =>
  series.reduce((sum, { activeReaders }) => sum + activeReaders, 0)
const top = (query = '') => ok(service.call('GET', `/analytics/top${query}`))

/** Deliveries whose rows are there no more. */
let gone: DeliveryRow[] = []

/** Every number of the last days is what a count over the tables gives. */
async function expectExact(): Promise<void> {
  const tables = await readTables(service.app, service.tenant.id, gone)
  const to = tomorrow()
  const from = daysBefore(to, 5)
  const span = `?from=${from.toISOString()}&to=${to.toISOString()}`
  for (const interval of ['hour', 'day'] as const) {
    const answer = await summary(`${span}&interval=${interval}`)
    expect(answer.series).toEqual(countTables(tables, interval, from, to))
  }
  const { discussions, readers: best } = await top(`${span}&limit=50`)
  const pairs = (list: Record<string, { id: string }>[], name: string) =>
    list.map((each) => [each[name]?.id, each.comments])
  expect(pairs(discussions, 'discussion')).toEqual(rankTables(tables, 'discussionId', from, to))
  expect(pairs(best, 'reader')).toEqual(rankTables(tables, 'readerId', from, to))
}

describe('GET /analytics/summary', () => {
  test('of today, by day: comments by present state, present reactions, readers once, reports', async () => {
    const before = tomorrow()
    const { interval, from, to, series, totals } = await summary()
    expect(interval).toBe('day')
    // It may have been midnight meanwhile.
    const ends = [before, tomorrow()].map((end) => [daysBefore(end, 30).toISOString(), end.toISOString()])
    expect(ends).toContainEqual([from, to])
    expect(series).toHaveLength(30)
    const counts = {
      comments: { pending: 0, approved: 2, rejected: 1, deleted: 1 },
      reactions: 1,
      reports: 1,
      deliveries: { pending: 0, delivered: 0, failed: 0, held: 0, cancelled: 0 },
    }
    expect(totals).toEqual(counts)
    const tables = await readTables(service.app, service.tenant.id)
    expect(series).toEqual(countTables(tables, 'day', new Date(from), new Date(to)))
  })

  test('by hour: the last 24, including empty ones', async () => {
    const thisHour = (): number => Math.floor(Date.now() / 3_600_000) * 3_600_000
    const before = thisHour()
    const { series } = await summary('?interval=hour')
    expect(series).toHaveLength(24)
    const times = series.map(({ at }: { at: string }) => Date.parse(at))
    expect(times).toEqual(times.map((_: number, n: number) => times[0] + n * 3_600_000))
    expect([before, thisHour()]).toContain(times.at(-1))
  })

  test('is the same before and after a worker has folded it, and equals a count over the tables', async () => {
    await expectExact()
    const span = `?to=${tomorrow().toISOString()}`
    const before = await summary(span)
    while (await foldWaiting(service.app));
    expect(await service.app.db.query(unnamed('SELECT 1 FROM analytics_deltas'))).toEqual([])
    expect(await summary(span)).toEqual(before)
    await expectExact()
  })

  test('the span includes from and excludes to; both are widened to whole buckets', async () => {
    const span = async (from: string, to: string, interval = 'day') => {
      const answer = await summary(`?from=${from}&to=${to}&interval=${interval}`)
      return [answer.from, answer.to, answer.series.length]
    }
    const [may1, may2, may3] = [1, 2, 3].map((day) => `2026-05-0${day}T00:00:00.000Z`)
    expect(await span('2026-05-01T00:00:00Z', '2026-05-02T00:00:00Z')).toEqual([may1, may2, 1])
    expect(await span('2026-05-01T23:59:59Z', '2026-05-02T00:00:00.001Z')).toEqual([may1, may3, 2])
    expect(await span('2026-05-01T01:30:00%2B01:30', '2026-05-01T00:00:01Z', 'hour')).toEqual([
      may1,
      '2026-05-01T01:00:00.000Z',
      1,
    ])
  })

  test('a span may have 1 000 days or 8 784 hours', async () => {
    expect((await summary('?from=2024-01-01T00:00:00Z&to=2026-09-27T00:00:00Z')).series).toHaveLength(1000)
    const year = '?from=2024-01-01T00:00:00Z&to=2025-01-01T00:00:00Z&interval=hour'
    expect((await summary(year)).series).toHaveLength(8784)
  })

  test.each([
    ['/from', 'from=2024-01-01T00:00:00Z&to=2026-09-27T00:00:01Z'],
    ['/from', 'from=2024-01-01T00:00:00Z&to=2025-01-01T00:00:01Z&interval=hour'],
    ['/from', 'from=2026-05-02T00:00:00Z&to=2026-05-01T00:00:00Z'],
    ['/from', 'from=2026-05-02T00:00:00Z&to=2026-05-02T00:00:00Z'],
    ['/from', 'from=9000-01-01T00:00:00Z'],
    ['/from', 'from=1969-12-31T23:59:59Z&to=1970-01-02T00:00:00Z'],
    ['/from', 'from=0000-01-01T00:00:00Z'],
    ['/to', 'to=9999-12-31T00:00:01Z'],
    ['/to', 'to=1969-12-31T00:00:00Z'],
    ['/to', 'to='],
  ])('422 validation_failed at %s: ?%s', async (pointer, query) => {
    const { status, json } = await service.call('GET', `/analytics/summary?${query}`)
    expect(json).toMatchObject({ code: 'validation_failed', errors: [{ pointer }] })
    expect(status).toBe(422)
  })

  test('the earliest and latest instants are answered', async () => {
    expect((await summary('?to=1970-01-02T00:00:00Z')).series).toHaveLength(1)
    expect((await summary('?to=9999-12-31T00:00:00Z')).series).toHaveLength(30)
  })
})

describe('GET /analytics/top', () => {
  test('discussions and readers by their approved comments, in their usual form', async () => {
    const before = tomorrow()
    const { from, to, discussions, readers: best } = await top()
    const ends = [before, tomorrow()].map((end) => [daysBefore(end, 7).toISOString(), end.toISOString()])
    expect(ends).toContainEqual([from, to])
    const discussion = await ok(service.call('GET', '/discussions/by-external/page-1'))
    expect(discussions).toEqual([{ discussion, comments: 2 }])
    expect(best.map(({ reader }: { reader: { externalId: string } }) => reader.externalId)).toEqual(['ann', 'ben'])
    expect(best[0]).toEqual({
      reader: {
        id: expect.any(String),
        externalId: 'ann',
        name: 'Reader ann',
        avatarUrl: null,
        profileUrl: null,
        badges: [],
      },
      comments: 1,
    })
    expect((await top('?limit=1')).readers).toHaveLength(1)
  })

  test.each([
    ['/limit', 'limit=0'],
    ['/limit', 'limit=51'],
    ['/limit', 'limit=1.5'],
    ['/from', 'from=2026-01-01T00:00:00Z&to=2026-04-03T00:00:01Z'],
  ])('422 validation_failed at %s: ?%s', async (pointer, query) => {
    const { status, json } = await service.call('GET', `/analytics/top?${query}`)
    expect(json).toMatchObject({ code: 'validation_failed', errors: [{ pointer: expect.stringContaining(pointer) }] })
    expect(status).toBe(422)
  })
})

test("another tenant's key sees only its own numbers", async () => {
  const other = await service.addTenant('other')
  const headers = { 'x-api-key': other.apiKey }
  const { totals, series } = await ok(service.call('GET', '/analytics/summary', { headers }))
  expect(totals.comments).toEqual({ pending: 0, approved: 0, rejected: 0, deleted: 0 })
  expect(series.at(-1).activeReaders).toBe(0)
  expect(await ok(service.call('GET', '/analytics/top', { headers }))).toMatchObject({ discussions: [], readers: [] })
})

test('GraphQL answers the same', async () => {
  const to = tomorrow().toISOString()
  const { json } = await service.graphql(
    `{ analyticsSummary(interval: hour, to: "${to}") { totals { comments { approved } } series { at activeReaders } }
       analyticsTop(limit: 1) { discussions { discussion { externalId } comments } readers { comments } } }`,
  )
  const rest = await summary(`?interval=hour&to=${to}`)
  const { analyticsSummary, analyticsTop } = json.data
  expect(analyticsSummary.totals.comments.approved).toBe(rest.totals.comments.approved)
  expect(analyticsSummary.series).toEqual(
    rest.series.map(({ at, activeReaders }: { at: string; activeReaders: number }) => ({ at, activeReaders })),
  )
  expect(analyticsTop.discussions).toEqual([{ discussion: { externalId: 'page-1' }, comments: 2 }])
})

describe('the series of one answer in GraphQL', () => {
  const COMMENTS = 'comments { pending approved rejected deleted }'
  const ALL = `at activeReaders reactions reports ${COMMENTS} deliveries { pending delivered failed held cancelled }`
  const year = (series: string) =>
    `analyticsSummary(interval: hour, from: "2024-01-01T00:00:00Z", to: "2025-01-01T00:00:00Z") { ${series} }`
  const refused = [{ extensions: { code: 'validation_failed', errors: [{ pointer: '/from', code: 'too_long' }] } }]

  test('8 784 hours with all fields are answered, or several times with few', async () => {
    const { json } = await service.graphql(`{ ${year(`series { ${ALL} }`)} }`)
    expect(json.data.analyticsSummary.series).toHaveLength(8784)
    const few = await service.graphql(`{ one: ${year('series { at }')} other: ${year('series { reports }')} }`)
    expect(few.json.data.other.series).toHaveLength(8784)
  })

  test.each([
    ['under two names', `one: ${year(`series { ${ALL} }`)} other: ${year(`series { ${ALL} }`)}`],
    ['of one summary under two names', year(`one: series { ${ALL} } other: series { ${ALL} }`)],
    [
      'with fields under many names',
      year(`series { ${Array.from({ length: 28 }, (_, n) => `a${n}: ${COMMENTS}`).join(' ')} }`),
    ],
  ])('more of them are 422: %s', async (_name, fields) => {
    const { json, text } = await service.graphql(`{ ${fields} }`)
    expect(json.errors).toMatchObject(refused)
    expect(text.length).toBeLessThan(2_000_000)
  })
})

test('an edit, a pin, a reply or a reaction appends no delta of comments', async () => {
  while (await foldWaiting(service.app));
  const id = await post('page-3', 'ann')
  while (await foldWaiting(service.app));
  const headers = as.get('ann') ?? {}
  await ok(service.call('PATCH', `/comments/${id}`, { body: { body: 'edited' }, headers }))
  await ok(service.call('POST', `/comments/${id}/pin`))
  await ok(service.call('POST', `/comments/${id}/reactions`, { body: { type: 'like' }, headers }))
  await ok(service.call('POST', `/comments/${id}/reactions`, { body: { type: 'love' }, headers }))
  const waiting = unnamed('SELECT metric::text, n FROM analytics_deltas')
  expect(await service.app.db.query(waiting)).toEqual([{ metric: 'reactions', n: 1 }])
})

test('deliveries stay counted after their endpoint or retention is gone; those without an outcome become cancelled', async () => {
  const hook = { url: 'https://127.0.0.1:9/hook' }
  const endpoint = await ok(service.call('POST', '/webhooks', { body: hook }))
  const state = unnamed(`UPDATE deliveries SET status = $2::delivery_status, created_at = created_at - interval '1 day',
       delivered_at = CASE WHEN $2 = 'delivered' THEN now() END,
       lease_id = CASE WHEN $2 = 'delivering' THEN gen_random_uuid() END
     WHERE id = $1`)
  for (const status of ['delivering', 'delivered', 'failed', 'held', 'delivered', 'pending']) {
    const { deliveryId } = await addDelivery(service.app, service.tenant.id, endpoint.id)
    await service.app.db.query(state, [deliveryId, status])
  }
  await expectExact()
  await ok(service.call('DELETE', `/webhooks/${endpoint.id}`))
  await expectExact()
  gone = await deliveriesOf(service.app, service.tenant.id)
  await clearDeletedEndpoints(service.app.db.query, 100)
  await expectExact()
  const deliveries = { pending: 0, delivered: 2, failed: 1, held: 0, cancelled: 3 }
  expect((await summary()).totals.deliveries).toEqual(deliveries)
  while (await foldWaiting(service.app));
  expect((await summary()).totals.deliveries).toEqual(deliveries)
})

test('an erased reader is in no top and no number of readers; counts without a name stay', async () => {
  const id = (await ok(service.call('GET', '/readers'))).data.find(
    (reader: { externalId: string }) => reader.externalId === 'ben',
  ).id as string
  const before = await summary()
  await service.app.db.transaction(async (sql) => {
    // Anonymous, as an erasure leaves them; the reader's rows of other kinds go.
    await sql(unnamed('UPDATE comments SET author_id = NULL WHERE author_id = $1'), [id])
    await sql(unnamed('DELETE FROM reactions WHERE reader_id = $1'), [id])
    await forgetInAnalytics(sql, service.tenant.id, id)
  })
  const named = ['analytics_deltas', 'analytics_activity'].map((table) =>
    unnamed(`SELECT 1 FROM ${table} WHERE reader_id = $1`),
  )
  const expectNameless = async () => {
    for (const query of named) expect(await service.app.db.query(query, [id])).toEqual([])
  }
  await expectNameless()
  await expectExact()
  while (await foldWaiting(service.app));
  await expectNameless()
  await expectExact()
  const after = await summary()
  expect(after.totals.comments).toEqual(before.totals.comments)
  expect(after.totals.reactions).toBe(before.totals.reactions - 1)
  // One less each day: the tests may have run at midnight.
  expect(activeIn(after)).toBeLessThan(activeIn(before))
  const best = (await top()).readers.map(({ reader }: { reader: { id: string } }) => reader.id)
  expect(best).not.toContain(id)
})

test("a deleted tenant's analytics are deleted, including those that a fold is writing", async () => {
  const { db, prisma } = service.app
  const tables = ['deltas', 'activity', 'discussions', 'buckets'].map((name) => `analytics_${name}`)
  const count = unnamed(tables.map((table) => `SELECT 1 FROM ${table} WHERE tenant_id = $1`).join(' UNION ALL '))
  const waiting = unnamed(`INSERT INTO analytics_deltas (tenant_id, hour, discussion_id, reader_id, metric, n)
     SELECT $1, now() - n * interval '1 hour', gen_random_uuid(), gen_random_uuid(), 'comments_approved', 1
     FROM generate_series(1, 1500) n`)
  // The deletion begins when the fold has asked so many statements of its two, or has ended.
  for (const place of [0, 1, 2, 3]) {
    const id = newId()
    await db.transaction((sql) => sql.prisma.tenant.create({ data: { id, slug: id } }))
    await db.query(waiting, [id])
    let asked = 0
    let isThere = (): void => undefined
    const there = new Promise<void>((resolve) => (isThere = resolve))
    const counted = <T extends object>(sql: T): T =>
      new Proxy(sql, {
        apply: (target, self, given) => {
          if (++asked === place) isThere()
          return Reflect.apply(target as (...all: unknown[]) => unknown, self, given)
        },
      })
    const transaction: typeof db.transaction = (work, lockWaitMs) =>
      db.transaction((sql) => work(counted(sql)), lockWaitMs)
    const folded = foldWaiting({ db: { ...db, transaction } })
    if (place > 0) await Promise.race([there, Promise.allSettled([folded])])
    // It waits for the fold, however busy the machine is.
    await db.transaction((sql) => sql(unnamed('DELETE FROM tenants WHERE id = $1'), [id]), 60_000)
    // It gives up where it does not get the tenant within 0.1 s.
    await Promise.allSettled([folded])
    while (await foldWaiting(service.app));
    expect(await db.query(count, [id])).toEqual([])
    expect(await prisma.tenant.count({ where: { id } })).toBe(0)
  }
})
test.runIf(onServer)(
  'the deletion of a tenant waits for a fold of the previous release, which does not lock the tenant',
  async () => {
    const { db } = service.app
    const id = newId()
    await db.transaction((sql) => sql.prisma.tenant.create({ data: { id, slug: id } }))
    const DELETING = unnamed(`SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'DELETE FROM tenants%'`)
    let deleting: Promise<unknown> = Promise.resolve()
    await db.transaction(async (sql) => {
      await sql(unnamed("SELECT pg_advisory_xact_lock(hashtextextended('analytics ' || $1::uuid, 0))"), [id])
      deleting = db.transaction((other) => other(unnamed('DELETE FROM tenants WHERE id = $1'), [id]), 60_000)
      await vi.waitFor(async () => expect(await db.query(DELETING)).not.toEqual([]))
      const row = 'INSERT INTO analytics_discussions VALUES ($1, now(), gen_random_uuid(), 1)'
      await sql(unnamed(row), [id])
    })
    await deleting
    expect(await db.query(unnamed('SELECT 1 FROM analytics_discussions WHERE tenant_id = $1'), [id])).toEqual([])
  },
)

import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import type { Param } from '../../src/core/database/statements.ts'
import { foldWaiting } from '../../src/domains/analytics/fold.ts'
import { leaseDeliveries, releaseLeases } from '../../src/worker/statements/lease-sql.ts'
import { recordAttempts } from '../../src/worker/statements/record-sql.ts'
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
import { effort } from '../harness/effort.ts'
import { addDelivery } from '../harness/outbox.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const READERS = ['ann', 'ben', 'cleo']
const PAGES = ['page-1', 'page-2', 'page-3']

/** One publisher of the service, and what it has made. */
interface Side {
  tenant: TestTenant
  key: Record<string, string>
  identities: Record<string, string>[]
  comments: string[]
  endpointId: string
  goneDeliveries: DeliveryRow[]
}

const service = useService()
let sides: Side[]

beforeAll(async () => {
  sides = [await furnish(service), await furnish(await service.addTenant('second'))]
})

async function furnish(tenant: TestTenant): Promise<Side> {
  const key = { 'x-api-key': tenant.apiKey }
  const identities = await Promise.all(READERS.map((reader) => tenant.as(reader)))
  const side: Side = { tenant, key, identities, comments: [], endpointId: '', goneDeliveries: [] }
  await service.call('PATCH', '/settings', { headers: key, body: { reportThreshold: 2, editWindowSeconds: 3600 } })
  await addEndpoint(side)
  return side
}

async function addEndpoint(side: Side): Promise<void> {
  const url = 'https://127.0.0.1:9/hook'
  const { json } = await service.call('POST', '/webhooks', { headers: side.key, body: { url } })
  side.endpointId = json.id as string
  await run("UPDATE webhook_endpoints SET state = 'verified' WHERE id = $1", [side.endpointId])
}

const run = (text: string, params: readonly Param[]) => service.app.db.query(unnamed(text), params)

/** `a`, `b` and `c` choose among what there is. */
interface Step {
  kind: keyof typeof STEPS
  side: number
  a: number
  b: number
  c: number
}

const choose = <T>(list: readonly T[], n: number): T | undefined => list[n % list.length]

async function send(side: Side, method: string, path: string, { as, body }: { as?: number; body?: object } = {}) {
  const identity = as === undefined ? {} : (choose(side.identities, as) ?? {})
  const answer = await service.call(method, path, { headers: { ...side.key, ...identity }, body })
  // A refusal is a step, too: it must change no number.
  expect(answer.status, answer.text).toBeLessThan(500)
  return answer
}

const comment = (side: Side, n: number): string => choose(side.comments, n) ?? newId()

/** Hours ago, now and then days: so that buckets of both lengths are shared and crossed. */
const PAST = [0, 1, 2, 20, 26, 30]
const moveBack = (table: string, column: string, where: string, key: string, c: number) =>
  run(`UPDATE ${table} SET ${column} = now() - ${choose(PAST, c)} * interval '1 hour' WHERE ${where} = $1`, [key])

async function attempt(outcome: 'delivered' | 'failed' | 'retry' | 'release', limit: number): Promise<void> {
  const { query } = service.app.db
  const { leases } = await leaseDeliveries(query, {
    leaseMs: 60_000,
    busy: [],
    perEndpoint: 8,
    limit: 1 + (limit % 3),
  })
  if (outcome === 'release') return void (await releaseLeases(query, leases))
  const error = outcome === 'delivered' ? null : 'status 500'
  const rest = { at: new Date(), durationMs: 1, statusCode: null, error, responseSnippet: null, headers: null }
  const retryInMs = outcome === 'retry' ? 0 : null
  await recordAttempts(
    query,
    // Not sent: what becomes of the endpoint is another matter.
    leases.map((lease) => ({ lease, ...rest, retryInMs, wasSent: false, pauseMs: null })),
  )
}

const STEPS = {
  create: async (side: Side, { a, b, c }: Step) => {
    const path = `/discussions/by-external/${choose(PAGES, a)}/comments`
    const parent = c % 3 === 0 ? {} : { parentId: comment(side, c) }
    const { status, json } = await send(side, 'POST', path, { as: b, body: { body: 'text', ...parent } })
    if (status === 201) side.comments.push(json.id as string)
  },
  edit: (side: Side, { a, b }: Step) =>
    send(side, 'PATCH', `/comments/${comment(side, a)}`, { as: b, body: { body: 'new' } }),
  delete: (side: Side, { a, b, c }: Step) =>
    send(side, 'DELETE', `/comments/${comment(side, a)}`, c % 2 === 0 ? { as: b } : {}),
  approve: (side: Side, { a }: Step) => send(side, 'POST', `/comments/${comment(side, a)}/approve`),
  reject: (side: Side, { a }: Step) => send(side, 'POST', `/comments/${comment(side, a)}/reject`),
  mode: (side: Side, { a }: Step) =>
    send(side, 'PATCH', '/settings', { body: { moderationMode: a % 2 === 0 ? 'none' : 'pre' } }),
  react: (side: Side, { a, b, c }: Step) =>
    send(side, 'POST', `/comments/${comment(side, a)}/reactions`, {
      as: b,
      body: { type: choose(['like', 'love'], c) },
    }),
  setReaction: (side: Side, { a, b }: Step) =>
    send(side, 'PUT', `/comments/${comment(side, a)}/reaction`, { as: b, body: { type: 'like' } }),
  removeReaction: (side: Side, { a, b }: Step) =>
    send(side, 'DELETE', `/comments/${comment(side, a)}/reaction`, { as: b, body: {} }),
  report: (side: Side, { a, b }: Step) =>
    send(side, 'POST', `/comments/${comment(side, a)}/report`, { as: b, body: { reason: 'spam' } }),
  deliver: (side: Side) => addDelivery(service.app, side.tenant.tenant.id, side.endpointId),
  attempt: (_side: Side, { a, b }: Step) =>
    attempt(choose(['delivered', 'failed', 'retry', 'release'] as const, a) ?? 'retry', b),
  hold: (side: Side, { a }: Step) =>
    a % 2 === 0
      ? run("UPDATE deliveries SET status = 'held' WHERE endpoint_id = $1 AND status = 'pending'", [side.endpointId])
      : run(
          "UPDATE deliveries SET status = 'pending', next_attempt_at = now() - make_interval(secs => 1) WHERE endpoint_id = $1 AND status = 'held'",
          [side.endpointId],
        ),
  dropEndpoint: async (side: Side) => {
    await send(side, 'DELETE', `/webhooks/${side.endpointId}`)
    await addEndpoint(side)
  },
  clear: async (_side: Side, { a }: Step) => {
    const all = () => Promise.all(sides.map(({ tenant }) => deliveriesOf(service.app, tenant.tenant.id)))
    const before = await all()
    await clearDeletedEndpoints(service.app.db.query, 1 + (a % 10))
    const left = new Set((await all()).flat().map(({ id }) => id))
    for (const [n, side] of sides.entries()) {
      side.goneDeliveries.push(...(before[n] ?? []).filter(({ id }) => !left.has(id)))
    }
  },
  moveComment: (side: Side, { a, c }: Step) => moveBack('comments', 'created_at', 'id', comment(side, a), c),
  moveReactions: (side: Side, { a, c }: Step) => moveBack('reactions', 'updated_at', 'comment_id', comment(side, a), c),
  moveReports: (side: Side, { a, c }: Step) => moveBack('reports', 'created_at', 'comment_id', comment(side, a), c),
  moveDeliveries: (side: Side, { c }: Step) => moveBack('deliveries', 'created_at', 'endpoint_id', side.endpointId, c),
  anonymise: (side: Side, { a }: Step) => run('UPDATE comments SET author_id = NULL WHERE id = $1', [comment(side, a)]),
  // Its replies are not the model's business: only one without any can go.
  purge: async (side: Side, { a }: Step) =>
    void (await run(
      'DELETE FROM comments c WHERE id = $1 AND NOT EXISTS (SELECT FROM comments r WHERE r.parent_id = c.id)',
      [comment(side, a)],
    )),
  fold: () => foldWaiting(service.app),
} satisfies Record<string, (side: Side, step: Step) => Promise<unknown>>

async function checkSide(side: Side): Promise<void> {
  const tables = await readTables(service.app, side.tenant.tenant.id, side.goneDeliveries)
  const to = tomorrow()
  const from = daysBefore(to, 4)
  const read = async (path: string) => (await send(side, 'GET', path)).json
  const span = `from=${from.toISOString()}&to=${to.toISOString()}`
  for (const interval of ['hour', 'day'] as const) {
    const { series } = await read(`/analytics/summary?interval=${interval}&${span}`)
    expect(series).toEqual(countTables(tables, interval, from, to))
  }
  const { discussions, readers } = await read(`/analytics/top?limit=50&${span}`)
  type Ranked = { comments: number } & Record<string, { id: string }>
  const pairs = (list: Ranked[], name: string) => list.map((each) => [each[name]?.id, each.comments])
  expect(pairs(discussions as Ranked[], 'discussion')).toEqual(rankTables(tables, 'discussionId', from, to))
  expect(pairs(readers as Ranked[], 'reader')).toEqual(rankTables(tables, 'readerId', from, to))
}

const kinds = Object.keys(STEPS) as (keyof typeof STEPS)[]
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('create' as const, 'react' as const, 'deliver' as const) },
    { weight: 7, arbitrary: fc.constantFrom(...kinds) },
  ),
  side: fc.nat(1),
  a: fc.nat(1000),
  b: fc.nat(1000),
  c: fc.nat(1000),
})

test(
  'after every step of any history, every number equals a count over the tables, folded or not',
  { timeout: 600_000 },
  async () => {
    const done = new Set<string>()
    const hold = async (steps: Step[]): Promise<void> => {
      for (const each of steps) {
        await STEPS[each.kind](sides[each.side] ?? sides[0]!, each)
        done.add(each.kind)
        for (const side of sides) await checkSide(side)
      }
    }
    // Each kind of step is run once in any case, with comments to act on.
    const each = [...(['create', 'create', 'deliver', 'react'] as const), ...kinds]
    const tour = each.map((kind, n): Step => ({ kind, side: 0, a: n % 2, b: n, c: 3 }))
    const property = fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 50, size: 'max' }), hold)
    await fc.assert(property, { numRuns: effort(25, 2), endOnFailure: true, examples: [[tour]] })
    expect([...done].sort()).toEqual([...kinds].sort())
  },
)

import fc from 'fast-check'
import { expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { foldWaiting } from '../../src/domains/analytics/fold.ts'
import { countTables, daysBefore, rankTables, readTables, tomorrow } from '../harness/analytics.ts'
import { expectExactCounts } from '../harness/counts.ts'
import { effort } from '../harness/effort.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const READERS = 5
const PAGES = 2
const TYPES = ['like', 'love', 'sad'] as const

const service = useService()

interface Person {
  id: string
  headers: Record<string, string>
}

/** A publisher, and what must be there. */
interface World {
  tenant: TestTenant
  people: Person[]
  /** Who a reader is now, by their id: themselves, or the one into whom they were merged. */
  now: Map<string, string>
  /** The author of each comment. */
  comments: Map<string, string>
  /** What is held, by `comment reader`. */
  reactions: Map<string, string>
  reports: Map<string, string>
}

async function makeWorld(): Promise<World> {
  const tenant = await service.addTenant(`merges-${newId()}`)
  const key = { 'x-api-key': tenant.apiKey }
  await service.call('PATCH', '/settings', { headers: key, body: { reportThreshold: 100 } })
  const people: Person[] = []
  for (let n = 0; n < READERS; n++) {
    const headers = { ...key, ...(await tenant.as(`reader-${n}`)) }
    people.push({ headers, id: (await service.call('GET', '/readers/me', { headers })).json.id })
  }
  const now = new Map(people.map(({ id }) => [id, id]))
  return { tenant, people, now, comments: new Map(), reactions: new Map(), reports: new Map() }
}

interface Step {
  kind: keyof typeof STEPS
  a: number
  b: number
  c: number
}

const choose = <T>(list: readonly T[], n: number): T => list[n % list.length]!
const keyOf = ({ tenant }: World) => ({ 'x-api-key': tenant.apiKey })
const isNow = ({ now }: World, { id }: Person): string => now.get(id) ?? ''

const STEPS = {
  post: async (world: World, { a, b }: Step) => {
    const person = choose(world.people, a)
    const parentId = b % 3 === 0 ? [...world.comments.keys()].find((_, n) => n === b % world.comments.size) : undefined
    const path = `/discussions/by-external/page-${b % PAGES}/comments`
    const body = { body: `text ${b}` }
    const reply = { body: { ...body, ...(parentId !== undefined && { parentId }) }, headers: person.headers }
    const { status, json } = await service.call('POST', path, reply)
    // A parent on the other page is refused.
    if (status === 201) world.comments.set(json.id, isNow(world, person))
  },
  react: async (world: World, { a, b, c }: Step) => {
    const [person, id] = [choose(world.people, a), choose([...world.comments.keys()], b)]
    const body = { type: choose(TYPES, c) }
    await service.call('PUT', `/comments/${id}/reaction`, { body, headers: person.headers })
    world.reactions.set(`${id} ${isNow(world, person)}`, body.type)
  },
  takeBack: async (world: World, { a, b }: Step) => {
    const [person, id] = [choose(world.people, a), choose([...world.comments.keys()], b)]
    await service.call('DELETE', `/comments/${id}/reaction`, { headers: person.headers })
    world.reactions.delete(`${id} ${isNow(world, person)}`)
  },
  report: async (world: World, { a, b, c }: Step) => {
    const [person, id] = [choose(world.people, a), choose([...world.comments.keys()], b)]
    const body = { reason: 'other', note: `note ${c}` }
    const { status } = await service.call('POST', `/comments/${id}/report`, { body, headers: person.headers })
    const pair = `${id} ${isNow(world, person)}`
    const isOwn = world.comments.get(id) === isNow(world, person)
    expect(status).toBe(isOwn || world.reports.has(pair) ? 409 : 201)
    if (status === 201) world.reports.set(pair, body.note)
  },
  merge: async (world: World, { a, b }: Step) => {
    const [from, into] = [choose(world.people, a).id, choose(world.people, b).id]
    const { status } = await service.call('POST', `/readers/${from}/merge`, { body: { into }, headers: keyOf(world) })
    const isIn = (id: string) => world.now.get(id) === id
    const isRepeated = world.now.get(from) === into && from !== into
    expect(status).toBe(from === into ? 422 : isIn(into) && (isIn(from) || isRepeated) ? 200 : 404)
    if (status !== 200 || isRepeated) return
    for (const [id, now] of world.now) if (now === from) world.now.set(id, into)
    for (const [id, author] of world.comments) if (author === from) world.comments.set(id, into)
    for (const held of [world.reactions, world.reports]) {
      for (const [pair, what] of held) {
        if (!pair.endsWith(from)) continue
        held.delete(pair)
        const moved = pair.replace(from, into)
        if (!held.has(moved)) held.set(moved, what)
      }
    }
    for (const [id, author] of world.comments) world.reports.delete(`${id} ${author}`)
  },
  answer: async (world: World, { a }: Step) =>
    void (await service.call('POST', `/comments/${choose([...world.comments.keys()], a)}/approve`, {
      headers: keyOf(world),
    })),
  fold: () => foldWaiting(service.app),
} satisfies Record<string, (world: World, step: Step) => Promise<unknown>>

const AUTHORS = unnamed('SELECT id, author_id AS who FROM comments WHERE tenant_id = $1')
const HELD = unnamed(
  `SELECT comment_id || ' ' || reader_id AS id, type AS who FROM reactions WHERE tenant_id = $1 AND type IS NOT NULL`,
)
const REPORTED = unnamed(`SELECT comment_id || ' ' || reader_id AS id, note AS who FROM reports WHERE tenant_id = $1`)
const ANSWERED = unnamed(
  'SELECT id FROM comments WHERE tenant_id = $1 AND NOT reports_answered BETWEEN 0 AND report_count',
)

async function checkWorld(world: World): Promise<void> {
  const tenantId = world.tenant.tenant.id
  const rows = async (statement: typeof AUTHORS) => {
    const found = await service.app.db.query<{ id: string; who: string }>(statement, [tenantId])
    return Object.fromEntries(found.map(({ id, who }) => [id, who]))
  }
  expect(await rows(AUTHORS)).toEqual(Object.fromEntries(world.comments))
  expect(await rows(HELD)).toEqual(Object.fromEntries(world.reactions))
  expect(await rows(REPORTED)).toEqual(Object.fromEntries(world.reports))
  expect(await rows(ANSWERED)).toEqual({})
  await expectExactCounts(service.app.db, tenantId)
  const tables = await readTables(service.app, tenantId)
  const to = tomorrow()
  const from = daysBefore(to, 2)
  const span = `from=${from.toISOString()}&to=${to.toISOString()}`
  const read = async (path: string) => (await service.call('GET', path, { headers: keyOf(world) })).json
  const { series } = await read(`/analytics/summary?interval=day&${span}`)
  expect(series).toEqual(countTables(tables, 'day', from, to))
  const { readers } = await read(`/analytics/top?limit=50&${span}`)
  const pairs = readers.map(({ reader, comments }: { reader: { id: string }; comments: number }) => [
    reader.id,
    comments,
  ])
  expect(pairs).toEqual(rankTables(tables, 'readerId', from, to))
}

const kinds = Object.keys(STEPS) as (keyof typeof STEPS)[]
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom('post' as const, 'react' as const, 'report' as const, 'merge' as const) },
    { weight: 1, arbitrary: fc.constantFrom(...kinds) },
  ),
  a: fc.nat(1000),
  b: fc.nat(1000),
  c: fc.nat(1000),
})

test(
  'after any history of writes and merges each row belongs to its present reader, and every number equals a count',
  { timeout: 600_000 },
  async () => {
    const hold = async (steps: Step[]): Promise<void> => {
      const world = await makeWorld()
      for (let n = 0; n < 4; n++) await STEPS.post(world, { kind: 'post', a: n, b: n * 2 + 1, c: 0 })
      for (const each of steps) {
        await STEPS[each.kind](world, each)
        if (each.kind === 'merge') await checkWorld(world)
      }
      await checkWorld(world)
    }
    const property = fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }), hold)
    await fc.assert(property, { numRuns: effort(30, 1), endOnFailure: true })
  },
)

const HIDDEN = unnamed(
  `SELECT x.id FROM (
     SELECT author_id AS id, tenant_id FROM comments UNION ALL SELECT reader_id, tenant_id FROM reactions
     UNION ALL SELECT reader_id, tenant_id FROM reports
   ) x JOIN readers r ON r.tenant_id = x.tenant_id AND r.id = x.id WHERE x.tenant_id = $1 AND r.erasing_at IS NOT NULL`,
)

test('merges, one of them during an erasure, beside writes of the same readers lose nothing and leave nothing behind', async () => {
  for (let round = 0; round < effort(6, 1); round++) {
    const world = await makeWorld()
    const [a, b, c, d, e] = world.people as [Person, Person, Person, Person, Person]
    await STEPS.post(world, { kind: 'post', a: 4, b: 1, c: 0 })
    const [target] = [...world.comments.keys()]
    const posted: { id: string; by: string }[] = []
    const statuses = new Set<number>()
    let isOver = false
    const write = async ({ id, headers }: Person, n: number) => {
      const path = `/discussions/by-external/page-${n % PAGES}/comments`
      const sent = [
        service.call('POST', path, { body: { body: `text ${n}` }, headers }).then((answer) => {
          if (answer.status === 201) posted.push({ id: answer.json.id, by: id })
          return answer
        }),
        service.call('POST', `/comments/${target}/reactions`, { body: { type: choose(TYPES, n) }, headers }),
        service.call('POST', `/comments/${target}/report`, { body: { reason: 'other' }, headers }),
      ]
      for (const answer of await Promise.all(sent)) statuses.add(answer.status)
    }
    const writers = world.people.map(async (person, k) => {
      for (let n = k; !isOver; n += READERS) await write(person, n)
    })
    const merge = async (from: Person, into: Person): Promise<number> => {
      for (;;) {
        const request = { body: { into: into.id }, headers: keyOf(world) }
        const { status } = await service.call('POST', `/readers/${from.id}/merge`, request)
        if (status !== 503) return status
      }
    }
    const ban = service.call('POST', `/readers/${b.id}/ban`, { body: { shadow: true }, headers: keyOf(world) })
    // One into the other and back, at the same time: one of them finds its target gone.
    const both = await Promise.all([merge(a, b), merge(b, a)])
    expect(both.toSorted()).toEqual([200, 404])
    await ban
    const [gone, stays] = both[0] === 200 ? [a, b] : [b, a]
    const erased = service.call('DELETE', `/readers/${d.id}`, { headers: keyOf(world) })
    const chain = await Promise.all([merge(stays, c), merge(d, c)])
    expect(chain[0]).toBe(200)
    expect([200, 404, 409]).toContain(chain[1])
    expect([204, 404]).toContain((await erased).status)
    isOver = true
    await Promise.all(writers)
    for (const status of statuses) expect([200, 201, 409, 503, 403, 404]).toContain(status)

    const found = await service.app.db.query<{ id: string; who: string | null }>(AUTHORS, [world.tenant.tenant.id])
    const authors = new Map(found.map(({ id, who }) => [id, who]))
    for (const { id, by } of posted) {
      if ([gone.id, stays.id, c.id].includes(by)) expect(authors.get(id)).toBe(c.id)
      if (by === e.id) expect(authors.get(id)).toBe(e.id)
    }
    expect(await service.app.db.query(HIDDEN, [world.tenant.tenant.id])).toEqual([])
    await expectExactCounts(service.app.db, world.tenant.tenant.id)
    await foldWaiting(service.app)
  }
})

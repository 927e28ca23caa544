import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import type { Statement } from '../../src/core/sql.ts'
import { renewStatistics } from '../../src/core/statistics.ts'
import { startService, type TestService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

// In a database that has just begun, PostgreSQL has no statistics. Where two plans look alike to
// it, it may take the one whose cost grows with the discussion, and keep it for as long as the
// statement is prepared.

const BLOCKS = /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/
const WAIT = { timeout: 20_000, interval: 100 }
const ROLLED_BACK = new Error('rolled back')

let service: TestService
beforeAll(async () => void (service = await startService({ worker: false })))
afterAll(() => service.close())

const post = async (reader: string, body: object) => {
  const path = '/discussions/by-external/large/comments'
  const { status, json, text } = await service.call('POST', path, { body, headers: await service.as(reader) })
  expect(status, text).toBe(201)
  return json
}

const GROW = unnamed(`INSERT INTO comments (tenant_id, id, discussion_id, body, body_html, status)
   SELECT tenant_id, new_id(), id, 'x', 'x', 'approved' FROM discussions, generate_series(1, 5000) n
   WHERE external_id = 'large'`)

/**
 * How many blocks a statement that `work` runs reads by one plan: now, and once the discussion has
 * grown.
 */
async function blocksOf(name: string, work: () => Promise<unknown>): Promise<[now: number, grown: number]> {
  const { db } = service.app
  let blocks: [number, number] = [NaN, NaN]
  const query = db.query.bind(db)
  const spy = vi.spyOn(db, 'query').mockImplementation(async (ran, params) => {
    if (ran.name === name) blocks = await blocksOfStatement(ran, params ?? [])
    return query(ran, params)
  })
  try {
    await work()
  } finally {
    spy.mockRestore()
  }
  return blocks
}

let runs = 0

async function blocksOfStatement({ text }: Statement, params: readonly unknown[]): Promise<[number, number]> {
  const name = `planned_${++runs}`
  const execute = `EXECUTE ${name}${params.length === 0 ? '' : `(${params.map(literal).join(', ')})`}`
  const blocks: [number, number] = [NaN, NaN]
  const explained = service.app.db.transaction(async (sql) => {
    const run = <Row>(command: string) => sql<Row>(unnamed(command))
    const explain = async (): Promise<number> => {
      await run('SAVEPOINT before')
      const plan = await run<Record<string, string>>(`EXPLAIN (ANALYZE, BUFFERS) ${execute}`)
      await run('ROLLBACK TO SAVEPOINT before')
      const [, hit = 0, read = 0] = BLOCKS.exec(plan.map((row) => Object.values(row)[0]).join('\n')) ?? []
      return Number(hit) + Number(read)
    }
    await run('SET LOCAL plan_cache_mode = force_generic_plan')
    await run(`PREPARE ${name} AS ${text}`)
    blocks[0] = await explain()
    await sql(GROW)
    blocks[1] = await explain()
    throw ROLLED_BACK
  })
  await expect(explained).rejects.toBe(ROLLED_BACK)
  return blocks
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  const text = Array.isArray(value) ? `{${value.map(element).join()}}` : plain(value)
  return pg.escapeLiteral(text)
}

const plain = (value: unknown): string => (value instanceof Date ? value.toISOString() : String(value))
const element = (value: unknown): string =>
  value === null || value === undefined ? 'NULL' : `"${plain(value).replace(/["\\]/g, '\\$&')}"`

test('a comment costs no more in a discussion that has grown since its statement was planned', async () => {
  const { id: parentId } = await post('ann', { body: 'The first' })
  const [now, grown] = await blocksOf('create_unlocked_comments', () =>
    Promise.all(
      ['bob', 'cleo', 'dan'].flatMap((reader) =>
        [{}, { parentId }].map((place) => post(reader, { body: 'Another', ...place })),
      ),
    ),
  )
  expect(grown).toBeLessThan(now + 60)
})

test('statistics follow a table that has outgrown them', async () => {
  await service.app.db.query(GROW)
  await vi.waitFor(async () => {
    await service.app.db.query(unnamed('SELECT pg_stat_force_next_flush()'))
    await renewStatistics(service.app.db, 0)
    const known = unnamed(`SELECT reltuples FROM pg_class WHERE oid = 'comments'::regclass`)
    const [{ reltuples } = { reltuples: 0 }] = await service.app.db.query<{ reltuples: number }>(known)
    expect(reltuples).toBeGreaterThanOrEqual(5000)
  }, WAIT)
})

import pg from 'pg'
import { afterEach, describe, expect, test, vi } from 'vitest'

import { foldWaiting } from '../../src/domains/analytics/fold.ts'
import { countTables, daysBefore, readTables, tomorrow } from '../harness/analytics.ts'
import { createServerDatabase, onServer } from '../harness/database.ts'
import { first, type Processes, startProcesses } from '../harness/processes.ts'
import { startService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

type Close = () => Promise<unknown>
const closing: Close[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const closeLater = <T extends { close: Close }>(thing: T): T => {
  closing.push(() => thing.close())
  return thing
}

test('many writers, many folding workers, many readers of one tenant: exact at every moment', async () => {
  const service = closeLater(await startService({ worker: false }))
  const identities = await Promise.all(['ann', 'ben', 'cleo', 'dan'].map((reader) => service.as(reader)))
  let [sent, acknowledged] = [0, 0]
  let over = false
  const write = async (n: number): Promise<void> => {
    const headers = identities[n % identities.length] ?? {}
    const path = `/discussions/by-external/page-${n % 3}/comments`
    for (let turn = 0; turn < 15; turn++) {
      sent++
      const json = await service.ok('POST', path, { body: `text ${n} ${turn}` }, headers)
      acknowledged++
      const comment = `/comments/${json.id}`
      await service.call('POST', `${comment}/reactions`, { body: { type: 'like' }, headers })
      if (turn % 3 === 0) await service.call('POST', `${comment}/reject`)
      if (turn % 4 === 0) await service.call('POST', `${comment}/reactions`, { body: { type: 'like' }, headers })
      if (turn % 5 === 0) await service.call('DELETE', comment, { headers })
    }
  }
  const fold = async (): Promise<void> => {
    while (!over) {
      await foldWaiting(service.app)
      await pause()
    }
  }
  const total = async (): Promise<number> => {
    const { approved, pending, rejected, deleted } = (await service.call('GET', '/analytics/summary')).json.totals
      .comments
    return approved + pending + rejected + deleted
  }
  const read = async (): Promise<void> => {
    while (!over) {
      const least = acknowledged
      const seen = await total()
      expect(seen).toBeGreaterThanOrEqual(least)
      expect(seen).toBeLessThanOrEqual(sent)
      await pause()
    }
  }
  // The embedded form has one connection: pauses give the writers their turns.
  const pause = () => new Promise((resolve) => setTimeout(resolve, 20))
  const helpers = [fold(), fold(), fold(), read(), read()]
  try {
    await Promise.all(Array.from({ length: 8 }, (_, n) => write(n)))
  } finally {
    over = true
    await Promise.all(helpers)
  }

  const [to, from] = [tomorrow(), daysBefore(tomorrow(), 2)]
  const expected = countTables(await readTables(service.app, service.tenant.id), 'day', from, to)
  const series = async () => (await service.call('GET', `/analytics/summary?from=${from.toISOString()}`)).json.series
  expect(await series()).toEqual(expected)
  expect(await total()).toBe(120)
  while (await foldWaiting(service.app));
  expect(await service.app.db.query(unnamed('SELECT 1 FROM analytics_deltas'))).toEqual([])
  expect(await series()).toEqual(expected)
})

const post = async (service: Processes, page: string) =>
  service.call('POST', `/discussions/by-external/${page}/comments`, {
    body: { body: `text ${Math.random()}` },
    headers: await service.as('ann'),
  })

const approved = async (service: Processes): Promise<number> =>
  (await service.call('GET', '/analytics/summary')).json.totals.comments.approved

describe.skipIf(!onServer)(`a worker in mid-fold${onServer ? '' : ' (skipped: needs DATABASE_URL)'}`, () => {
  test('that is killed loses nothing and doubles nothing: the next one folds everything', async () => {
    const { url, drop } = await createServerDatabase()
    closing.push(drop)
    const service = closeLater(await startProcesses({ env: { DATABASE_URL: url } }))
    const [client, holder] = [new pg.Client({ connectionString: url }), new pg.Client({ connectionString: url })]
    for (const each of [client, holder]) {
      await each.connect()
      closing.push(() => each.end())
    }
    const count = async (text: string) => (await client.query<{ n: number }>(text)).rows[0]?.n
    const waiting = () => count('SELECT count(*)::int AS n FROM analytics_deltas')
    await post(service, 'page-1')
    await vi.waitFor(async () => expect(await waiting()).toBe(0), { timeout: 20_000 })

    // A worker that folds now has taken its deltas, and waits for the rollup's row.
    await holder.query('BEGIN')
    await holder.query('SELECT 1 FROM analytics_buckets FOR UPDATE')
    for (let n = 0; n < 5; n++) expect((await post(service, 'page-1')).status).toBe(201)
    const folding = `SELECT count(*)::int AS n FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%analytics_deltas%'`
    await vi.waitFor(async () => expect(await count(folding)).toBe(1), { timeout: 20_000 })
    const worker = first(service.workers)
    await worker.kill()
    expect(await approved(service)).toBe(6)
    await holder.query('ROLLBACK')
    await vi.waitFor(async () => expect(await count(folding)).toBe(0), { timeout: 20_000 })
    expect(await waiting()).toBeGreaterThanOrEqual(5)
    expect(await approved(service)).toBe(6)

    await worker.start()
    await vi.waitFor(async () => expect(await waiting()).toBe(0), { timeout: 20_000 })
    expect(await approved(service)).toBe(6)
    expect(await count("SELECT sum(comments_approved)::int AS n FROM analytics_buckets WHERE interval = 'day'")).toBe(6)
  })
})

test('kill -9 of all processes at any instant: the numbers equal the stored comments', async () => {
  const service = closeLater(await startProcesses())
  const processes = [...new Set([...service.apis, ...service.workers])]
  let acknowledged = 0
  for (let round = 1; round <= 2; round++) {
    const writers = Array.from({ length: 4 }, async () => {
      // It ends with the process that answers.
      for (;;) {
        const answer = await post(service, 'page-1').catch(() => null)
        if (answer === null) return
        if (answer.status === 201) acknowledged++
      }
    })
    await vi.waitFor(() => expect(acknowledged).toBeGreaterThan(round * 40), { timeout: 30_000 })
    await Promise.all(processes.map((process) => process.kill()))
    await Promise.all(writers)
    await Promise.all(processes.map((process) => process.start()))
    const { commentCount } = (await service.call('GET', '/discussions/by-external/page-1')).json
    expect(commentCount).toBeGreaterThanOrEqual(acknowledged)
    expect(await approved(service)).toBe(commentCount)
    const { discussions, readers } = (await service.call('GET', '/analytics/top')).json
    expect([discussions[0].comments, readers[0].comments]).toEqual([commentCount, commentCount])
  }
})

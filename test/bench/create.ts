import { randomUUID } from 'node:crypto'

import pg from 'pg'

import { inTurns, printTurns, run } from './figures.ts'
import { LEAN_CONNECTIONS, makeLean, runLean } from './lean.ts'
import { openBare } from './bare-posts.ts'
import { backendsMs } from './proc.ts'
import { closing } from './scripts.ts'
import { startBenchService } from './service.ts'
import { sized } from './size.ts'

const SECONDS = sized(4, 0.1)

/**
 * The create statement, a comment each, beside one that does the least for a comment, turn by turn
 * in the same database. Both have one endpoint, 500 discussions and a pool of 16.
 */
export const benchCreate = (): Promise<void> =>
  closing(async (opened) => {
    const service = opened(await startBenchService())
    const pool = new pg.Pool({ connectionString: service.databaseUrl, max: LEAN_CONNECTIONS })
    opened({ close: () => pool.end() })
    const bare = opened(await openBare(service))
    await makeLean(pool)
    await pool.query(
      `INSERT INTO webhook_endpoints (tenant_id, id, url, event_types, state, policy)
       VALUES ($1, $2, 'https://receiver.example/', '{*}', 'verified', '{}')`,
      [bare.tenantId, randomUUID()],
    )
    const used = async (): Promise<number> => [...(await backendsMs(pool)).values()].reduce((sum, ms) => sum + ms, 0)
    const measured = (work: () => Promise<number>) => async () => {
      const before = await used()
      const perSecond = await work()
      return { perSecond, cpuMicros: (((await used()) - before) / SECONDS / perSecond) * 1000 }
    }
    const sides = {
      'the least for a comment': measured(() => runLean(pool, SECONDS)),
      'the create statement': measured(() => bare.run(SECONDS)),
    }
    const title = `create: one comment each, ${LEAN_CONNECTIONS} connections, 500 discussions, PostgreSQL's CPU`
    printTurns(title, await inTurns(sides, run, { rounds: 5 }), {
      'the create statement': ['the least for a comment', 'rate at least 0.7'],
    })
  })

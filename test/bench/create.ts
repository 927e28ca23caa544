import { randomUUID } from 'node:crypto'

import pg from 'pg'

import { LEAN_CONNECTIONS, makeLean, runLean } from './lean.ts'
import { openBare } from './post.ts'
import { cpuMsOf, median, startBenchService } from './service.ts'

const SECONDS = 4
const ROUNDS = 5

interface Rate {
  perSecond: number
  cpuMicros: number
}

interface Round {
  ours: Rate
  lean: Rate
}

/**
 * The create statement, a comment each, beside one that does the least for a comment, turn by turn
 * in the same database. Both have one endpoint, 500 discussions and a pool of 16.
 */
export async function benchCreate(): Promise<void> {
  const service = await startBenchService()
  const pool = new pg.Pool({ connectionString: service.databaseUrl, max: LEAN_CONNECTIONS })
  try {
    const bare = await openBare(service)
    await makeLean(pool)
    await pool.query(
      `INSERT INTO webhook_endpoints (tenant_id, id, url, event_types, state, policy)
       VALUES ($1, $2, 'https://receiver.example/', '{*}', 'verified', '{}')`,
      [bare.tenantId, randomUUID()],
    )
    const rounds: Round[] = []
    const measure = async (run: () => Promise<number>): Promise<Rate> => {
      const before = await backendsMs(pool)
      const perSecond = await run()
      return { perSecond, cpuMicros: (((await backendsMs(pool)) - before) / SECONDS / perSecond) * 1000 }
    }
    for (let n = 0; n <= ROUNDS; n++) {
      rounds.push({ ours: await measure(() => bare.run()), lean: await measure(() => runLean(pool, SECONDS)) })
    }
    // The first one warms both up.
    report(rounds.slice(1))
    await bare.close()
  } finally {
    await pool.end()
    await service.close()
  }
}

/** Milliseconds of CPU that the connections to the database have used, which is on this machine. */
async function backendsMs(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>(
    'SELECT pid FROM pg_stat_activity WHERE datname = current_database()',
  )
  return rows.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0)
}

function report(rounds: readonly Round[]): void {
  const of = (pick: (each: Round) => number): number => median(rounds.map(pick))
  const figures = (name: keyof Round): string =>
    `${of((each) => each[name].perSecond).toFixed(0)}/s, ${of((each) => each[name].cpuMicros).toFixed(0)} µs of PostgreSQL's CPU`
  console.log(`create: one comment each, ${LEAN_CONNECTIONS} connections, 500 discussions, median of ${ROUNDS} rounds
  the least for a comment  ${figures('lean')}
  the create statement     ${figures('ours')}
  ratio                    ${of(({ ours, lean }) => ours.perSecond / lean.perSecond).toFixed(2)} (target: at least 0.7), CPU ${of(({ ours, lean }) => ours.cpuMicros / lean.cpuMicros).toFixed(1)}`)
}

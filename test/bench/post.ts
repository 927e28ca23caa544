import pg from 'pg'

import { openBare } from './bare-posts.ts'
import { type Figures, inTurns, printTurns, run } from './figures.ts'
import { makeLean, pgbenchLean } from './lean.ts'
import { measure } from './measure.ts'
import { byExternal, postRequests, readersOf } from './requests.ts'
import { closing } from './scripts.ts'
import { type BenchService, startBenchService } from './service.ts'
import { sized } from './size.ts'

const SECONDS = sized(4, 0.1)
const MANY = sized(500, 10)

/** How the load is spread, and what it is measured beside. */
interface Case {
  connections: number
  discussions: number
  reference: 'the create statement, one each' | 'the least for a comment, by pgbench'
  /** REST to the reference, at least. */
  target: number
}

const CASES: readonly Case[] = [
  { connections: 16, discussions: MANY, reference: 'the create statement, one each', target: 0.35 },
  { connections: 128, discussions: 1, reference: 'the create statement, one each', target: 1 },
  { connections: 64, discussions: MANY, reference: 'the least for a comment, by pgbench', target: 1.2 },
]

/**
 * Comments posted per second over REST, turn by turn with a statement on as many connections as the
 * service has.
 */
export async function benchPost(): Promise<void> {
  for (const { connections, discussions, reference, target } of CASES) {
    await closing(async (opened) => {
      const service = opened(await startBenchService({ DATABASE_POOL_SIZE: '16' }))
      const paths = Array.from({ length: discussions }, (_, n) => byExternal(`page-${n}`))
      const subs = readersOf(sized(200, 10))
      const requests = await postRequests(service, { paths, count: sized(5000, 500), subs })
      const bare = await (reference.endsWith('pgbench') ? openLean(service) : openBare(service, discussions))
      opened(bare)
      const sides: Record<string, () => Promise<Figures>> = {
        [reference]: async () => ({ perSecond: await bare.run(SECONDS) }),
        REST: () => measure({ process: service, requests }, { connections, seconds: SECONDS }),
      }
      const title = `post: comments over REST, ${connections} connections, ${discussions} discussions`
      const rounds = await inTurns(sides, run, { rounds: 5 })
      printTurns(title, rounds, { REST: [reference, `rate at least ${target}`] })
    })
  }
}

async function openLean({ databaseUrl }: BenchService) {
  const pool = new pg.Pool({ connectionString: databaseUrl })
  await makeLean(pool)
  await pool.end()
  return { run: (seconds: number) => pgbenchLean(databaseUrl, seconds), close: () => Promise.resolve() }
}

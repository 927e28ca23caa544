import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { Statement } from '../../src/core/database/statements.ts'
import type { Database } from '../../src/data/database.ts'
import { openServer } from '../../src/data/server/server.ts'
import { PARAMETERS } from '../../src/generated/statements.ts'
import { loadStatements } from '../../src/build/statements.ts'
import { type Cost, explaining, type PlanMode, rowsOf } from '../harness/costs.ts'
import { createServerDatabase, onServer } from '../harness/database.ts'
import { ASKS, GROWS, paramsOf } from '../harness/scale-asks.ts'
import { askPrisma, callsInSource, GROWS_IN_PRISMA, NOT_ASKED } from '../harness/scale-prisma.ts'
import { fillWorld, type Matches, type World, worldOf } from '../harness/scale-world.ts'
import { unnamed } from '../harness/sql.ts'

// What a statement reads must not follow what the tenant has. `npm run test:scale` compares
// 100 000 comments with a million.

const COMMENTS = Number(process.env.SCALE_COMMENTS ?? 100_000)
const SIZES = [COMMENTS / 10, COMMENTS] as const
const MATCHES: readonly Matches[] = ['few', 'many']
const MODES: readonly PlanMode[] = ['generic', 'custom']
const TIMEOUT = 30 * 60_000
/** Blocks that a statement may read, and more for each key that it gets and each row it returns. */
const [ENOUGH, ENOUGH_A_ROW] = [200, 10]

/** What PREPARE takes: the others name no table. */
const PREPARED = /^(SELECT|INSERT|UPDATE|DELETE|WITH)\b/

const statements = async (): Promise<Statement[]> =>
  (await loadStatements()).filter(({ name, text }) => name in PARAMETERS && PREPARED.test(text))

test('what every statement is asked is known (test/harness/scale-asks.ts)', async () => {
  const names = (await statements()).map(({ name }) => name)
  expect(Object.keys(ASKS).toSorted()).toEqual(names.toSorted())
  expect(Object.keys(GROWS).filter((name) => !names.includes(name))).toEqual([])
})

interface Filled {
  world: World
  database: Database
  drop: () => Promise<void>
}

async function fillNew(comments: number, matches: Matches): Promise<Filled> {
  const { url, drop } = await createServerDatabase()
  const deadlines = { connectMs: 20_000, poolMs: TIMEOUT, statementMs: TIMEOUT }
  const database = await openServer({ url, size: 2, onError: () => undefined, deadlines })
  const world = worldOf({ comments, matches }, new Date())
  await database.db.query(WITHOUT_AUTOVACUUM)
  await fillWorld(database.db, world)
  return { world, database, drop }
}

// Whether PostgreSQL has statistics is for the test to say.
const WITHOUT_AUTOVACUUM = unnamed(`DO $$ DECLARE t regclass; BEGIN
  FOR t IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace LOOP
    EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', t);
  END LOOP; END $$`)

/** What each statement costs, or only the one of a name, by their names. */
async function costsIn({ world, database: { db } }: Filled, mode: PlanMode, name?: string): Promise<Map<string, Cost>> {
  const costs = new Map<string, Cost>()
  for (const asked of await statements()) {
    if (mode === 'generic' && asked.isPlannedEachTime === true) continue
    if (name !== undefined && asked.name !== name) continue
    await explaining(db, asked, mode, async ({ explain }) => {
      costs.set(asked.name, await explain(paramsOf(asked.name, world)))
    }).catch((cause: Error) => {
      throw new Error(`${asked.name}: ${cause.message}`, { cause })
    })
  }
  return costs
}

const keysOf = (name: string, world: World): number =>
  Math.max(1, ...paramsOf(name, world).map((value) => (Array.isArray(value) ? value.length : 1)))

describe.skipIf(!onServer)('statements at a tenth and at all of many comments (skipped: needs DATABASE_URL)', () => {
  const worlds = new Map<Matches, [small: Filled, large: Filled]>()
  beforeAll(async () => {
    for (const matches of MATCHES) {
      worlds.set(matches, [await fillNew(SIZES[0], matches), await fillNew(SIZES[1], matches)])
    }
  }, TIMEOUT)
  afterAll(async () => {
    for (const { database, drop } of [...worlds.values()].flat()) {
      await database.close()
      await drop()
    }
  })

  function filled(matches: Matches): [small: Filled, large: Filled] {
    const both = worlds.get(matches)
    if (both === undefined) throw new Error('they were not filled')
    return both
  }

  test("each of Prisma's calls is asked (test/harness/scale-prisma.ts)", async () => {
    const [{ world, database }] = filled('few')
    const { calls } = await askPrisma(database, world)
    const asked = new Map([...callsInSource()].filter(([call]) => !(call in NOT_ASKED)))
    // More are made than the source spells out: core/secrets takes a model as an argument.
    expect(Object.fromEntries(calls)).toMatchObject(Object.fromEntries(asked))
  })

  /** The statements of Prisma that read more in the larger one. */
  async function growingInPrisma(matches: Matches): Promise<string[]> {
    const [small, large] = filled(matches)
    const { queries: before } = await askPrisma(small.database, small.world)
    const costs = new Map(before.map(({ name, cost }) => [name, cost.blocks]))
    const { queries: after } = await askPrisma(large.database, large.world)
    return after.flatMap(({ name, asked, cost: { blocks, plan }, keys }) => {
      const few = costs.get(name) ?? 0
      const isEnough = blocks <= Math.max(2 * few, ENOUGH + ENOUGH_A_ROW * (keys + rowsOf(plan)))
      return isEnough || asked in GROWS_IN_PRISMA ? [] : [`${name}: ${few} and ${blocks} blocks\n${plan}`]
    })
  }

  /** The statements that read more in the larger one. */
  async function growing(matches: Matches, hasStatistics = false): Promise<string[]> {
    const [small, large] = filled(matches)
    const found: string[] = []
    for (const mode of MODES) {
      const [before, after] = [await costsIn(small, mode), await costsIn(large, mode)]
      for (const [name, cost] of after) {
        const { blocks: few = NaN, plan: planOfFew = '' } = before.get(name) ?? {}
        const enough = ENOUGH + ENOUGH_A_ROW * (keysOf(name, small.world) + rowsOf(planOfFew))
        const isEnough = ({ blocks }: Cost): boolean => blocks <= Math.max(2 * few, enough)
        if (isEnough(cost) || name in GROWS) continue
        // It may read what others left that were rolled back. VACUUM is a kind of statistics.
        if (hasStatistics) await large.database.db.query(unnamed('VACUUM'))
        const again = (await costsIn(large, mode, name)).get(name) ?? cost
        if (!isEnough(again)) found.push(`${name}, ${mode} plan: ${few} and ${again.blocks} blocks\n${again.plan}`)
      }
    }
    return found
  }

  test.each(MATCHES)(
    'read at most twice as much, with %s matches, without statistics',
    async (matches) => {
      expect(await growing(matches)).toEqual([])
    },
    TIMEOUT,
  )

  test.each(MATCHES)(
    "read at most twice as much, with %s matches, without statistics: Prisma's",
    async (matches) => {
      expect(await growingInPrisma(matches)).toEqual([])
    },
    TIMEOUT,
  )

  test.each(MATCHES)(
    'read at most twice as much, with %s matches, with fresh statistics',
    async (matches) => {
      for (const { database } of worlds.get(matches) ?? []) await database.db.query(unnamed('VACUUM ANALYZE'))
      expect(await growing(matches, true)).toEqual([])
    },
    TIMEOUT,
  )
  test.each(MATCHES)(
    "read at most twice as much, with %s matches, with fresh statistics: Prisma's",
    async (matches) => {
      expect(await growingInPrisma(matches)).toEqual([])
    },
    TIMEOUT,
  )
})

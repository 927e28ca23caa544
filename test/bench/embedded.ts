import { PGlite } from '@electric-sql/pglite'

import { LAST_ID, newId } from '../../src/core/ids.ts'
import { type Sql, statement } from '../../src/core/sql.ts'
import { overPGlite, startParams } from '../../src/data/embedded.ts'
import { migrate } from '../../src/data/migrate.ts'
import { listLevel } from '../../src/domains/comments/list-sql.ts'
import { selectComment } from '../../src/domains/comments/comment.ts'
import { fill, type Filled } from './fill.ts'
import { median } from './service.ts'

const ROUNDS = 5
const TIMES = 300

const TENANT = statement('bench_tenant', "INSERT INTO tenants (id, slug) VALUES ($1, 'demo')")

/** Statements on the embedded database, beside the same by PGlite's own `query`. */
export async function benchEmbedded(): Promise<void> {
  console.log("embedded: ms a statement, median of five rounds, through the driver beside PGlite's own query")
  const pglite = await PGlite.create({ startParams: startParams(PGlite) })
  const { db, exclusively, close } = await overPGlite(pglite)
  try {
    await exclusively(migrate)
    await db.query(TENANT, [newId()])
    const filled = await fill(db, { discussions: 50, comments: 200, readers: 200 })
    const own: Sql = async <Row>({ text }: { text: string }, params: readonly unknown[] = []) =>
      (await pglite.query<Row>(text, [...params])).rows
    for (const [name, run] of Object.entries(STATEMENTS)) {
      const ms: { driver: number[]; own: number[] } = { driver: [], own: [] }
      for (let round = 0; round < ROUNDS; round++) {
        ms.driver.push(await timeOf((n) => run(db.query, filled, n)))
        ms.own.push(await timeOf((n) => run(own, filled, n)))
      }
      const [through, beside] = [median(ms.driver), median(ms.own)]
      console.log(`  ${name}: ${through.toFixed(2)}, PGlite ${beside.toFixed(2)}: ${(through / beside).toFixed(2)} x`)
    }
  } finally {
    await close()
  }
}

const STATEMENTS: Readonly<Record<string, (sql: Sql, filled: Filled, n: number) => Promise<unknown>>> = {
  'a comment by its id': (sql, { tenantId, commentIds }, n) =>
    selectComment(sql, tenantId, commentIds[n % commentIds.length] ?? ''),
  'a page of 20 comments': (sql, { tenantId, discussionIds }, n) => {
    const after = { pinnedAt: null, id: LAST_ID, reactionCount: 0, replyCount: 0 }
    const discussionId = discussionIds[n % discussionIds.length] ?? ''
    return listLevel(sql, tenantId, { discussionId, parentId: null, sort: 'newest', after, limit: 21 })
  },
}

async function timeOf(run: (n: number) => Promise<unknown>): Promise<number> {
  const start = performance.now()
  for (let n = 0; n < TIMES; n++) await run(n)
  return (performance.now() - start) / TIMES
}

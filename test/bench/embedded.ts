import { PGlite } from '@electric-sql/pglite'

import { LAST_ID, newId } from '../../src/core/ids.ts'
import type { Sql } from '../../src/core/database/database.ts'
import { statement } from '../../src/core/database/statements.ts'
import { overPGlite, startParams } from '../../src/data/embedded/embedded.ts'
import { migrate } from '../../src/data/migrations/migrate.ts'
import { listLevel } from '../../src/domains/comments/list-sql.ts'
import { selectComment } from '../../src/domains/comments/comment.ts'
import { fill, type Filled } from './fill.ts'
import { inTurns, printTurns } from './figures.ts'
import { closing } from './scripts.ts'
import { sized } from './size.ts'

const TIMES = sized(300, 10)

const TENANT = statement('bench_tenant', "INSERT INTO tenants (id, slug) VALUES ($1, 'demo')")

/** Statements on the embedded database, beside the same by PGlite's own `query`. */
export const benchEmbedded = (): Promise<void> =>
  closing(async (opened) => {
    const pglite = await PGlite.create({ startParams: startParams(PGlite) })
    const { db, exclusively } = opened(await overPGlite(pglite))
    await exclusively(migrate)
    await db.query(TENANT, [newId()])
    const filled = await fill(db, { discussions: sized(50, 5), comments: sized(200, 40), readers: sized(200, 10) })
    const own: Sql = async <Row>({ text }: { text: string }, params: readonly unknown[] = []) =>
      (await pglite.query<Row>(text, [...params])).rows
    for (const [name, ask] of Object.entries(STATEMENTS)) {
      const measure = async (sql: Sql) => ({ ms: await timeOf((n) => ask(sql, filled, n)) })
      const rounds = await inTurns({ PGlite: own, 'the driver': db.query }, measure, { rounds: 5, warm: 0 })
      printTurns(`embedded: ${name}, a statement through the driver beside PGlite's own query`, rounds)
    }
  })

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

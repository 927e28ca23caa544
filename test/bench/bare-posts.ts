import { randomUUID } from 'node:crypto'

import { newId } from '../../src/core/ids.ts'
import type { Sql } from '../../src/core/database/database.ts'
import { isLockFailure } from '../../src/core/database/locks.ts'
import { statement } from '../../src/core/database/statements.ts'
import { tenantSettings } from '../../src/core/settings/tenant.ts'
import { type CreateRow, insertComments } from '../../src/domains/comments/create-sql.ts'
import { carriedOf } from '../../src/domains/comments/fields.ts'
import { holdPolicy, judgeText } from '../../src/domains/comments/rules.ts'
import { rateOf } from './measure.ts'
import { BODY } from './requests.ts'
import { type BenchService, openDatabase } from './service.ts'
import { sized } from './size.ts'

const POOL = 16
const SETTINGS = tenantSettings({})
const READERS = sized(200, 10)

export interface Bare {
  tenantId: string
  /** Comments per second. */
  run(seconds: number): Promise<number>
  close(): Promise<void>
}

/** The create statement alone, a comment each, from as many connections as the service has. */
export async function openBare(
  service: Pick<BenchService, 'databaseUrl'>,
  discussionCount = sized(500, 10),
): Promise<Bare> {
  const { db, close } = await openDatabase(service, POOL)
  const tenantId = randomUUID()
  const authorIds = Array.from({ length: READERS }, newId)
  await db.query(statement('bare_tenant', "INSERT INTO tenants (id, slug) VALUES ($1, 'bare')"), [tenantId])
  await db.query(
    statement(
      'bare_readers',
      `INSERT INTO readers (tenant_id, id, external_id, name, profile_issued_at)
       SELECT $1, i, i, 'Reader', now() FROM unnest($2::uuid[]) i`,
    ),
    [tenantId, authorIds],
  )
  const discussions = Array.from({ length: discussionCount }, newId)
  await db.query(
    statement(
      'bare_discussions',
      'INSERT INTO discussions (tenant_id, id, external_id) SELECT $1, i, i FROM unnest($2::uuid[]) i',
    ),
    [tenantId, discussions],
  )
  let n = 0
  const one = async (): Promise<void> => {
    const id = newId()
    const authorId = authorIds[n % READERS] ?? ''
    const actor = { kind: 'reader', readerId: authorId, externalId: authorId } as const
    const discussionId = discussions[(n++ * 7919) % discussionCount] ?? ''
    const body = `${BODY} (${n})`
    const bodyHtml = `<p>${body}</p>\n`
    const text = { ...carriedOf({}), body, bodyHtml }
    const ids = { tenantId, discussionId, parentId: null, id, authorId, createdEventId: newId(), replyEventId: null }
    const rest = {
      ...holdPolicy(SETTINGS),
      guestBelow: 0,
      maxDepth: SETTINGS.maxDepth,
      actor,
      pace: 'ask',
      trace: null,
    } as const
    await insertPatiently(db.query, { ...ids, ...judgeText(body, bodyHtml, SETTINGS), ...text, ...rest })
  }
  return {
    tenantId,
    run: (seconds) => rateOf(one, { connections: POOL, seconds }),
    close,
  }
}

/**
 * On a slow machine the queue for one hot discussion is longer than a statement waits for a lock.
 */
async function insertPatiently(sql: Sql, row: CreateRow): Promise<void> {
  for (let isWritten = false; !isWritten;) {
    isWritten = await insertComments(sql, [row], new Date(), 'wait').then(
      () => true,
      (error: unknown) => {
        if (isLockFailure(error)) return false
        throw error
      },
    )
  }
}

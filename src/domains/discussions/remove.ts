import type { App } from '../../core/app.ts'
import { FIRST_ID, type Id } from '../../core/ids.ts'
import { ofTenant } from '../../core/queues/patience.ts'
import type { TxSql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { forgetInAnswers } from '../idempotency/idempotency.ts'
import { lockDiscussionRow } from './locks.ts'

/** A transaction is short, so that the writers of other discussions and a stop do not wait. */
const BATCH = 200

/** Each may have thousands of reactions, which go with it. */
const BATCH_OF_COMMENTS = 50

/** When another worker goes on, should this one die or fail. */
const LEASE_MS = 30_000

/** When to look again for deliveries that were being sent. */
const IN_FLIGHT_MS = 5000

interface Key {
  tenantId: Id
  id: Id
}

/** A deleted discussion, and when a worker was to go on with it. */
interface Deleted extends Key {
  removalDueAt: Date | null
}

/**
 * Removes some more of what belonged to a deleted discussion: events with their deliveries, then
 * comments with all that hangs on them. Deliveries that are being sent are awaited. Returns whether
 * there was one. Any number of workers may call it at once.
 */
export async function removeOfDeleted(app: App): Promise<boolean> {
  const due = await app.prisma.discussion.findFirst({
    where: { removalDueAt: { lte: new Date() } },
    select: { tenantId: true, id: true, removalDueAt: true },
    orderBy: { removalDueAt: 'asc' },
  })
  if (due === null) return false
  const leased = { ...due, removalDueAt: new Date(Date.now() + LEASE_MS) }
  // Of several workers that have found it, one takes it.
  if ((await put(app, due, leased.removalDueAt)) === 0) return true
  await ofTenant(app, due.tenantId).db.transaction(async (tx) => {
    await put(tx, leased, await removeSome(tx, due))
  })
  return true
}

/**
 * Removes some of a discussion of a deleted tenant; its row goes last. Returns when to go on; null
 * where the tenant has no discussion.
 */
export async function removeDiscussion(tx: TxSql, tenantId: Id): Promise<Date | null> {
  const found = await tx.prisma.discussion.findFirst({ where: { tenantId }, select: { id: true } })
  if (found === null) return null
  const key = { tenantId, id: found.id }
  const next = await removeSome(tx, key)
  if (next === null) await tx.prisma.discussion.deleteMany({ where: key })
  return next ?? new Date()
}

/** Removes events, or else comments. Returns when to go on; null where none is left. */
async function removeSome(tx: TxSql, key: Key): Promise<Date | null> {
  // The row is locked first, as by all that write in a discussion.
  await lockDiscussionRow(tx, key.tenantId, key.id, true)
  return (await removeEvents(tx, key)) ?? removeComments(tx, key)
}

async function put({ prisma }: Pick<TxSql, 'prisma'>, was: Deleted, removalDueAt: Date | null): Promise<number> {
  const data = { removalDueAt, ...(removalDueAt === null && { commentCount: 0 }) }
  return (await prisma.discussion.updateMany({ where: was, data })).count
}

/** Removes some events, with their deliveries. Returns when to go on; null where none is left. */
export async function removeEvents({ prisma }: TxSql, { tenantId, id: discussionId }: Key): Promise<Date | null> {
  const now = new Date()
  const events = await prisma.event.findMany({
    where: { tenantId, discussionId },
    select: { id: true, seq: true },
    orderBy: { seq: 'asc' },
    take: BATCH,
  })
  if (events.length === 0) return null
  const isOver = [{ status: { not: 'delivering' as const } }, { nextAttemptAt: { lte: now } }]
  const over: bigint[] = []
  // One event after the other: without statistics, PostgreSQL would look up several by the tenant.
  for (const { id: eventId, seq } of events) {
    await prisma.delivery.deleteMany({ where: { tenantId, eventId, OR: isOver } })
    if ((await prisma.delivery.findFirst({ where: { tenantId, eventId }, select: { id: true } })) === null)
      over.push(seq)
  }
  const { count } = await prisma.event.deleteMany({ where: { tenantId, discussionId, seq: { in: over } } })
  return count > 0 ? now : new Date(now.getTime() + IN_FLIGHT_MS)
}

/** Removes some comments that have no replies. Returns when to go on; null where none is left. */
async function removeComments(sql: TxSql, { tenantId, id }: Key): Promise<Date | null> {
  const found = await sql<{ id: Id | null }>(REMOVE_COMMENTS, [tenantId, id, BATCH_OF_COMMENTS])
  if (found.length === 0) return null
  const ids = found.flatMap((removed) => removed.id ?? [])
  await forgetInAnswers(sql, tenantId, ids)
  return new Date()
}

/** SQL: some comments of the discussion without replies. Of `rows`, an index finds all. */
const without = (rows: string, order: string): string => `(
  SELECT ctid AS row FROM comments c WHERE tenant_id = $1 AND discussion_id = $2 AND ${rows}
    AND (SELECT true FROM comments r WHERE r.tenant_id = $1 AND r.parent_id = c.id LIMIT 1) IS NULL
  ORDER BY ${order} LIMIT $3)`

const IS_SHOWN = "(status = 'approved' OR reply_count > 0)"

// The newest first: their replies are newer still, and gone already. A row that changes meanwhile
// is left to the next batch.
const REMOVE_COMMENTS = statement(
  'remove_comments_of_deleted',
  `WITH found AS MATERIALIZED (
     SELECT row FROM (
       ${[
         without("status IN ('pending', 'rejected')", 'status DESC, id DESC'),
         without("status = 'deleted'", 'id DESC'),
         without(`${IS_SHOWN} AND parent_id >= '${FIRST_ID}'`, 'parent_id DESC'),
         without(`${IS_SHOWN} AND parent_id IS NULL`, 'id'),
       ].join(' UNION ALL ')}
     ) each LIMIT $3
   ), removed AS (
     DELETE FROM comments WHERE ctid = ANY(ARRAY(SELECT row FROM found)) RETURNING id, ctid AS row
   )
   SELECT r.id FROM found f LEFT JOIN removed r ON r.row = f.row`,
)

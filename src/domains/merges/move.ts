import type { App } from '../../core/app.ts'
import type { Id } from '../../core/ids.ts'
import { eachOf } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'
import { takeReactionsBack, takeReportsBack } from '../erasure/erase-reactions-and-reports.ts'
import { beginWork, type ReaderWork, workThrough } from '../erasure/erase-batches.ts'
import { profileOf, type Reader } from '../readers/fields.ts'
import { touchPages } from '../tenants/tenants.ts'
import { lockTarget, touchMerge } from './sql.ts'
import { changeEvent, type EventTexts, type ScrubbedEvent } from '../erasure/scrub.ts'

/** Thrown if the merge is over, or its target has changed. Nothing was changed. */
export class TargetChanged extends Error {}

/** Large, so that rows of one discussion fill a transaction. */
const BATCH = 2000
/** The most rows of one discussion in a transaction of some ten milliseconds. */
const MAX_ROWS = 100

/** A merge that this process runs. */
export interface Merging {
  work: ReaderWork
  /** The target, as the current transaction has locked it. */
  target: () => Reader
}

export function beginMoving(app: App, tenantId: Id, readerId: Id, signal: AbortSignal | undefined): Merging {
  let locked: Reader | undefined
  const target = (): Reader => {
    if (locked === undefined) throw new TargetChanged()
    return locked
  }
  const work = beginWork({
    app,
    tenantId,
    readerId,
    signal,
    batch: BATCH,
    maxRows: MAX_ROWS,
    begin: async (sql) => {
      locked = await lockTarget(sql, tenantId, readerId)
      target()
    },
    // What is to the reader moves to the target (`end`), even if it names neither.
    rewrite: (event) =>
      rewriteEvent(event, readerId, target()) ?? (event.isToThem ? { ...event, hasLostRecipient: false } : null),
    end: async (sql, eventIds) => {
      if (eventIds.length > 0) await sql(MOVE_RECIPIENT, [tenantId, readerId, target().id, eventIds])
      // From here on, pages show another author.
      await touchPages(sql, tenantId)
    },
    touch: (now) => touchMerge(app.prisma, tenantId, readerId, now),
  })
  return { work, target }
}

/** Each step moves a batch of rows. It returns false when there are none. */
export const STEPS: readonly ((merging: Merging) => Promise<boolean>)[] = [
  ({ work, target }) =>
    workThrough(work, 'comments', async (sql, ids) => {
      const { tenantId, readerId } = work
      // A reader has no reports of their own comments.
      await takeReportsBack(sql, { tenantId, readerId: target().id }, ids)
      await sql(MOVE_COMMENTS, [tenantId, readerId, target().id, ids])
      return []
    }),
  ({ work, target }) =>
    workThrough(work, 'reactions', async (sql, ids) => {
      const params = [work.tenantId, work.readerId, target().id, ids]
      const doubled = await sql<{ commentId: Id }>(DOUBLED_REACTIONS, params)
      // The target's own reaction stays, so the comment has one less.
      const events = await takeReactionsBack(
        sql,
        work,
        doubled.map(({ commentId }) => commentId),
      )
      await sql(MAKE_ROOM_FOR_REACTIONS, params)
      await sql(MOVE_REACTIONS, params)
      return events
    }),
  ({ work, target }) =>
    workThrough(work, 'shadowReactions', async (sql, ids) => {
      const params = [work.tenantId, work.readerId, target().id, ids]
      await sql(DROP_SHADOW_REACTIONS, params)
      await sql(MOVE_SHADOW_REACTIONS, params)
      return []
    }),
  ({ work, target }) =>
    workThrough(work, 'reports', async (sql, ids) => {
      const params = [work.tenantId, work.readerId, target().id, ids]
      await sql(MAKE_ROOM_FOR_REPORTS, params)
      const doubled = await sql<{ commentId: Id }>(DOUBLED_REPORTS, params)
      const written = { tenantId: work.tenantId, id: { in: [...ids] }, authorId: target().id }
      const own = await sql.prisma.comment.findMany({ where: written, select: { id: true } })
      await takeReportsBack(sql, work, [...doubled.map(({ commentId }) => commentId), ...own.map(({ id }) => id)])
      await sql(MOVE_REPORTS, params)
      return []
    }),
]

// All of these require the lock on the rows' discussion, which excludes all other writers.

/** SQL: the rows of both readers on each comment on which both have one, as `x` and `o`. */
const ofBoth = (table: 'reactions' | 'reports'): string =>
  `unnest($4::uuid[]) AS k (key)
   CROSS JOIN LATERAL (
     SELECT * FROM ${table} WHERE tenant_id = $1 AND reader_id = $2 AND comment_id = k.key LIMIT 1) x
   CROSS JOIN LATERAL (
     SELECT *, ctid AS row FROM ${table} WHERE tenant_id = $1 AND reader_id = $3 AND comment_id = k.key LIMIT 1) o`

const doubled = <Table extends 'reactions' | 'reports'>(table: Table, condition: string) =>
  statement(`doubled_${table}`, `SELECT x.comment_id AS "commentId" FROM ${ofBoth(table)} WHERE ${condition}`)

const DOUBLED_REACTIONS = doubled('reactions', 'o.type IS NOT NULL')
const DOUBLED_REPORTS = doubled('reports', 'true')

const makeRoom = <Table extends 'reactions' | 'reports'>(table: Table, condition: string) =>
  statement(
    `make_room_for_${table}`,
    `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT o.row FROM ${ofBoth(table)} WHERE ${condition}))`,
  )

// These keep the target's own reaction. What is left of the other reader then was taken back, and
// is deleted.
const MAKE_ROOM_FOR_REACTIONS = makeRoom('reactions', 'true')
// Of two reports, one that counts is kept over one that does not.
const MAKE_ROOM_FOR_REPORTS = makeRoom('reports', 'x.counted AND NOT o.counted')

const move = <Name extends `move_${string}`>(name: Name, table: string, reader = 'reader_id', key = 'comment_id') =>
  statement(
    name,
    `UPDATE ${table} SET ${reader} = $3
     WHERE ${eachOf(table, '$4::uuid[]', `tenant_id = $1 AND ${reader} = $2 AND ${key} = k.key`)}`,
  )

const MOVE_COMMENTS = move('move_comments', 'comments', 'author_id', 'id')
const MOVE_RECIPIENT = move('move_recipient', 'events', 'recipient_id', 'id')
const MOVE_REACTIONS = move('move_reactions', 'reactions')
const MOVE_REPORTS = move('move_reports', 'reports')
const MOVE_SHADOW_REACTIONS = move('move_shadow_reactions', 'shadow_reactions')

// The target's own choice stays here too, whether it is public or in shadow.
const DROP_SHADOW_REACTIONS = statement(
  'drop_shadow_reactions',
  `DELETE FROM shadow_reactions s
   WHERE ${eachOf('shadow_reactions', '$4::uuid[]', 'tenant_id = $1 AND reader_id = $2 AND comment_id = k.key')} AND (
     EXISTS (SELECT 1 FROM shadow_reactions o WHERE o.tenant_id = $1 AND o.reader_id = $3 AND o.comment_id = s.comment_id)
     OR EXISTS (SELECT 1 FROM reactions o WHERE o.tenant_id = $1 AND o.reader_id = $3 AND o.comment_id = s.comment_id))`,
)

/**
 * The event with the target in place of the merged reader; everything else stays the same byte for
 * byte. Null if the event does not name the merged reader.
 */
function rewriteEvent(event: EventTexts, from: Id, into: Reader): ScrubbedEvent | null {
  const profile = profileOf(into)
  const { id, externalId } = profile
  return changeEvent(event, (who, what) => {
    const after = { ...what }
    if (what.comment?.author?.id === from) after.comment = { ...what.comment, author: profile }
    if (what.reader?.id === from) after.reader = profile
    if (what.recipient?.readerId === from) after.recipient = { readerId: id, externalId }
    return {
      who: who.readerId === from ? { ...who, readerId: id, externalId } : who,
      what: after,
      hasLostRecipient: false,
    }
  })
}

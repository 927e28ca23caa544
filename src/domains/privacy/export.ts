import { setImmediate } from 'node:timers/promises'

import { recordAudit } from '../../core/audit.ts'
import { type Ctx, requireCaller } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { readOneInstant, type Sql } from '../../core/sql.ts'
import type { Reader } from '../../generated/prisma/client.ts'
import { type FormerReader, listFormerReaders } from '../merges/merged.ts'
import * as rows from './export-sql.ts'
import { getReaderIn, lockReaderIn } from '../readers/records.ts'

/** A comment of the reader as it is held. `bodyHtml` is made from `body`, and so left out. */
export interface ExportedComment extends rows.ExportedCommentRow {
  /** The bodies that edits have replaced, oldest first. */
  revisions: rows.ExportedRevision[]
}

/** All that is held of a reader. Nothing in it says who others are. */
export interface ReaderExport {
  asOf: Date
  reader: Reader
  /** Who was merged into them. */
  formerReaders: FormerReader[]
  comments: ExportedComment[]
  reactions: rows.ExportedReaction[]
  reportsMade: rows.ExportedReport[]
  reportsReceived: rows.ExportedReport[]
  notifications: rows.ExportedNotification[]
  auditEntries: rows.ExportedAuditEntry[]
}

/** Comments that are read at once: the process answers others in between. */
const BATCH = 1000

/**
 * All that is held of a reader, as of one instant. The audit log says who has read it. Throws
 * `not_found`.
 */
export async function exportReader(ctx: Ctx, readerId: Id): Promise<ReaderExport> {
  const exported = await readAll(ctx, readerId)
  await ctx.app.db.transaction(async (sql) => {
    // A replica may still have a reader who has been erased. One who is here now is so until this
    // row is written, and nothing is answered before that.
    await lockReaderIn(sql, ctx, readerId)
    // It says nothing of the person: an erasure leaves it as it is.
    await recordAudit(sql, ctx, { action: 'reader.export', targetType: 'reader', targetId: readerId })
  })
  return exported
}

function readAll(ctx: Ctx, readerId: Id): Promise<ReaderExport> {
  const { tenant } = requireCaller(ctx)
  return ctx.app.late.transaction(async (sql, asOf) => {
    await readOneInstant(sql)
    const reader = await getReaderIn(sql, ctx, readerId)
    const written = await exportWritten(sql, tenant.id, readerId)
    const formerReaders = await listFormerReaders(sql, tenant.id, readerId)
    const ids = [readerId, ...formerReaders.map(({ id }) => id)]
    const onReader = await rows.exportAuditEntries(sql, tenant.id, 'reader', ids)
    return {
      asOf,
      reader,
      formerReaders,
      comments: written.comments,
      reactions: await rows.exportReactions(sql, tenant.id, readerId),
      reportsMade: await rows.exportReportsMade(sql, tenant.id, readerId),
      reportsReceived: written.reportsReceived,
      notifications: await rows.exportNotifications(sql, tenant.id, readerId),
      auditEntries: [...onReader, ...written.auditEntries],
    }
  })
}

type CommentsExport = Pick<ReaderExport, 'comments' | 'reportsReceived' | 'auditEntries'>

/** The reader's comments and what hangs on them. */
async function exportWritten(sql: Sql, tenantId: Id, readerId: Id): Promise<CommentsExport> {
  const written: CommentsExport = { comments: [], reportsReceived: [], auditEntries: [] }
  for (;;) {
    const comments = await rows.exportComments(sql, tenantId, readerId, written.comments.at(-1)?.id, BATCH)
    const ids = comments.map(({ id }) => id)
    const revisions = new Map<Id, rows.ExportedRevision[]>(ids.map((id) => [id, []]))
    for (const revision of await rows.exportRevisions(sql, tenantId, ids))
      revisions.get(revision.commentId)?.push(revision)
    for (const comment of comments) {
      written.comments.push({ ...comment, revisions: revisions.get(comment.id) ?? [] })
    }
    for (const report of await rows.exportReportsReceived(sql, tenantId, ids)) written.reportsReceived.push(report)
    for (const entry of await rows.exportAuditEntries(sql, tenantId, 'comment', ids)) written.auditEntries.push(entry)
    if (comments.length < BATCH) return written
    await setImmediate()
  }
}

import { setImmediate } from 'node:timers/promises'

import { recordAudit } from '../../core/audit.ts'
import { type Ctx, requireCaller } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { readOneInstant, type Sql } from '../../core/sql.ts'
import type { Reader } from '../../generated/prisma/client.ts'
import { type FormerReader, listFormerReaders } from '../readers/merge/merged.ts'
import * as rows from './export-sql.ts'
import { getReaderIn, lockReaderIn } from '../readers/records.ts'

/** A comment of the reader as it is stored, without `bodyHtml`, which is made from `body`. */
export interface ExportedComment extends rows.ExportedCommentRow {
  /** The earlier bodies, oldest first. */
  revisions: rows.ExportedRevision[]
}

/** All stored data of a reader, without the identity of others. */
export interface ReaderExport {
  asOf: Date
  reader: Reader
  /** Readers who were merged into this one. */
  formerReaders: FormerReader[]
  comments: ExportedComment[]
  reactions: rows.ExportedReaction[]
  reportsMade: rows.ExportedReport[]
  reportsReceived: rows.ExportedReport[]
  notifications: rows.ExportedNotification[]
  auditEntries: rows.ExportedAuditEntry[]
}

/** Comments read at once: in between, the process serves others. */
const BATCH = 1000

/** All stored data of a reader, as of one instant. Writes an audit entry. Throws `not_found`. */
export async function exportReader(ctx: Ctx, readerId: Id): Promise<ReaderExport> {
  const exported = await readAll(ctx, readerId)
  await ctx.app.db.transaction(async (sql) => {
    // A replica may still have a reader who was erased. This lock proves that the reader exists,
    // and is held until the audit entry is committed, before the answer.
    await lockReaderIn(sql, ctx, readerId)
    // Has no personal data, so that an erasure need not change it.
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
    const formerReaders = await listFormerReaders(sql.prisma, tenant.id, readerId)
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

/** The reader's comments, with everything that belongs to them. */
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

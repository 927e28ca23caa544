import { setImmediate } from 'node:timers/promises'

import { recordAudit } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { type Prisma, readOneInstant } from '../../core/database/database.ts'
import type { Notification, Reader, ReaderMute } from '../../generated/prisma/client.ts'
import { exportInbox } from '../notifications/notifications.ts'
import { type Preferences, readPreferences } from '../notifications/preferences.ts'
import { type FormerReader, listFormerReaders } from '../readers/merged.ts'
import { exportMutes } from '../readers/mutes/mutes.ts'
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
  mutes: ReaderMute[]
  reportsMade: rows.ExportedReport[]
  reportsReceived: rows.ExportedReport[]
  notes: rows.ExportedNote[]
  notifications: rows.ExportedNotification[]
  inbox: Notification[]
  notificationPreferences: Preferences
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
    await recordAudit(sql, ctx, { action: 'reader.export', targetId: readerId })
  })
  return exported
}

function readAll(ctx: Ctx, readerId: Id): Promise<ReaderExport> {
  const { tenant } = requireCaller(ctx)
  return ctx.app.late.transaction(async (sql, asOf) => {
    await readOneInstant(sql)
    const reader = await getReaderIn(sql, ctx, readerId)
    const written = await exportWritten(sql.prisma, tenant.id, readerId)
    const formerReaders = await listFormerReaders(sql.prisma, tenant.id, readerId)
    const ids = [readerId, ...formerReaders.map(({ id }) => id)]
    const onReader = await rows.exportAuditEntries(sql.prisma, tenant.id, 'reader', ids)
    return {
      asOf,
      reader,
      formerReaders,
      comments: written.comments,
      reactions: await rows.exportReactions(sql.prisma, tenant.id, readerId),
      mutes: await exportMutes(sql.prisma, tenant.id, readerId),
      reportsMade: await rows.exportReports(sql.prisma, tenant.id, { readerId }),
      reportsReceived: written.reportsReceived,
      notes: [...(await rows.exportNotes(sql.prisma, tenant.id, { readerId })), ...written.notes],
      notifications: await rows.exportNotifications(sql, tenant.id, readerId),
      inbox: await exportInbox(sql.prisma, tenant.id, readerId),
      notificationPreferences: await readPreferences(sql.prisma, tenant.id, readerId),
      auditEntries: [...onReader, ...written.auditEntries],
    }
  })
}

type CommentsExport = Pick<ReaderExport, 'comments' | 'reportsReceived' | 'notes' | 'auditEntries'>

/** The reader's comments, with everything that belongs to them. */
async function exportWritten(prisma: Prisma, tenantId: Id, readerId: Id): Promise<CommentsExport> {
  const written: CommentsExport = { comments: [], reportsReceived: [], notes: [], auditEntries: [] }
  for (;;) {
    const comments = await rows.exportComments(prisma, tenantId, readerId, written.comments.at(-1)?.id, BATCH)
    const ids = comments.map(({ id }) => id)
    const revisions = new Map<Id, rows.ExportedRevision[]>(ids.map((id) => [id, []]))
    for (const revision of await rows.exportRevisions(prisma, tenantId, ids))
      revisions.get(revision.commentId)?.push(revision)
    for (const comment of comments) {
      written.comments.push({ ...comment, revisions: revisions.get(comment.id) ?? [] })
    }
    const onThese = { commentId: { in: ids } }
    for (const report of await rows.exportReports(prisma, tenantId, onThese)) written.reportsReceived.push(report)
    for (const note of await rows.exportNotes(prisma, tenantId, onThese)) written.notes.push(note)
    for (const entry of await rows.exportAuditEntries(prisma, tenantId, 'comment', ids))
      written.auditEntries.push(entry)
    if (comments.length < BATCH) return written
    await setImmediate()
  }
}

import { FIRST_ID, type Id } from '../../core/ids.ts'
import type { Prisma } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { AuditEntry, CommentRevision, Note, Reaction, Report } from '../../generated/prisma/client.ts'
import { SHOWN_COLUMNS, type ShownColumn, type Stored } from '../comments/fields.ts'

/**
 * Left out because `bodyHtml` is made from `body`, and the rest belongs to the thread. The author
 * is the reader.
 */
const LEFT_OUT = ['bodyHtml', 'depth', 'replyCount', 'pinnedAt'] as const satisfies readonly ShownColumn[]

type ExportedField = Exclude<ShownColumn, (typeof LEFT_OUT)[number]>

export const EXPORTED_FIELDS = SHOWN_COLUMNS.filter(
  (name): name is ExportedField => !LEFT_OUT.some((each) => each === name),
)

export interface ExportedCommentRow extends Pick<Stored, ExportedField | 'decision'> {
  discussionExternalId: string
}

const OF_COMMENT = {
  ...(Object.fromEntries(EXPORTED_FIELDS.map((name) => [name, true])) as Record<ExportedField, true>),
  decision: true,
} as const

/**
 * Comments of the reader in any state, oldest first, after `after`; deleted ones with their stored
 * text.
 */
export async function exportComments(
  { comment, discussion }: Prisma,
  tenantId: Id,
  authorId: Id,
  after: Id | undefined,
  limit: number,
): Promise<ExportedCommentRow[]> {
  const where = { tenantId, authorId, id: { gt: after ?? FIRST_ID } }
  const rows = await comment.findMany({ where, orderBy: { id: 'asc' }, take: limit, select: OF_COMMENT })
  // No relation: Prisma would look each up by the tenant, too.
  const named = { tenantId, id: { in: [...new Set(rows.map(({ discussionId }) => discussionId))] } }
  const found = await discussion.findMany({ where: named, select: { id: true, externalId: true } })
  const names = new Map(found.map(({ id, externalId }) => [id, externalId]))
  // Only values of these forms were ever stored.
  return rows.map((row) => ({ ...row, discussionExternalId: names.get(row.discussionId) }) as ExportedCommentRow)
}

const OF_REVISION = { commentId: true, revision: true, body: true, createdAt: true, wasPublic: true } as const

export type ExportedRevision = Pick<CommentRevision, keyof typeof OF_REVISION>

/** The earlier bodies of these edited comments. */
export const exportRevisions = (
  { commentRevision }: Prisma,
  tenantId: Id,
  commentIds: Id[],
): Promise<ExportedRevision[]> =>
  commentRevision.findMany({
    where: { tenantId, commentId: { in: commentIds } },
    orderBy: [{ commentId: 'asc' }, { revision: 'asc' }],
    select: OF_REVISION,
  })

const OF_REPORT = { commentId: true, reason: true, note: true, createdAt: true } as const

export type ExportedReport = Pick<Report, keyof typeof OF_REPORT>

/** Reports of others on these comments, without who reported; or those that a reader made. */
export const exportReports = (
  { report }: Prisma,
  tenantId: Id,
  of: { commentId: { in: Id[] } } | { readerId: Id },
): Promise<ExportedReport[]> =>
  report.findMany({ where: { tenantId, ...of }, orderBy: { createdAt: 'asc' }, select: OF_REPORT })

const OF_NOTE = { commentId: true, text: true, createdAt: true } as const

/** `commentId`: null for a note on the reader. */
export type ExportedNote = Pick<Note, keyof typeof OF_NOTE>

/** What moderators have noted on these comments, or on a reader, without who. */
export const exportNotes = (
  { note }: Prisma,
  tenantId: Id,
  of: { commentId: { in: Id[] } } | { readerId: Id },
): Promise<ExportedNote[]> => note.findMany({ where: { tenantId, ...of }, orderBy: { id: 'asc' }, select: OF_NOTE })

const OF_REACTION = { commentId: true, type: true, updatedAt: true } as const

export type ExportedReaction = Pick<Reaction, keyof typeof OF_REACTION>

/**
 * The reader's reactions, and when removed ones were removed; also those that a ban in shadow has
 * kept from counting.
 */
export async function exportReactions(
  { reaction, shadowReaction }: Prisma,
  tenantId: Id,
  readerId: Id,
): Promise<ExportedReaction[]> {
  const asked = { where: { tenantId, readerId }, select: OF_REACTION }
  const held = [...(await reaction.findMany(asked)), ...(await shadowReaction.findMany(asked))]
  const placeOf = ({ commentId, updatedAt }: ExportedReaction): string => commentId + updatedAt.toISOString()
  return held.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
}

export interface ExportedNotification {
  eventId: Id
  discussionId: Id
  seq: number
  commentId: Id
  parentCommentId: Id
  occurredAt: Date
}

/** The reader's notifications that are still in the log. */
export const exportNotifications = statement(
  'export_notifications',
  `SELECT id AS "eventId", discussion_id AS "discussionId", seq, data->'comment'->>'id' AS "commentId",
     data->>'parentCommentId' AS "parentCommentId", occurred_at AS "occurredAt"
   FROM events WHERE tenant_id = $1 AND recipient_id = $2 AND type = 'notification_reply' ORDER BY id`,
).rows<[tenantId: Id, readerId: Id], ExportedNotification>()

const OF_ENTRY = {
  id: true,
  action: true,
  targetType: true,
  targetId: true,
  before: true,
  after: true,
  at: true,
} as const

export type ExportedAuditEntry = Pick<AuditEntry, keyof typeof OF_ENTRY>

/** Audit entries about these targets. */
export const exportAuditEntries = (
  { auditEntry }: Prisma,
  tenantId: Id,
  targetType: 'reader' | 'comment',
  targetIds: Id[],
): Promise<ExportedAuditEntry[]> =>
  auditEntry.findMany({
    where: { tenantId, targetId: { in: targetIds }, targetType },
    orderBy: { id: 'asc' },
    select: OF_ENTRY,
  })

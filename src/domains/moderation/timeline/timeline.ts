import { requireCaller } from '../../../core/access.ts'
import type { Ctx } from '../../../core/context.ts'
import { badCursor, decodeCursor, encodeCursor, idOf } from '../../../core/input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../../../core/input/page.ts'
import type { Id } from '../../../core/ids.ts'
import { profileOf } from '../../readers/fields.ts'
import { getReader } from '../../readers/records.ts'
import type { ReceivedReport } from '../received-reports.ts'
import type { ReportReason } from '../reports.ts'
import {
  BEGINNING,
  listTimeline,
  type TimelineKey,
  type TimelineKind,
  timelineKind,
  type TimelineRow,
} from './timeline-sql.ts'

/** Something that has happened around a reader. */
export interface TimelineEntry extends TimelineKey {
  report: ReceivedReport | null
}

/**
 * A reader's comments, the reports that they made and received, the notes on them, their bans, the
 * changes of the trust in them, and the decisions on their comments, newest first. Of reports
 * received and decisions, those on their newest TIMELINE_COMMENTS comments. With `kind` only those
 * of that kind. Throws `validation_failed`, `not_found`.
 */
export async function readerTimeline(
  ctx: Ctx,
  { readerId, kind: only, ...args }: PageArgs & { readerId: Id; kind?: TimelineKind | null | undefined },
): Promise<Page<TimelineEntry>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const after = keyIn(args.after)
  const reader = await getReader(ctx, readerId)
  const rows = await listTimeline(ctx.app.db.query, tenant.id, reader.id, after, size + 1, only ?? null)
  const cursorOf = ({ ms, kind, id, reporter }: TimelineEntry) => encodeCursor('timeline', ms, kind, id, reporter)
  return pageOf(rows.map(entryOf), size, args, cursorOf)
}

function keyIn(cursor: string | null | undefined): TimelineKey {
  const key = decodeCursor('timeline', 4, cursor)
  if (key === null) return BEGINNING
  const ms = Number(key[0])
  const kind = timelineKind(key[1])
  if (!Number.isInteger(ms) || ms < 0 || ms > BEGINNING.ms || kind === undefined) throw badCursor()
  return { ms, kind, id: idOf(key[2]), reporter: key[3] === BEGINNING.reporter ? key[3] : idOf(key[3]) }
}

function entryOf({ ms, kind, entryId: id, reporter, reason, note, counted, ...reader }: TimelineRow): TimelineEntry {
  const entry = { ms, kind, id, reporter, report: null }
  if (reason === null) return entry
  // Only values of the enum were ever stored.
  const report = {
    reason: reason as ReportReason,
    note,
    reader: profileOf(reader),
    counted: counted === true,
    createdAt: atOf(entry),
  }
  return { ...entry, report }
}

/** When it happened. */
export const atOf = ({ ms }: TimelineKey): string => new Date(ms).toISOString()

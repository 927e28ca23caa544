import type { Ctx } from '../../../core/context.ts'
import type { Id } from '../../../core/ids.ts'
import { builder } from '../../../graphql/builder.ts'
import { addEnum } from '../../../graphql/enum.ts'
import { findAuditEntry } from '../../audit/audit.ts'
import { AuditEntryRef } from '../../audit/graphql.ts'
import { findComment } from '../../comments/comments.ts'
import { CommentRef } from '../../comments/graphql.ts'
import { NoteRef } from '../../notes/graphql.ts'
import { findNote } from '../../notes/notes.ts'
import { ReceivedReportRef } from '../graphql.ts'
import { atOf, readerTimeline, type TimelineEntry } from './timeline.ts'
import { TIMELINE_COMMENTS } from './timeline-sql.ts'

const TimelineKindEnum = addEnum('TimelineKind', "The kind of an entry in a reader's timeline.", {
  ban: 'A ban, or the end of one by a moderator.',
  comment: 'The reader wrote a comment.',
  decision: 'A moderator approved, rejected or deleted a comment of the reader.',
  note: 'A moderator wrote a note on the reader.',
  report_made: 'The reader reported a comment.',
  report_received: 'A comment of the reader was reported.',
  trust: 'A moderator changed the trust in the reader.',
})

const isAudited = ({ kind }: TimelineEntry): boolean => kind === 'ban' || kind === 'trust' || kind === 'decision'

/** The comment that an entry is about; null for those about the reader. */
async function commentIdOf(ctx: Ctx, entry: TimelineEntry): Promise<Id | null> {
  if (entry.kind === 'decision') return (await findAuditEntry(ctx, entry.id))?.targetId ?? null
  return entry.kind === 'comment' || entry.report !== null ? entry.id : null
}

const TimelineEntryRef = builder.objectRef<TimelineEntry>('TimelineEntry').implement({
  description: "One entry of a reader's timeline.",
  fields: (t) => ({
    kind: t.expose('kind', { type: TimelineKindEnum, description: 'What the entry is about.' }),
    at: t.field({
      type: 'DateTime',
      description: 'When it happened. The list is in this order, to some milliseconds.',
      resolve: async (entry, _args, ctx) => {
        if (entry.kind === 'note') return (await findNote(ctx, entry.id))?.createdAt ?? atOf(entry)
        return (isAudited(entry) ? (await findAuditEntry(ctx, entry.id))?.at : null) ?? atOf(entry)
      },
    }),
    comment: t.field({
      type: CommentRef,
      nullable: true,
      description: 'The comment that was written, judged or reported.',
      resolve: async (entry, _args, ctx) => {
        const id = await commentIdOf(ctx, entry)
        return id === null ? null : findComment(ctx, id)
      },
    }),
    report: t.expose('report', {
      type: ReceivedReportRef,
      nullable: true,
      description: 'The report that the reader made, or that a comment of theirs received.',
    }),
    note: t.field({
      type: NoteRef,
      nullable: true,
      description: 'The note.',
      resolve: ({ kind, id }, _args, ctx) => (kind === 'note' ? findNote(ctx, id) : null),
    }),
    auditEntry: t.field({
      type: AuditEntryRef,
      nullable: true,
      description: 'Of a ban, a decision and a change of trust: who did what.',
      resolve: (entry, _args, ctx) => (isAudited(entry) ? findAuditEntry(ctx, entry.id) : null),
    }),
  }),
})

builder.queryField('timeline', (t) =>
  t.connection({
    type: TimelineEntryRef,
    access: 'moderate_content',
    throws: ['not_found'],
    description: `Returns what has happened around a reader, newest first: their comments, the reports that they made and received, the notes on them, their bans, changes of the trust in them, and the decisions on their comments. Of reports received and decisions, those on their newest ${TIMELINE_COMMENTS} comments. The audit log keeps bans and decisions for \`auditRetentionDays\`.`,
    args: {
      readerId: t.arg.id({ required: true, description: 'The id of the reader in this service.' }),
      kind: t.arg({ type: TimelineKindEnum, description: 'Only entries of this kind.' }),
    },
    resolve: (_root, args, ctx) => readerTimeline(ctx, args),
  }),
)

import { builder } from '../../schema/builder.ts'
import { CommentStatusEnum } from '../comments/graphql.ts'
import { ReaderRecordRef } from '../readers/graphql.ts'
import { eraseReader } from './erase.ts'
import { type ExportedComment, exportReader, type ReaderExport } from './export.ts'
import type { AuditEntryRow, NotificationRow, ReactionRow, ReportRow, RevisionRow } from './export-sql.ts'

const RevisionRef = builder.objectRef<RevisionRow>('ExportedRevision').implement({
  description: 'A body of a comment that an edit has replaced.',
  fields: (t) => ({
    revision: t.exposeInt('revision', { description: '1 as posted; one more with each edit.' }),
    body: t.exposeString('body', { description: 'Markdown.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was replaced.' }),
  }),
})

const CommentRef = builder.objectRef<ExportedComment>('ExportedComment').implement({
  description: 'A comment of the reader as it is held, in whatever state.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the comment.' }),
    discussionId: t.exposeID('discussionId', { description: 'The discussion that it stands in.' }),
    discussionExternalId: t.exposeString('discussionExternalId', { description: "The tenant's own key for the page." }),
    parentId: t.exposeID('parentId', { nullable: true, description: 'The comment that it replies to.' }),
    body: t.exposeString('body', { nullable: true, description: 'Markdown; of a deleted comment what is kept of it.' }),
    status: t.expose('status', { type: CommentStatusEnum, description: 'Whether it is public, and why not.' }),
    revision: t.exposeInt('revision', { description: 'The number of the body.' }),
    revisions: t.expose('revisions', { type: [RevisionRef], description: 'Former bodies, oldest first.' }),
    reactionCounts: t.expose('reactionCounts', { type: 'JSON', description: 'How often each type is held on it.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was posted.' }),
    editedAt: t.expose('editedAt', { type: 'DateTime', nullable: true, description: 'When it was last edited.' }),
    deletedAt: t.expose('deletedAt', { type: 'DateTime', nullable: true, description: 'When it was deleted.' }),
  }),
})

const ReactionRef = builder.objectRef<ReactionRow>('ExportedReaction').implement({
  description: 'What the reader holds on a comment.',
  fields: (t) => ({
    commentId: t.exposeID('commentId', { description: 'The comment.' }),
    type: t.exposeString('type', { nullable: true, description: 'The type; null where it was taken back.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was given or taken back.' }),
  }),
})

const ReportRef = builder.objectRef<ReportRow>('ExportedReport').implement({
  description: 'What moderators were told of a comment.',
  fields: (t) => ({
    commentId: t.exposeID('commentId', { description: 'The comment.' }),
    reason: t.exposeString('reason', { description: 'Why it was reported.' }),
    note: t.exposeString('note', { nullable: true, description: 'What was said beside.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was reported.' }),
  }),
})

const NotificationRef = builder.objectRef<NotificationRow>('ExportedNotification').implement({
  description: 'A notification to the reader that somebody has replied.',
  fields: (t) => ({
    eventId: t.exposeID('eventId', { description: 'The id of the event.' }),
    discussionId: t.exposeID('discussionId', { description: 'Where it happened.' }),
    seq: t.exposeInt('seq', { description: 'The number of the event in its discussion.' }),
    commentId: t.exposeID('commentId', { description: 'The reply, whose text is of somebody else.' }),
    parentCommentId: t.exposeID('parentCommentId', { description: 'The comment of the reader.' }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime', description: 'When it was sent.' }),
  }),
})

const AuditRef = builder.objectRef<AuditEntryRow>('ExportedAuditEntry').implement({
  description: 'What a moderator or the backend has done to the reader or their comments, without who it was.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the entry.' }),
    action: t.exposeString('action', { description: 'What was done, as `reader.ban`.' }),
    targetType: t.exposeString('targetType', { description: 'What it was done to: `reader` or `comment`.' }),
    targetId: t.exposeString('targetId', { nullable: true, description: 'The id of that.' }),
    before: t.expose('before', { type: 'JSON', nullable: true, description: 'How it was before.' }),
    after: t.expose('after', { type: 'JSON', nullable: true, description: 'How it was after.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When it was done.' }),
  }),
})

const ExportRef = builder.objectRef<ReaderExport>('ReaderExport').implement({
  description: 'All that is held of a reader, as of one instant. Lists are whole, oldest first.',
  fields: (t) => ({
    asOf: t.expose('asOf', { type: 'DateTime', description: 'As of when.' }),
    reader: t.expose('reader', { type: ReaderRecordRef, description: 'Profile, and ban.' }),
    comments: t.expose('comments', { type: [CommentRef], description: 'What the reader has written.' }),
    reactions: t.expose('reactions', { type: [ReactionRef], description: 'How the reader has reacted.' }),
    reportsMade: t.expose('reportsMade', { type: [ReportRef], description: 'What the reader has reported.' }),
    reportsReceived: t.expose('reportsReceived', {
      type: [ReportRef],
      description: "What was reported of the reader's comments, without by whom.",
    }),
    notifications: t.expose('notifications', {
      type: [NotificationRef],
      description: 'Notifications to the reader that are still in the event log.',
    }),
    auditEntries: t.expose('auditEntries', {
      type: [AuditRef],
      description: 'What was done to the reader and then to their comments.',
    }),
  }),
})

builder.queryField('readerExport', (t) =>
  t.field({
    type: ExportRef,
    nullable: true,
    access: 'manage_settings',
    description: 'All that is held of a reader, in one piece.',
    args: { id: t.arg.id({ required: true, description: 'The id of the reader in this service.' }) },
    resolve: (_root, { id }, ctx) => exportReader(ctx, id),
  }),
)

builder.relayMutationField(
  'eraseReader',
  { inputFields: (t) => ({ readerId: t.id({ required: true, description: 'The reader.' }) }) },
  {
    access: 'manage_settings',
    description:
      'Erases a reader for good: comments by the setting erasureMode, reactions, reports, and their traces in events, ' +
      'deliveries and the audit log. Called again where it was interrupted, it goes on.',
    resolve: async (_root, { input }, ctx) => ({ readerId: await eraseReader(ctx, input) }),
  },
  { outputFields: (t) => ({ readerId: t.exposeID('readerId', { description: 'Who is held no more.' }) }) },
)

import type { Notification, ReaderMute } from '../../generated/prisma/client.ts'
import { builder } from '../../graphql/builder.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { namedInRest } from '../../graphql/in-rest.ts'
import { FIELDS } from '../comments/fields.ts'
import { CommentStatusEnum, DecisionRef, storedField } from '../comments/graphql.ts'
import { NotificationKindEnum, NotificationPreferencesRef } from '../notifications/graphql.ts'
import { ReaderRef } from '../readers/graphql.ts'
import { FormerReaderRef } from '../readers/graphql-merged.ts'
import { eraseReader } from './erase.ts'
import { type ExportedComment, exportReader, type ReaderExport } from './export.ts'
import {
  EXPORTED_FIELDS,
  type ExportedAuditEntry,
  type ExportedNote,
  type ExportedNotification,
  type ExportedReaction,
  type ExportedReport,
  type ExportedRevision,
} from './export-sql.ts'

const RevisionRef = builder.objectRef<ExportedRevision>('ExportedRevision').implement({
  description: 'A body of a comment that an edit has replaced.',
  fields: (t) => ({
    revision: t.exposeInt('revision', {
      description: 'The version of the text: 1 when posted, one more with each edit.',
    }),
    body: t.exposeString('body', { description: 'Markdown.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was replaced.' }),
    wasPublic: t.exposeBoolean('wasPublic', { description: 'Whether it was public when it was replaced.' }),
  }),
})

const CommentRef = builder.objectRef<ExportedComment>('ExportedComment').implement({
  description: 'A comment of the reader, in any state.',
  fields: (t) => {
    const named = {
      commentId: t.exposeID('id', { description: FIELDS.id.help, extensions: namedInRest('id') }),
      discussionId: storedField(t, 'discussionId'),
      discussionExternalId: t.exposeString('discussionExternalId', {
        description: "The tenant's own key for the page.",
      }),
      parentId: t.exposeID('parentId', { nullable: true, description: 'The comment that it replies to.' }),
      body: t.exposeString('body', {
        nullable: true,
        description: 'The text in Markdown. Of a deleted comment, the part that is kept.',
      }),
      status: t.expose('status', {
        type: CommentStatusEnum,
        description: 'The state of the comment. Only an approved comment is public.',
      }),
      revision: t.exposeInt('revision', { description: 'The version of the text.' }),
      revisions: t.expose('revisions', { type: [RevisionRef], description: 'Former bodies, oldest first.' }),
      reactionCounts: t.expose('reactionCounts', { type: 'JSON', description: 'The number of reactions by type.' }),
      createdAt: storedField(t, 'createdAt'),
      editedAt: t.expose('editedAt', { type: 'DateTime', nullable: true, description: 'When it was last edited.' }),
      deletedAt: storedField(t, 'deletedAt'),
      decision: t.expose('decision', {
        type: DecisionRef,
        nullable: true,
        description: 'The last decision on it, as its author sees it.',
      }),
    }
    const others = EXPORTED_FIELDS.filter((name) => name !== 'id' && !(name in named))
    return { ...named, ...Object.fromEntries(others.map((name) => [name, storedField(t, name)])) }
  },
})

const ReactionRef = builder.objectRef<ExportedReaction>('ExportedReaction').implement({
  description: 'A reaction of the reader to a comment.',
  fields: (t) => ({
    commentId: t.exposeID('commentId', { description: 'The comment.' }),
    type: t.exposeString('type', { nullable: true, description: 'The type. Null if the reader removed it.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was set or removed.' }),
  }),
})

const MuteRef = builder.objectRef<ReaderMute>('ExportedMute').implement({
  description: 'Another reader whom the reader has muted.',
  fields: (t) => ({
    readerId: t.exposeID('mutedId', { description: 'The id of the other reader.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When they were muted.' }),
  }),
})

const ReportRef = builder.objectRef<ExportedReport>('ExportedReport').implement({
  description: 'A report of a comment.',
  fields: (t) => ({
    commentId: t.exposeID('commentId', { description: 'The comment.' }),
    reason: t.exposeString('reason', { description: 'Why it was reported.' }),
    note: t.exposeString('note', { nullable: true, description: "The reader's note." }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was reported.' }),
  }),
})

const NoteRef = builder.objectRef<ExportedNote>('ExportedNote').implement({
  description: 'What a moderator has noted on the reader or a comment of theirs, without who.',
  fields: (t) => ({
    commentId: t.exposeID('commentId', { nullable: true, description: 'The comment. Null for a note on the reader.' }),
    text: t.exposeString('text', { description: 'The text of the note.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was written.' }),
  }),
})

const NotificationRef = builder.objectRef<ExportedNotification>('ExportedNotification').implement({
  description: 'A notification to the reader about a reply.',
  fields: (t) => ({
    eventId: t.exposeID('eventId', { description: 'The id of the event.' }),
    discussionId: t.exposeID('discussionId', { description: 'The discussion of the event.' }),
    seq: t.exposeInt('seq', { description: 'The number of the event in its discussion.' }),
    commentId: t.exposeID('commentId', { description: 'The id of the reply. Its text belongs to another reader.' }),
    parentCommentId: t.exposeID('parentCommentId', { description: "The id of the reader's comment." }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime', description: 'When it was sent.' }),
  }),
})

const InboxRef = builder.objectRef<Notification>('ExportedInboxEntry').implement({
  description: 'What the reader was told in their inbox, whether or not they can see the comment now.',
  fields: (t) => ({
    notificationId: t.exposeID('id', { description: 'The id of the notification.', extensions: namedInRest('id') }),
    kind: t.expose('kind', { type: NotificationKindEnum, description: 'What the reader was told.' }),
    commentId: t.exposeID('commentId', { description: 'The comment. Its text may belong to another reader.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
    readAt: t.expose('readAt', { type: 'DateTime', nullable: true, description: 'When the reader read it.' }),
    handedOutAt: t.expose('handedOutAt', {
      type: 'DateTime',
      nullable: true,
      description: "When the tenant's backend took it.",
    }),
  }),
})

const AuditRef = builder.objectRef<ExportedAuditEntry>('ExportedAuditEntry').implement({
  description: 'An action of a moderator or the backend on the reader or their comments, without the actor.',
  fields: (t) => ({
    entryId: t.exposeID('id', { description: 'The id of the entry.', extensions: namedInRest('id') }),
    action: t.exposeString('action', { description: 'The action, for example `reader.ban`.' }),
    targetType: t.exposeString('targetType', { description: 'The type of the target: `reader` or `comment`.' }),
    targetId: t.exposeString('targetId', { nullable: true, description: 'The id of the target.' }),
    before: t.expose('before', { type: 'JSON', nullable: true, description: 'The state before the action.' }),
    after: t.expose('after', { type: 'JSON', nullable: true, description: 'The state after the action.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When it was done.' }),
  }),
})

const ExportRef = builder.objectRef<ReaderExport>('ReaderExport').implement({
  description: 'All stored data of a reader at one instant. Lists are complete, oldest first.',
  fields: (t) => ({
    asOf: t.expose('asOf', { type: 'DateTime', description: 'The instant of the export.' }),
    reader: t.expose('reader', { type: ReaderRef, description: 'The profile and the ban.' }),
    formerReaders: t.expose('formerReaders', {
      type: [FormerReaderRef],
      description: 'The readers who were merged into the reader.',
    }),
    comments: t.expose('comments', { type: [CommentRef], description: 'The comments of the reader.' }),
    reactions: t.expose('reactions', { type: [ReactionRef], description: 'The reactions of the reader.' }),
    mutes: t.expose('mutes', { type: [MuteRef], description: 'Whom the reader has muted.' }),
    reportsMade: t.expose('reportsMade', { type: [ReportRef], description: 'The reports that the reader made.' }),
    reportsReceived: t.expose('reportsReceived', {
      type: [ReportRef],
      description: "The reports of the reader's comments, without the reporters.",
    }),
    notes: t.expose('notes', {
      type: [NoteRef],
      description: "Moderators' notes on the reader, then on their comments.",
    }),
    notifications: t.expose('notifications', {
      type: [NotificationRef],
      description: 'Notifications to the reader that are still in the event log.',
    }),
    inbox: t.expose('inbox', { type: [InboxRef], description: 'The notifications in the inbox of the reader.' }),
    notificationPreferences: t.expose('notificationPreferences', {
      type: NotificationPreferencesRef,
      description: 'Which notifications the reader gets.',
    }),
    auditEntries: t.expose('auditEntries', {
      type: [AuditRef],
      description: 'Actions on the reader, then on their comments.',
    }),
  }),
})

builder.queryField('readerExport', (t) =>
  t.field({
    type: ExportRef,
    access: 'manage_settings',
    description: 'Returns all stored data of a reader in one answer.',
    args: { id: t.arg.id({ required: true, description: 'The id of the reader in this service.' }) },
    resolve: (_root, { id }, ctx) => exportReader(ctx, id),
  }),
)

addMutation('eraseReader', {
  input: (t) => ({ readerId: t.id({ required: true, description: 'The reader.' }) }),
  access: 'manage_settings',
  description:
    'Erases a reader: their reactions and reports, their comments as the setting erasureMode says, and their traces ' +
    'in events, deliveries and the audit log. This is final. If it was interrupted, send the request again to continue.',
  resolve: async (input, ctx) => ({ deletedReaderId: await eraseReader(ctx, input) }),
  output: (t) => ({
    deletedReaderId: t.exposeID('deletedReaderId', { description: 'The id of the erased reader.' }),
  }),
})

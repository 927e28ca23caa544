import { builder } from '../../graphql/builder.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { NodeRef } from '../../graphql/node.ts'
import { AuditActorRef } from '../audit/graphql.ts'
import { createNote, deleteNote, listNotes, noteInput } from './notes.ts'

export const NoteRef = builder.prismaObject('Note', {
  description: 'A remark of a moderator about a reader or a comment. Only moderators see it.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the note. The list is sorted by it.' }),
    readerId: t.exposeID('readerId', { nullable: true, description: 'The reader that it is about.' }),
    commentId: t.exposeID('commentId', { nullable: true, description: 'The comment that it is about.' }),
    text: t.exposeString('text', { description: 'The text of the note.' }),
    author: t.field({ type: AuditActorRef, description: 'Who wrote it.', resolve: (note) => note }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was written.' }),
  }),
})

const NoteOnInput = builder.inputType('NoteOn', {
  isOneOf: true,
  description: 'Names what a note is about.',
  fields: (t) => ({
    readerId: t.id({ description: 'The id of a reader in this service.' }),
    commentId: t.id({ description: 'The id of a comment.' }),
  }),
})

builder.queryField('notes', (t) =>
  t.connection({
    type: NoteRef,
    access: 'moderate_content',
    description: "Returns the moderators' notes on a reader or a comment, newest first.",
    args: { on: t.arg({ type: NoteOnInput, required: true, description: 'The reader or the comment.' }) },
    resolve: (_root, args, ctx) => listNotes(ctx, args),
  }),
)

addMutation('createNote', {
  shape: noteInput,
  input: (t) => ({
    on: t.field({ type: NoteOnInput, required: true, description: 'The reader or the comment.' }),
    text: t.string({ required: true, description: 'The text, 1 to 2 000 characters after trimming.' }),
  }),
  access: 'moderate_content',
  throws: ['not_found'],
  description: 'Writes a note on a reader or a comment, for moderators. It is erased with the reader.',
  resolve: async (input, ctx) => ({ note: await createNote(ctx, input) }),
  output: (t) => ({ note: t.expose('note', { type: NoteRef, description: 'The note.' }) }),
})

addMutation('deleteNote', {
  input: (t) => ({ noteId: t.id({ required: true, description: 'The note.' }) }),
  access: 'moderate_content',
  throws: ['not_found', 'not_author'],
  description: 'Deletes a note. The key or member that wrote it may do so, and any owner or admin.',
  resolve: async (input, ctx) => ({ deletedNoteId: await deleteNote(ctx, input) }),
  output: (t) => ({
    deletedNoteId: t.exposeID('deletedNoteId', { description: 'The id of the deleted note.' }),
  }),
})

import { builder } from '../../../graphql/builder.ts'
import { type CommentRevision, listRevisions } from './revisions.ts'

const RevisionRef = builder.objectRef<CommentRevision>('CommentRevision').implement({
  description: 'A present or former body of a comment.',
  fields: (t) => ({
    revision: t.exposeInt('revision', {
      description: 'The version of the text: 1 when posted, one more with each edit.',
    }),
    body: t.exposeString('body', {
      nullable: true,
      description: 'The text in Markdown, also of a deleted comment. Null after the erasure of the reader.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was written.' }),
    replacedAt: t.expose('replacedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When an edit replaced it. Null for the present one.',
    }),
  }),
})

builder.queryField('commentRevisions', (t) =>
  t.connection({
    type: RevisionRef,
    access: 'moderate_content',
    description: 'Returns the bodies of a comment, newest first.',
    args: { id: t.arg.id({ required: true, description: 'The id of the comment.' }) },
    resolve: (_root, { id, ...args }, ctx) => listRevisions(ctx, id, args),
  }),
)

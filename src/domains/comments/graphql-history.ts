import { builder } from '../../graphql/builder.ts'
import { ONLY_WHERE_NAMED } from '../../graphql/in-rest.ts'
import { CommentRef } from './graphql.ts'
import { type CommentRevision, listHistory, listRevisions } from './history/revisions.ts'

const RevisionRef = builder.objectRef<CommentRevision>('CommentRevision').implement({
  description: 'A present or former body of a comment.',
  fields: (t) => ({
    revision: t.exposeInt('revision', {
      description: 'The version of the text: 1 when posted, one more with each edit.',
    }),
    body: t.exposeString('body', {
      nullable: true,
      description:
        'The text in Markdown. Moderators get that of a deleted comment, too. Null after the erasure of the reader.',
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

builder.objectField(CommentRef, 'history', (t) =>
  t.connection({
    type: RevisionRef,
    description:
      'The texts that readers may read, the present one first: those that were public until an edit replaced them. Empty unless the comment is approved and the setting showEditHistory is on. The author gets all of their own.',
    extensions: ONLY_WHERE_NAMED,
    resolve: (comment, args, ctx) => listHistory(ctx, comment, args),
  }),
)

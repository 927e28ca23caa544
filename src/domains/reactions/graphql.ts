import { builder } from '../../schema/builder.ts'
import { shapedBy } from '../../schema/shape.ts'
import { reactionCountsSchema } from '../comments/comments.ts'
import { CommentRef } from '../comments/graphql.ts'
import { ReaderRef } from '../readers/graphql.ts'
import * as reactions from './reactions.ts'
import { type HeldReaction, listReactions } from './read.ts'

export const ReactionRef = builder.objectRef<reactions.Reaction>('Reaction').implement({
  description: 'What the asserted reader holds on a comment. A reader holds at most one reaction per comment.',
  fields: (t) => ({
    commentId: t.exposeID('commentId', { description: 'The comment.' }),
    type: t.exposeString('type', { nullable: true, description: 'What is held; null where nothing is.' }),
    reactionCounts: t.expose('reactionCounts', {
      type: 'JSON',
      description: 'How often each type is held by all readers.',
      extensions: shapedBy(reactionCountsSchema),
    }),
  }),
})

const HeldReactionRef = builder.objectRef<HeldReaction>('HeldReaction').implement({
  description: 'What one reader holds on a comment.',
  fields: (t) => ({
    type: t.exposeString('type', { description: "One of the tenant's reaction types." }),
    reader: t.expose('reader', { type: ReaderRef, description: 'Who holds it.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Since when.' }),
  }),
})

builder.objectField(CommentRef, 'reactions', (t) =>
  t.connection({
    type: HeldReactionRef,
    description: 'Who reacted, the last first.',
    args: { type: t.arg.string({ description: 'Only those of this type.' }) },
    resolve: (comment, args, ctx) => listReactions(ctx, comment, args),
  }),
)

builder.relayMutationField(
  'toggleReaction',
  {
    inputFields: (t) => ({
      commentId: t.id({ required: true, description: 'The comment.' }),
      type: t.string({ required: true, description: "One of the tenant's reaction types." }),
    }),
  },
  {
    access: 'reader',
    throws: ['reader_banned', 'discussion_locked', 'discussion_archived'],
    description: 'Adds a reaction; the same type again removes it, another type replaces it.',
    resolve: async (_root, { input }, ctx) => ({ reaction: await reactions.toggleReaction(ctx, input) }),
  },
  {
    outputFields: (t) => ({ reaction: t.expose('reaction', { type: ReactionRef, description: 'What is held now.' }) }),
  },
)

builder.relayMutationField(
  'setReaction',
  {
    inputFields: (t) => ({
      commentId: t.id({ required: true, description: 'The comment.' }),
      type: t.string({ required: true, description: "One of the tenant's reaction types." }),
    }),
  },
  {
    access: 'reader',
    throws: ['reader_banned', 'discussion_locked', 'discussion_archived'],
    description: 'Sets the reaction. Safe to send again.',
    resolve: async (_root, { input }, ctx) => ({ reaction: await reactions.setReaction(ctx, input) }),
  },
  {
    outputFields: (t) => ({ reaction: t.expose('reaction', { type: ReactionRef, description: 'What is held now.' }) }),
  },
)

builder.relayMutationField(
  'removeReaction',
  { inputFields: (t) => ({ commentId: t.id({ required: true, description: 'The comment.' }) }) },
  {
    access: 'reader',
    throws: ['reader_banned', 'discussion_locked', 'discussion_archived'],
    description: 'Removes the reaction. Safe to send again.',
    resolve: async (_root, { input }, ctx) => ({ reaction: await reactions.removeReaction(ctx, input) }),
  },
  {
    outputFields: (t) => ({ reaction: t.expose('reaction', { type: ReactionRef, description: 'What is held now.' }) }),
  },
)

import { builder } from '../../schema/builder.ts'
import { shapedBy } from '../../schema/shape.ts'
import { reactionCountsSchema } from '../comments/comments.ts'
import { CommentRef } from '../comments/graphql.ts'
import { ReaderRef } from '../readers/graphql.ts'
import * as reactions from './reactions.ts'
import { type HeldReaction, listReactions } from './read.ts'

export const ReactionRef = builder.objectRef<reactions.Reaction>('Reaction').implement({
  description: "The asserted reader's reaction to a comment. A reader has at most one reaction per comment.",
  fields: (t) => ({
    commentId: t.exposeID('commentId', { description: 'The comment.' }),
    type: t.exposeString('type', { nullable: true, description: 'The type of the reaction. Null if there is none.' }),
    reactionCounts: t.expose('reactionCounts', {
      type: 'JSON',
      description: 'The number of reactions of all readers by type.',
      extensions: shapedBy(reactionCountsSchema),
    }),
  }),
})

const HeldReactionRef = builder.objectRef<HeldReaction>('HeldReaction').implement({
  description: 'The reaction of one reader to a comment.',
  fields: (t) => ({
    type: t.exposeString('type', { description: "One of the tenant's reaction types." }),
    reader: t.expose('reader', { type: ReaderRef, description: 'The reader who reacted.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was set.' }),
  }),
})

builder.objectField(CommentRef, 'reactions', (t) =>
  t.connection({
    type: HeldReactionRef,
    description: 'The reactions, newest first.',
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
    description: 'Adds a reaction. The same type again removes it, and another type replaces it.',
    resolve: async (_root, { input }, ctx) => ({ reaction: await reactions.toggleReaction(ctx, input) }),
  },
  {
    outputFields: (t) => ({
      reaction: t.expose('reaction', { type: ReactionRef, description: 'The reaction after the change.' }),
    }),
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
    description: "Sets the asserted reader's reaction. Safe to repeat.",
    resolve: async (_root, { input }, ctx) => ({ reaction: await reactions.setReaction(ctx, input) }),
  },
  {
    outputFields: (t) => ({
      reaction: t.expose('reaction', { type: ReactionRef, description: 'The reaction after the change.' }),
    }),
  },
)

builder.relayMutationField(
  'removeReaction',
  { inputFields: (t) => ({ commentId: t.id({ required: true, description: 'The comment.' }) }) },
  {
    access: 'reader',
    throws: ['reader_banned', 'discussion_locked', 'discussion_archived'],
    description: "Removes the asserted reader's reaction. Safe to repeat.",
    resolve: async (_root, { input }, ctx) => ({ reaction: await reactions.removeReaction(ctx, input) }),
  },
  {
    outputFields: (t) => ({
      reaction: t.expose('reaction', { type: ReactionRef, description: 'The reaction after the change.' }),
    }),
  },
)

import { builder } from '../../graphql/builder.ts'
import * as reactions from './reactions.ts'

export const ReactionRef = builder.objectRef<reactions.Reaction>('Reaction').implement({
  description: 'What the asserted reader holds on a comment. A reader holds at most one reaction per comment.',
  fields: (t) => ({
    commentId: t.exposeID('commentId', { description: 'The comment.' }),
    type: t.exposeString('type', { nullable: true, description: 'What is held; null where nothing is.' }),
    reactionCounts: t.expose('reactionCounts', {
      type: 'JSON',
      description: 'How often each type is held by all readers.',
    }),
  }),
})

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
    description: 'Removes the reaction. Safe to send again.',
    resolve: async (_root, { input }, ctx) => ({ reaction: await reactions.removeReaction(ctx, input) }),
  },
  {
    outputFields: (t) => ({ reaction: t.expose('reaction', { type: ReactionRef, description: 'What is held now.' }) }),
  },
)

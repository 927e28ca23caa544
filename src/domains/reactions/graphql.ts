import { builder, type ObjectFields } from '../../graphql/builder.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { ONLY_WHERE_NAMED } from '../../graphql/in-rest.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { ofComment } from '../discussions/scope.ts'
import { findComment, reactionCountsSchema } from '../comments/comments.ts'
import { CommentRef } from '../comments/graphql.ts'
import { ReaderRef } from '../readers/graphql.ts'
import type { Reaction } from './reaction.ts'
import * as reactions from './reactions.ts'
import { type HeldReaction, listReactions } from './read.ts'
import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { Comment } from '../comments/comment.ts'
import { reactionOfViewer } from '../comments/viewers-reaction.ts'

export const ReactionRef = builder.objectRef<Reaction>('Reaction').implement({
  description: "The asserted reader's reaction to a comment. A reader has at most one reaction per comment.",
  fields: (t) => ({
    commentId: t.exposeID('commentId', { description: 'The comment.' }),
    type: t.exposeString('type', { nullable: true, description: 'The type of the reaction. Null without a reaction.' }),
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

const ReactionGroupRef = builder.objectRef<ReactionGroup>('ReactionGroup').implement({
  description: 'The reactions of one type to a comment.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'The type of the reactions.' }),
    count: t.exposeInt('count', { description: 'The number of these reactions.' }),
    viewerHasReacted: t.boolean({
      description: "Whether the asserted reader's reaction is of this type. False without an identity.",
      resolve: async ({ type, viewerReaction }) => (await viewerReaction()) === type,
    }),
  }),
})

builder.objectField(CommentRef, 'reactionGroups', (t) =>
  t.field({
    type: [ReactionGroupRef],
    description:
      "The reactions by type: all of the tenant's reaction types in their order, also those with no reaction, then former types that the comment still has.",
    extensions: ONLY_WHERE_NAMED,
    resolve: (comment, _args, ctx) => reactionGroupsOf(ctx, comment),
  }),
)

builder.objectField(CommentRef, 'reactions', (t) =>
  t.connection({
    type: HeldReactionRef,
    description: 'The reactions, newest first.',
    args: { type: t.arg.string({ description: 'Only those of this type.' }) },
    resolve: (comment, args, ctx) => listReactions(ctx, comment, args),
  }),
)

const reactionPayload = (t: ObjectFields<{ reaction: Reaction }>) => ({
  reaction: t.expose('reaction', { type: ReactionRef, description: 'The reaction after the change.' }),
  comment: t.field({
    type: CommentRef,
    nullable: true,
    description: 'The comment after the change. Null if it has left the view meanwhile.',
    extensions: ONLY_WHERE_NAMED,
    resolve: ({ reaction }, _args, ctx) => findComment(ctx, reaction.commentId),
  }),
})

for (const [name, write, description] of [
  [
    'toggleReaction',
    reactions.toggleReaction,
    'Adds a reaction. The same type again removes it, even if the tenant no longer has the type. Another type replaces it.',
  ],
  ['setReaction', reactions.setReaction, "Sets the asserted reader's reaction. Safe to repeat."],
] as const) {
  addMutation(name, {
    input: (t) => ({
      commentId: t.id({ required: true, description: 'The comment.' }),
      type: t.string({ required: true, description: "One of the tenant's reaction types." }),
    }),
    access: 'reader',
    client: ofComment,
    throws: ['reader_banned', 'guest_on_hold', 'discussion_locked', 'discussion_archived'],
    description,
    resolve: async (input, ctx) => ({ reaction: await write(ctx, input) }),
    output: reactionPayload,
  })
}

addMutation('removeReaction', {
  input: (t) => ({ commentId: t.id({ required: true, description: 'The comment.' }) }),
  access: 'reader',
  client: ofComment,
  throws: ['reader_banned', 'discussion_locked', 'discussion_archived'],
  description: "Removes the asserted reader's reaction. Safe to repeat.",
  resolve: async (input, ctx) => ({ reaction: await reactions.removeReaction(ctx, input) }),
  output: reactionPayload,
})

/** The reactions of one type to a comment. */
interface ReactionGroup {
  type: string
  count: number
  /** The type of the viewer's reaction to the comment: one look-up for all of its groups. */
  viewerReaction: () => Promise<string | null> | string | null
}

/**
 * The reactions to a comment by type: all types that the tenant offers, in its order, then those
 * that it no longer offers and the comment still has.
 */
function reactionGroupsOf(ctx: Ctx, comment: Comment): ReactionGroup[] {
  const { reactionCounts } = comment
  const { reactionTypes } = requireCaller(ctx).tenant.settings
  let held: ReturnType<ReactionGroup['viewerReaction']> | undefined
  const viewerReaction = () => (held === undefined ? (held = reactionOfViewer(ctx, comment)) : held)
  return [...new Set([...reactionTypes, ...Object.keys(reactionCounts).sort()])].map((type) => ({
    type,
    count: Object.hasOwn(reactionCounts, type) ? (reactionCounts[type] ?? 0) : 0,
    viewerReaction,
  }))
}

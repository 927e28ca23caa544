import { z } from 'zod'

import { builder } from '../../graphql/builder.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { namedInRest } from '../../graphql/in-rest.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { QueueItemRef } from './graphql-queue.ts'
import {
  claimComments,
  claimInput,
  type ClaimOutcome,
  findHolder,
  type Holder,
  releaseClaims,
  releaseInput,
} from './claims/claims.ts'

const HolderRef = builder.objectRef<Holder>('ClaimHolder').implement({
  description: 'The member who has claimed a comment.',
  fields: (t) => ({
    memberId: t.exposeID('id', { description: 'The id of the member.', extensions: namedInRest('id') }),
    name: t.exposeString('name', { nullable: true, description: 'The name of the member.' }),
  }),
})

const OutcomeRef = builder.objectRef<ClaimOutcome>('ClaimOutcome').implement({
  description: 'The outcome of a claim for one comment.',
  fields: (t) => ({
    commentId: t.exposeID('id', {
      description: 'The id of the comment, as sent.',
      extensions: { ...shapedBy(z.string()), ...namedInRest('id') },
    }),
    held: t.exposeBoolean('held', { description: 'Whether the caller holds it now.' }),
    claimedBy: t.expose('claimedBy', {
      type: HolderRef,
      nullable: true,
      description: 'Who holds it. Null if there is no such comment.',
    }),
  }),
})

builder.objectField(QueueItemRef, 'claimedBy', (t) =>
  t.field({
    type: HolderRef,
    nullable: true,
    description: 'The member who works on it: see claimComments. Null if nobody does.',
    resolve: ({ comment }, _args, ctx) => findHolder(ctx, comment.id),
  }),
)

addMutation('claimComments', {
  shape: claimInput,
  input: (t) => ({ ids: t.idList({ required: true, description: 'The comments, 1 to 50.' }) }),
  access: 'moderate_content',
  throws: ['admin_only'],
  description:
    'Claims comments for the signed-in member for 5 minutes, those that nobody else holds, and prolongs those that they hold. A judgement ends a claim. An API key is refused.',
  resolve: async (input, ctx) => ({ outcomes: await claimComments(ctx, input) }),
  output: (t) => ({
    outcomes: t.expose('outcomes', { type: [OutcomeRef], description: 'The outcomes, in the order of the ids.' }),
  }),
})

addMutation('releaseClaims', {
  shape: releaseInput,
  input: (t) => ({ ids: t.idList({ description: 'The comments, 1 to 50. Without them, all of the caller.' }) }),
  access: 'moderate_content',
  throws: ['admin_only'],
  description: 'Gives claims of the signed-in member back.',
  resolve: async (input, ctx) => ({ released: await releaseClaims(ctx, input) }),
  output: (t) => ({ released: t.exposeInt('released', { description: 'How many claims these were.' }) }),
})

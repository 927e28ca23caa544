import { searchSchema } from '../../core/database/search.ts'
import { moderationModeSchema } from '../../core/settings/tenant.ts'
import { externalIdSchema } from '../../core/input/texts.ts'
import { builder } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { enumOf, inputFields } from '../../graphql/checked.ts'
import { NodeRef } from '../../graphql/node.ts'
import { asksOnlyFor } from '../../graphql/plan.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { storedFields } from '../../graphql/stored-fields.ts'
import { updateDiscussion } from './change.ts'
import { deleteDiscussion } from './delete.ts'
import * as discussions from './discussions.ts'
import {
  type Discussion,
  discussionChanges,
  discussionInput,
  FIELDS,
  givenInput,
  JSON_FIELDS,
  overrideInput,
} from './fields.ts'
import { seenByClient } from './scope.ts'

export const DiscussionStateEnum = addEnum(
  'DiscussionState',
  'open → locked → open; open or locked → archived, which is final.',
  {
    open: 'Readers may write.',
    locked: 'Readers cannot write; moderators can act.',
    archived: 'Nothing can be changed. This is final.',
  },
)

const DiscussionSortEnum = addEnum('DiscussionSort', 'The order of a list of discussions.', {
  recent: 'Newest first.',
  active: 'Most recently commented first, to the minute.',
})

const storedField = storedFields(FIELDS, {
  discussion_state: DiscussionStateEnum,
  moderation_mode: enumOf(moderationModeSchema),
})

/** Its `commentCount` is a field of the comments. */
export const DiscussionRef = builder.objectRef<Discussion>('Discussion').implement({
  description: "The comment thread of one of the tenant's pages.",
  interfaces: [NodeRef],
  fields: (t) =>
    Object.fromEntries(
      JSON_FIELDS.filter((name) => name !== 'commentCount').map((name) => [
        name,
        name === 'lastEventId' ? t.exposeString('lastEventId', { description: FIELDS.seq.help }) : storedField(t, name),
      ]),
    ),
})

export const DiscussionByInput = builder.inputType('DiscussionBy', {
  isOneOf: true,
  description: 'Names a discussion.',
  fields: (t) => ({
    id: t.id({ description: 'Its id in this service.' }),
    externalId: t.string({ description: "The tenant's own key for the page.", extensions: shapedBy(externalIdSchema) }),
  }),
})

/** Fields that need only the discussion's id. */
const HANGS_ON_IT: ReadonlySet<string> = new Set(['id', 'comments', '__typename'])

builder.queryField('discussion', (t) =>
  t.field({
    type: DiscussionRef,
    access: 'key',
    client: true,
    description: 'Returns a discussion.',
    args: { by: t.arg({ type: DiscussionByInput, required: true, description: 'The discussion.' }) },
    resolve: async (_root, { by }, ctx, info) => {
      const get = asksOnlyFor(info, HANGS_ON_IT) ? discussions.getDiscussionUnread : discussions.getDiscussion
      return seenByClient(ctx, await get(ctx, by))
    },
  }),
)

builder.queryField('discussions', (t) =>
  t.connection({
    type: DiscussionRef,
    access: 'key',
    description: 'Returns the discussions of the tenant.',
    args: {
      state: t.arg({ type: DiscussionStateEnum, description: 'Only discussions in this state.' }),
      sort: t.arg({ type: DiscussionSortEnum, defaultValue: 'recent', description: 'The order.' }),
      search: t.arg.string({
        description:
          'Only discussions whose external id begins with this text, or whose title has all of its words. The last word may be a prefix.',
        extensions: shapedBy(searchSchema),
      }),
    },
    resolve: (_root, args, ctx) => discussions.listDiscussions(ctx, args),
  }),
)

addMutation('createDiscussion', {
  shape: discussionInput,
  input: (t) => ({
    externalId: t.string({ required: true, description: "The tenant's own key for the page, 1 to 512 characters." }),
    ...inputFields(t, givenInput('It does not change if this is absent.')),
  }),
  access: 'key',
  throws: ['discussion_archived'],
  description: 'Creates the discussion of an external id. If there is one, its title and url are updated.',
  resolve: (input, ctx) => discussions.createDiscussion(ctx, input),
  output: (t) => ({
    discussion: t.expose('discussion', { type: DiscussionRef, description: 'The discussion.' }),
    created: t.exposeBoolean('created', { description: 'Whether this request created it.' }),
  }),
})

addMutation('updateDiscussion', {
  shape: discussionChanges,
  input: (t) => ({
    id: t.id({ required: true, description: 'The discussion.' }),
    externalId: t.string({
      description: "The tenant's own key for the page. The former one leads to the discussion for a year.",
    }),
    ...inputFields(t, givenInput('Null removes it.')),
    ...inputFields(t, overrideInput("Null: the tenant's.")),
  }),
  access: 'key',
  throws: ['missing_capability', 'discussion_archived', 'external_id_taken'],
  description:
    "Changes the given fields of a discussion. Those that stand over the tenant's settings need `moderate_content`, all others `manage_settings`.",
  resolve: async (input, ctx) => ({ discussion: await updateDiscussion(ctx, input) }),
  output: (t) => ({
    discussion: t.expose('discussion', { type: DiscussionRef, description: 'The discussion.' }),
  }),
})

addMutation('deleteDiscussion', {
  input: (t) => ({ id: t.id({ required: true, description: 'The discussion.' }) }),
  access: 'manage_settings',
  description:
    'Deletes a discussion for good: it cannot be found any more, its external ids are free, and its streams end. ' +
    'Workers then remove its comments with all that belongs to them, its events, and deliveries that still wait.',
  resolve: async (input, ctx) => ({ deletedDiscussionId: await deleteDiscussion(ctx, input.id) }),
  output: (t) => ({
    deletedDiscussionId: t.exposeID('deletedDiscussionId', { description: 'The id of the deleted discussion.' }),
  }),
})

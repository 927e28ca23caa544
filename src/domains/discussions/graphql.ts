import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { namedCounts, seenByClient } from '../client-access/scope.ts'
import { shadowIn } from '../comments/shadow.ts'
import { viewerInShadow } from '../readers/readers.ts'
import { searchSchema } from '../../core/input/search.ts'
import { moderationModeSchema } from '../../core/settings/tenant.ts'
import { externalIdSchema } from '../../core/input/texts.ts'
import { builder } from '../../graphql/builder.ts'
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
import type { DiscussionCount } from './sql.ts'

export const DiscussionStateEnum = builder.enumType('DiscussionState', {
  description: 'open → locked → open; open or locked → archived, which is final.',
  values: {
    open: { description: 'Readers may write.' },
    locked: { description: 'Readers cannot write; moderators can act.' },
    archived: { description: 'Nothing can be changed. This is final.' },
  },
})

const DiscussionSortEnum = builder.enumType('DiscussionSort', {
  description: 'The order of a list of discussions.',
  values: {
    recent: { description: 'Newest first.' },
    active: { description: 'Most recently commented first, to the minute.' },
  },
})

/** The count for a viewer who is banned in shadow: their own comments are added. */
async function withShadow(ctx: Ctx, id: Id, commentCount: number): Promise<number> {
  return commentCount + ((await shadowIn(ctx, id))?.count ?? 0)
}

/** The count for such a viewer, of a page that only its external id names. */
async function withShadowByName(ctx: Ctx, { externalId, commentCount }: DiscussionCount): Promise<number> {
  const id = (await viewerInShadow(ctx)) === null ? null : await discussions.findDiscussionId(ctx, externalId)
  return id === null ? commentCount : withShadow(ctx, id, commentCount)
}

const storedField = storedFields(FIELDS, {
  discussion_state: DiscussionStateEnum,
  moderation_mode: enumOf(moderationModeSchema),
})

export const DiscussionRef = builder.objectRef<Discussion>('Discussion').implement({
  description: "The comment thread of one of the tenant's pages.",
  interfaces: [NodeRef],
  fields: (t) => {
    const special = {
      commentCount: t.int({
        description: FIELDS.commentCount.help,
        resolve: ({ id, commentCount }, _args, ctx) =>
          ctx.caller?.identity == null ? commentCount : withShadow(ctx, id, commentCount),
      }),
      lastEventId: t.exposeString('lastEventId', { description: FIELDS.seq.help }),
    }
    const isSpecial = (name: string): name is keyof typeof special => name in special
    return Object.fromEntries(JSON_FIELDS.map((name) => [name, isSpecial(name) ? special[name] : storedField(t, name)]))
  },
})

const DiscussionCountRef = builder.objectRef<DiscussionCount>('DiscussionCount').implement({
  description: 'The comment count of one page.',
  fields: (t) => ({
    externalId: t.exposeString('externalId', { description: "The tenant's own key for the page." }),
    commentCount: t.int({
      description: 'The number of approved comments. 0 for an unknown page.',
      resolve: (count, _args, ctx) =>
        ctx.caller?.identity == null ? count.commentCount : withShadowByName(ctx, count),
    }),
    state: t.expose('state', {
      type: DiscussionStateEnum,
      description: 'Who may write in it. Open for an unknown page.',
    }),
    lastEventId: t.exposeString('lastEventId', {
      description: 'The position of the count: a stream that begins there misses nothing. 0 for an unknown page.',
    }),
  }),
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

builder.queryField('discussionCounts', (t) =>
  t.field({
    type: [DiscussionCountRef],
    access: 'key',
    client: true,
    description: 'Returns the comment counts of up to 200 pages, in the order of the request.',
    args: {
      externalIds: t.arg.stringList({
        required: true,
        description: "The tenant's own keys for the pages.",
        extensions: shapedBy(discussions.countsSchema),
      }),
    },
    resolve: async (_root, { externalIds }, ctx) =>
      namedCounts(ctx, await discussions.countDiscussions(ctx, externalIds)),
  }),
)

builder.relayMutationField(
  'createDiscussion',
  {
    extensions: shapedBy(discussionInput),
    inputFields: (t) => ({
      externalId: t.string({ required: true, description: "The tenant's own key for the page, 1 to 512 characters." }),
      ...inputFields(t, givenInput('It does not change if this is absent.')),
    }),
  },
  {
    access: 'key',
    throws: ['discussion_archived'],
    description: 'Creates the discussion of an external id. If there is one, its title and url are updated.',
    resolve: (_root, { input }, ctx) => discussions.createDiscussion(ctx, input),
  },
  {
    outputFields: (t) => ({
      discussion: t.expose('discussion', { type: DiscussionRef, description: 'The discussion.' }),
      created: t.exposeBoolean('created', { description: 'Whether this request created it.' }),
    }),
  },
)

builder.relayMutationField(
  'updateDiscussion',
  {
    extensions: shapedBy(discussionChanges),
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The discussion.' }),
      externalId: t.string({
        description: "The tenant's own key for the page. The former one leads to the discussion for a year.",
      }),
      ...inputFields(t, givenInput('Null removes it.')),
      ...inputFields(t, overrideInput("Null: the tenant's.")),
    }),
  },
  {
    access: 'key',
    throws: ['missing_capability', 'discussion_archived', 'external_id_taken'],
    description:
      "Changes the given fields of a discussion. Those that stand over the tenant's settings need `moderate_content`, all others `manage_settings`.",
    resolve: async (_root, { input }, ctx) => ({ discussion: await updateDiscussion(ctx, input) }),
  },
  {
    outputFields: (t) => ({
      discussion: t.expose('discussion', { type: DiscussionRef, description: 'The discussion.' }),
    }),
  },
)

builder.relayMutationField(
  'deleteDiscussion',
  { inputFields: (t) => ({ id: t.id({ required: true, description: 'The discussion.' }) }) },
  {
    access: 'manage_settings',
    description:
      'Deletes a discussion for good: it cannot be found any more, its external ids are free, and its streams end. ' +
      'Workers then remove its comments with all that belongs to them, its events, and deliveries that still wait.',
    resolve: async (_root, { input }, ctx) => ({ deletedDiscussionId: await deleteDiscussion(ctx, input.id) }),
  },
  {
    outputFields: (t) => ({
      deletedDiscussionId: t.exposeID('deletedDiscussionId', { description: 'The id of the deleted discussion.' }),
    }),
  },
)

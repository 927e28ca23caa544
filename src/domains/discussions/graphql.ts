import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { namedCounts, seenByClient } from '../client-tokens/scope.ts'
import { shadowIn } from '../comments/shadow.ts'
import { viewerInShadow } from '../readers/readers.ts'
import { searchSchema } from '../../core/input/search.ts'
import { externalIdSchema } from '../../core/input/texts.ts'
import { builder } from '../../graphql/builder.ts'
import { NodeRef } from '../../graphql/node.ts'
import { asksOnlyFor } from '../../graphql/plan.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { discussionChanges, updateDiscussion } from './change.ts'
import * as discussions from './discussions.ts'
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

/** The same for a viewer who is banned in shadow, and counts their own. */
async function withShadow(ctx: Ctx, id: Id, commentCount: number): Promise<number> {
  return commentCount + ((await shadowIn(ctx, id))?.count ?? 0)
}

/** The same of a page that only its external id names. */
async function withShadowByName(ctx: Ctx, { externalId, commentCount }: DiscussionCount): Promise<number> {
  const id = (await viewerInShadow(ctx)) === null ? null : await discussions.findDiscussionId(ctx, externalId)
  return id === null ? commentCount : withShadow(ctx, id, commentCount)
}

export const DiscussionRef = builder.objectRef<discussions.Discussion>('Discussion').implement({
  description: "The comment thread of one of the tenant's pages.",
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the discussion in this service.' }),
    externalId: t.exposeString('externalId', { description: "The tenant's own key for the page." }),
    title: t.exposeString('title', { nullable: true, description: 'The title of the page.' }),
    url: t.exposeString('url', { nullable: true, description: 'The address of the page.' }),
    state: t.expose('state', { type: DiscussionStateEnum, description: 'Who may write in it.' }),
    commentCount: t.int({
      description: 'The number of approved comments, exact at every commit.',
      resolve: ({ id, commentCount }, _args, ctx) =>
        ctx.caller?.identity == null ? commentCount : withShadow(ctx, id, commentCount),
    }),
    lastEventId: t.exposeString('lastEventId', {
      description: 'The stream position of this answer. Open the stream with it to miss nothing.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When anything in it last changed.' }),
    lastCommentedAt: t.expose('lastCommentedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its last approved comment was posted.',
    }),
  }),
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
    extensions: shapedBy(discussions.discussionInput),
    inputFields: (t) => ({
      externalId: t.string({ required: true, description: "The tenant's own key for the page, 1 to 512 characters." }),
      title: t.string({
        description: 'The title of the page, at most 500 characters. It does not change if this is absent.',
      }),
      url: t.string({ description: 'The http or https address of the page. It does not change if this is absent.' }),
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
      title: t.string({ description: 'The title of the page, at most 500 characters. Null removes it.' }),
      url: t.string({ description: 'The http or https address of the page. Null removes it.' }),
    }),
  },
  {
    access: 'manage_settings',
    throws: ['discussion_archived', 'external_id_taken'],
    description: 'Changes the given fields of a discussion.',
    resolve: async (_root, { input }, ctx) => ({ discussion: await updateDiscussion(ctx, input) }),
  },
  {
    outputFields: (t) => ({
      discussion: t.expose('discussion', { type: DiscussionRef, description: 'The discussion.' }),
    }),
  },
)

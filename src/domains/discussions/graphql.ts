import { searchSchema } from '../../core/search.ts'
import { externalIdSchema } from '../../core/texts.ts'
import { builder } from '../../schema/builder.ts'
import { shapedBy } from '../../schema/shape.ts'
import * as discussions from './discussions.ts'
import type { DiscussionCount } from './sql.ts'

export const DiscussionStateEnum = builder.enumType('DiscussionState', {
  description: 'open → locked → open; open or locked → archived, which is final.',
  values: {
    open: { description: 'Readers may write.' },
    locked: { description: 'Readers cannot write; moderators can act.' },
    archived: { description: 'Nothing changes any more.' },
  },
})

const DiscussionSortEnum = builder.enumType('DiscussionSort', {
  description: 'The order of a list of discussions.',
  values: {
    recent: { description: 'Newest first.' },
    active: { description: 'Last commented first, to the minute.' },
  },
})

export const DiscussionRef = builder.objectRef<discussions.Discussion>('Discussion').implement({
  description: "The comment thread of one of the tenant's pages.",
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the discussion in this service.' }),
    externalId: t.exposeString('externalId', { description: "The tenant's own key for the page." }),
    title: t.exposeString('title', { nullable: true, description: 'The title of the page.' }),
    url: t.exposeString('url', { nullable: true, description: 'The address of the page.' }),
    state: t.expose('state', { type: DiscussionStateEnum, description: 'Who may write in it.' }),
    commentCount: t.exposeInt('commentCount', {
      description: 'How many approved comments it has, exact at every commit.',
    }),
    lastEventId: t.exposeString('lastEventId', {
      description: 'The stream position that this representation reflects: open the stream with it and miss nothing.',
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
    commentCount: t.exposeInt('commentCount', {
      description: 'How many approved comments it has; 0 for an unknown page.',
    }),
    state: t.expose('state', {
      type: DiscussionStateEnum,
      description: 'Who may write in it; open for an unknown page.',
    }),
  }),
})

builder.queryField('discussion', (t) =>
  t.field({
    type: DiscussionRef,
    nullable: true,
    access: 'key',
    description: 'One discussion, by exactly one of its ids.',
    args: {
      id: t.arg.id({ description: 'Its id in this service.' }),
      externalId: t.arg.string({
        description: "The tenant's own key for the page.",
        extensions: shapedBy(externalIdSchema),
      }),
    },
    resolve: (_root, key, ctx) => discussions.getDiscussion(ctx, key),
  }),
)

builder.queryField('discussions', (t) =>
  t.connection({
    type: DiscussionRef,
    access: 'key',
    description: 'All discussions of the tenant.',
    args: {
      state: t.arg({ type: DiscussionStateEnum, description: 'Only those in this state.' }),
      sort: t.arg({ type: DiscussionSortEnum, defaultValue: 'recent', description: 'The order.' }),
      search: t.arg.string({
        description:
          'Only those whose external id begins with this, or whose title has all of its words, the last one as a beginning.',
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
    description: 'Comment counts of up to 200 pages, in the order asked for.',
    args: {
      externalIds: t.arg.stringList({
        required: true,
        description: "The tenant's keys of the pages.",
        extensions: shapedBy(discussions.countsSchema),
      }),
    },
    resolve: (_root, { externalIds }, ctx) => discussions.countDiscussions(ctx, externalIds),
  }),
)

builder.relayMutationField(
  'createDiscussion',
  {
    extensions: shapedBy(discussions.discussionInput),
    inputFields: (t) => ({
      externalId: t.string({ required: true, description: "The tenant's own key for the page, 1 to 255 characters." }),
      title: t.string({ description: 'The title of the page, at most 500 characters; left out, it stays.' }),
      url: t.string({ description: 'The http or https address of the page; left out, it stays.' }),
    }),
  },
  {
    access: 'key',
    throws: ['discussion_archived'],
    description:
      'The discussion of an external id: made where there is none, with the new title and url where there is.',
    resolve: (_root, { input }, ctx) => discussions.createDiscussion(ctx, input),
  },
  {
    outputFields: (t) => ({
      discussion: t.expose('discussion', { type: DiscussionRef, description: 'The discussion.' }),
      created: t.exposeBoolean('created', { description: 'Whether it was made by this call.' }),
    }),
  },
)

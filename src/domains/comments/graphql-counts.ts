import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { builder } from '../../graphql/builder.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { countDiscussions, countsSchema, findDiscussionId } from '../discussions/discussions.ts'
import { FIELDS } from '../discussions/fields.ts'
import { DiscussionRef, DiscussionStateEnum } from '../discussions/graphql.ts'
import { type DiscussionCount, namedCounts } from '../discussions/scope.ts'
import { viewerInShadow } from '../readers/readers.ts'
import { shadowIn } from './shadow.ts'

/** The count for a viewer who is banned in shadow: their own comments are added. */
async function withShadow(ctx: Ctx, id: Id, commentCount: number): Promise<number> {
  return commentCount + ((await shadowIn(ctx, id))?.count ?? 0)
}

/** The count for such a viewer, of a page that only its external id names. */
async function withShadowByName(ctx: Ctx, { externalId, commentCount }: DiscussionCount): Promise<number> {
  const id = (await viewerInShadow(ctx)) === null ? null : await findDiscussionId(ctx, externalId)
  return id === null ? commentCount : withShadow(ctx, id, commentCount)
}

builder.objectField(DiscussionRef, 'commentCount', (t) =>
  t.int({
    description: FIELDS.commentCount.help,
    resolve: ({ id, commentCount }, _args, ctx) =>
      ctx.caller?.identity == null ? commentCount : withShadow(ctx, id, commentCount),
  }),
)

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
        extensions: shapedBy(countsSchema),
      }),
    },
    resolve: async (_root, { externalIds }, ctx) => namedCounts(ctx, await countDiscussions(ctx, externalIds)),
  }),
)

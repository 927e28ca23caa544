import { upToBudget } from '../../graphql/budget.ts'
import { builder } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { TopDiscussionRef } from '../analytics/graphql.ts'
import { CommentRef } from '../comments/graphql.ts'
import { DiscussionRef } from '../discussions/graphql.ts'
import { type LatestComment, limitSchema, listLatestComments, SEARCHED_LATEST } from './latest.ts'
import { listMostDiscussed, type Window } from './most-discussed.ts'

const LatestCommentRef = builder.objectRef<LatestComment>('LatestComment').implement({
  description: 'A comment of a list over many discussions.',
  fields: (t) => ({
    comment: t.expose('comment', { type: CommentRef, description: 'The comment.' }),
    discussion: t.expose('discussion', { type: DiscussionRef, description: 'Its discussion.' }),
  }),
})

const WindowEnum = addEnum<Window>('DiscussedWindow', 'A span of UTC days. The last of them is today.', {
  day: 'Yesterday and today, so that it is not empty after midnight.',
  week: 'Seven days.',
  month: '30 days.',
})

const limitArg = { defaultValue: 10, extensions: shapedBy(limitSchema.shape.limit) }

builder.queryField('latestComments', (t) =>
  t.field({
    type: [LatestCommentRef],
    access: 'key',
    description:
      "Returns the newest approved comments over the tenant's discussions, newest first. Of the newest " +
      `${SEARCHED_LATEST} comments in any state: the list may be short while a flood waits for approval. It is at most some seconds old.`,
    args: { limit: t.arg.int({ ...limitArg, description: 'The number of comments, 1 to 50.' }) },
    resolve: async (_root, args, ctx, info) =>
      upToBudget(ctx, info, 'LatestComment', await listLatestComments(ctx, args)),
  }),
)

builder.queryField('mostDiscussed', (t) =>
  t.field({
    type: [TopDiscussionRef],
    access: 'key',
    description:
      'Returns the discussions with the most approved comments that were posted in a window, the most first. It is at most half a minute old.',
    args: {
      window: t.arg({ type: WindowEnum, defaultValue: 'day', description: 'When the comments were posted.' }),
      limit: t.arg.int({ ...limitArg, description: 'The number of discussions, 1 to 50.' }),
    },
    resolve: (_root, args, ctx) => listMostDiscussed(ctx, args),
  }),
)

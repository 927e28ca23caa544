import { builder } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { listed } from '../../graphql/connection.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { CommentRef, CommentStatusEnum } from '../comments/graphql.ts'
import { HoldReasonEnum } from './graphql-queue.ts'
import { commentSearchInput, searchComments } from './search/search.ts'

builder.objectField(listed(builder, CommentRef).connection, 'partial', (t) =>
  t.boolean({
    nullable: true,
    description:
      'Of a search: whether the request has looked at as many comments as one may. The page may then be short, or empty, and the list goes on after endCursor. Null for other lists.',
    resolve: ({ partial }) => partial ?? null,
  }),
)

builder.queryField('comments', (t) =>
  t.connection({
    type: CommentRef,
    access: 'moderate_content',
    throws: ['not_found'],
    description: "Searches the tenant's comments, in any state.",
    args: {
      search: t.arg.string({
        description:
          'Only comments whose text has all of these words, the last one perhaps only as a beginning. Case and accents do not count.',
        extensions: shapedBy(commentSearchInput.shape.search),
      }),
      status: t.arg({ type: CommentStatusEnum, description: 'Only comments in this state.' }),
      authorId: t.arg.id({ description: 'Only comments of this reader.' }),
      discussionId: t.arg.id({ description: 'Only comments of this discussion.' }),
      reason: t.arg({ type: HoldReasonEnum, description: 'Only comments that are held or flagged for this reason.' }),
      from: t.arg({ type: 'DateTime', description: 'Only comments from this instant on.' }),
      to: t.arg({ type: 'DateTime', description: 'Only comments before this instant.' }),
      sort: t.arg({
        type: addEnum('CommentSearchSort', 'The order of a search.', {
          newest: 'Newest first.',
          oldest: 'Oldest first.',
        }),
        defaultValue: 'newest',
        description: 'The order.',
      }),
    },
    resolve: (_root, args, ctx) => searchComments(ctx, args),
  }),
)

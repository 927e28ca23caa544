import { COUNT_LIMIT } from '../../core/database/lists.ts'
import { builder } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { listed } from '../../graphql/connection.ts'
import { CommentRef, DecisionRef } from '../comments/graphql.ts'
import type { HoldDetail } from '../comments/hold-details.ts'
import type { HoldReason } from '../comments/rules.ts'
import { loadToldDecision } from '../comments/viewers-decision.ts'
import { listModerationQueue, type QueueCounts, type QueueItem } from './queue.ts'
import type { QueueSort } from './queue-ranked-sql.ts'
import type { QueueFrame } from './queue-topic.ts'
import { followModerationQueue } from './queue-watch.ts'

const QueueStatusEnum = addEnum('ModerationQueueStatus', 'The comments that a moderation queue lists.', {
  pending: 'Comments that wait for a moderator and are not public.',
  reported: 'Approved or pending comments with reports, or an objection of a rule, that no moderator has answered.',
  rejected: 'Rejected by a moderator.',
  unreviewed: 'Approved comments that no moderator has looked at. An edit brings one back.',
})

export const HoldReasonEnum = addEnum<HoldReason>(
  'HoldReason',
  'Why a comment waits for a moderator, or is to be reviewed after it appeared.',
  {
    pre_moderation: 'Every comment waits.',
    suspect_word: 'It has one of the suspect words.',
    too_many_links: 'It has more links than maxLinks.',
    repeated_text: 'Its author has posted the same text within 24 hours, or readers have as often as holdRepeatedText.',
    earlier_rejections: 'Moderators have rejected as many comments of its author in a row as holdAfterRejections.',
    first_comments: 'Its author has fewer approved comments than holdFirstComments.',
    guest: 'Its author is a guest with fewer approved comments than guests.hold.',
    held_reader: 'A moderator has all comments of its author held.',
    shadow_ban: 'Its author has a shadow ban.',
    classifier:
      "The tenant's classifier has not answered yet, leaves the decision to a moderator, or rejected the comment.",
    reports: 'The number of reports has reached reportThreshold.',
    author_banned: 'A ban of its author has withheld it.',
  },
)

export const HoldDetailRef = builder.objectRef<HoldDetail>('HoldDetail').implement({
  description: 'What a rule has found in a text, and where.',
  fields: (t) => ({
    rule: t.field({
      type: addEnum<HoldDetail['rule']>('DetailedRule', 'A rule that finds something in a text.', {
        banned_word: 'It refuses a text with one of bannedWords.',
        suspect_word: 'It holds a text with one of suspectWords.',
        too_many_links: 'It holds a text with more links than maxLinks.',
        repeated_text: 'It holds a text that readers have posted as often as holdRepeatedText.',
      }),
      description: 'The rule.',
      resolve: ({ rule }) => rule,
    }),
    match: t.exposeString('match', {
      description: 'The entry of the word list, the address of the link, or how often the text was posted before.',
    }),
    start: t.exposeInt('start', {
      nullable: true,
      description: 'Where it begins in the text, in UTF-16 units. Null if the Markdown has it only as it is shown.',
    }),
    end: t.exposeInt('end', { nullable: true, description: 'Where it ends in the text, likewise.' }),
  }),
})

export const QueueItemRef = builder.objectRef<QueueItem>('ModerationQueueItem').implement({
  description: 'A comment for moderators to review.',
  fields: (t) => ({
    comment: t.expose('comment', { type: CommentRef, description: 'The comment.' }),
    reportCount: t.exposeInt('reportCount', { description: 'The number of readers who reported it.' }),
    openReportCount: t.exposeInt('openReportCount', {
      description: 'The number of reports that no moderator has answered by approving or rejecting the comment.',
    }),
    reason: t.expose('reason', {
      type: HoldReasonEnum,
      nullable: true,
      description:
        'Why the comment waits or is to be reviewed. Null if a moderator has decided on it, or if only reports brought it here.',
    }),
    holdDetails: t.expose('holdDetails', {
      type: [HoldDetailRef],
      description: 'What the rule of this reason has found in the text, at most 20 places.',
    }),
    reviewedAt: t.expose('reviewedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When a moderator last judged the present text or marked it as reviewed. Null if none has looked at it.',
    }),
    decision: t.field({
      type: DecisionRef,
      nullable: true,
      description:
        'The last decision on the present text, as its author sees it. Null before one, after an edit, and where the author is told nothing, as with a shadow ban.',
      resolve: ({ comment }, _args, ctx) => loadToldDecision(ctx, comment.id),
    }),
  }),
})

builder.objectField(listed(builder, QueueItemRef).connection, 'partial', (t) =>
  t.boolean({
    description:
      'Whether the request has looked at as many comments as one may. The page may then be short, or empty, and the list goes on after endCursor.',
    resolve: ({ partial }) => partial === true,
  }),
)

builder.queryField('moderationQueue', (t) =>
  t.connection({
    type: QueueItemRef,
    access: 'moderate_content',
    throws: ['not_found'],
    description:
      'Returns the comments of a moderation queue, longest waiting first. Rejected and unreviewed comments come newest first. A request with a filter, with another order, or for unreviewed comments looks at 10 000 at most: a longer queue is sorted in stretches of as many.',
    args: {
      status: t.arg({ type: QueueStatusEnum, defaultValue: 'pending', description: 'The queue.' }),
      discussionId: t.arg.id({ description: 'Only comments of this discussion.' }),
      authorId: t.arg.id({ description: 'Only comments of this reader.' }),
      reason: t.arg({ type: HoldReasonEnum, description: 'Only comments that are held or flagged for this reason.' }),
      sort: t.arg({
        type: addEnum<QueueSort>('ModerationQueueSort', 'The order of a moderation queue.', {
          oldest: 'Oldest first.',
          newest: 'Newest first.',
          most_reported: 'Those with the most reports first that no moderator has answered.',
          busiest:
            "Those first whose discussion has the most comments, in any state, among the tenant's last 10 000 of the last 24 hours.",
        }),
        description:
          'The order. Of comments alike, the oldest is first. Unreviewed comments are sorted by time alone. The default is the order of the queue.',
      }),
    },
    resolve: (_root, args, ctx) => listModerationQueue(ctx, args),
  }),
)

export const BOUNDED = `Counted up to ${COUNT_LIMIT.toLocaleString('en').replace(',', ' ')}: that number means that many or more.`

const QueueCountsRef = builder.objectRef<QueueCounts>('ModerationQueueCounts').implement({
  description: 'The number of comments in the moderation queues.',
  fields: (t) => ({
    pending: t.exposeInt('pending', { description: `Those in the queue \`pending\`. ${BOUNDED}` }),
    reported: t.exposeInt('reported', { description: `Those in the queue \`reported\`. ${BOUNDED}` }),
  }),
})

builder.subscriptionField('moderationQueueChanged', (t) =>
  t.field({
    type: QueueCountsRef,
    access: 'moderate_content',
    description:
      'Subscribes to the sizes of the moderation queues. The first event comes at once, further ones when a comment in a queue is added, removed or changed, or a colleague of another member claims one or gives it back, at most four times a second. The sizes are of whole queues, also for a client that shows a part of one: it reads its part again with moderationQueue.',
    subscribe: (_root, _args, ctx) => followModerationQueue(ctx),
    resolve: ({ counts }: QueueFrame) => counts,
  }),
)

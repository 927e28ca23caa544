import { takeList } from '../../graphql/budget.ts'
import { builder } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { DiscussionRef } from '../discussions/graphql.ts'
import { ReaderRef } from '../readers/graphql.ts'
import { type Bucket, type Counts, getSummary, type Summary } from './summary.ts'
import { getTop, type Top, type TopDiscussion, type TopReader } from './top.ts'

const IntervalEnum = addEnum('AnalyticsInterval', 'The length of a bucket. Buckets follow UTC.', {
  hour: 'An hour.',
  day: 'A day, from midnight UTC.',
})

const CommentsRef = builder.objectRef<Counts['comments']>('AnalyticsComments').implement({
  description: 'Comments by the time of posting and by their present state.',
  fields: (t) => ({
    pending: t.exposeInt('pending', { description: 'Comments that wait for a moderator.' }),
    approved: t.exposeInt('approved', { description: 'Approved comments.' }),
    rejected: t.exposeInt('rejected', { description: 'Rejected by a moderator.' }),
    deleted: t.exposeInt('deleted', {
      description: 'Comments deleted by their author or a moderator. Comments that an erasure removed are not counted.',
    }),
  }),
})

const DeliveriesRef = builder.objectRef<Counts['deliveries']>('AnalyticsDeliveries').implement({
  description:
    'Webhook deliveries by the time they were made and by their present status. The numbers stay when the records of the deliveries are deleted.',
  fields: (t) => ({
    pending: t.exposeInt('pending', { description: 'Waiting for an attempt, or in one.' }),
    delivered: t.exposeInt('delivered', { description: 'Accepted by the receiver.' }),
    failed: t.exposeInt('failed', { description: 'Failed: no attempt is left.' }),
    held: t.exposeInt('held', { description: 'Waiting for their disabled endpoint to be enabled.' }),
    cancelled: t.exposeInt('cancelled', { description: 'Cancelled because their endpoint was deleted.' }),
  }),
})

const REACTIONS = 'Reactions on any comment, by when they were last set. Removed reactions are not counted.'
const REPORTS = 'Reports of comments, by when they were made.'

const TotalsRef = builder.objectRef<Counts>('AnalyticsTotals').implement({
  description:
    'The sums over the series. Active readers have no sum: a reader who was active on two days would count twice.',
  fields: (t) => ({
    comments: t.expose('comments', { type: CommentsRef, description: 'Comments posted, by their state now.' }),
    reactions: t.exposeInt('reactions', { description: REACTIONS }),
    reports: t.exposeInt('reports', { description: REPORTS }),
    deliveries: t.expose('deliveries', { type: DeliveriesRef, description: 'Webhook deliveries made, by outcome.' }),
  }),
})

const BucketRef = builder.objectRef<Bucket>('AnalyticsBucket').implement({
  description: 'One hour or day.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When the bucket begins.' }),
    comments: t.expose('comments', {
      type: CommentsRef,
      description: 'Comments posted in the bucket, by their present state.',
    }),
    reactions: t.exposeInt('reactions', { description: REACTIONS }),
    activeReaders: t.exposeInt('activeReaders', {
      description:
        'Number of different readers who posted or reported a comment in the bucket, or hold a reaction that they last set in it. The present state of the comment does not matter. Erased readers are not counted.',
    }),
    reports: t.exposeInt('reports', { description: REPORTS }),
    deliveries: t.expose('deliveries', {
      type: DeliveriesRef,
      description: 'Webhook deliveries made in the bucket, by outcome.',
    }),
  }),
})

const SummaryRef = builder.objectRef<Summary>('AnalyticsSummary').implement({
  description:
    'Activity in a time span, exact at the time of the request, or some seconds before it where the service reads a replica.',
  fields: (t) => ({
    interval: t.expose('interval', { type: IntervalEnum, description: 'How long each bucket of the series is.' }),
    from: t.expose('from', { type: 'DateTime', description: 'When the first bucket begins.' }),
    to: t.expose('to', { type: 'DateTime', description: 'When the last bucket ends.' }),
    totals: t.expose('totals', { type: TotalsRef, description: 'The sums over the series.' }),
    series: t.field({
      type: [BucketRef],
      description: 'All buckets of the span in order, empty ones too.',
      resolve: ({ series }, _args, ctx, info) => {
        takeList(ctx, info, { count: series.length, typeName: 'AnalyticsBucket', argument: '/from' })
        return series
      },
    }),
  }),
})

const FROM = 'When the span begins, rounded down to the beginning of a bucket.'
const TO = 'When the span ends (exclusive), rounded up to the end of a bucket. The default is the present bucket.'

builder.queryField('analyticsSummary', (t) =>
  t.field({
    type: SummaryRef,
    access: 'view_analytics',
    description: 'Returns the activity by hour (at most 8 784) or by day (at most 1 000).',
    args: {
      from: t.arg({ type: 'DateTime', description: `${FROM} The default is 30 days, or 24 hours, before the end.` }),
      to: t.arg({ type: 'DateTime', description: TO }),
      interval: t.arg({ type: IntervalEnum, defaultValue: 'day', description: 'The length of a bucket.' }),
    },
    resolve: (_root, args, ctx) => getSummary(ctx, args),
  }),
)

export const TopDiscussionRef = builder.objectRef<TopDiscussion>('AnalyticsTopDiscussion').implement({
  description: 'A discussion with many comments.',
  fields: (t) => ({
    discussion: t.expose('discussion', { type: DiscussionRef, description: 'The discussion.' }),
    comments: t.exposeInt('comments', {
      description: 'Number of its comments that were posted in the span and are approved.',
    }),
  }),
})

const TopReaderRef = builder.objectRef<TopReader>('AnalyticsTopReader').implement({
  description: 'A reader with many comments.',
  fields: (t) => ({
    reader: t.expose('reader', { type: ReaderRef, description: 'The reader.' }),
    comments: t.exposeInt('comments', {
      description: 'Number of their comments that were posted in the span and are approved.',
    }),
  }),
})

const TopRef = builder.objectRef<Top>('AnalyticsTop').implement({
  description:
    'The discussions and readers with the most comments in a span of days, exact at the time of the request, or some seconds before it where the service reads a replica.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'When the first day begins.' }),
    to: t.expose('to', { type: 'DateTime', description: 'When the last day ends.' }),
    discussions: t.expose('discussions', {
      type: [TopDiscussionRef],
      description: 'Discussions with the most comments first. Equal numbers are ordered by age, oldest first.',
    }),
    readers: t.expose('readers', {
      type: [TopReaderRef],
      description: 'Readers with the most comments first. Equal numbers are ordered by age, oldest first.',
    }),
  }),
})

builder.queryField('analyticsTop', (t) =>
  t.field({
    type: TopRef,
    access: 'view_analytics',
    description: 'Returns the discussions and readers with the most approved comments in a span of at most 92 days.',
    args: {
      from: t.arg({ type: 'DateTime', description: `${FROM} The default is 7 days before the end.` }),
      to: t.arg({ type: 'DateTime', description: TO }),
      limit: t.arg.int({ defaultValue: 10, description: 'The number of discussions and of readers, 1 to 50.' }),
    },
    resolve: (_root, args, ctx) => getTop(ctx, args),
  }),
)

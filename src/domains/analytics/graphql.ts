import { builder } from '../../schema/builder.ts'
import { DiscussionRef } from '../discussions/graphql.ts'
import { ReaderRef } from '../readers/graphql.ts'
import { type Bucket, type Counts, getSummary, type Summary } from './summary.ts'
import { getTop, type Top, type TopDiscussion, type TopReader } from './top.ts'

const IntervalEnum = builder.enumType('AnalyticsInterval', {
  description: 'How long a bucket is. Buckets are those of UTC.',
  values: {
    hour: { description: 'An hour.' },
    day: { description: 'A day, from midnight UTC.' },
  },
})

const CommentsRef = builder.objectRef<Counts['comments']>('AnalyticsComments').implement({
  description: 'Comments by when they were posted and by the state that they are in now.',
  fields: (t) => ({
    pending: t.exposeInt('pending', { description: 'Waiting for a moderator now.' }),
    approved: t.exposeInt('approved', { description: 'In view now.' }),
    rejected: t.exposeInt('rejected', { description: 'Refused by a moderator.' }),
    deleted: t.exposeInt('deleted', {
      description: 'Deleted by their author or a moderator. Those that an erasure has removed are in no number.',
    }),
  }),
})

const DeliveriesRef = builder.objectRef<Counts['deliveries']>('AnalyticsDeliveries').implement({
  description:
    'Webhook deliveries by when they were made and by how far they are now. One keeps its outcome here after its own record has gone.',
  fields: (t) => ({
    pending: t.exposeInt('pending', { description: 'Waiting for an attempt, or in one.' }),
    delivered: t.exposeInt('delivered', { description: 'Taken by the receiver.' }),
    failed: t.exposeInt('failed', { description: 'Given up.' }),
    held: t.exposeInt('held', { description: 'Waiting for their disabled endpoint to be enabled.' }),
    cancelled: t.exposeInt('cancelled', { description: 'Gone before they had an outcome, with their endpoint.' }),
  }),
})

const REACTIONS =
  'Reactions that are held now, on any comment, by when they were last set. One that was taken back is in no number.'
const REPORTS = 'Reports of comments, by when they were made.'

const TotalsRef = builder.objectRef<Counts>('AnalyticsTotals').implement({
  description:
    'The sums over the series. There is none of active readers: who was active on two days is one reader of each.',
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
    at: t.expose('at', { type: 'DateTime', description: 'When it begins.' }),
    comments: t.expose('comments', { type: CommentsRef, description: 'Comments posted in it, by their state now.' }),
    reactions: t.exposeInt('reactions', { description: REACTIONS }),
    activeReaders: t.exposeInt('activeReaders', {
      description:
        'Different readers who posted a comment in it (whatever its state now), reported one, or hold a reaction that they last set in it. Erased readers are no longer counted.',
    }),
    reports: t.exposeInt('reports', { description: REPORTS }),
    deliveries: t.expose('deliveries', {
      type: DeliveriesRef,
      description: 'Webhook deliveries made in it, by outcome.',
    }),
  }),
})

const SummaryRef = builder.objectRef<Summary>('AnalyticsSummary').implement({
  description: 'What happened in a span of time, exact as of now.',
  fields: (t) => ({
    interval: t.expose('interval', { type: IntervalEnum, description: 'How long each bucket of the series is.' }),
    from: t.expose('from', { type: 'DateTime', description: 'When the first bucket begins.' }),
    to: t.expose('to', { type: 'DateTime', description: 'When the last bucket ends.' }),
    totals: t.expose('totals', { type: TotalsRef, description: 'The sums over the series.' }),
    series: t.expose('series', {
      type: [BucketRef],
      description: 'Every bucket of the span in order, also where nothing happened.',
    }),
  }),
})

const FROM = 'When the span begins; brought forward to the beginning of its bucket.'
const TO = 'When the span ends, itself not in it; put off to the end of its bucket. The bucket of now unless given.'

builder.queryField('analyticsSummary', (t) =>
  t.field({
    type: SummaryRef,
    access: 'view_analytics',
    description: 'What happened, by hour (8 784 of them at most) or day (1 000).',
    args: {
      from: t.arg({ type: 'DateTime', description: `${FROM} 30 days, or 24 hours, before its end unless given.` }),
      to: t.arg({ type: 'DateTime', description: TO }),
      interval: t.arg({ type: IntervalEnum, defaultValue: 'day', description: 'How long each bucket is.' }),
    },
    resolve: (_root, args, ctx) => getSummary(ctx, args),
  }),
)

const TopDiscussionRef = builder.objectRef<TopDiscussion>('AnalyticsTopDiscussion').implement({
  description: 'A discussion with many comments.',
  fields: (t) => ({
    discussion: t.expose('discussion', { type: DiscussionRef, description: 'The discussion.' }),
    comments: t.exposeInt('comments', {
      description: 'Its comments that were posted in the span and are approved now.',
    }),
  }),
})

const TopReaderRef = builder.objectRef<TopReader>('AnalyticsTopReader').implement({
  description: 'A reader with many comments.',
  fields: (t) => ({
    reader: t.expose('reader', { type: ReaderRef, description: 'The reader.' }),
    comments: t.exposeInt('comments', {
      description: 'Their comments that were posted in the span and are approved now.',
    }),
  }),
})

const TopRef = builder.objectRef<Top>('AnalyticsTop').implement({
  description: 'The discussions and readers with the most comments of a span of days, exact as of now.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'When the first day begins.' }),
    to: t.expose('to', { type: 'DateTime', description: 'When the last day ends.' }),
    discussions: t.expose('discussions', {
      type: [TopDiscussionRef],
      description: 'Discussions, the most commented first; of equals the oldest.',
    }),
    readers: t.expose('readers', {
      type: [TopReaderRef],
      description: 'Readers, the most commenting first; of equals the one known longest.',
    }),
  }),
})

builder.queryField('analyticsTop', (t) =>
  t.field({
    type: TopRef,
    access: 'view_analytics',
    description: 'The discussions and readers with the most approved comments of some days, 92 at most.',
    args: {
      from: t.arg({ type: 'DateTime', description: `${FROM} 7 days before its end unless given.` }),
      to: t.arg({ type: 'DateTime', description: TO }),
      limit: t.arg.int({ defaultValue: 10, description: 'How many of each, 1 to 50.' }),
    },
    resolve: (_root, args, ctx) => getTop(ctx, args),
  }),
)

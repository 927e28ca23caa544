import { ERRORS } from '../error-table.ts'
import { UNCAUGHT } from '../process/uncaught.ts'

/** Durations of requests and statements. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Rows of a batch. */
const ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/**
 * Why the service ended a stream: unsent data over the bound, nothing taken for 10 s, its lifetime
 * or that of its credentials over, its key revoked, its admin removed or with a new password, or
 * the process stopping.
 */
export const CUTS = ['unsent', 'stalled', 'expired', 'revoked', 'deleted', 'shutdown', 'failed'] as const

/** Backlogs in the database are counted up to this many rows. */
export const BACKLOG_LIMIT = 10_000

/** The processes that have a metric. */
export type Where = 'every process' | 'the api' | 'workers' | 'with a replica'

interface MetricBase {
  help: string
  where: Where
  /** The labels, each with all its values or with what bounds them. */
  labels?: Readonly<Record<string, readonly string[] | string>>
}

interface CounterMetric extends MetricBase {
  type: 'counter'
}

interface GaugeMetric extends MetricBase {
  type: 'gauge'
  /** How the parent combines this gauge of the processes of one machine. */
  aggregator: 'sum' | 'min' | 'max'
}

interface HistogramMetric extends MetricBase {
  type: 'histogram'
  buckets: readonly number[]
}

export type Metric = CounterMetric | GaugeMetric | HistogramMetric

/**
 * Every metric of the service, in the order of docs/reference/metrics.md, which is generated from
 * it. No label has unbounded values, such as ids.
 */
export const METRICS = {
  service_ready: {
    type: 'gauge',
    aggregator: 'min',
    where: 'every process',
    help: '1 where `/readyz` answers 200, else 0.',
  },
  http_request_duration_seconds: {
    type: 'histogram',
    where: 'the api',
    help: 'How long answers took: until all was sent, of a stream until it was open.',
    labels: { method: 'the method', route: 'the pattern of the route, or `unknown`', status: '`2xx` to `5xx`' },
    buckets: SECONDS,
  },
  http_connections: { type: 'gauge', aggregator: 'sum', where: 'the api', help: 'Open connections.' },
  http_connections_refused_total: {
    type: 'counter',
    where: 'the api',
    help: 'Connections that were closed at once, by the limit that they were over: of the process or of an address.',
    labels: { limit: ['process', 'address'] },
  },
  refusals_total: {
    type: 'counter',
    where: 'the api',
    help: 'Errors in answers to callers, by code. Of a GraphQL answer each error counts. A replayed answer does not count again.',
    labels: {
      code: Object.keys(ERRORS),
      surface: 'where: `rest`, `graphql`, `stream`, or `other` (documentation, console, health)',
    },
  },
  stream_connections: { type: 'gauge', aggregator: 'sum', where: 'the api', help: 'Open streams and subscriptions.' },
  stream_discussions: {
    type: 'gauge',
    aggregator: 'sum',
    where: 'the api',
    help: 'Discussions that this process listens to.',
  },
  stream_events_total: { type: 'counter', where: 'the api', help: 'Events that went out live.' },
  stream_frames_total: {
    type: 'counter',
    where: 'the api',
    help: 'Events times the streams that they were written to, live and as replay.',
    labels: { kind: ['live', 'replay'] },
  },
  stream_bytes_total: {
    type: 'counter',
    where: 'the api',
    help: 'Bytes of the events that were written, live and as replay.',
    labels: { kind: ['live', 'replay'] },
  },
  stream_replays_total: { type: 'counter', where: 'the api', help: 'Streams that began with a replay.' },
  stream_repaired_events_total: {
    type: 'counter',
    where: 'the api',
    help: 'Events that the bus did not bring, and that were read from the database.',
  },
  stream_cuts_total: {
    type: 'counter',
    where: 'the api',
    help: 'Streams that the service ended, by reason.',
    labels: { reason: CUTS },
  },
  stream_delay_seconds: {
    type: 'histogram',
    where: 'the api',
    help: 'From when an event happened until it was written to the sockets of this process, by their clocks.',
    buckets: SECONDS,
  },
  stream_pause_seconds: {
    type: 'gauge',
    aggregator: 'max',
    where: 'the api',
    help: 'How long events gather after a write to the streams of a discussion: 0.005, and up to `STREAM_MAX_PAUSE_MS` under load.',
  },
  cache_bytes: {
    type: 'gauge',
    aggregator: 'sum',
    where: 'the api',
    help: 'Memory of what is cached beside pages, of at most `CACHE_MB`, as it is estimated.',
  },
  cache_entries: { type: 'gauge', aggregator: 'sum', where: 'the api', help: 'Entries of these caches.' },
  page_cache_requests_total: {
    type: 'counter',
    where: 'the api',
    help: 'Pages of comments that were asked for: `hit` was kept, `miss` was made, `shared` waited for one that was being made, `not_modified` was a 304 without a look at the page.',
    labels: { result: ['hit', 'miss', 'shared', 'not_modified'] },
  },
  page_cache_bytes: {
    type: 'gauge',
    aggregator: 'sum',
    where: 'the api',
    help: 'Memory of the pages that are kept, of at most `PAGE_CACHE_MB`.',
  },
  page_cache_entries: { type: 'gauge', aggregator: 'sum', where: 'the api', help: 'Pages that are kept.' },
  write_batch_rows: {
    type: 'histogram',
    where: 'every process',
    help: 'Rows that were written together in one statement: comments, reactions, or outcomes of attempts. In a lane: those that waited for a lock. Apart: those of a tenant whose rows take long.',
    labels: {
      of: [
        'comments',
        'comments_apart',
        'comments_in_lane',
        'reactions',
        'reactions_apart',
        'reactions_in_lane',
        'outcomes',
        'outcomes_in_lane',
      ],
    },
    buckets: ROWS,
  },
  write_lanes: {
    type: 'gauge',
    aggregator: 'sum',
    where: 'every process',
    help: 'Lanes that are open: queues of writes that wait for a lock, for comments one a discussion, for reactions one a discussion or a comment, for outcomes one a tenant.',
    labels: { of: ['comments', 'reactions', 'outcomes'] },
  },
  write_lane_rows_total: {
    type: 'counter',
    where: 'every process',
    help: 'Comments, reactions and outcomes that went into a lane.',
    labels: { of: ['comments', 'reactions', 'outcomes'] },
  },
  database_pool_connections_in_use: {
    type: 'gauge',
    aggregator: 'sum',
    where: 'every process',
    help: 'Connections of the pool that work for a statement or a transaction.',
  },
  database_pool_connections_idle: {
    type: 'gauge',
    aggregator: 'sum',
    where: 'every process',
    help: 'Connections of the pool that are free.',
  },
  database_pool_connections_max: {
    type: 'gauge',
    aggregator: 'sum',
    where: 'every process',
    help: 'Connections that the pool may have: `DATABASE_POOL_SIZE`.',
  },
  database_pool_waiting: {
    type: 'gauge',
    aggregator: 'sum',
    where: 'every process',
    help: 'Statements and transactions that wait for a connection.',
  },
  database_pool_wait_seconds: {
    type: 'histogram',
    where: 'every process',
    help: 'How long statements and transactions waited for a connection of the pool, in vain too.',
    buckets: [0.0001, 0.0005, ...SECONDS],
  },
  database_replica_lag_seconds: {
    type: 'gauge',
    aggregator: 'max',
    where: 'with a replica',
    help: 'How far the replica is behind the primary at most. Absent until it was once compared with it.',
  },
  database_late_reads_total: {
    type: 'counter',
    where: 'with a replica',
    help: 'Reads that may be late, by the server that answered.',
    labels: { server: ['primary', 'replica'] },
  },
  bus_up: {
    type: 'gauge',
    aggregator: 'min',
    where: 'every process',
    help: '1 while messages of the bus flow, else 0.',
  },
  bus_delay_seconds: {
    type: 'histogram',
    where: 'every process',
    help: 'From the publication of a message to its receipt: of one message each 2 s that a process sends itself over the bus.',
    buckets: [0.0001, 0.00025, 0.0005, ...SECONDS],
  },
  unhandled_errors_total: {
    type: 'counter',
    where: 'every process',
    help: 'Errors that no code of the process has handled. After a rejection it goes on; after an exception it stops, to be started again.',
    labels: { kind: UNCAUGHT },
  },
  bus_gaps_total: {
    type: 'counter',
    where: 'every process',
    help: 'How often the bus came back after an outage in which messages may have been lost.',
  },
  webhook_attempts_total: {
    type: 'counter',
    where: 'workers',
    help: 'Attempts to deliver, by outcome; skipped: nothing was sent.',
    labels: { outcome: ['delivered', 'failed', 'skipped'] },
  },
  webhook_attempt_duration_seconds: {
    type: 'histogram',
    where: 'workers',
    help: 'How long attempts took.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
  webhook_attempts_in_flight: {
    type: 'gauge',
    aggregator: 'sum',
    where: 'workers',
    help: 'Attempts under way in this process.',
  },
  webhook_backlog_deliveries: {
    type: 'gauge',
    aggregator: 'max',
    where: 'workers',
    help: `Deliveries that are due and could be attempted, replays too, over all processes. Counted to ${BACKLOG_LIMIT}.`,
  },
  webhook_backlog_age_seconds: {
    type: 'gauge',
    aggregator: 'max',
    where: 'workers',
    help: 'How long the oldest delivery that could be attempted has been due, over all processes. Replays do not count.',
  },
  webhook_circuits_open: {
    type: 'gauge',
    aggregator: 'max',
    where: 'workers',
    help: 'Verified endpoints whose circuit is open or half open, over all processes.',
  },
  classifier_requests_due: {
    type: 'gauge',
    aggregator: 'max',
    where: 'workers',
    help: `Comments that a classifier is to be asked about now, over all processes. Counted to ${BACKLOG_LIMIT}.`,
  },
  analytics_deltas_waiting: {
    type: 'gauge',
    aggregator: 'max',
    where: 'workers',
    help: `Changes that are not in the rollups yet, over all processes. Counted to ${BACKLOG_LIMIT}.`,
  },
  backfills_open: {
    type: 'gauge',
    aggregator: 'max',
    where: 'workers',
    help: 'Backfills of migrations that workers have not completed.',
  },
} as const satisfies Record<string, Metric>

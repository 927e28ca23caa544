import type { Id } from '../../core/ids.ts'
import { columns } from '../../core/database/lists.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { DiscussionKey } from '../../live/event-log.ts'

/** The number of streams that one process has open on a discussion. */
export interface StreamCount extends DiscussionKey {
  streams: number
}

const REPORT = statement(
  'report_streams',
  `WITH alive AS (
     INSERT INTO stream_processes (id, seen_at) VALUES ($1, now())
     ON CONFLICT (id) DO UPDATE SET seen_at = now() RETURNING xmax = 0 AS is_new
   ),
   reported AS (SELECT * FROM unnest($2::uuid[], $3::uuid[], $4::int[]) AS c(tenant_id, discussion_id, streams)),
   ended AS (
     DELETE FROM stream_counts c USING reported s
     WHERE s.streams = 0 AND c.tenant_id = s.tenant_id AND c.discussion_id = s.discussion_id AND c.process_id = $1
   ),
   put AS (
     INSERT INTO stream_counts (tenant_id, discussion_id, process_id, streams)
     SELECT tenant_id, discussion_id, $1, streams FROM reported WHERE streams > 0
     ON CONFLICT (tenant_id, discussion_id, process_id) DO UPDATE SET streams = excluded.streams
   )
   SELECT is_new AS "isNew" FROM alive`,
)

/**
 * Reports that a process is alive, with its changed counts; 0 removes a count. Returns true if the
 * database did not know the process, which must then report all counts.
 */
export async function reportStreams(sql: Sql, processId: Id, counts: readonly StreamCount[]): Promise<boolean> {
  const params = [processId, ...columns(counts, 'tenantId', 'discussionId', 'streams')]
  const [row] = await sql<{ isNew: boolean }>(REPORT, params)
  return row?.isNew ?? false
}

/** Removes a process with its counts, and those of dead processes. */
export const forgetProcess = statement(
  'forget_stream_processes',
  `DELETE FROM stream_processes WHERE id = $1 OR seen_at < now() - interval '1 minute'`,
).run<[processId: Id]>()

const COUNT = statement(
  'count_streams',
  `SELECT c.discussion_id AS "discussionId", sum(c.streams)::int AS streams, min(p.seen_at) AS "asOf"
   FROM stream_counts c JOIN stream_processes p ON p.id = c.process_id
   WHERE c.tenant_id = $1 AND c.discussion_id = ANY($2::uuid[]) AND c.process_id <> $3
     AND p.seen_at > now() - $4::int * interval '1 millisecond'
   GROUP BY c.discussion_id`,
)

/**
 * The streams that other processes reported at most `maxAgeMs` ago, and the time of the oldest
 * report.
 */
export const countStreams = (
  sql: Sql,
  tenantId: Id,
  discussionIds: readonly Id[],
  { except, maxAgeMs }: { except: Id; maxAgeMs: number },
): Promise<{ discussionId: Id; streams: number; asOf: Date }[]> =>
  sql(COUNT, [tenantId, discussionIds, except, maxAgeMs])

const COUNT_ALL = statement(
  'count_streams_of_tenant',
  `SELECT coalesce(sum(c.streams), 0)::int AS streams
   FROM stream_counts c JOIN stream_processes p ON p.id = c.process_id
   WHERE c.tenant_id = $1 AND c.process_id <> $2 AND p.seen_at > now() - $3::int * interval '1 millisecond'`,
)

/** The number of streams over all discussions of a tenant, by such reports. */
export const countStreamsOfTenant = async (
  sql: Sql,
  tenantId: Id,
  { except, maxAgeMs }: { except: Id; maxAgeMs: number },
): Promise<number> => (await sql<{ streams: number }>(COUNT_ALL, [tenantId, except, maxAgeMs]))[0]?.streams ?? 0

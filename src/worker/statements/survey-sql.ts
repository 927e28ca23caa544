import { BACKLOG_LIMIT } from '../../core/telemetry/metric-table.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'

export interface BacklogSurvey {
  /** Counted up to BACKLOG_LIMIT, like the other numbers of rows. */
  deliveriesDue: number
  /** 0 if nothing waits. */
  backlogAgeSeconds: number
  circuitsOpen: number
  classifierRequestsDue: number
  analyticsDeltas: number
}

const READY =
  "e.state = 'verified' AND e.circuit_open_until IS NULL AND (e.paused_until IS NULL OR e.paused_until <= now()) AND e.paused_at IS NULL AND e.tenant_id NOT IN (SELECT id FROM tenants WHERE suspended_at IS NOT NULL)"
const counted = (rows: string): string => `(SELECT count(*)::int FROM (${rows} LIMIT ${BACKLOG_LIMIT}) counted)`

// The age costs one index look-up per verified endpoint, however long its backlog. Endpoints whose
// circuit is not closed, or which are paused, and those of suspended tenants are left out: their
// deliveries wait on purpose. So are replays: they wait for all other deliveries.
const SURVEY = statement(
  'survey_backlogs',
  `SELECT
     (SELECT count(*)::int FROM webhook_endpoints WHERE state = 'verified' AND circuit_open_until IS NOT NULL) AS "circuitsOpen",
     coalesce((SELECT greatest(0, extract(epoch FROM now() - min(d.next_attempt_at)))
       FROM webhook_endpoints e CROSS JOIN LATERAL (
         SELECT next_attempt_at FROM deliveries
         WHERE tenant_id = e.tenant_id AND endpoint_id = e.id AND status IN ('pending', 'delivering') AND NOT is_replay
         ORDER BY next_attempt_at LIMIT 1) d
       WHERE ${READY}), 0)::float8 AS "backlogAgeSeconds",
     ${counted(`SELECT 1 FROM webhook_endpoints e CROSS JOIN LATERAL (
       SELECT 1 FROM deliveries
       WHERE tenant_id = e.tenant_id AND endpoint_id = e.id AND status IN ('pending', 'delivering') AND next_attempt_at <= now()
       LIMIT ${BACKLOG_LIMIT}) d
       WHERE ${READY}`)} AS "deliveriesDue",
     ${counted('SELECT 1 FROM classifier_requests r JOIN tenants t ON t.id = r.tenant_id WHERE due_at <= now() AND t.suspended_at IS NULL')} AS "classifierRequestsDue",
     ${counted('SELECT 1 FROM analytics_deltas')} AS "analyticsDeltas"`,
)

/** The backlogs of workers, over all tenants, for metrics. */
export async function surveyBacklogs(sql: Sql): Promise<BacklogSurvey> {
  const [survey] = await sql<BacklogSurvey>(SURVEY)
  if (survey === undefined) throw new Error('a survey has one row')
  return survey
}

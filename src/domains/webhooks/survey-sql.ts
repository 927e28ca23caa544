import { type Sql, statement } from '../../core/sql.ts'

export interface Survey {
  /** 0 where nothing waits. */
  backlogAgeSeconds: number
  circuitsOpen: number
}

// One look into the index per verified endpoint, however long its backlog. Endpoints with a tripped
// circuit are left out of the age: their deliveries wait on purpose. Replays too: they wait for all
// others.
const SURVEY = statement(
  'survey_deliveries',
  `SELECT
     (SELECT count(*)::int FROM webhook_endpoints WHERE state = 'verified' AND circuit_open_until IS NOT NULL) AS "circuitsOpen",
     coalesce((SELECT greatest(0, extract(epoch FROM now() - min(d.next_attempt_at)))
       FROM webhook_endpoints e CROSS JOIN LATERAL (
         SELECT next_attempt_at FROM deliveries
         WHERE tenant_id = e.tenant_id AND endpoint_id = e.id AND status IN ('pending', 'delivering') AND NOT is_replay
         ORDER BY next_attempt_at LIMIT 1) d
       WHERE e.state = 'verified' AND e.circuit_open_until IS NULL), 0)::float8 AS "backlogAgeSeconds"`,
)

/** How the deliveries of all tenants stand, for metrics. */
export async function surveyDeliveries(sql: Sql): Promise<Survey> {
  const [survey] = await sql<Survey>(SURVEY)
  if (survey === undefined) throw new Error('a survey has one row')
  return survey
}

import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'

export interface VersionKey {
  tenantId: Id
  discussionId: Id
}

export interface VersionRow extends VersionKey {
  seq: number
  profileVersion: number
}

const VERSIONS = statement(
  'discussion_versions',
  `SELECT d.tenant_id AS "tenantId", d.id AS "discussionId", d.seq, t.profile_version AS "profileVersion"
   FROM unnest($1::uuid[], $2::uuid[]) AS k (tenant_id, id)
   JOIN discussions d ON d.tenant_id = k.tenant_id AND d.id = k.id
   JOIN tenants t ON t.id = d.tenant_id`,
)

/** Where discussions stand, and the profiles of their tenants' readers. */
export const selectVersions = (sql: Sql, keys: readonly VersionKey[]): Promise<VersionRow[]> =>
  sql<VersionRow>(VERSIONS, [keys.map(({ tenantId }) => tenantId), keys.map(({ discussionId }) => discussionId)])

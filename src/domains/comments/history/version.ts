import { inBatches } from '../../../core/queues/batches.ts'
import { requireCaller } from '../../../core/access.ts'
import { perApp } from '../../../core/app.ts'
import type { Ctx } from '../../../core/context.ts'
import { type Id, isId } from '../../../core/ids.ts'
import { columns } from '../../../core/database/lists.ts'
import type { Sql } from '../../../core/database/database.ts'
import { statement } from '../../../core/database/statements.ts'
import type { Span } from '../../../core/span.ts'
import { tracedFor } from '../../../core/telemetry/trace.ts'
import { externalIdSchema } from '../../../core/input/texts.ts'
import { type DiscussionName, findDiscussionId } from '../../discussions/discussions.ts'
import { IS_HERE } from '../../discussions/row.ts'

/** The state of a discussion that a page of comments shows. */
export interface PageVersion {
  discussionId: Id
  /**
   * Changes with every commit that may change a page. It combines the discussion's seq, which each
   * event increments, with the number of profile changes in the tenant, which have no event but
   * show in the authors of comments.
   */
  version: string
}

/** The committed version of a discussion's pages; null if there is no such discussion. */
export async function findPageVersion(ctx: Ctx, { id, externalId }: DiscussionName): Promise<PageVersion | null> {
  const isUsable = id == null ? externalIdSchema.safeParse(externalId).success : isId(id)
  if (!isUsable) return null
  const discussionId = id ?? (await findDiscussionId(ctx, externalId ?? ''))
  if (discussionId === null) return null
  const { app } = ctx
  const version = await versionReader(app)({ tenantId: requireCaller(ctx).tenant.id, discussionId, span: app.span })
  return version === null ? null : { discussionId, version }
}

const MAX_BATCH = 500

/**
 * Looks up versions for all requests of the process. Callers that arrive during a statement wait
 * for the next one: this one may predate a commit that they know of.
 */
const versionReader = perApp((app) =>
  inBatches<VersionKey & { span: Span | undefined }, string | null>(MAX_BATCH, async (batch) => {
    const keys = new Map(batch.map(({ input }) => [textOf(input), input]))
    const spans = batch.flatMap(({ input: { span } }) => span ?? [])
    const rows = await selectVersions(tracedFor(app, spans).db.query, [...keys.values()])
    const versions = new Map(rows.map((row) => [textOf(row), `${row.seq}.${row.profileVersion}`]))
    for (const { input, resolve } of batch) resolve(versions.get(textOf(input)) ?? null)
  }),
)

const textOf = ({ tenantId, discussionId }: VersionKey): string => `${tenantId} ${discussionId}`

interface VersionKey {
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
   CROSS JOIN LATERAL (
     SELECT tenant_id, id, seq FROM discussions WHERE tenant_id = k.tenant_id AND id = k.id AND ${IS_HERE} LIMIT 1) d
   JOIN tenants t ON t.id = k.tenant_id`,
)

/** The positions of discussions, and the profile versions of their tenants. */
const selectVersions = (sql: Sql, keys: readonly VersionKey[]): Promise<VersionRow[]> =>
  sql(VERSIONS, columns(keys, 'tenantId', 'discussionId'))

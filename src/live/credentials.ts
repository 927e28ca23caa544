import type { Actor } from '../core/context.ts'
import type { Id } from '../core/ids.ts'
import { type Sql, statement } from '../core/sql.ts'

/** What a stream was opened with, and ends with: an API key, or an admin's password. */
export interface Credential {
  kind: Actor['kind']
  tenantId: Id
  id: Id
}

/** With what a stream of this actor ends. */
export const credentialOf = (actor: Actor, tenantId: Id): Credential => ({
  kind: actor.kind,
  tenantId,
  id: actor.kind === 'admin' ? actor.credentialId : actor.id,
})

const READ_LIVE_CREDENTIALS = statement(
  'stream_read_live_credentials',
  `SELECT wanted.id FROM unnest($1::uuid[], $2::uuid[]) AS wanted(tenant_id, id)
   WHERE EXISTS (SELECT 1 FROM api_keys k WHERE k.tenant_id = wanted.tenant_id AND k.id = wanted.id
       AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $3))
     OR EXISTS (SELECT 1 FROM admins a WHERE a.tenant_id = wanted.tenant_id
       AND coalesce(a.credential_id, a.id) = wanted.id)`,
)

/** The ids of those that are neither revoked, expired, replaced nor gone. */
export async function readLiveCredentials(sql: Sql, some: readonly Credential[], now: Date): Promise<Set<Id>> {
  const params = [some.map(({ tenantId }) => tenantId), some.map(({ id }) => id), now]
  return new Set((await sql<{ id: Id }>(READ_LIVE_CREDENTIALS, params)).map(({ id }) => id))
}

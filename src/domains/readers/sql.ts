import { columnsOf } from '../../core/fields.ts'
import type { Id } from '../../core/ids.ts'
import { MAX_BADGES } from '../../core/settings/tenant.ts'
import type { Sql } from '../../core/database/database.ts'
import { toSnakeCase } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'
import type { IdentitySecret } from '../../generated/prisma/client.ts'
import { CLAIMED, FIELDS, PROFILE, type Reader, type Stored } from './fields.ts'

/** A profile, and what else a process keeps of a reader. */
export type ReaderRow = Reader & Pick<Stored, (typeof KEPT)[number]>

const KEPT = ['claimedBadges', 'profileIssuedAt', 'shadowBanned', 'bannedUntil'] as const

const READER = (table: string): string => columnsOf(FIELDS, [...PROFILE, ...KEPT], table)

/** SQL: the claimed columns of this table. */
const claimed = (table: string): string =>
  [...CLAIMED, 'claimedBadges'].map((name) => `${table}${toSnakeCase(name)}`).join(', ')

const BADGES = `$${CLAIMED.length + 6}::text[]`

// $5: whether the assertion has a profile at all. The last part answers if nothing had to be
// written; the external id of a merged reader finds the target, whose profile stays. A replaced
// profile increments the tenant's profile version, by which cached pages notice that authors may
// look different.
const UPSERT_READER = statement(
  'upsert_reader',
  `WITH written AS (
     INSERT INTO readers AS r (tenant_id, id, external_id, profile_issued_at, ${claimed('')}, badges)
     VALUES ($1, $2, $3, $4, ${CLAIMED.map((_name, index) => `$${index + 6}`).join(', ')}, ${BADGES}, ${BADGES})
     ON CONFLICT (tenant_id, external_id) DO UPDATE
       SET (profile_issued_at, ${claimed('')}) = (excluded.profile_issued_at, ${claimed('excluded.')}),
         badges = ARRAY(
           SELECT id FROM unnest(r.assigned_badges || excluded.claimed_badges) WITH ORDINALITY AS b (id, at)
           GROUP BY id ORDER BY min(at) LIMIT ${MAX_BADGES})
       WHERE $5 AND r.erasing_at IS NULL AND excluded.profile_issued_at > r.profile_issued_at
         AND (${claimed('r.')}) IS DISTINCT FROM (${claimed('excluded.')})
     RETURNING ${READER('r')}
   ),
   replaced AS (
     UPDATE tenants t SET profile_version = t.profile_version + 1 FROM written w WHERE t.id = $1 AND w.id <> $2
   )
   SELECT w.*, true AS written FROM written w
   UNION ALL
   SELECT ${READER('r')}, false AS written FROM readers n
   LEFT JOIN reader_merges m ON m.tenant_id = n.tenant_id AND m.alias_id = n.id
   JOIN readers r ON r.tenant_id = n.tenant_id AND r.id = coalesce(m.into_id, n.id)
   WHERE n.tenant_id = $1 AND n.external_id = $3 AND r.erasing_at IS NULL AND NOT EXISTS (SELECT 1 FROM written)`,
)

interface Profile extends Omit<Reader, 'badges'> {
  issuedAt: Date
  /** The claimed ones. Null: none. */
  badges: readonly string[] | null
  hasProfile: boolean
}

/**
 * Creates the reader, updates the profile from a newer assertion, or returns it unchanged. A
 * returned reader with another external id is the one into whom the asserted one was merged.
 * Undefined if another transaction created it after this statement began: call again.
 */
export async function upsertReader(
  sql: Sql,
  tenantId: Id,
  p: Profile,
): Promise<(ReaderRow & { written: boolean }) | undefined> {
  const params = [
    tenantId,
    p.id,
    p.externalId,
    p.issuedAt,
    p.hasProfile,
    ...CLAIMED.map((name) => p[name]),
    p.badges ?? [],
  ]
  return (await sql<ReaderRow & { written: boolean }>(UPSERT_READER, params))[0]
}

/** A reader by the id to whom a client token is bound; undefined after an erasure or a merge. */
export const selectBoundReader = statement(
  'reader_of_client_token',
  `SELECT ${READER('r')} FROM readers r WHERE tenant_id = $1 AND id = $2 AND erasing_at IS NULL`,
).first<[tenantId: Id, id: Id], ReaderRow>()

export type LiveSecret = Pick<IdentitySecret, 'kid' | 'sealed' | 'expiresAt'>

export const findLiveSecrets = statement(
  'live_identity_secrets',
  `SELECT kid, sealed, expires_at AS "expiresAt" FROM identity_secrets
   WHERE tenant_id = $1 AND (expires_at IS NULL OR expires_at > $2)`,
).rows<[tenantId: Id, now: Date], LiveSecret>()

import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { isLiveToken } from '../../live/credentials.ts'

export interface TokenRow {
  tenantId: Id
  id: Id
  minterId: Id
  readerId: Id | null
  readerExternalId: string | null
  discussionIds: Id[]
  externalIds: string[]
  expiresAt: Date
  /** Whether its key and its reader are still there. */
  isLive: boolean
}

export const findToken = statement(
  'find_client_token',
  `SELECT t.tenant_id AS "tenantId", t.id, t.minter_id AS "minterId", t.reader_id AS "readerId",
     (SELECT external_id FROM readers r WHERE r.tenant_id = t.tenant_id AND r.id = t.reader_id) AS "readerExternalId",
     t.discussion_ids::text[] AS "discussionIds", t.external_ids AS "externalIds", t.expires_at AS "expiresAt",
     ${isLiveToken('$2')} AS "isLive"
   FROM client_tokens t WHERE t.digest = $1`,
).first<[digest: Buffer, now: Date], TokenRow>()

export interface NewToken extends Omit<TokenRow, 'readerExternalId' | 'isLive'> {
  digest: Buffer
}

const INSERT = statement(
  'insert_client_token',
  `INSERT INTO client_tokens (tenant_id, id, digest, minter_id, reader_id, discussion_ids, external_ids, expires_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
)

export const insertToken = async (sql: Sql, t: NewToken): Promise<void> =>
  void (await sql(INSERT, [
    t.tenantId,
    t.id,
    t.digest,
    t.minterId,
    t.readerId,
    t.discussionIds,
    t.externalIds,
    t.expiresAt,
  ]))

export interface LiveTokens {
  count: number
  /** When the first of them expires; null without any. */
  firstEnd: Date | null
}

const COUNT_OF_READER = statement(
  'count_client_tokens_of_reader',
  `SELECT count(*)::int AS count, min(expires_at) AS "firstEnd"
   FROM client_tokens WHERE tenant_id = $1 AND reader_id = $2 AND expires_at > $3`,
)

export const countTokensOfReader = async (sql: Sql, tenantId: Id, readerId: Id, now: Date): Promise<LiveTokens> =>
  (await sql<LiveTokens>(COUNT_OF_READER, [tenantId, readerId, now]))[0] ?? { count: 0, firstEnd: null }

const COUNT = statement(
  'count_client_tokens',
  `SELECT count(*)::int AS count, min(expires_at) AS "firstEnd"
   FROM (SELECT expires_at FROM client_tokens
     WHERE tenant_id = $1 AND expires_at > $2 AND expires_at < 'infinity'
     ORDER BY expires_at LIMIT $3) live`,
)

/** The tenant's live tokens, counted up to `most`. */
export const countTokens = async (sql: Sql, tenantId: Id, now: Date, most: number): Promise<LiveTokens> =>
  (await sql<LiveTokens>(COUNT, [tenantId, now, most]))[0] ?? { count: 0, firstEnd: null }

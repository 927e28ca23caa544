import type { Actor, Caller } from '../core/caller.ts'
import type { Id } from '../core/ids.ts'
import { columns } from '../core/database/lists.ts'
import type { Sql } from '../core/database/database.ts'
import { statement } from '../core/database/statements.ts'

/**
 * What a stream was opened with, and ends with: an API key, a member's sign-in, a client token; or
 * the site whose page minted its ticket.
 */
export interface Credential {
  kind: Actor['kind']
  tenantId: Id
  id: Id
  /** The credential that minted a client token, with which it ends too. */
  minterId?: Id
  /** The guest whose token a page of a site has sent: it ends with their last token too. */
  guestId?: Id
}

type Opener<A extends Actor> = Pick<Caller, 'tenant'> & { actor: A; identity?: Caller['identity'] }

/** With what a stream of this caller ends. */
export const credentialOf = <A extends Actor>({
  tenant,
  actor,
  identity,
}: Opener<A>): Credential & { kind: A['kind'] } => ({
  kind: actor.kind,
  tenantId: tenant.id,
  id: actor.kind === 'admin' ? actor.signInId : actor.id,
  ...(actor.kind === 'client' && { minterId: actor.minterId }),
  ...(actor.kind === 'site' && identity?.readerId !== undefined && { guestId: identity.readerId }),
})

/** When a stream of this caller ends by itself (ms since 1970); null if it does not. */
export const expiryOf = ({ actor, identity }: Pick<Caller, 'actor' | 'identity'>): number | null =>
  (actor.kind === 'site' ? identity?.expiresAt : actor.expiresAt?.getTime()) ?? null

/** Tells credentials apart: guests at one site have its key in common. */
export const nameOf = ({ id, guestId = '' }: Credential): string => `${id} ${guestId}`

/** SQL: whether an API key or a sign-in is neither revoked, expired nor gone. */
const isLiveKey = (tenantId: string, id: string, now: string): string =>
  `(EXISTS (SELECT 1 FROM api_keys k WHERE k.tenant_id = ${tenantId} AND k.id = ${id}
       AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ${now}))
     OR EXISTS (SELECT 1 FROM sign_ins s WHERE s.tenant_id = ${tenantId} AND s.id = ${id} AND s.expires_at > ${now}))`

/**
 * SQL: whether a row `t` of client_tokens is valid until it expires: what minted it is live, and so
 * is its reader, who is hidden by an erasure and by a merge.
 */
export const isLiveToken = (now: string): string =>
  `${isLiveKey('t.tenant_id', 't.minter_id', now)}
   AND (t.reader_id IS NULL OR EXISTS (SELECT 1 FROM readers r
     WHERE r.tenant_id = t.tenant_id AND r.id = t.reader_id AND r.erasing_at IS NULL))`

const READ_LIVE_CREDENTIALS = statement(
  'stream_read_live_credentials',
  `SELECT wanted.id, suspended_at IS NOT NULL AS "isSuspended"
   FROM unnest($1::uuid[], $2::uuid[]) AS wanted(tenant_id, id) JOIN tenants ON tenants.id = wanted.tenant_id
   WHERE ${isLiveKey('wanted.tenant_id', 'wanted.id', '$3')}
     OR EXISTS (SELECT 1 FROM client_tokens t WHERE t.tenant_id = wanted.tenant_id AND t.id = wanted.id
       AND t.expires_at > $3 AND ${isLiveToken('$3')})
     OR EXISTS (SELECT 1 FROM sites WHERE sites.tenant_id = wanted.tenant_id AND sites.id = wanted.id)
    OR EXISTS (SELECT 1 FROM guest_tokens g WHERE g.tenant_id = wanted.tenant_id AND g.reader_id = wanted.id
       AND g.expires_at > $3)`,
)

/** Of a credential that is neither revoked, expired nor gone: whether its tenant is suspended. */
export interface LiveCredential {
  id: Id
  isSuspended: boolean
}

/** What has to be live: the credential, and the tokens of its guest. */
export const partsOf = ({ guestId, ...credential }: Credential): Credential[] =>
  guestId === undefined ? [credential] : [credential, { ...credential, id: guestId }]

/** Those that are neither revoked, expired nor gone. */
export const readLiveCredentials = (sql: Sql, some: readonly Credential[], now: Date): Promise<LiveCredential[]> =>
  sql(READ_LIVE_CREDENTIALS, [...columns(some, 'tenantId', 'id'), now])

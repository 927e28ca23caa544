import { requireCaller } from './access.ts'
import type { Ctx } from './context.ts'
import { type Id, newId } from './ids.ts'
import type { Sql } from './database/database.ts'
import { statement } from './database/statements.ts'

/**
 * The audited actions, by the kind of their target, with the console's words. The name of an action
 * is `<kind>.<verb>`, as `api_key.create`.
 */
export const AUDIT_ACTIONS = {
  comment: {
    approve: 'Approved a comment',
    delete: 'Deleted a comment',
    pin: 'Pinned a comment',
    reject: 'Rejected a comment',
    review: 'Looked at a comment',
    unpin: 'Unpinned a comment',
  },
  reader: {
    ban: 'Banned a reader',
    erase: 'Erased a reader',
    export: 'Exported what is stored of a reader',
    merge: 'Merged two readers',
    set_badges: 'Changed the badges of a reader',
    set_trust: 'Changed the trust in a reader',
    unban: 'Ended the ban of a reader',
  },
  discussion: {
    archive: 'Archived a discussion',
    create: 'Created a discussion',
    delete: 'Deleted a discussion',
    lock: 'Locked a discussion',
    unlock: 'Unlocked a discussion',
    update: 'Changed a discussion',
  },
  webhook: {
    create: 'Registered a webhook endpoint',
    delete: 'Deleted a webhook endpoint',
    disable: 'Disabled a webhook endpoint',
    enable: 'Enabled a webhook endpoint',
    failing: 'Saw a webhook endpoint fail',
    pause: 'Paused a webhook endpoint',
    probe: 'Tried a webhook endpoint now',
    redeliver: 'Sent deliveries again',
    replay: 'Replayed events',
    resume: 'Resumed a webhook endpoint',
    revoke_secret: 'Ended a secret of a webhook endpoint',
    rotate_secret: 'Rotated the secret of a webhook endpoint',
    test: 'Sent a test event',
    update: 'Changed a webhook endpoint',
    verify: 'Verified a webhook endpoint again',
  },
  backend: {
    check: 'Asked the backend of pages',
  },
  api_key: {
    create: 'Created an API key',
    revoke: 'Revoked an API key',
  },
  identity_secret: {
    create: 'Created a secret for identities',
    revoke: 'Ended a secret for identities',
  },
  classifier_secret: {
    create: 'Created a secret of the classifier',
    revoke: 'Ended a secret of the classifier',
  },
  mail_secret: {
    create: 'Created a secret for mails',
    revoke: 'Ended a secret for mails',
  },
  document: {
    add: 'Added GraphQL documents',
    delete: 'Deleted a GraphQL document',
  },
  notice_channel: {
    create: 'Created a notice channel',
    delete: 'Deleted a notice channel',
    test: 'Sent a test message to a notice channel',
    update: 'Changed a notice channel',
  },
  site: {
    create: 'Created a site',
    delete: 'Deleted a site',
    update: 'Changed a site',
  },
  note: {
    create: 'Wrote a note',
    delete: 'Deleted a note',
  },
  settings: {
    update: 'Changed settings',
  },
  tenant: {
    resume: 'Resumed the tenant',
    suspend: 'Suspended the tenant',
  },
  import: {
    finish: 'Finished an import',
    undo: 'Undid an import',
  },
  import_upload: {
    complete: 'Uploaded a file to import',
    create: 'Began to upload a file to import',
    delete: 'Deleted an uploaded file',
    run: 'Started the import of a file',
  },
  member: {
    accept: 'Accepted an invitation',
    begin_totp: 'Began to set up a second factor',
    change_password: 'Changed a password',
    confirm_totp: 'Set up a second factor',
    delete: 'Removed a member',
    invite: 'Invited a member',
    logout: 'Signed out',
    logout_everywhere: 'Signed out everywhere',
    remove_totp: 'Removed a second factor',
    sign_on: 'Signed in by single sign-on',
    update: 'Changed a member',
  },
  export: {
    create: 'Asked for an export',
    delete: 'Deleted an export',
    download: 'Downloaded an export',
  },
} as const

type AuditActions = typeof AUDIT_ACTIONS

export type AuditAction = {
  [Kind in keyof AuditActions]: `${Kind}.${keyof AuditActions[Kind] & string}`
}[keyof AuditActions]

export interface AuditRecord {
  action: AuditAction
  targetId: string | null
  /** The target's public form, without any secret; null where there was none. */
  before?: unknown
  after?: unknown
}

/** SQL: writes entries to the audit log. `rows` selects their columns in this order. */
export const insertAuditEntries = (rows: string): string =>
  `INSERT INTO audit_log (tenant_id, id, actor_kind, actor_id, action, target_type, target_id, before, after, import_id,
     at) ${rows}`

const INSERT_AUDIT_ENTRY = statement(
  'insert_audit_entry',
  insertAuditEntries('VALUES ($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9::jsonb, $10, now())'),
)

/**
 * Records an action in the transaction `sql` of the change itself, so that neither is stored
 * without the other.
 */
export async function recordAudit(sql: Sql, ctx: Ctx, record: AuditRecord): Promise<void> {
  await recordAuditOf(sql, doerOf(ctx), record)
}

/** Writes one actor's entries, each in the transaction of its change. */
export type Recorder = (sql: Sql, record: AuditRecord) => Promise<void>

/** That of a doer. */
export const recorderOf =
  (doer: Doer): Recorder =>
  (sql, record) =>
    recordAuditOf(sql, doer, record)

/** That of a request's caller. */
export const recorderFor =
  (ctx: Ctx): Recorder =>
  (sql, record) =>
    recordAudit(sql, ctx, record)

/** Who calls, as the doer of an audited action. */
export function doerOf(ctx: Ctx): Doer {
  const { tenant, actor } = requireCaller(ctx)
  if (actor.kind === 'client' || actor.kind === 'site') throw new Error('a browser can do nothing that is audited')
  return { tenantId: tenant.id, actor }
}

/** The actor of an action: a key, an admin, or an operator at the command line. */
export interface Doer {
  tenantId: Id
  actor: { kind: 'key' | 'admin'; id: Id } | { kind: 'system'; id: null }
  /** The import that does it, for the operator; absent where none does. */
  importId?: Id
}

/** The service itself, or an operator at the command line. */
export const byService = (tenantId: Id): Doer => ({ tenantId, actor: { kind: 'system', id: null } })

/** Records an audited action that may have no request, in the transaction of `sql`. */
export async function recordAuditOf(sql: Sql, { tenantId, actor, importId }: Doer, record: AuditRecord): Promise<void> {
  const { action, targetId, before, after } = record
  await sql(INSERT_AUDIT_ENTRY, [
    tenantId,
    newId(),
    actor.kind,
    actor.id,
    action,
    targetTypeOf(action),
    targetId,
    json(before),
    json(after),
    importId ?? null,
  ])
}

/** Records what an import does, as an action of the operator. */
export const recordAuditOfImport = (
  sql: Sql,
  { tenantId, importId }: { tenantId: Id; importId: Id },
  record: AuditRecord,
): Promise<void> => recordAuditOf(sql, { ...byService(tenantId), importId }, record)

/** What an action is done to. */
const targetTypeOf = (action: AuditAction): string => {
  const [kind = ''] = action.split('.')
  return kind === 'webhook' ? 'webhook_endpoint' : kind
}

const json = (value: unknown): string | null => (value == null ? null : JSON.stringify(value))

import { requireCaller } from './access.ts'
import type { Ctx } from './context.ts'
import { type Id, newId } from './ids.ts'
import type { Sql } from './database/database.ts'
import { statement } from './database/statements.ts'

/**
 * The audited actions, by the kind of their target. The name of an action is `<kind>.<verb>`, as
 * `api_key.create`.
 */
export const AUDIT_ACTIONS = {
  comment: ['approve', 'delete', 'pin', 'reject', 'review', 'unpin'],
  reader: ['ban', 'erase', 'export', 'merge', 'set_badges', 'set_trust', 'unban'],
  discussion: ['archive', 'create', 'delete', 'lock', 'unlock', 'update'],
  webhook: [
    'create',
    'delete',
    'disable',
    'enable',
    'failing',
    'pause',
    'probe',
    'redeliver',
    'replay',
    'resume',
    'revoke_secret',
    'rotate_secret',
    'test',
    'update',
    'verify',
  ],
  api_key: ['create', 'revoke'],
  identity_secret: ['create', 'revoke'],
  classifier_secret: ['create', 'revoke'],
  mail_secret: ['create', 'revoke'],
  document: ['add', 'delete'],
  site: ['create', 'delete', 'update'],
  note: ['create', 'delete'],
  settings: ['update'],
  tenant: ['resume', 'suspend'],
  import: ['finish', 'undo'],
  import_upload: ['complete', 'create', 'delete', 'run'],
  member: [
    'accept',
    'begin_totp',
    'change_password',
    'confirm_totp',
    'delete',
    'invite',
    'logout',
    'logout_everywhere',
    'remove_totp',
    'sign_on',
    'update',
  ],
  export: ['create', 'delete', 'download'],
} as const

type AuditActions = typeof AUDIT_ACTIONS

export type AuditAction = {
  [Kind in keyof AuditActions]: `${Kind}.${AuditActions[Kind][number]}`
}[keyof AuditActions]

export interface AuditRecord {
  action: AuditAction
  targetType: string
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

/** The service itself. */
export const byService = (tenantId: Id): Doer => ({ tenantId, actor: { kind: 'system', id: null } })

/** Records an audited action that may have no request, in the transaction of `sql`. */
export async function recordAuditOf(sql: Sql, { tenantId, actor, importId }: Doer, record: AuditRecord): Promise<void> {
  const { action, targetType, targetId, before, after } = record
  await sql(INSERT_AUDIT_ENTRY, [
    tenantId,
    newId(),
    actor.kind,
    actor.id,
    action,
    targetType,
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

const json = (value: unknown): string | null => (value == null ? null : JSON.stringify(value))

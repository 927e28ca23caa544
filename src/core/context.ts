import type { Logger } from 'pino'

import type { Bus } from './bus.ts'
import { ServiceError } from './errors.ts'
import type { Health } from './process/health.ts'
import type { Id } from './ids.ts'
import type { Limits } from './limits.ts'
import type { Settings } from './settings/settings.ts'
import type { Span, Tracing } from './telemetry/span.ts'
import type { Db, LateReads, Prisma } from './sql.ts'
import type { StreamPlaces } from './stream-places.ts'
import type { TenantSettings } from './settings/tenant.ts'

export const CAPABILITIES = [
  'moderate_content',
  'manage_settings',
  'manage_api_keys',
  'manage_webhooks',
  'view_analytics',
] as const

export type Capability = (typeof CAPABILITIES)[number]

const KNOWN: ReadonlySet<string> = new Set(CAPABILITIES)

/** The roles of members, and what each may do (docs/guides/members.md). */
export const ROLES = {
  owner: CAPABILITIES,
  admin: CAPABILITIES,
  editor: ['moderate_content', 'manage_settings', 'view_analytics'],
  moderator: ['moderate_content'],
  developer: ['manage_api_keys', 'manage_webhooks', 'view_analytics'],
  analyst: ['view_analytics'],
} as const satisfies Readonly<Record<string, readonly Capability[]>>

export type Role = keyof typeof ROLES

/**
 * Whether this release knows a stored capability. A capability that only a newer release knows
 * grants nothing here.
 */
export const isCapability = (name: string): name is Capability => KNOWN.has(name)

/** Sends a text to another server, and answers its text of at most 64 KiB. */
export type FetchText = (
  url: string,
  request: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string },
) => Promise<{ status: number; text: string }>

/** What one process works with: its settings and clients. */
export interface App {
  readonly settings: Settings
  readonly db: Db
  readonly late: LateReads
  /** For reads outside of transactions. A transaction has its own Prisma, which sees its writes. */
  readonly prisma: Prisma
  readonly bus: Bus
  readonly limits: Limits
  readonly places: StreamPlaces
  readonly log: Logger
  readonly health: Health
  /** Asks another server, through the agent that guards requests to addresses of tenants. */
  readonly fetch: FetchText
  /**
   * The metrics of all processes of the same parent, as Prometheus text; absent where there is no
   * parent.
   */
  readonly allFigures?: () => Promise<string>
  /** Makes traces; absent where no exporter is configured. */
  readonly tracing?: Tracing
  /**
   * The span that this view of the process's app belongs to, where the work is traced (`traced`).
   */
  readonly span?: Span
  /** The process's own app, where this is a view of it for one tenant or one request. */
  readonly root?: App
  /** Whether the waiting client has disconnected; absent where no client waits. */
  readonly isGone?: () => boolean
  /**
   * The one transaction of a request whose writes commit together; absent where each change commits
   * by itself.
   */
  readonly scope?: Scope
}

/** One transaction around a whole request (`inOneTransaction`). */
export interface Scope {
  /**
   * Effects to run after the commit, started in this order; the answer waits for them. None may
   * fail.
   */
  readonly effects: (() => unknown)[]
  /** Readers whose erasure this transaction has begun. */
  readonly erasedReaders: Set<Id>
}

export interface Tenant {
  readonly id: Id
  readonly slug: string
  readonly settings: TenantSettings
  /** How many of its discussions were deleted. */
  readonly discussionsDeleted: number
  /** Null unless it is suspended: then no request is made for it. */
  readonly suspendedAt: Date | null
  /** What callers are told of the suspension. */
  readonly suspensionReason: string | null
}

/**
 * Who calls: a tenant's backend by its key, a person by an admin token, a browser by a client
 * token, or a page by its site's public key.
 */
export type Actor =
  | { kind: 'key'; id: Id; capabilities: ReadonlySet<Capability>; expiresAt: Date | null }
  | MemberActor
  | ClientActor
  | SiteActor

/** A member of the tenant, by the token of a sign-in. */
export interface MemberActor {
  kind: 'admin'
  id: Id
  /** With which their token ends, and all that it has opened. */
  signInId: Id
  email: string
  name: string | null
  role: Role
  /** Null after a sign-on, which opens nothing of an account. */
  accountId: Id | null
  /** Whether the tenant requires a second factor that they lack: they can only set it up. */
  lacksSecondFactor: boolean
  capabilities: ReadonlySet<Capability>
  expiresAt: Date
}

/** A browser, by a client token. It can ask only fields that are declared for it. */
export interface ClientActor {
  kind: 'client'
  id: Id
  /** The API key or the member's sign-in that minted the token, with which it ends. */
  minterId: Id
  /** The reader that it acts for; null for none. */
  readerId: Id | null
  /** The discussions that it opens; null for all of them. */
  discussions: NamedDiscussions | null
  expiresAt: Date
}

/**
 * A page, by the public key of its site. It may do what a key without capabilities may, and the
 * service lets it ask the routes of pages alone.
 */
export interface SiteActor {
  kind: 'site'
  /** Of the site. */
  id: Id
  /** Those of the site: lists have its own pages alone. */
  origins: readonly string[]
  capabilities: ReadonlySet<Capability>
  expiresAt: null
  /** What the page calls itself, for the discussion that its first comment begins. */
  title: string | null
}

/** Discussions by their ids, or by their external ids. */
export interface NamedDiscussions {
  readonly ids: readonly Id[]
  readonly externalIds: readonly string[]
}

/** A verified assertion: for which reader the call is made (docs/reference/choices/identity.md). */
export interface Identity {
  /** `sub`: the tenant's own id of the reader. */
  readonly externalId: string
  readonly issuedAt: Date
  readonly name: string | null
  readonly avatarUrl: string | null
  readonly profileUrl: string | null
  /** The claimed ids of badges that the tenant's settings have. */
  readonly badges: readonly string[] | null
  /**
   * The reader to whom a client token is bound, which never makes a record. Absent in an assertion.
   */
  readonly readerId?: Id
}

/** The caller of one request, once its credentials are verified. */
export interface Caller {
  readonly tenant: Tenant
  readonly actor: Actor
  readonly identity: Identity | null
}

/** Stands around each mutation field of a request whose answer is stored. */
export interface Outcome {
  /**
   * The value of the field called `name` in the answer. `resolve` runs it, and `noted` is what to
   * store of its value, as JSON.
   */
  of(name: string, resolve: () => unknown, noted: (value: unknown) => unknown): Promise<unknown>
}

/** One request: the process it runs in, and who calls. */
export interface Ctx {
  readonly app: App
  readonly requestId: string
  /** The client's address; null where there is no connection. */
  readonly address: string | null
  /** Null on the few requests that need no credentials. */
  readonly caller: Caller | null
  /** Why there is no caller, though a browser has sent a cookie; absent where none came. */
  readonly refused?: ServiceError
  /** Collects the raw secrets in an answer that will be stored, so that they are not stored. */
  readonly shownSecrets?: Set<string>
  /** Notes what the mutations answer, or answers them by earlier notes. */
  readonly outcome?: Outcome
  /**
   * Puts an admin token into the console's cookie, or removes it (null). Absent where no console
   * asks: the answer then has the token itself.
   */
  readonly setCookie?: (token: { token: string; expiresAt: Date } | null) => void
  /** The values of `ofRequest`. */
  kept?: { for: Ctx; by: Map<object, unknown> }
}

/**
 * A value that each request has once, made at its first use. It is kept on the context: a WeakMap
 * with an entry for each request raised the share of garbage collection from 3.7 to 9.5 % of the
 * time.
 */
export function ofRequest<T>(make: () => T): (ctx: Ctx) => T {
  const key = {}
  return (ctx) => {
    // A copy of a context starts empty: it may have another caller.
    const { by } = ctx.kept?.for === ctx ? ctx.kept : (ctx.kept = { for: ctx, by: new Map() })
    let value = by.get(key) as T | undefined
    if (value === undefined) by.set(key, (value = make()))
    return value
  }
}

/**
 * What an operation requires of its caller: any key or member, an asserted reader, a member for
 * themself, an owner or admin, or a capability.
 */
export type Access = 'public' | 'key' | 'reader' | 'member' | 'admin' | Capability

/** The caller of a request that needs one. Throws `missing_credentials`, `tenant_suspended`. */
export function requireCaller(ctx: Ctx): Caller {
  if (ctx.caller === null) throw ctx.refused ?? new ServiceError('missing_credentials')
  return ctx.caller
}

/** The same request without a reader. */
export const anonymous = (ctx: Ctx): Ctx => ({ ...ctx, caller: { ...requireCaller(ctx), identity: null } })

/** The reader for whom the caller vouches. Throws `missing_credentials`, `identity_required`. */
export function requireIdentity(ctx: Ctx): Identity {
  const { identity, actor } = requireCaller(ctx)
  if (identity !== null) return identity
  if (actor.kind === 'client') throw new ServiceError('identity_required', { detail: NAMES_NO_READER })
  const detail = `This needs the header ${identityHeader(ctx.app)}: an assertion that vouches for the reader.`
  throw new ServiceError('identity_required', { detail })
}

/** The member whose token the request carries. Throws `missing_credentials`, `admin_only`. */
export function requireMember(ctx: Ctx): MemberActor {
  if (ctx.caller === null) throw ctx.refused ?? new ServiceError('missing_credentials', { detail: NEEDS_TOKEN })
  const { actor } = ctx.caller
  if (actor.kind !== 'admin') throw new ServiceError('admin_only', { detail: NEEDS_TOKEN })
  return actor
}

/** The same for an owner or admin. */
export function requireAdmin(ctx: Ctx): MemberActor {
  const member = requireMember(ctx)
  requireSecondFactor(member)
  if (isAdmin(member)) return member
  const detail = `This needs the role owner or admin; yours is ${member.role}.`
  throw new ServiceError('admin_only', { detail })
}

/** Throws `second_factor_setup_required`. */
export function requireSecondFactor(actor: Actor): void {
  if (actor.kind === 'admin' && actor.lacksSecondFactor) throw new ServiceError('second_factor_setup_required')
}

/** Whether the actor is an owner or admin. */
export const isAdmin = (actor: Actor): boolean =>
  actor.kind === 'admin' && (actor.role === 'owner' || actor.role === 'admin')

const NAMES_NO_READER = 'The client token names no reader: mint one with an identity assertion.'
const NEEDS_TOKEN = 'This needs an admin token in Authorization (Bearer).'

/** The header that carries an assertion, as it is written. */
export const identityHeader = ({ settings }: App): string => `${settings.HEADER_PREFIX}Identity`

/**
 * Refuses callers without `access`: `missing_credentials`, `identity_required`, `admin_only`,
 * `missing_capability`.
 */
export function requireAccess(ctx: Ctx, access: Access): void {
  if (access === 'public') return
  if (access === 'admin') return void requireAdmin(ctx)
  if (access === 'member') return void requireMember(ctx)
  const { actor } = requireCaller(ctx)
  requireSecondFactor(actor)
  if (access === 'key') return
  if (access === 'reader') return void requireIdentity(ctx)
  if (hasCapability(actor, access)) return
  const who = actor.kind === 'admin' ? `The role ${actor.role}` : 'The key in X-API-Key'
  throw new ServiceError('missing_capability', { detail: `${who} lacks the capability ${access}.` })
}

/** Whether `requireAccess` lets the caller through. */
export function isAllowed(ctx: Ctx, access: Access): boolean {
  if (access === 'public' || ctx.caller === null) return access === 'public'
  const { actor, identity } = ctx.caller
  if (access === 'member') return actor.kind === 'admin'
  if (actor.kind === 'admin' && actor.lacksSecondFactor) return false
  if (access === 'key') return true
  if (access === 'admin') return isAdmin(actor)
  return access === 'reader' ? identity !== null : hasCapability(actor, access)
}

export const hasCapability = (actor: Actor, capability: Capability): boolean =>
  actor.kind !== 'client' && actor.capabilities.has(capability)

/**
 * One value per process, made at its first use: a cache, a queue, the hub. `make` gets the app of
 * the process, never that of a request.
 */
export function perApp<T>(make: (app: App) => T): (app: App) => T {
  const made = new WeakMap<App, T>()
  return (app) => {
    const root = app.root ?? app
    const existing = made.get(root)
    if (existing !== undefined) return existing
    const value = make(root)
    made.set(root, value)
    return value
  }
}

/**
 * Runs `effect` after the commit of the change before it: to notify others, or to cache a row. It
 * runs at once, unless the request is one transaction (`Scope`): then after its commit, or never.
 * `effect` must not throw.
 */
export function afterCommit(app: App, effect: () => void): void {
  if (app.scope === undefined) effect()
  else app.scope.effects.push(effect)
}

import type { Capability, Role } from './capabilities.ts'
import type { Id } from './ids.ts'
import type { TenantSettings } from './settings/tenant.ts'

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
  /**
   * When the last secret ends that signs mails for guests (ms since 1970), Infinity for one that
   * does not end; null if there was none. A time, because a tenant is cached.
   */
  readonly mailSecretUntil: number | null
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
 * service lets it ask the routes of pages alone, or GraphQL as a client token does.
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
  /** How it asks GraphQL; null where it asks the routes of pages. */
  graphql: SiteInGraphQL | null
}

export interface SiteInGraphQL {
  /** The reader whose token the page sends; null for nobody. */
  readerId: Id | null
  /** Whether the site takes writes. */
  posting: boolean
  /** Whether the address names the site, and the answer is the same for everybody. */
  isShared: boolean
}

/** A browser that asks GraphQL. It can ask only fields that are declared for it. */
export type BrowserActor = ClientActor | (SiteActor & { graphql: SiteInGraphQL })

export const isBrowser = (actor: Actor): actor is BrowserActor =>
  actor.kind === 'client' || (actor.kind === 'site' && actor.graphql !== null)

/** The reader for whom a browser asks; null for nobody. */
export const readerOfBrowser = (actor: BrowserActor): Id | null =>
  actor.kind === 'client' ? actor.readerId : actor.graphql.readerId

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
   * The reader to whom a client token or the token of a guest is bound, which never makes a record.
   * Absent in an assertion.
   */
  readonly readerId?: Id
  /** When the token that a page of a site sends is over (ms since 1970). Absent in an assertion. */
  readonly expiresAt?: number
}

/** The caller of one request, once its credentials are verified. */
export interface Caller {
  readonly tenant: Tenant
  readonly actor: Actor
  readonly identity: Identity | null
}

export const hasCapability = (actor: Actor, capability: Capability): boolean =>
  actor.kind !== 'client' && actor.capabilities.has(capability)

/** Whether the actor is an owner or admin. */
export const isAdmin = (actor: Actor): boolean =>
  actor.kind === 'admin' && (actor.role === 'owner' || actor.role === 'admin')

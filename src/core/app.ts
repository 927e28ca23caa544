import type { Logger } from 'pino'
import type { Bus } from './bus.ts'
import type { Db, Prisma } from './database/database.ts'
import type { LateReads } from './database/late-reads.ts'
import type { Id } from './ids.ts'
import type { Limits } from './limits.ts'
import type { Health } from './process/health.ts'
import type { Settings } from './settings/settings.ts'
import type { StreamPlaces } from './stream-places.ts'
import type { Span, Tracing } from './span.ts'

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
  /** What other servers answer, by what they were asked: see `askOutside`. */
  readonly asked: Map<string, Promise<string | null>>
}

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

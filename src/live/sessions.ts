import { setTimeout } from 'node:timers/promises'

import { ServiceError } from '../core/errors.ts'
import type { Id } from '../core/ids.ts'
import { Wheel } from '../core/process/wheel.ts'
import type { CutReason } from './metrics.ts'
import { type Credential, nameOf } from './credentials.ts'

/** An open stream, seen by its caps, its credentials and its lifetime. */
export interface Session {
  readonly tenantId: Id
  /**
   * The credential that opened it, or that minted its ticket; null for a ticket that names none.
   */
  readonly credential: Credential | null
  /** When it must end (ms since 1970): its lifetime, or that of its credentials. */
  readonly endsAt: number
  /** Whether it is a stream of several discussions. */
  readonly isOfSeveral?: boolean
  /** Sends the last bytes, and closes. */
  end(): void
  /** Sends a heartbeat if it is due. Returns when to call it again (ms since 1970). */
  tick?(now: number): number
}

/** All open streams of a process. They end by time, with their credentials, or at a shutdown. */
export class Sessions {
  readonly #open = new Set<Session>()
  readonly #wheel = new Wheel<Session>((session, now) => this.#look(session, now))
  readonly #told = new WeakSet<Session>()
  readonly #onCut: (reason: CutReason) => void
  #closing = false

  constructor(onCut: (reason: CutReason) => void) {
    this.#onCut = onCut
  }

  get size(): number {
    return this.#open.size
  }

  /** Adds a stream until it leaves. Throws `unavailable` once all are ending. */
  enter(session: Session): void {
    if (this.#closing) throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
    this.#open.add(session)
    this.#watch(session, Date.now())
  }

  /** Removes a stream. Returns whether it was there. */
  leave(session: Session): boolean {
    this.#wheel.delete(session)
    return this.#open.delete(session)
  }

  /** How many streams of several discussions each tenant has open. */
  ofSeveral(): ReadonlyMap<Id, number> {
    const counts = new Map<Id, number>()
    for (const { isOfSeveral, tenantId } of this.#open)
      if (isOfSeveral === true) counts.set(tenantId, (counts.get(tenantId) ?? 0) + 1)
    return counts
  }

  /** The credentials of open streams, each once. */
  credentials(): Credential[] {
    const some = new Map<string, Credential>()
    for (const { credential } of this.#open) if (credential !== null) some.set(nameOf(credential), credential)
    return [...some.values()]
  }

  /** Ends every stream of these credentials or guests, and of client tokens that they minted. */
  endCredentials(ids: ReadonlySet<Id>): void {
    for (const session of this.#open) {
      const { id, minterId, guestId } = session.credential ?? {}
      if ([id, minterId, guestId].some((each) => each !== undefined && ids.has(each))) this.#cut(session, 'revoked')
    }
  }

  /** Ends every stream of a tenant. */
  endTenant(tenantId: Id): void {
    for (const session of this.#open) if (session.tenantId === tenantId) this.#cut(session, 'revoked')
  }

  /**
   * Ends every stream, spread over `graceMs`, so that clients do not all return at once. Resolves
   * when the end of each has begun.
   */
  async endAll(graceMs: number): Promise<void> {
    this.#closing = true
    const sessions = [...this.#open]
    const begun = Date.now()
    for (const [index, session] of sessions.entries()) {
      const dueIn = begun + (graceMs * index) / sessions.length - Date.now()
      if (dueIn >= 1) await setTimeout(dueIn)
      if (this.#open.has(session)) this.#cut(session, 'shutdown')
    }
  }

  #look(session: Session, now: number): void {
    if (now >= session.endsAt) this.#cut(session, 'expired')
    else this.#watch(session, now)
  }

  #cut(session: Session, reason: CutReason): void {
    // An ended stream may still be closing.
    if (this.#told.has(session)) return
    this.#told.add(session)
    this.#onCut(reason)
    session.end()
  }

  #watch(session: Session, now: number): void {
    this.#wheel.put(session, Math.min(session.endsAt, session.tick?.(now) ?? Infinity))
  }
}

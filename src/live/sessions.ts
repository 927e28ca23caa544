import { setTimeout } from 'node:timers/promises'

import { ServiceError } from '../core/errors.ts'
import type { Id } from '../core/ids.ts'
import { Wheel } from '../core/wheel.ts'
import type { CutReason } from './metrics.ts'
import type { Credential } from './credentials.ts'

/** An open stream, as far as its caps, its credentials and its time are concerned. */
export interface Session {
  readonly tenantId: Id
  /** What it was opened with; null for tickets. */
  readonly credential: Credential | null
  /** When it ends at the latest (ms since 1970): its lifetime, or that of its credentials. */
  readonly endsAt: number
  /** Says goodbye and closes. */
  end(): void
  /** Does what silence asks for. Returns when it wants to be looked at again (ms since 1970). */
  tick?(now: number): number
}

/** All open streams of a process: ended by the clock, with their credentials, or by a shutdown. */
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

  /** Lets a stream in, which leaves when it is over. Throws `unavailable` when all are to end. */
  enter(session: Session): void {
    if (this.#closing) throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
    this.#open.add(session)
    this.#watch(session, Date.now())
  }

  /** Whether it was in. */
  leave(session: Session): boolean {
    this.#wheel.delete(session)
    return this.#open.delete(session)
  }

  /** What open streams were opened with, each once. */
  credentials(): Credential[] {
    const some = new Map<Id, Credential>()
    for (const { credential } of this.#open) if (credential !== null) some.set(credential.id, credential)
    return [...some.values()]
  }

  /** Ends every stream of these credentials. */
  endCredentials(ids: ReadonlySet<Id>): void {
    for (const session of this.#open) {
      if (session.credential !== null && ids.has(session.credential.id)) this.#cut(session, 'revoked')
    }
  }

  /**
   * Ends every stream, spread over `graceMs`, so that not all clients return at once. Resolves when
   * all were told.
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
    // One that has been told may still be on its way out.
    if (this.#told.has(session)) return
    this.#told.add(session)
    this.#onCut(reason)
    session.end()
  }

  #watch(session: Session, now: number): void {
    this.#wheel.put(session, Math.min(session.endsAt, session.tick?.(now) ?? Infinity))
  }
}

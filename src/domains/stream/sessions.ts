import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import type { KeyId } from './sql.ts'

/** How often open streams are looked at for silence and for their end. */
const TICK_MS = 200
const RETRY_AFTER_SECONDS = 5

/** An open stream, as far as its caps, its credentials and its time are concerned. */
export interface Session {
  readonly tenantId: Id
  /** The API key that it was opened with; null for admin tokens and tickets. */
  readonly keyId: Id | null
  /** The reader whom its ticket names. */
  readonly readerId: Id | null
  /** When it ends at the latest (ms since 1970): its lifetime, or that of its credentials. */
  readonly endsAt: number
  /** Says goodbye and closes. */
  end(): void
  /** Called some times a second. */
  tick?(now: number): void
}

export interface Caps {
  perProcess: number
  perTenant: number
  perReader: number
}

/** All open streams of a process: counted against the caps, ended by the clock, by a revoked key, or by a shutdown. */
export class Sessions {
  readonly #open = new Set<Session>()
  readonly #tenants = new Counter()
  readonly #readers = new Counter()
  #timer: NodeJS.Timeout | undefined
  #closing = false

  get size(): number {
    return this.#open.size
  }

  /** Counts a stream in. The caller calls the result once, when it is over. Throws `too_many_streams`, `unavailable`. */
  admit(session: Session, caps: Caps): () => void {
    if (this.#closing) throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
    const { tenantId, readerId } = session
    const reader = readerId === null ? null : `${tenantId}/${readerId}`
    const isFull =
      this.#open.size >= caps.perProcess ||
      this.#tenants.get(tenantId) >= caps.perTenant ||
      (reader !== null && this.#readers.get(reader) >= caps.perReader)
    if (isFull) throw new ServiceError('too_many_streams', { retryAfterSeconds: RETRY_AFTER_SECONDS })
    this.#open.add(session)
    this.#tenants.add(tenantId, 1)
    if (reader !== null) this.#readers.add(reader, 1)
    this.#timer ??= setInterval(() => this.#tick(Date.now()), TICK_MS).unref()
    return () => {
      if (!this.#open.delete(session)) return
      this.#tenants.add(tenantId, -1)
      if (reader !== null) this.#readers.add(reader, -1)
    }
  }

  /** The API keys of open streams. */
  keys(): KeyId[] {
    const keys = new Map<Id, KeyId>()
    for (const { tenantId, keyId } of this.#open) if (keyId !== null) keys.set(keyId, { tenantId, keyId })
    return [...keys.values()]
  }

  /** Ends every stream of these keys. */
  endKeys(keyIds: ReadonlySet<Id>): void {
    for (const session of this.#open) if (session.keyId !== null && keyIds.has(session.keyId)) session.end()
  }

  /** Ends every stream, spread over `graceMs`, so that not all clients return at once. Resolves when all were told. */
  async endAll(graceMs: number): Promise<void> {
    this.#closing = true
    clearInterval(this.#timer)
    const sessions = [...this.#open]
    await Promise.all(
      sessions.map(async (session, index) => {
        const delay = (graceMs * index) / sessions.length
        if (delay >= 1) await new Promise((resolve) => setTimeout(resolve, delay))
        session.end()
      }),
    )
  }

  #tick(now: number): void {
    for (const session of this.#open) {
      if (now >= session.endsAt) session.end()
      else session.tick?.(now)
    }
  }
}

/** Counts by name; what is at zero takes no room. */
class Counter {
  readonly #counts = new Map<string, number>()

  get(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  add(name: string, by: number): void {
    const count = this.get(name) + by
    if (count === 0) this.#counts.delete(name)
    else this.#counts.set(name, count)
  }
}

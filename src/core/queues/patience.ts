import { setTimeout as sleep } from 'node:timers/promises'

import { LRUCache } from 'lru-cache'

import { type App, perApp } from '../app.ts'
import { ServiceError } from '../errors.ts'
import { growing } from '../process/growing.ts'
import type { Id } from '../ids.ts'
import type { Db } from '../database/database.ts'
import { isLockFailure, LockFailure } from '../database/locks.ts'

/**
 * The most writes of one tenant that wait for a retry. More would only cost memory, and are refused
 * at once.
 */
const MAX_WAITING = 1000
/**
 * For this long after a failure to get a lock, the tenant's statements wait only HASTY_WAIT_MS for
 * a lock.
 */
const STUCK_MS = 2000
/**
 * Enough for a queue of healthy transactions; short, because the first try of many writes may fail.
 */
const HASTY_WAIT_MS = 25
/**
 * The pause between failed retries of a tenant's waiting writes. Retries cost CPU, so the pause is
 * for all its writes together.
 */
const PAUSE_MS = 40

/**
 * How one tenant's writes share the pool with those of others. A write that waits for another
 * transaction's lock gives its connection back after LOCK_WAIT_MS and is retried later, and at most
 * half of the connections serve one tenant's writes at once. So locked rows of one tenant, however
 * many, do not delay another tenant.
 */
export class Patience {
  readonly #patienceMs: number
  readonly #slots: Semaphore
  /** Writes that wait for a lock are retried one at a time, in order of arrival. */
  readonly #tries = new Semaphore(1)
  #waiting = 0
  #stuckUntil = 0

  /**
   * `patienceMs`: how long a write is retried. `maxWaitMs`: how long it waits for its turn among
   * the tenant's writes.
   */
  constructor({ connections, patienceMs, maxWaitMs }: { connections: number; patienceMs: number; maxWaitMs?: number }) {
    this.#slots = new Semaphore(Math.max(1, Math.floor(connections / 2)), maxWaitMs)
    this.#patienceMs = patienceMs
  }

  /** Whether one of the tenant's writes has lately failed to get a lock. */
  get isStuck(): boolean {
    return performance.now() < this.#stuckUntil
  }

  /**
   * Runs a write, and retries it where it could not get a lock; `lockWaitMs` is how long it may
   * wait for one, where that differs from the default. The write must be a whole transaction that
   * leaves nothing behind when it fails. Throws `unavailable`.
   */
  async run<T>(write: (lockWaitMs?: number) => Promise<T>): Promise<T> {
    const until = performance.now() + this.#patienceMs
    const attempt = (): Promise<T> => this.#slots.run(() => write(this.isStuck ? HASTY_WAIT_MS : undefined))
    try {
      return await attempt()
    } catch (cause) {
      this.#note(cause)
      if (this.#waiting >= MAX_WAITING) throw stillLocked(cause)
      return await this.#runAgain(attempt, until, cause)
    }
  }

  async #runAgain<T>(attempt: () => Promise<T>, until: number, first: unknown): Promise<T> {
    let last = first
    this.#waiting++
    try {
      for (;;) {
        const tried = await this.#tries.run(async () => {
          if (performance.now() > until) throw stillLocked(last)
          try {
            return { result: await attempt() }
          } catch (cause) {
            this.#note(cause)
            last = cause
            await sleep(PAUSE_MS * (0.5 + Math.random()))
            return null
          }
        })
        if (tried !== null) return tried.result
      }
    } finally {
      this.#waiting--
    }
  }

  /** Notes a failure to get a lock. Rethrows any other error. */
  #note(cause: unknown): void {
    if (!isLockFailure(cause)) throw cause
    if (!(cause instanceof LockFailure)) this.#stuckUntil = performance.now() + STUCK_MS
  }
}

/** Lets `free` run at once; the others wait, each for `maxWaitMs` at most. */
export class Semaphore {
  #free: number
  readonly #maxWaitMs: number
  readonly #waiting: Waiter[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(free: number, maxWaitMs = Infinity) {
    this.#free = free
    this.#maxWaitMs = maxWaitMs
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await this.#wait()
    try {
      return await work()
    } finally {
      // The next waiter takes the slot over.
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next.enter()
    }
  }

  #wait(): Promise<void> {
    return new Promise<void>((enter, refuse) => {
      this.#waiting.push({ enter, refuse, until: performance.now() + this.#maxWaitMs })
      if (this.#timer === undefined && this.#maxWaitMs < Infinity) this.#refuseLate()
    })
  }

  // All wait equally long, so the first in the queue is the first to be late.
  #refuseLate(): void {
    const now = performance.now()
    while ((this.#waiting[0]?.until ?? Infinity) <= now) this.#waiting.shift()?.refuse(tooBusy())
    const next = this.#waiting[0]
    this.#timer = next && setTimeout(() => this.#refuseLate(), next.until - now).unref()
  }
}

interface Waiter {
  enter: () => void
  refuse: (error: Error) => void
  until: number
}

/** The error of a write that did not get its turn in time. It was not sent. */
export const tooBusy = (): ServiceError =>
  new ServiceError('unavailable', {
    detail: 'The database did not take the change in time. Nothing was changed; try again.',
    retryAfterSeconds: 1,
  })

const stillLocked = (cause: unknown): ServiceError =>
  new ServiceError('unavailable', {
    detail:
      cause instanceof LockFailure
        ? cause.message
        : 'Another change of the same resource is still under way; try again.',
    retryAfterSeconds: 1,
    cause,
  })

const MAX_TENANTS = 10_000

interface TenantApp {
  app: App
  patience: Patience
}

const tenantApps = perApp((root) => {
  const known = new LRUCache<Id, TenantApp>(growing(MAX_TENANTS))
  return (tenantId: Id): TenantApp => {
    const existing = known.get(tenantId)
    if (existing !== undefined) return existing
    const { connections, maxWaitMs } = root.db
    const patienceMs = root.settings.DATABASE_LOCK_PATIENCE_SECONDS * 1000
    const patience = new Patience({ connections, patienceMs, maxWaitMs })
    const made = { app: { ...root, root, db: patientDb(root.db, patience) }, patience }
    known.set(tenantId, made)
    return made
  }
})

/** Whether a write of the tenant has lately failed to get a lock. */
export const isStuck = (app: App, tenantId: Id): boolean => tenantApps(app)(tenantId).patience.isStuck

/**
 * The app for work in one tenant: its writes are retried, and cannot hold up other tenants
 * (`Patience`).
 */
export const ofTenant = (app: App, tenantId: Id): App => tenantApps(app)(tenantId).app

/**
 * The tenant's app for one request: once `isGone`, its writes are not sent, because the client has
 * left.
 */
export function ofRequester(app: App, tenantId: Id, isGone: () => boolean): App {
  const root = app.root ?? app
  const { app: ofItsTenant, patience } = tenantApps(app)(tenantId)
  return { ...ofItsTenant, isGone, db: patientDb(root.db, patience, isGone) }
}

function patientDb(db: Db, patience: Patience, isGone?: () => boolean): Db {
  const run = <T>(write: (lockWaitMs?: number) => Promise<T>): Promise<T> =>
    patience.run((lockWaitMs) => (isGone?.() === true ? Promise.reject(tooBusy()) : write(lockWaitMs)))
  return {
    query: (statement, params) => {
      if (!statement.locks) return db.query(statement, params)
      return run((lockWaitMs) =>
        lockWaitMs === undefined
          ? db.query(statement, params)
          : db.transaction((sql) => sql(statement, params), lockWaitMs),
      )
    },
    transaction: (work) => run((lockWaitMs) => db.transaction(work, lockWaitMs)),
    connections: db.connections,
    maxWaitMs: db.maxWaitMs,
  }
}

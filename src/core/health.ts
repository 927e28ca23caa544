import type { Outage } from './outage.ts'

/**
 * Why a process is given no requests. `starting`: the first start is not over, no tenant exists
 * yet. `stopping`: it was told to end, and still answers.
 */
export type NotReady = Outage | 'starting' | 'stopping'

/** Whether this process can serve: what `/readyz` answers. */
export interface Health {
  /** Null where it can. Some seconds old at most. */
  readonly notReady: NotReady | null
  /** Whether the first tenant exists: before, no credentials can be right. */
  readonly isSetUp: boolean
  /** The first tenant exists from now on. */
  setUp(): void
  /** The process ends soon. */
  stop(): void
}

import type { Outage } from '../outage.ts'

/**
 * Why a process must get no requests. `starting`: the first start has not finished, so no tenant
 * exists yet. `stopping`: it was told to stop, and still answers.
 */
export type NotReady = Outage | 'starting' | 'stopping'

/** Whether this process can serve: what `/readyz` answers. */
export interface Health {
  /** Null while it can serve. At most some seconds old. */
  readonly notReady: NotReady | null
  /** Whether the first tenant exists: before that, no credentials can be valid. */
  readonly isSetUp: boolean
  /** Called when the first tenant exists. */
  setUp(): void
  /** Called when the process begins to stop. */
  stop(): void
}

import type { Id } from './ids.ts'

/** A cap within a tenant on the open streams under one name, such as those of a ticket. */
export interface Quota {
  /** What is counted, unique within the tenant: `ticket:…`, `address:…`. */
  readonly name: string
  /** How many streams may be open under that name at once. */
  readonly cap: number
}

/** A stream that wants to open, and the caps that it must fit into. */
export interface PlaceRequest {
  readonly tenantId: Id
  /** How many streams the tenant may have open at once. */
  readonly perTenant: number
  readonly quotas: readonly Quota[]
}

/**
 * The places of open streams, counted over all processes (docs/reference/choices/streams.md).
 * Nothing here throws or rejects, nor waits longer than half a second: a process that cannot reach
 * the others uses its own count and the last counts that it got of theirs.
 */
export interface StreamPlaces {
  /**
   * Takes a place; null where a cap is reached. The result gives the place back; a second call does
   * nothing.
   */
  take(request: PlaceRequest): Promise<(() => void) | null>
  /** Reports the places given back since the last report, before the process ends. */
  close(): Promise<void>
}

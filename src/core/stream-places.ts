import type { Id } from './ids.ts'

/** A count within a tenant that a stream must fit into, such as that of its ticket. */
export interface Quota {
  /** What is counted, unique within the tenant: `ticket:…`, `address:…`. */
  readonly name: string
  /** How many streams may be open under that name at once. */
  readonly cap: number
}

/** A stream that wants to open, and the counts that it must fit into. */
export interface PlaceRequest {
  readonly tenantId: Id
  /** How many streams the tenant may have open at once. */
  readonly perTenant: number
  readonly quotas: readonly Quota[]
}

/**
 * The places of open streams, counted over all processes (docs/reference/choices.md). Nothing here
 * throws or rejects, nor waits longer than half a second for others that do not answer: a process
 * that cannot reach them goes by its own count and by what it last heard of theirs.
 */
export interface StreamPlaces {
  /**
   * Takes a place; null where one of the counts is full. The result gives it back; calling it again
   * does nothing.
   */
  take(request: PlaceRequest): Promise<(() => void) | null>
  /** Lets the others know of the last ones given back. */
  close(): Promise<void>
}

import type { Id } from './ids.ts'

/** A stream that wants to open: whose it is, and how many of them there may be at once. */
export interface PlaceRequest {
  readonly tenantId: Id
  /** The reader whom its ticket names. */
  readonly readerId: Id | null
  readonly perTenant: number
  readonly perReader: number
}

/**
 * The places of open streams, counted over all processes (contract, section 6, "Caps"). Nothing here throws or rejects,
 * nor waits longer than half a second for others that do not answer: a process that cannot reach them goes by its own
 * count and by what it last heard of theirs.
 */
export interface StreamPlaces {
  /** Takes a place; null where there is none left. The result gives it back; calling it again does nothing. */
  take(request: PlaceRequest): Promise<(() => void) | null>
  /** Lets the others know of the last ones given back. */
  close(): Promise<void>
}

/**
 * Carries news between processes, fast and without any promise: a message may be lost, doubled or
 * late, and listeners must get by without it (from the database, within seconds).
 */
export interface Bus {
  /**
   * Never throws and is never awaited: news that cannot be sent is lost. `onSent`, which only Redis
   * calls, hears that it has the message, or that the message is lost.
   */
  publish(channel: string, message: string, onSent?: () => void): void
  /** Resolves once the subscription is in force; what is published from then on arrives. */
  subscribe(channel: string, listener: (message: string) => void): Promise<Unsubscribe>
  /** Tells when messages may have been lost: the connection was away and is back. */
  onGap(listener: () => void): Unsubscribe
  /** Whether messages flow now, for `/readyz` and metrics. */
  isUp(): boolean
  close(): Promise<void>
}

export type Unsubscribe = () => void

/** Every channel of the bus. */
export const CHANNELS = {
  /**
   * Events of one discussion (`encodeNews`). An id is a tenant's own: an import may give another
   * tenant the same.
   */
  discussion: ({ tenantId, discussionId }: { tenantId: string; discussionId: string }) =>
    `discussion:${tenantId}:${discussionId}`,
  /**
   * The moderation queues of one tenant may have changed; without a text, as who listens reads how
   * they are.
   */
  queues: (tenantId: string) => `queues:${tenantId}`,
  /** A changed thing that processes keep in a cache; JSON, `CacheNews`. */
  caches: 'caches',
  /** There is something due for a worker. */
  work: 'work',
  /** What a process sends itself, to measure the bus. */
  probe: (processId: string) => `probe:${processId}`,
} as const

/** What a process forgets when another one has changed it. */
export type CacheNews =
  | { kind: 'key'; keyId: string; digest: string }
  | { kind: 'tenant'; tenantId: string }
  | { kind: 'reader'; tenantId: string; externalId: string }
  /** Events of the tenant have been rewritten by the erasure of a reader. */
  | { kind: 'erasure'; tenantId: string }

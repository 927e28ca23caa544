/**
 * Carries messages between processes, fast and without guarantees: a message may be lost, doubled
 * or late. Listeners must then recover from the database, within seconds.
 */
export interface Bus {
  /**
   * Never throws and is never awaited: a message that cannot be sent is lost. Only Redis calls
   * `onSent`: once it has the message, or once the message is lost.
   */
  publish(channel: string, message: string, onSent?: () => void): void
  /** Resolves once the subscription is in force: messages published after that arrive. */
  subscribe(channel: string, listener: (message: string) => void): Promise<Unsubscribe>
  /** Calls `listener` when messages may have been lost: the connection was away and is back. */
  onGap(listener: () => void): Unsubscribe
  /** Whether messages flow now, for `/readyz` and metrics. */
  isUp(): boolean
  close(): Promise<void>
}

export type Unsubscribe = () => void

/** How often a message that a listener could not take is reported. */
const REPORT_MS = 60_000

/**
 * A bus whose listeners may fail: what one throws at a message neither keeps the message from the
 * others nor reaches the client of the bus, which would close its connection. At most one error a
 * minute is reported.
 */
export function tolerant(bus: Bus, report: (error: unknown, channel: string) => void): Bus {
  let reportedAt = -Infinity
  return {
    ...bus,
    subscribe: (channel, listener) =>
      bus.subscribe(channel, (message) => {
        try {
          listener(message)
        } catch (error) {
          const now = performance.now()
          if (now - reportedAt < REPORT_MS) return
          reportedAt = now
          report(error, channel)
        }
      }),
  }
}

/** Every channel of the bus. */
export const CHANNELS = {
  /**
   * Events of one discussion (`encodeNews`). The tenant is in the name because an import may give
   * discussions of two tenants the same id.
   */
  discussion: ({ tenantId, discussionId }: { tenantId: string; discussionId: string }) =>
    `discussion:${tenantId}:${discussionId}`,
  /**
   * The moderation queues of one tenant may have changed. The message is empty: listeners read the
   * queues' present state.
   */
  queues: (tenantId: string) => `queues:${tenantId}`,
  /** Operations of one shared GraphQL connection, for the process that has it. */
  operations: (stream: string) => `operations:${stream}`,
  /** Answers to the operations that one process has passed on. */
  operationAnswers: (processId: string) => `operation-answers:${processId}`,
  /** A changed thing that processes keep in a cache; JSON, `CacheNews`. */
  caches: 'caches',
  /** Work is due for a worker. */
  work: 'work',
  /** Messages that a process sends to itself, to measure the bus. */
  probe: (processId: string) => `probe:${processId}`,
} as const

/** What other processes must drop from their caches. */
export type CacheNews =
  | { kind: 'key'; keyId: string; digest: string }
  | { kind: 'client_token'; tokenId: string; digest: string }
  /** Sign-ins of members have ended. */
  | { kind: 'sign_in'; tenantId: string; signInIds: readonly string[] }
  | { kind: 'tenant'; tenantId: string }
  /** A tenant was suspended or resumed. */
  | { kind: 'suspension'; tenantId: string; isSuspended: boolean }
  /** A discussion was deleted. */
  | { kind: 'discussion'; tenantId: string; discussionId: string }
  /** A document was deleted. */
  | { kind: 'document'; tenantId: string }
  /** A site was changed or deleted: its streams end, and come back where they may. */
  | { kind: 'site'; siteId: string; publicKey: string }
  /** Tokens of a guest have ended. */
  | { kind: 'guest'; readerId: string }
  | { kind: 'reader'; tenantId: string; externalId: string }
  /** A reader has muted another one, or no longer. */
  | { kind: 'mutes'; tenantId: string; readerId: string }
  /** Events of the tenant have been rewritten by the erasure of a reader. */
  | { kind: 'erasure'; tenantId: string }

import { type Id, newId } from '../../core/ids.ts'
import type { PlaceRequest, Quota } from '../../core/stream-places.ts'
import type { OwnCount, SyncAnswer, SyncMessage } from './script.ts'

/** The most places or names in one message. Redis is blocked meanwhile: 4 ms for 200 names. */
export const MAX_MESSAGE = 100

/** How many streams a name has. */
class Tally {
  own = 0
  #others = 0
  #knownUntil = 0

  /** The counts of other processes are valid until their leases end. */
  setOthers(others: number, until: number): void {
    this.#others = others
    this.#knownUntil = until
  }

  hasRoom(cap: number, now: number): boolean {
    return this.own + (now < this.#knownUntil ? this.#others : 0) < cap
  }
}

export interface PendingPlace {
  request: PlaceRequest
  resolve: (giveBack: (() => void) | null) => void
}

/** This process's view of a tenant's streams. */
export class Share {
  readonly tenantId: Id
  /**
   * The name under which this process counts. Counts under a name that Redis has lost are ignored.
   */
  processId = newId()
  readonly total = new Tally()
  readonly tallies = new Map<string, Tally>()
  /** Requests that wait for a place, in the order in which they came. */
  waiting: PendingPlace[] = []
  /** What is not reported to Redis yet: whether the total, and which names. */
  isDirty = false
  dirtyNames = new Set<string>()
  isSyncing = false
  /** Whether Redis has a count of ours, as far as we know. */
  isKnown = false
  /** Until when Redis is not asked, because it did not answer. */
  aloneUntil = 0
  perTenant = 0

  constructor(tenantId: Id) {
    this.tenantId = tenantId
  }

  get mustSync(): boolean {
    return this.waiting.length > 0 || this.isDirty || this.dirtyNames.size > 0
  }

  /** The tally of a name. It is kept in the map while it counts something. */
  tally(name: string): Tally {
    return this.tallies.get(name) ?? new Tally()
  }

  hasRoom({ perTenant, quotas }: PlaceRequest, now: number): boolean {
    return this.total.hasRoom(perTenant, now) && quotas.every(({ name, cap }) => this.tally(name).hasRoom(cap, now))
  }

  count(quotas: readonly Quota[], by: 1 | -1): void {
    this.total.own += by
    for (const { name } of quotas) {
      const tally = this.tally(name)
      tally.own += by
      if (tally.own === 0) this.tallies.delete(name)
      else this.tallies.set(name, tally)
    }
  }

  markDirty(names: Iterable<string>): void {
    this.isDirty = true
    for (const name of names) this.dirtyNames.add(name)
  }

  /** Counts under another name from now on, and reports everything again. */
  rename(): void {
    this.processId = newId()
    this.isKnown = false
    this.isDirty = true
    this.dirtyNames = new Set(this.tallies.keys())
  }
}

/** The message that reports the share's changes and asks for places. */
export function messageOf(share: Share, asked: readonly PendingPlace[]): SyncMessage {
  const counts: OwnCount[] = []
  const indexes = new Map<string, number>()
  const indexOf = (name: string, cap: number): number => {
    const index = indexes.get(name) ?? counts.length
    if (index === counts.length) counts.push({ name, cap, own: share.tally(name).own })
    indexes.set(name, index)
    return index
  }
  const places = asked.map(({ request }) => request.quotas.map(({ name, cap }) => indexOf(name, cap)))
  // Redis needs caps only for requested places.
  for (const name of [...share.dirtyNames].slice(0, MAX_MESSAGE)) indexOf(name, 0)
  const { processId, isKnown, total, perTenant } = share
  return { processId, isKnown, own: total.own, perTenant, counts, asked: places }
}

export function applyAnswer(share: Share, names: readonly string[], answer: SyncAnswer, until: number): void {
  share.total.setOthers(answer.others, until)
  names.forEach((name, n) => share.tally(name).setOthers(answer.otherCounts[n] ?? 0, until))
}

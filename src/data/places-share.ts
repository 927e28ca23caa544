import { type Id, newId } from '../core/ids.ts'
import type { PlaceRequest } from '../core/stream-places.ts'
import type { Answer, Word } from './places-script.ts'

/** Places asked for, or readers told of, in one word. Redis does nothing else meanwhile: 2 ms, measured. */
export const MAX_WORD = 100

/** How many streams a name has. */
class Tally {
  own = 0
  #others = 0
  #heardUntil = 0

  /** What the others have counts for as long as their leases. */
  hear(others: number, until: number): void {
    this.#others = others
    this.#heardUntil = until
  }

  others(now: number): number {
    return now < this.#heardUntil ? this.#others : 0
  }

  hasRoom(cap: number, now: number): boolean {
    return this.own + this.others(now) < cap
  }
}

export interface Asked {
  request: PlaceRequest
  resolve: (giveBack: (() => void) | null) => void
}

/** A tenant's streams as this process knows them. */
export class Share {
  readonly tenantId: Id
  /** Under which name this process counts. What a name that Redis has lost left behind counts no more. */
  processId = newId()
  readonly total = new Tally()
  readonly readers = new Map<Id, Tally>()
  /** Who waits for a place, in the order of their coming. */
  waiting: Asked[] = []
  /** What Redis has not been told of: whether the total, and which readers. */
  isUntold = false
  untold = new Set<Id>()
  isTalking = false
  /** Whether Redis has a count of ours, as far as we know. */
  isKnown = false
  /** Until when Redis is not asked, because it has not answered. */
  aloneUntil = 0
  caps: Pick<PlaceRequest, 'perTenant' | 'perReader'> = { perTenant: 0, perReader: 0 }

  constructor(tenantId: Id) {
    this.tenantId = tenantId
  }

  get hasWord(): boolean {
    return this.waiting.length > 0 || this.isUntold || this.untold.size > 0
  }

  /** The tally of a reader, kept once it has counted something. */
  reader(readerId: Id): Tally {
    return this.readers.get(readerId) ?? new Tally()
  }

  hasRoom({ readerId, perTenant, perReader }: PlaceRequest, now: number): boolean {
    return this.total.hasRoom(perTenant, now) && (readerId === null || this.reader(readerId).hasRoom(perReader, now))
  }

  count(readerId: Id | null, by: 1 | -1): void {
    this.total.own += by
    if (readerId === null) return
    const tally = this.reader(readerId)
    tally.own += by
    if (tally.own === 0) this.readers.delete(readerId)
    else this.readers.set(readerId, tally)
  }

  mustTell(readerIds: Iterable<Id>): void {
    this.isUntold = true
    for (const readerId of readerIds) this.untold.add(readerId)
  }

  /** Begins anew, under another name. */
  rename(): void {
    this.processId = newId()
    this.isKnown = false
    this.isUntold = true
    this.untold = new Set(this.readers.keys())
  }
}

/** What the share has to tell, and whom it asks for a place. */
export function wordOf(share: Share, asked: readonly Asked[]): Word {
  const numbers = new Map<Id, number>()
  const numberOf = (readerId: Id | null): number => {
    if (readerId === null) return -1
    const number = numbers.get(readerId) ?? numbers.size
    numbers.set(readerId, number)
    return number
  }
  for (const readerId of [...share.untold].slice(0, MAX_WORD)) numberOf(readerId)
  const places = asked.map(({ request }) => numberOf(request.readerId))
  const { processId, isKnown, total } = share
  const { perTenant, perReader } = share.caps
  const readers = [...numbers.keys()].map((id) => ({ id, own: share.reader(id).own }))
  return { processId, isKnown, own: total.own, perTenant, perReader, readers, asked: places }
}

export function hear(share: Share, readerIds: readonly Id[], { others, readerOthers }: Answer, until: number): void {
  share.total.hear(others, until)
  readerIds.forEach((id, n) => share.reader(id).hear(readerOthers[n] ?? 0, until))
}

import { counted } from '../../core/input/texts.ts'
import type { Found } from '../item.ts'

/** Counts what an import cannot take, so that each kind is reported once with its total. */
export class Tally {
  private readonly kinds = new Map<string, { first: string; total: number }>()

  /** `one` and `reason` describe the kind: `trackback`, `are links from other sites`. */
  add(place: string, one: string, reason: string, count = 1): void {
    if (!(count > 0)) return
    const key = `${one}: ${reason}`
    const kind = this.kinds.get(key)
    if (kind === undefined) this.kinds.set(key, { first: place, total: count })
    else kind.total += count
  }

  *found(): Generator<Found> {
    for (const [key, { first, total }] of this.kinds) {
      const [one = '', reason = ''] = key.split(': ')
      yield {
        place: `from ${first} on,`,
        refused: `${counted(total, one)} ${total === 1 ? 'is' : 'are'} not taken: ${reason}`,
      }
    }
  }
}

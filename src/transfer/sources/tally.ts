import { counted } from '../../core/input/texts.ts'
import type { Found } from '../item.ts'

/** More kinds than any source has. What comes beyond them counts as one more. */
const MAX_KINDS = 100
const MAX_NAME = 50

/** Counts what an import cannot take, so that each kind is reported once with its total. */
export class Tally {
  private readonly kinds = new Map<string, { first: string; total: number }>()

  /** `one` and `reason` describe the kind: `trackback`, `are links from other sites`. */
  add(place: string, one: string, reason: string, count = 1): void {
    if (!(count > 0)) return
    const named = `${one.slice(0, MAX_NAME)}: ${reason}`
    const key = this.kinds.has(named) || this.kinds.size < MAX_KINDS ? named : 'item: it is of another kind'
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

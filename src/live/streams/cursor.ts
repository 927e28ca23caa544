import { createHash } from 'node:crypto'

import type { Id } from '../../core/ids.ts'

/** The most discussions of one stream. */
export const MAX_DISCUSSIONS = 50

/**
 * The positions of one stream in several discussions, as one text: eight hexadecimal digits that
 * tell these discussions from others, a hyphen, and the positions in the order of the discussions'
 * ids, with dots between. At most 809 characters (docs/reference/choices/streams.md).
 */
const CURSOR = /^[0-9a-f]{8}-\d{1,15}(\.\d{1,15}){0,49}$/
const MAX_CURSOR_LENGTH = 9 + 16 * MAX_DISCUSSIONS
/** A client may send the header twice: where it began, and what it has reached. */
const MAX_CURSORS = 4

/** The cursors of these discussions. `ids` are sorted, and none comes twice. */
export class Cursors {
  readonly ids: readonly Id[]
  readonly #prefix: string

  constructor(ids: readonly Id[]) {
    this.ids = ids
    this.#prefix = `${createHash('sha256').update(ids.join()).digest('hex').slice(0, 8)}-`
  }

  /** `positions` are in the order of `ids`. */
  encode(positions: readonly number[]): string {
    return this.#prefix + positions.join('.')
  }

  /**
   * The positions that a client sent; null where they are not of these discussions. Of several
   * cursors the latest position of each discussion counts.
   */
  decode(text: string): readonly number[] | null {
    if (text.length > (MAX_CURSOR_LENGTH + 2) * MAX_CURSORS) return null
    const read = text.split(',').map((each) => this.#decodeOne(each.trim()))
    return read.reduce((all, one) => all && one && all.map((position, n) => Math.max(position, one[n] ?? 0)))
  }

  #decodeOne(text: string): readonly number[] | null {
    if (!text.startsWith(this.#prefix) || !CURSOR.test(text)) return null
    const positions = text.slice(this.#prefix.length).split('.').map(Number)
    return positions.length === this.ids.length ? positions : null
  }
}

/** Ids as the cursors of their discussions have them. */
export const inCursorOrder = (ids: readonly Id[]): Id[] => [...new Set(ids)].toSorted()

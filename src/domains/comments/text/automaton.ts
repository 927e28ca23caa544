import type { WordStream } from './word-streams.ts'

/** A text to find. `opens`, `closes`: it may begin, or end, within a word. */
export interface Pattern {
  text: string
  entry: number
  opens: boolean
  closes: boolean
}

/** Equal patterns that end at a node. */
interface Output extends Omit<Pattern, 'entry' | 'text'> {
  length: number
  entries: number[]
}

/**
 * Finds many patterns in one pass over a text (Aho and Corasick 1975), over UTF-16 units. At each
 * place, it looks at those patterns that end there: they are ends of one another, so at most as
 * many as the longest has characters.
 */
export class Automaton {
  /** An id for each unit that is in a pattern. */
  readonly #units = new Map<string, number>()
  /** The next node by `node * #width + unit`. */
  readonly #next = new Map<number, number>()
  readonly #width: number
  /** Where to go on if no pattern does here: the longest end of what was read that begins one. */
  readonly #fail: Int32Array
  /** The nearest node at or below by `#fail` where a pattern ends; 0 for none. */
  readonly #report: Int32Array
  readonly #outputs = new Map<number, Output[]>()

  constructor(patterns: readonly Pattern[]) {
    for (const { text } of patterns) {
      for (let at = 0; at < text.length; at++) {
        const unit = text.charAt(at)
        if (!this.#units.has(unit)) this.#units.set(unit, this.#units.size)
      }
    }
    this.#width = this.#units.size
    const children = this.#plant(patterns)
    this.#fail = new Int32Array(children.length)
    this.#report = new Int32Array(children.length)
    this.#link(children)
  }

  knows(unit: string): boolean {
    return this.#units.has(unit)
  }

  /**
   * Calls `found` with the entries of each pattern in the text, the same array each time, and where
   * it begins and ends. Returns true as soon as that does.
   */
  scan(
    { text, isBoundary }: WordStream,
    found: (entries: readonly number[], from: number, to: number) => boolean,
  ): boolean {
    let node = 0
    for (let at = 0; at < text.length; at++) {
      const unit = this.#units.get(text.charAt(at))
      node = unit === undefined ? 0 : this.#step(node, unit)
      const last = this.#report[node] ?? 0
      const isEnd = last !== 0 && isBoundary(at + 1)
      for (let end = last; end !== 0; end = this.#report[this.#fail[end] ?? 0] ?? 0) {
        for (const { entries, length, opens, closes } of this.#outputs.get(end) ?? []) {
          const from = at + 1 - length
          if ((closes || isEnd) && (opens || isBoundary(from)) && found(entries, from, at + 1)) return true
        }
      }
    }
    return false
  }

  #step(from: number, unit: number): number {
    let node = from
    for (;;) {
      const next = this.#next.get(node * this.#width + unit)
      if (next !== undefined) return next
      if (node === 0) return 0
      node = this.#fail[node] ?? 0
    }
  }

  /** Makes the nodes. Returns the children of each, a child always behind its parent. */
  #plant(patterns: readonly Pattern[]): { node: number; unit: number }[][] {
    const children: { node: number; unit: number }[][] = [[]]
    for (const pattern of patterns) {
      let node = 0
      for (let at = 0; at < pattern.text.length; at++) {
        const unit = this.#units.get(pattern.text.charAt(at)) ?? 0
        const key = node * this.#width + unit
        let next = this.#next.get(key)
        if (next === undefined) {
          next = children.push([]) - 1
          this.#next.set(key, next)
          children[node]?.push({ node: next, unit })
        }
        node = next
      }
      if (node === 0) continue
      this.#end(node, pattern)
    }
    return children
  }

  #end(node: number, { text, entry, opens, closes }: Pattern): void {
    const outputs = this.#outputs.get(node) ?? []
    const same = outputs.find((output) => output.opens === opens && output.closes === closes)
    if (same === undefined) outputs.push({ length: text.length, opens, closes, entries: [entry] })
    else same.entries.push(entry)
    this.#outputs.set(node, outputs)
  }

  /** Breadth first, because a node's failure link is nearer to the root than the node. */
  #link(children: readonly (readonly { node: number; unit: number }[])[]): void {
    const queue = [0]
    for (const parent of queue) {
      for (const { node, unit } of children[parent] ?? []) {
        const fail = parent === 0 ? 0 : this.#step(this.#fail[parent] ?? 0, unit)
        this.#fail[node] = fail
        this.#report[node] = this.#outputs.has(node) ? node : (this.#report[fail] ?? 0)
        queue.push(node)
      }
    }
  }
}

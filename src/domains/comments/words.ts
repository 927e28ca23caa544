import { wordsOf } from './normalize.ts'

interface Node {
  next: Map<string, Node>
  /**
   * Where to continue if no entry continues here: the longest suffix of the words read that begins
   * an entry.
   */
  fail: Node | null
  /** Whether an entry ends here. */
  ends: boolean
}

/** Whether one of the entries of a list is among the words of a text (`wordsOf`). */
export type WordFilter = (words: readonly string[]) => boolean

/**
 * Compiles a list of words and phrases. The filter's time depends only on the text, not on the list
 * (Aho and Corasick 1975, over words instead of characters).
 */
export function compileWords(entries: readonly string[]): WordFilter {
  const root: Node = { next: new Map(), fail: null, ends: false }
  for (const entry of entries) plant(root, wordsOf(entry))
  linkFailures(root)
  return (words) => {
    let node = root
    for (const word of words) {
      while (node.fail !== null && !node.next.has(word)) node = node.fail
      node = node.next.get(word) ?? root
      if (node.ends) return true
    }
    return false
  }
}

function plant(root: Node, words: readonly string[]): void {
  let node = root
  for (const word of words) {
    const next = node.next.get(word) ?? { next: new Map(), fail: root, ends: false }
    node.next.set(word, next)
    node = next
  }
  // An entry of punctuation alone has no words, and would match every text.
  if (node !== root) node.ends = true
}

/** Breadth first, because a node's failure link is nearer to the root than the node. */
function linkFailures(root: Node): void {
  const queue = [...root.next.values()]
  for (const node of queue) {
    for (const [word, child] of node.next) {
      let fail = node.fail
      while (fail !== null && !fail.next.has(word)) fail = fail.fail
      child.fail = fail?.next.get(word) ?? root
      child.ends ||= child.fail.ends
      queue.push(child)
    }
  }
}

const compiled = new WeakMap<readonly string[], WordFilter>()

/** The filter of a list in the settings, compiled once while these settings are cached. */
export function wordFilter(entries: readonly string[]): WordFilter {
  const known = compiled.get(entries)
  if (known !== undefined) return known
  const filter = compileWords(entries)
  compiled.set(entries, filter)
  return filter
}

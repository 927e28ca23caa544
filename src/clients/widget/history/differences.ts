/** A part of two texts: in both, in the later one alone, or in the earlier one alone. */
export interface Piece {
  kind: 'same' | 'ins' | 'del'
  text: string
}

/** The most pairs of words to compare: 2 MB. A text that is changed more is shown as replaced. */
const MAX_PAIRS = 1_000_000

/** Words as the language divides texts. Browsers without this divide them by spaces. */
function wordsOf(text: string, lang: string): string[] {
  if (!('Segmenter' in Intl)) return text.match(/\s+|\S+/g) ?? []
  return Array.from(new Intl.Segmenter(lang, { granularity: 'word' }).segment(text), ({ segment }) => segment)
}

/** How a text became another one, word by word. */
export function differences(earlier: string, later: string, lang: string): Piece[] {
  const [before, after] = [wordsOf(earlier, lang), wordsOf(later, lang)]
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && before[start] === after[start]) start++
  let end = 0
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++
  const pieces: Piece[] = []
  const add = (kind: Piece['kind'], words: readonly string[]): void => {
    const text = words.join('')
    const last = pieces.at(-1)
    if (last?.kind === kind) last.text += text
    else if (text !== '') pieces.push({ kind, text })
  }
  add('same', before.slice(0, start))
  compare(before.slice(start, before.length - end), after.slice(start, after.length - end), add)
  add('same', before.slice(before.length - end))
  return pieces
}

type Add = (kind: Piece['kind'], words: readonly string[]) => void

/** By the longest sequence of words that both have. */
function compare(before: readonly string[], after: readonly string[], add: Add): void {
  if (before.length * after.length > MAX_PAIRS) {
    add('del', before)
    add('ins', after)
    return
  }
  // How many words both have from here on.
  const common = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1))
  const at = (i: number, j: number): number => common[i]?.[j] ?? 0
  for (let i = before.length - 1; i >= 0; i--) {
    const row = common[i]
    for (let j = after.length - 1; row && j >= 0; j--) {
      row[j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  let [i, j] = [0, 0]
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      add('same', before.slice(i, i + 1))
      i++
      j++
    } else if (at(i + 1, j) >= at(i, j + 1)) add('del', before.slice(i, ++i))
    else add('ins', after.slice(j, ++j))
  }
  add('del', before.slice(i))
  add('ins', after.slice(j))
}

import { foldForSearch as fold } from '../../../../core/input/letters.ts'
import type { Mark } from '../../../ui/mentions.ts'

const WORD = /[\p{L}\p{N}\p{M}]+/gu
/** Scripts that put no space between words. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u

/**
 * Where a text has the words of a search: whole words, the last one also as a beginning; case and
 * accents do not count. It shows why the service has found a comment, and decides nothing.
 */
export function wordsIn(text: string, search: string): Mark[] {
  const terms = (search.match(WORD) ?? []).map(fold).filter((term) => term !== '')
  const last = terms.at(-1)
  if (last === undefined) return []
  const all = new Set(terms)
  const marks: Mark[] = []
  for (const { 0: word, index } of text.matchAll(WORD)) {
    const folded = fold(word)
    if (all.has(folded) || folded.startsWith(last)) marks.push({ start: index, end: index + word.length })
    else if (UNSPACED.test(word)) marks.push(...partsOfRun(word, index, terms))
  }
  return marks
}

/** The terms inside of a run of letters that has no spaces. */
const partsOfRun = (run: string, from: number, terms: readonly string[]): Mark[] =>
  terms.flatMap((term) => {
    const at = run.toLowerCase().indexOf(term)
    return at === -1 ? [] : [{ start: from + at, end: from + at + term.length }]
  })

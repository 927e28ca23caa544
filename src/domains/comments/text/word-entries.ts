import type { FieldError } from '../../../core/errors.ts'
import { hasSigns, signsIn, withoutSigns } from './signs.ts'
import { type StreamForm, wordStream } from './word-streams.ts'

/** How an entry of a word list matches. */
export interface EntryPattern {
  /** In the form of the stream that it is searched in. */
  text: string
  form: StreamForm
  /** It may begin, or end, within a word. */
  opens: boolean
  closes: boolean
}

export type Entry = { patterns: readonly EntryPattern[] } | { problem: string }

const STARS = new Set(['*', '＊'])
const KEYCAP = /^\*\uFE0F?\u20E3/
/** One of these is a word, as a sign is; one letter of any other script is in nearly every text. */
const IS_WORD = /\p{Script=Han}/u
const COUNTS = /[\p{L}\p{N}]/gu

/**
 * Reads an entry. An entry with accents matches these alone. Punctuation in it must be in the text.
 * An emoji or a sign matches the same grapheme alone. `*` at an end means: also within a word. Of
 * an entry that could match no text, or nearly every text, it says so.
 */
export function readEntry(entry: string): Entry {
  const { core, opens, closes } = withoutStars(entry)
  const signs = hasSigns(core)
  const plain = wordStream(core, { signs, punctuation: true }).text
  const letters = withoutSigns(plain).match(COUNTS) ?? []
  const counting = letters.length + signsIn(plain)
  if (counting === 0) return { problem: 'must have a letter, a digit or a symbol' }
  if ((opens || closes) && counting === 1 && letters.some((letter) => !IS_WORD.test(letter))) {
    return { problem: 'would match nearly every text: beside a * it needs two letters or digits' }
  }
  const accents = wordStream(core, { signs, punctuation: true, accents: true }).text !== plain
  const form = { accents, signs, punctuation: hasPunctuation(core, { accents, signs }) }
  const patterns = [false, ...(core.includes('I') ? [true] : [])].map((dotless) => {
    const stream = wordStream(core, { ...form, dotless })
    return { text: stream.text, form, opens, closes }
  })
  const [first] = patterns
  const begins = /^\p{M}/u.test(first?.text ?? '')
  return begins ? { problem: 'cannot match: it begins with a mark that belongs to a letter before it' } : { patterns }
}

/** Whether it has anything beside words and white space. */
const hasPunctuation = (core: string, form: StreamForm): boolean =>
  wordStream(core, { ...form, punctuation: true }).text !== wordStream(core, form).text

function withoutStars(entry: string): { core: string; opens: boolean; closes: boolean } {
  const trimmed = entry.trim()
  let [from, to] = [0, trimmed.length]
  while (from < to && STARS.has(trimmed.charAt(from)) && !KEYCAP.test(trimmed.slice(from, from + 3))) from++
  while (to > from && STARS.has(trimmed.charAt(to - 1))) to--
  return { core: trimmed.slice(from, to).trim(), opens: from > 0, closes: to < trimmed.length }
}

/** An error for each entry that would match nothing or nearly everything, but those of `known`. */
export const entryErrors = (
  entries: readonly string[],
  pointer: string,
  known: readonly string[] = [],
): FieldError[] => {
  const taken = new Set(known)
  return entries.flatMap((entry, index) => {
    const read = taken.has(entry) ? null : readEntry(entry)
    return read !== null && 'problem' in read
      ? [{ pointer: `${pointer}/${index}`, code: 'wrong_format', message: read.problem }]
      : []
  })
}

import type { FieldError } from '../../../core/errors.ts'
import { normalizeText } from './normalize.ts'
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
/** One of these is a word; one letter of any other script is in nearly every text. */
const IS_WORD = /[\p{Script=Han}\p{So}\p{Sc}]/u
const COUNTS = /[\p{L}\p{N}\p{So}\p{Sc}]/gu

/**
 * Reads an entry. An entry with accents matches these alone. Punctuation in it must be in the text.
 * `*` at an end means: also within a word. Of an entry that could match no text, or nearly every
 * text, it says so.
 */
export function readEntry(entry: string): Entry {
  const { core, opens, closes } = withoutStars(entry)
  const plain = normalizeText(core)
  const counting = plain.match(COUNTS) ?? []
  const [only] = counting
  if (only === undefined) return { problem: 'must have a letter, a digit or a symbol' }
  if ((opens || closes) && counting.length === 1 && !IS_WORD.test(only)) {
    return { problem: 'would match nearly every text: beside a * it needs two letters or digits' }
  }
  const accents = normalizeText(core, { accents: true }) !== plain
  const form = { accents, punctuation: hasPunctuation(core, accents) }
  const patterns = [false, ...(core.includes('I') ? [true] : [])].map((dotless) => {
    const stream = wordStream(core, { ...form, dotless })
    return { text: stream.text, form, opens, closes }
  })
  const [first] = patterns
  const begins = /^\p{M}/u.test(first?.text ?? '')
  return begins ? { problem: 'cannot match: it begins with a mark that belongs to a letter before it' } : { patterns }
}

/** Whether it has anything beside words and white space. */
const hasPunctuation = (core: string, accents: boolean): boolean =>
  wordStream(core, { accents, punctuation: true }).text !== wordStream(core, { accents }).text

function withoutStars(entry: string): { core: string; opens: boolean; closes: boolean } {
  const trimmed = entry.trim()
  let [from, to] = [0, trimmed.length]
  while (from < to && STARS.has(trimmed.charAt(from))) from++
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

import { sha256 } from '../../core/crypto.ts'

// Built at run time, because the compiler's target lacks the `v` flag.
const set = (text: string): RegExp => new RegExp(text, 'gv')

/** Scripts without spaces between words. The long vowel mark ー has no script of its own. */
const UNSPACED = `[ー${['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar'].map((name) => `\\p{Script=${name}}`).join('')}]`

// Not the marks of Indic or Thai scripts, which are vowels, nor those that make が of か.
const ACCENTS = set('[[\\p{M}&&[\\p{Script=Inherited}\\p{Script=Hebrew}]]--[\\u3099\\u309A]]')
const INVISIBLE = set('[\\p{Default_Ignorable_Code_Point}\\p{Cf}]')
const WORDS = set(`${UNSPACED}\\p{M}*|[[\\p{L}\\p{N}\\p{M}]--${UNSPACED}]+|[\\p{So}\\p{Sc}]`)

// Letters that look like another letter with a stroke, but are not decomposed by Unicode.
const STROKED: Readonly<Record<string, string>> = {
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  ħ: 'h',
  ŧ: 't',
  æ: 'ae',
  œ: 'oe',
  ς: 'σ',
}
// Signs for a word or phrase, such as ㌖ and ﷺ, which would become up to 18 letters. They are kept
// as they are: a comment of nothing else would cost as much as one of 180 000 characters.
const WHOLE_WORDS = /[\u321D\u321E\u327C\u3300-\u3357\u33AE\u33AF\uFDFA\uFDFB]/
const BETWEEN_WHOLE_WORDS = new RegExp(WHOLE_WORDS.source.replace('[', '[^') + '+', 'g')
const STROKES = new RegExp(`[${Object.keys(STROKED).join('')}]`, 'g')

// ASCII text changes only in case below.
const ASCII = /^[\0-\x7F]*$/

// Sorting combining marks takes quadratic time. No language has more on one letter (UAX 15,
// stream-safe text).
const MANY_MARKS = /(?<!\p{M})(\p{M}{30})\p{M}+/gu
const cutMarks = (text: string): string => text.replace(MANY_MARKS, '$1')

/** Removes differences of case, accents, width and invisible characters. Never throws. */
export function normalizeText(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  const bare = decompose(cutMarks(text)).replace(INVISIBLE, '').replace(ACCENTS, '')
  // Upper case first, because ß and SS, ı and I are equal only there; lower case before that, for
  // ẞ.
  const normalized = bare.toLowerCase().toUpperCase().toLowerCase()
  return cutMarks(normalized.replace(STROKES, (letter) => STROKED[letter] ?? letter)).normalize('NFC')
}

const decompose = (text: string): string =>
  WHOLE_WORDS.test(text) ? text.replace(BETWEEN_WHOLE_WORDS, (part) => part.normalize('NFKD')) : text.normalize('NFKD')

/**
 * The words of a normalized text. In scripts without spaces each character is a word; so is each
 * emoji and currency sign. Everything else separates words.
 */
export const wordsIn = (normalized: string): readonly string[] => normalized.match(WORDS) ?? []

export const wordsOf = (text: string): readonly string[] => wordsIn(normalizeText(text))

/** The least length for which a repetition counts: many readers write "Thank you!". */
const MIN_DIGESTED = 20

/**
 * A digest of a normalized text without white space: 64 bits, as a decimal PostgreSQL bigint. Null
 * for a text of less than 20 characters.
 */
export function digestOf(normalized: string): string | null {
  const text = normalized.replace(/\s{2,}|[^\S ]/gu, ' ').trim()
  return text.length < MIN_DIGESTED ? null : sha256(text).readBigInt64BE().toString()
}

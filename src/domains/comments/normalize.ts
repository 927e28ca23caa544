import { sha256 } from '../../core/crypto.ts'

// By their constructor: the `v` flag is newer than the compiler's target.
const set = (text: string): RegExp => new RegExp(text, 'gv')

/**
 * Scripts that put no spaces between words. The mark of a long vowel belongs to no script of its
 * own.
 */
const UNSPACED = `[ー${['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar'].map((name) => `\\p{Script=${name}}`).join('')}]`

// Not the marks of Indic or Thai letters, which are vowels, nor those that make が of か.
const ACCENTS = set('[[\\p{M}&&[\\p{Script=Inherited}\\p{Script=Hebrew}]]--[\\u3099\\u309A]]')
const INVISIBLE = set('[\\p{Default_Ignorable_Code_Point}\\p{Cf}]')
const WORDS = set(`${UNSPACED}\\p{M}*|[[\\p{L}\\p{N}\\p{M}]--${UNSPACED}]+|[\\p{So}\\p{Sc}]`)

// Letters that are another one with a stroke to the eye, but not to Unicode.
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
// Signs that stand for a word or a phrase, such as ㌖ and ﷺ, of up to 18 letters. They stay one: a
// comment of nothing else would be as much work as a comment of 180 000 characters.
const WHOLE_WORDS = /[\u321D\u321E\u327C\u3300-\u3357\u33AE\u33AF\uFDFA\uFDFB]/
const BETWEEN_WHOLE_WORDS = new RegExp(WHOLE_WORDS.source.replace('[', '[^') + '+', 'g')
const STROKES = new RegExp(`[${Object.keys(STROKED).join('')}]`, 'g')

// Everything below changes nothing in such a text but its case.
const ASCII = /^[\0-\x7F]*$/

// Putting marks in order costs the square of their number. No language has more on one letter (UAX
// 15, stream-safe text).
const MANY_MARKS = /(\p{M}{30})\p{M}+/gu
const cutMarks = (text: string): string => text.replace(MANY_MARKS, '$1')

/**
 * A text without the differences of case, accents, width and invisible characters. Never throws,
 * whatever the text.
 */
export function normalizeText(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  const bare = decompose(cutMarks(text)).replace(INVISIBLE, '').replace(ACCENTS, '')
  // Upper case first: ß and SS, ı and I are one only there. Before it lower case, for ẞ.
  const normalized = bare.toLowerCase().toUpperCase().toLowerCase()
  return cutMarks(normalized.replace(STROKES, (letter) => STROKED[letter] ?? letter)).normalize('NFC')
}

const decompose = (text: string): string =>
  WHOLE_WORDS.test(text) ? text.replace(BETWEEN_WHOLE_WORDS, (part) => part.normalize('NFKD')) : text.normalize('NFKD')

/**
 * The words of a normalized text. In a script without spaces each character is a word of its own.
 * So is an emoji, and so is a currency sign. Everything else only separates words.
 */
export const wordsIn = (normalized: string): readonly string[] => normalized.match(WORDS) ?? []

export const wordsOf = (text: string): readonly string[] => wordsIn(normalizeText(text))

/** The least length of a text of which a repetition says something: "Thank you!" is everybody's. */
const MIN_DIGESTED = 20

/**
 * A digest of a normalized text that ignores white space: 64 bits, as PostgreSQL's bigint in
 * decimal. Null for a text of less than 20 characters.
 */
export function digestOf(normalized: string): string | null {
  const text = normalized.replace(/\s{2,}|[^\S ]/gu, ' ').trim()
  return text.length < MIN_DIGESTED ? null : sha256(text).readBigInt64BE().toString()
}

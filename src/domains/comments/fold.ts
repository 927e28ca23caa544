import { sha256 } from '../../core/crypto.ts'

// By their constructor: the `v` flag is newer than the compiler's target.
const set = (text: string): RegExp => new RegExp(text, 'gv')

/** Scripts that put no spaces between words. The mark of a long vowel belongs to no script of its own. */
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
const STROKES = new RegExp(`[${Object.keys(STROKED).join('')}]`, 'g')

// Everything below changes nothing in such a text but its case.
const ASCII = /^[\0-\x7F]*$/

/** A text without the differences of case, accents, width and invisible characters. Never throws, whatever the text. */
export function foldText(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  const bare = text.normalize('NFKD').replace(INVISIBLE, '').replace(ACCENTS, '')
  // Upper case first: ß and SS, ı and I are one only there.
  const folded = bare.toUpperCase().toLowerCase()
  return folded.replace(STROKES, (letter) => STROKED[letter] ?? letter).normalize('NFC')
}

/**
 * The words of a text, folded. In a script without spaces each character is a word of its own, and so are a picture
 * (an emoji) and a currency's sign. Everything else only parts them.
 */
export const wordsOf = (text: string): readonly string[] => foldText(text).match(WORDS) ?? []

/** The least length of a text of which a repetition says something: "Thank you!" is everybody's. */
const MIN_DIGESTED = 20

/**
 * What texts have in common that differ in nothing but case, white space and the like: 64 bits, as PostgreSQL's bigint
 * in decimal. Null for a text of less than 20 characters.
 */
export function digestOf(text: string): string | null {
  const folded = foldText(text).replace(/\s+/gu, ' ').trim()
  return folded.length < MIN_DIGESTED ? null : sha256(folded).readBigInt64BE().toString()
}

import { ACCENTS, KASHIDA, LETTERS, withBases } from '../../../core/input/letters.ts'
import { sha256 } from '../../../core/secrets/crypto.ts'
import { withoutMentions } from './mentions.ts'

// Built at run time, because the compiler's target lacks the `v` flag.
const set = (text: string): RegExp => new RegExp(text, 'gv')

// The vowel points of Hebrew and Arabic, which few write, and strokes and rings through letters,
// which no language does.
const POINTS = set('[[\\p{M}&&[\\p{Script=Hebrew}\\p{Script=Arabic}]]\\u064B-\\u0652\\u0670\\u0334-\\u0338\\p{Me}]')
// Also the colour of an emoji's skin.
const INVISIBLE = set(`[\\p{Default_Ignorable_Code_Point}\\p{Cf}\\u{1F3FB}-\\u{1F3FF}${KASHIDA}]`)

/** Letters of their own keep their marks. */
const OWN_LETTERS = LETTERS.flatMap(({ letter, isOwn }) => (isOwn ? [letter] : []))
const NOT_OWN = new RegExp(`[^${OWN_LETTERS.join('')}]+`, 'gu')

const QUOTES = /[’‘‛ʼ´′＇]/g
const DASHES = /[\p{Pd}\u2212]/gu
// Signs for a word or phrase, such as ㌖ and ﷺ, which would become up to 18 letters. They are kept
// as they are: a comment of nothing else would cost as much as one of 180 000 characters.
const WHOLE_WORDS = /[\u321D\u321E\u327C\u3300-\u3357\u33AE\u33AF\uFDFA\uFDFB]/
const BETWEEN_WHOLE_WORDS = new RegExp(WHOLE_WORDS.source.replace('[', '[^') + '+', 'g')

// ASCII text changes only in case below.
const ASCII = /^[\0-\x7F]*$/

// Sorting combining marks takes quadratic time. No language has more on one letter (UAX 15,
// stream-safe text).
const MANY_MARKS = /(?<!\p{M})(\p{M}{30})\p{M}+/gu
const cutMarks = (text: string): string => text.replace(MANY_MARKS, '$1')

export interface Fold {
  /** Accents count, too; otherwise only letters of their own do. */
  accents?: boolean
  /** A capital I is that of ı, as in Turkish; otherwise that of i. */
  dotless?: boolean
}

/**
 * Removes differences of case, width, quotation marks, dashes and invisible characters, and accents
 * but for letters of their own (`LETTERS`). Never throws.
 */
export function normalizeText(text: string, { accents = false, dotless = false }: Fold = {}): string {
  if (ASCII.test(text)) return (dotless ? text.replaceAll('I', 'ı') : text).toLowerCase()
  const bare = decompose(cutMarks(text.replace(QUOTES, "'")))
    .replace(INVISIBLE, '')
    // A double prime is two of them, once it is decomposed.
    .replace(QUOTES, "'")
    .replace(DASHES, '-')
  const folded = cutMarks(foldCase(bare, dotless))
    .normalize('NFC')
    .replace(BROKEN_AM, (am) => AM[am] ?? am)
  return accents ? folded.replace(POINTS, '') : folded.replace(NOT_OWN, withoutAccents)
}

const decompose = (text: string): string =>
  WHOLE_WORDS.test(text) ? text.replace(BETWEEN_WHOLE_WORDS, (part) => part.normalize('NFKD')) : text.normalize('NFKD')

const withoutAccents = (text: string): string =>
  ASCII.test(text) ? text : text.normalize('NFD').replace(ACCENTS, '').normalize('NFC')

// The compatible form of the Thai and Lao vowel am is no longer found in a dictionary of words.
const AM: Readonly<Record<string, string>> = { '\u0E4D\u0E32': '\u0E33', '\u0ECD\u0EB2': '\u0EB3' }
const BROKEN_AM = /\u0E4D\u0E32|\u0ECD\u0EB2/g

/**
 * Upper case before lower case, because ß and SS are equal only there; lower case before that, for
 * ẞ. There ı and I would be, too.
 */
function foldCase(text: string, dotless: boolean): string {
  const turkish = dotless ? text.replaceAll('I\u0307', 'i').replaceAll('I', 'ı') : text
  const folded = turkish
    .toLowerCase()
    .replaceAll('i\u0307', 'i')
    .split('ı')
    .map((part) => part.toUpperCase().toLowerCase())
    .join('ı')
  return withBases(folded)
}

/** A comment's body in the normal form, without the ids of those whom it names. */
export const normalizeBody = (body: string): string => normalizeText(withoutMentions(body))

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

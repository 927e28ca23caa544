// Emoji and signs in the texts and entries of word lists.

// Built at run time, because the compiler's target lacks the `v` flag.
const set = (text: string): RegExp => new RegExp(text, 'gv')

/** What continues a grapheme, but for the joiner, which may add another emoji. */
const EXTENDS = '[\\p{M}\\p{Emoji_Modifier}\\u200C\\u{E0020}-\\u{E007F}]'
/**
 * Symbols, numbers such as ½ and Ⅷ, and small raised letters. Not letters of other width or font:
 * they are letters.
 */
const SIGN =
  '[\\p{So}\\p{Sc}\\p{No}ªº[\\p{Nl}&&\\p{Script=Latin}][\\p{Lm}&&[\\p{Script=Latin}\\p{Script=Greek}\\p{Script=Cyrillic}]]]'
const EMOJI = '\\p{Extended_Pictographic}'
const FLAG = '\\p{Regional_Indicator}'
const KEYCAP = '[0-9#*]\\uFE0F?\\u20E3'
const HAS_SIGN = new RegExp(`${FLAG}|${KEYCAP}|${EMOJI}|${SIGN}`, 'v')
/** Graphemes as Intl.Segmenter divides them (UAX 29), which takes longer. */
const SIGNS = set(`(?:${FLAG}{1,2}|${KEYCAP}|${EMOJI}(?:${EXTENDS}*\\u200D${EMOJI})*|${SIGN})(?:${EXTENDS}|\\u200D)*`)

// Neither is ever in a folded text: folding removes them.
const [BEGIN, END] = ['\u2066', '\u2069']
const ENCLOSED = /\u2066[^\u2066\u2069]+\u2069/gu

export const hasSigns = (text: string): boolean => HAS_SIGN.test(text)

/** How many signs a stream has. */
export const signsIn = (stream: string): number => stream.match(ENCLOSED)?.length ?? 0
export const withoutSigns = (stream: string): string => stream.replace(ENCLOSED, '')

/** Stands for a sign while the text is folded: a noncharacter, which folding keeps. */
const MARK = '\uFDD0'
/** Another noncharacter, for those that the text has itself. */
const NO_MARK = '\uFDD1'

/**
 * Folds a text except its signs, at once: folding has a price for each call. Each sign is enclosed,
 * so that no sign is found in another one. `space` gets each part between signs.
 */
export function foldBetweenSigns(
  text: string,
  fold: (marked: string) => string,
  space: (folded: string) => string,
): string {
  const signs: string[] = []
  const marked = text.replaceAll(MARK, NO_MARK).replace(SIGNS, (sign) => {
    signs.push(BEGIN + canonical(sign) + END)
    return MARK
  })
  const parts = fold(marked).split(MARK)
  return parts.map((part, index) => space(part) + (signs[index] ?? '')).join('')
}

const UNREAD = set('[[\\p{M}--\\u20E3]\\p{Emoji_Modifier}\\u200C]')
const TAGS = set('[\\u{E0020}-\\u{E007F}]')

/** In lower case, without choices of form, colours of skin, and marks. Tags make flags alone. */
function canonical(sign: string): string {
  const bare = sign.replace(UNREAD, '')
  const joined = bare.startsWith('🏴') ? bare : bare.replace(TAGS, '')
  let { length } = joined
  while (joined.charAt(length - 1) === '\u200D') length--
  const read = joined.slice(0, length).toLowerCase()
  const compatible = read.normalize('NFKC')
  // Another width of a sign that is no letter, such as ￥.
  return /[\p{L}\p{N}]/u.test(compatible) ? read : compatible
}

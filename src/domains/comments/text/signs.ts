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

/** Folds what is between signs. Each sign is enclosed, so that no sign is found in another one. */
export function foldBetweenSigns(text: string, fold: (part: string) => string): string {
  let [folded, from] = ['', 0]
  for (const { 0: sign, index } of text.matchAll(SIGNS)) {
    folded += fold(text.slice(from, index)) + BEGIN + canonical(sign) + END
    from = index + sign.length
  }
  return folded + fold(text.slice(from))
}

const UNREAD = set('[[\\p{M}--\\u20E3]\\p{Emoji_Modifier}\\u200C]')
const TAGS = set('[\\u{E0020}-\\u{E007F}]')

/** Without the choice of a form, the colour of skin, and marks. Tags make flags alone. */
function canonical(sign: string): string {
  const bare = sign.replace(UNREAD, '')
  const joined = bare.startsWith('🏴') ? bare : bare.replace(TAGS, '')
  let { length } = joined
  while (joined.charAt(length - 1) === '\u200D') length--
  const read = joined.slice(0, length)
  const compatible = read.normalize('NFKC')
  // Another width of a sign that is no letter, such as ￥.
  return /[\p{L}\p{N}]/u.test(compatible) ? read : compatible
}

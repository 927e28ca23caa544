import { type Fold, normalizeText } from './normalize.ts'
import { foldBetweenSigns } from './signs.ts'

/** What a list of words is compared with. */
export interface StreamForm extends Fold {
  /** Punctuation counts; otherwise it separates words as white space does. */
  punctuation?: boolean
  /** Emoji and signs count as they are; otherwise as the letters that are compatible with them. */
  signs?: boolean
}

/** A folded text, with the places where words begin and end. */
export interface WordStream {
  readonly text: string
  /** Whether a word begins or ends before the UTF-16 unit at `index`. */
  isBoundary(index: number): boolean
}

const GAPS = /[^\p{L}\p{N}\p{M}\p{So}\p{Sc}]+/gu

const segmenter = new Intl.Segmenter('en', { granularity: 'word' })

/** The text of a comment or entry in the form that a list needs. */
export function wordStream(source: string, form: StreamForm): WordStream {
  const fold = (text: string): string => normalizeText(text, form)
  const space = (folded: string): string => spaced(folded, form.punctuation === true)
  return streamOf(form.signs === true ? foldBetweenSigns(source, fold, space) : space(fold(source)))
}

/** The stream of a text that is normalized already, in the form of all defaults. */
export const plainStream = (normalized: string): WordStream => streamOf(spaced(normalized, false))

const spaced = (normalized: string, punctuation: boolean): string =>
  normalized.replace(punctuation ? /\s+/g : GAPS, ' ')

function streamOf(untrimmed: string): WordStream {
  const text = untrimmed.trim()
  // Divided only at need: a look-up costs a microsecond, all words of 10 000 characters 10 ms.
  let segments: Intl.Segments | undefined
  const isBoundary = (index: number): boolean => {
    if (index === 0 || index === text.length) return true
    const [before, after] = [kindBefore(text, index), kindAt(text, index)]
    if (after === Kind.Mark) return false
    if (before !== after || before === Kind.None || before === Kind.Symbol) return true
    if (before !== Kind.Unspaced) return false
    segments ??= segmenter.segment(text)
    return segments.containing(index)?.index === index
  }
  return { text, isBoundary }
}

const Kind = {
  /** White space and punctuation. */
  None: 0,
  Letter: 1,
  /** Korean particles follow a foreign word without a space. */
  Hangul: 2,
  /** Scripts without spaces between words. */
  Unspaced: 3,
  /** Emoji and currencies: each is a word. */
  Symbol: 4,
  /** It belongs to the letter before it. */
  Mark: 5,
} as const
type Kind = (typeof Kind)[keyof typeof Kind]

const UNSPACED = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar']
  .map((name) => `\\p{Script=${name}}`)
  .join('')
// In this order. The long vowel ー has no script of its own.
const KINDS: readonly (readonly [RegExp, Kind])[] = [
  [/^[a-z0-9]/, Kind.Letter],
  [/^\p{M}/u, Kind.Mark],
  [new RegExp(`^[ー${UNSPACED}]`, 'u'), Kind.Unspaced],
  [/^\p{Script=Hangul}/u, Kind.Hangul],
  [/^[\p{L}\p{N}]/u, Kind.Letter],
  [/^[\p{So}\p{Sc}]/u, Kind.Symbol],
]

const kindAt = (text: string, index: number): Kind => {
  const character = String.fromCodePoint(text.codePointAt(index) ?? 0)
  return KINDS.find(([pattern]) => pattern.test(character))?.[1] ?? Kind.None
}

/** No letter has more marks (`normalizeText`). */
const MOST_MARKS = 64

/** The kind of the letter that ends before `index`, with its marks. */
function kindBefore(text: string, index: number): Kind {
  let kind: Kind = Kind.Mark
  for (let at = index; kind === Kind.Mark && at > 0 && index - at < MOST_MARKS;) {
    at -= at > 1 && isLowSurrogate(text.charCodeAt(at - 1)) ? 2 : 1
    kind = kindAt(text, at)
  }
  return kind
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff

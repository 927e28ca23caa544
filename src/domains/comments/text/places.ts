import { type StreamForm, wordStream } from './word-streams.ts'

/** A part of a text, in UTF-16 units. */
export interface TextRange {
  start: number
  end: number
}

/** What stands between white space, and where its stream begins in that of the whole text. */
interface Chunk {
  source: string
  /** In the text. */
  at: number
  /** In the stream. */
  offset: number
  length: number
}

const lengthOf = (source: string, form: StreamForm): number => wordStream(source, form).text.length

function chunksOf(text: string, form: StreamForm): { chunks: Chunk[]; length: number } {
  const chunks: Chunk[] = []
  let length = 0
  for (const { 0: source, index: at } of text.matchAll(/\S+/g)) {
    const own = lengthOf(source, form)
    if (own === 0) continue
    const offset = length === 0 ? 0 : length + 1
    chunks.push({ source, at, offset, length: own })
    length = offset + own
  }
  return { chunks, length }
}

/**
 * Where a part of a text's stream stands in the text; null where folding has moved it too far to
 * say. A stream is of another length than its text: of what is folded and left out.
 */
export function rangeIn(text: string, form: StreamForm, { from, to }: { from: number; to: number }): TextRange | null {
  const stream = wordStream(text, form).text
  const { chunks, length } = chunksOf(text, form)
  if (length !== stream.length) return null
  const inside = (index: number): Chunk | undefined =>
    chunks.find(({ offset, length: own }) => index >= offset && index < offset + own)
  const [first, last] = [inside(from), inside(to - 1)]
  if (first === undefined || last === undefined) return null
  const start = first.at + beginOf(first.source, form, from - first.offset)
  const end = last.at + endOf(last.source, form, to - last.offset)
  return wordStream(text.slice(start, end), form).text === stream.slice(from, to) ? { start, end } : null
}

/** The least beginning of a source whose stream has `length` units or more. */
function endOf(source: string, form: StreamForm, length: number): number {
  let [low, high] = [0, source.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (lengthOf(source.slice(0, middle), form) >= length) high = middle
    else low = middle + 1
  }
  // With the marks of its last letter, and the second half of a character.
  return (
    low + (/^(?:[\uDC00-\uDFFF]|\p{M}|\p{Default_Ignorable_Code_Point})+/u.exec(source.slice(low))?.[0].length ?? 0)
  )
}

/** Where the character stands that makes the unit `index` of the stream. */
function beginOf(source: string, form: StreamForm, index: number): number {
  const [, ...ends] = [0, ...Array.from(source.matchAll(/./gsu), ({ 0: one, index: at }) => at + one.length)]
  let [low, high] = [0, ends.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if (lengthOf(source.slice(0, ends[middle]), form) > index) high = middle
    else low = middle + 1
  }
  return low === 0 ? 0 : (ends[low - 1] ?? 0)
}

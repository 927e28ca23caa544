import { type StreamForm, wordStream } from './word-streams.ts'

/** A part of a text, in UTF-16 units. */
export interface TextRange {
  start: number
  end: number
}

/** A part without white space, and where its stream begins in that of the whole text. */
interface Chunk {
  source: string
  /** In the text. */
  at: number
  /** In the stream. */
  offset: number
  length: number
}

const lengthOf = (source: string, form: StreamForm): number => wordStream(source, form).text.length

/** A long run without white space is divided, because a search in a chunk folds it many times. */
const CHUNK_LENGTH = 200
// Built at run time, because the compiler's target lacks the `v` flag. Not letters and signs that
// may join the one before.
const FRESH = new RegExp(
  '(?<!\\u200D)[[\\p{L}\\p{N}\\p{So}\\p{Sc}]--[\\p{Default_Ignorable_Code_Point}\\p{Regional_Indicator}' +
    '\\u1160-\\u11FF\\u3131-\\u318E\\uD7B0-\\uD7FB\\uFF9E-\\uFFDC]]',
  'gv',
)

/** Where the parts of a run begin. */
function beginsIn(run: string): number[] {
  const begins = [0]
  let last = 0
  for (const { index } of run.length > CHUNK_LENGTH ? run.matchAll(FRESH) : []) {
    if (index - last >= CHUNK_LENGTH) begins.push((last = index))
  }
  return begins
}

/** Stands for the letters beside a part of a run: the end of a stream has no space. */
const BESIDE = 'x'

function chunksOf(text: string, form: StreamForm): { chunks: Chunk[]; length: number } {
  const chunks: Chunk[] = []
  let length = 0
  for (const { 0: run, index: from } of text.matchAll(/\S+/g)) {
    const begins = beginsIn(run)
    const first = length === 0 ? 0 : length + 1
    let offset = first
    for (const [n, begin] of begins.entries()) {
      const [before, after] = [n === 0 ? '' : BESIDE, n === begins.length - 1 ? '' : BESIDE]
      const source = before + run.slice(begin, begins[n + 1])
      const own = lengthOf(source + after, form) - after.length
      chunks.push({ source, at: from + begin - before.length, offset: offset - before.length, length: own })
      offset += own - before.length
    }
    if (offset > first) length = offset
  }
  return { chunks, length }
}

/** Finds parts of a text's streams in the text. */
export type PlaceFinder = (form: StreamForm, part: { from: number; to: number }) => TextRange | null

/**
 * Where a part of a text's stream stands in the text; null if folding has moved it too far to say.
 * Folding changes letters and leaves some out, so a stream has not the length of its text. Each
 * form's stream is made once for all parts.
 */
export function placeFinder(text: string): PlaceFinder {
  const known = new Map<StreamForm, ReturnType<typeof chunksOf> & { stream: string }>()
  return (form, { from, to }) => {
    const made = known.get(form) ?? { ...chunksOf(text, form), stream: wordStream(text, form).text }
    known.set(form, made)
    const { chunks, length, stream } = made
    if (length !== stream.length) return null
    const inside = (index: number): Chunk | undefined =>
      chunks.find(({ offset, length: own }) => index >= offset && index < offset + own)
    const [first, last] = [inside(from), inside(to - 1)]
    if (first === undefined || last === undefined) return null
    const start = first.at + beginOf(first.source, form, from - first.offset)
    const end = last.at + endOf(last.source, form, to - last.offset)
    return wordStream(text.slice(start, end), form).text === stream.slice(from, to) ? { start, end } : null
  }
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

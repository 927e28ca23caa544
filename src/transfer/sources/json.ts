import { JSONParser } from '@streamparser/json'

import { type OnRead, SourceError, type SourceFile } from '../item.ts'
import { type Damage, readText } from './text.ts'

/** Longer than any value that a comment system writes. */
const MAX_VALUE = 2 * 1024 * 1024

/** A value of a JSON file, and its index among those of its kind. */
export interface JsonValue {
  /** The name of its list; empty for a list at the top. */
  list: string
  index: number
  value: unknown
}

/**
 * The values of the lists at `paths` (`$` for a list at the top), one after the other. Only one is
 * in memory at a time.
 */
export async function* readJson(
  file: SourceFile,
  paths: readonly string[],
  damage: Damage,
  onRead?: OnRead,
): AsyncGenerator<JsonValue> {
  const parser = new JSONParser({ paths: paths.map((each) => `${each}.*`), keepStack: false })
  let values: JsonValue[] = []
  let isWhole = false
  let isEmpty = true
  parser.onValue = ({ value, key, stack }) => {
    if (typeof key === 'number') values.push({ list: String(stack[1]?.key ?? ''), index: key, value })
  }
  parser.onEnd = () => void (isWhole = true)
  let sinceLast = 0
  for await (const text of readText(file, damage, onRead)) {
    write(parser, text)
    sinceLast = values.length > 0 ? 0 : sinceLast + text.length
    if (sinceLast > MAX_VALUE) throw new SourceError('a value in it is longer than any comment')
    if (values.length > 0) isEmpty = false
    yield* values
    values = []
  }
  if (!isWhole) throw new SourceError('it ends in the middle: it is damaged or cut off')
  if (isEmpty) throw new SourceError('it holds no comments')
}

function write(parser: JSONParser, text: string): void {
  try {
    parser.write(text)
  } catch (error) {
    // The library's message quotes the file, which contains people's texts.
    throw new SourceError('it is not JSON, or it is damaged', { cause: error })
  }
}

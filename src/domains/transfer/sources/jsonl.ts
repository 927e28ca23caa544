import { type Found, type Item, type Source, SourceError } from '../item.ts'
import { readLines } from './files.ts'

/** Our own form: an item a line. It alone has a header, settings, endpoints and audit entries. */
export const jsonl: Source = {
  about: 'the JSON Lines of an export of this service, packed with gzip or not',
  read: async function* (path, onRead): AsyncGenerator<Found> {
    let n = 0
    let hasBegun = false
    for await (const read of readLines(path, onRead)) {
      n++
      const line = n === 1 && read !== null ? read.replace(/^\uFEFF/, '') : read
      if (line?.trim() === '') continue
      const item = line === null ? null : parse(line)
      if (!hasBegun && item === null) {
        // What `npm run` says first, where its output is the file.
        if (line?.startsWith('> ') === true) continue
        throw new SourceError('its first line is no item of the JSON Lines form')
      }
      hasBegun = true
      const place = `line ${n}`
      yield item === null ? { place, refused: line === null ? 'is too long' : 'is not a JSON object' } : { place, item }
    }
  },
}

/** The pipeline checks what is in it. */
function parse(line: string): Item | null {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && 'kind' in value ? (value as Item) : null
  } catch {
    return null
  }
}

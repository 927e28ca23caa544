import { type Found, type Item, KINDS, type Source, SourceError, tooMuchIn, unknownIn } from '../item.ts'
import { readLines } from './files.ts'

/**
 * Our own form, one item a line. Only this form has a header, settings, endpoints and audit
 * entries.
 */
export const jsonl: Source = {
  about: 'the JSON Lines of an export of this service, packed with gzip or not',
  read: async function* (file, onRead): AsyncGenerator<Found> {
    let n = 0
    let hasBegun = false
    for await (const read of readLines(file, onRead)) {
      n++
      const line = n === 1 && read !== null ? read.replace(/^\uFEFF/, '') : read
      if (line?.trim() === '') continue
      const item = line === null ? null : parse(line)
      if (!hasBegun && item?.kind === undefined) {
        // The lines that `npm run` prints first, if its output is the file.
        if (line?.startsWith('> ') === true) continue
        const what = item === null ? 'is no item of the JSON Lines form' : 'has no kind'
        throw new SourceError(`its first line ${what}`)
      }
      hasBegun = true
      const place = `line ${n}`
      const tooMuch = tooMuchIn(item)
      if (item === null) yield { place, refused: line === null ? 'is too long' : 'is not a JSON object' }
      else if (tooMuch !== null) yield { place, refused: tooMuch }
      else if (item.kind !== undefined) {
        // The loss of a misspelt field might be noticed only years later.
        const unknown = unknownIn(item)
        yield { place, item, ...(unknown !== null && { changed: `leaves out ${unknown}` }) }
      } else yield { place, refused: `kind is required: one of ${KINDS.join(', ')}` }
    }
  },
}

/** Parses a line. The pipeline checks the values. */
function parse(line: string): Item | { kind?: undefined } | null {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

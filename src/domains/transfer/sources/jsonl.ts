import { type Found, type Item, KINDS, type Source, SourceError, unknownFields } from '../item.ts'
import { readLines } from './files.ts'

/** So much of the name of a field is told. */
const MAX_NAME = 50

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
      if (!hasBegun && item?.kind === undefined) {
        // What `npm run` says first, where its output is the file.
        if (line?.startsWith('> ') === true) continue
        const what = item === null ? 'is no item of the JSON Lines form' : 'has no kind'
        throw new SourceError(`its first line ${what}`)
      }
      hasBegun = true
      const place = `line ${n}`
      if (item === null) yield { place, refused: line === null ? 'is too long' : 'is not a JSON object' }
      else if (item.kind !== undefined) yield { place, item, ...leftOut(item) }
      else yield { place, refused: `kind is required: one of ${KINDS.join(', ')}` }
    }
  },
}

/** A field that is misspelt would be missed years later. */
function leftOut(item: Item): { changed?: string } {
  const [first, ...more] = new Set(unknownFields(item))
  if (first === undefined) return {}
  const others = more.length === 0 ? '' : `, and ${more.length} more like it`
  return { changed: `leaves out ${JSON.stringify(first.slice(0, MAX_NAME))}, which is no field of this kind${others}` }
}

/** The pipeline checks what is in it. */
function parse(line: string): Item | { kind?: undefined } | null {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

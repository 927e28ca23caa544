import { createReadStream } from 'node:fs'

import { parse } from 'csv-parse'

import { SourceError } from './item.ts'

/**
 * The rows of a CSV file of two columns: the second by the first. A first row whose first cell is
 * among `headings` says what the columns are. Throws SourceError.
 */
async function readPairs(path: string, headings: readonly string[]): Promise<Map<string, string>> {
  const pairs = new Map<string, string>()
  try {
    const rows = createReadStream(path).pipe(
      parse({ bom: true, trim: true, skip_empty_lines: true, relax_column_count: true }),
    )
    let n = 0
    for await (const row of rows as AsyncIterable<string[]>) {
      n++
      const [from = '', to = ''] = row
      if (n === 1 && headings.includes(from.toLowerCase())) continue
      if (from === '' || to === '') throw new SourceError(`row ${n} has not two columns`)
      pairs.set(from, to)
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new SourceError(`${path}: ${reason}`, { cause: error })
  }
  return pairs
}

/** The new addresses of pages, by the old ones. */
export const readAddresses = (path: string): Promise<Map<string, string>> => readPairs(path, ['old', 'from', 'url'])

/** The tenant's own ids of readers, by e-mail address in lower case or by id at the source. */
export async function readAuthors(path: string): Promise<Map<string, string>> {
  const pairs = await readPairs(path, ['email', 'e-mail', 'author', 'id'])
  return new Map([...pairs].map(([from, to]) => [from.includes('@') ? from.toLowerCase() : from, to]))
}

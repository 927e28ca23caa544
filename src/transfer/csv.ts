import { createReadStream } from 'node:fs'
import { pipeline, Readable } from 'node:stream'

import { CsvError, parse } from 'csv-parse'

import { SourceError } from './item.ts'
import { keyOfAddress } from './pages.ts'
import type { TableUse } from '../domains/imports/report.ts'
import { troubleOfFile } from './sources/files.ts'

/** A table: a path on this disk, or its text. */
type Table = string | { name: string; text: string }

/** The names that a heading may give the columns, in lower case; the first that matches counts. */
interface Names {
  from: readonly string[]
  to: readonly string[]
}

const MAX_UNUSED = 5

/** The second column of a table by the first. It notes which rows were used. */
export class Pairs extends Map<string, string> {
  readonly #rows = new Map<string, number>()
  readonly #used = new Set<string>()

  /** Returns the number of an earlier row with another value, or null. */
  add(from: string, to: string, row: number): number | null {
    if (this.has(from)) return super.get(from) === to ? null : (this.#rows.get(from) ?? null)
    this.#rows.set(from, row)
    this.set(from, to)
    return null
  }

  override get(from: string): string | undefined {
    const to = super.get(from)
    if (to !== undefined) this.#used.add(from)
    return to
  }

  use(): TableUse {
    const unused = [...this.#rows].filter(([from]) => !this.#used.has(from))
    const firstUnused = unused.slice(0, MAX_UNUSED).map(([, row]) => `row ${row}`)
    return { rows: this.size, used: this.#used.size, firstUnused }
  }
}

/** Maps equal values of the first column to one key. */
type KeyOf = (from: string) => string

const OPTIONS = { bom: true, trim: true, skip_empty_lines: true, relax_column_count: true }

interface Row {
  /** The number of the row, from 1. */
  n: number
  from: string
  to: string
}

/**
 * The rows of a CSV file with two columns, read as they are asked for. A heading that names both
 * may put them among others. Throws SourceError.
 */
async function* eachRow(table: Table, names: Names): AsyncGenerator<Row> {
  let columns = { from: 0, to: 1 }
  let heading: string[] = []
  let n = 0
  try {
    // Errors also reach the iteration.
    const rows = pipeline(open(table), parse(OPTIONS), () => undefined) as AsyncIterable<string[]>
    for await (const row of rows) {
      const cells = row.map((cell) => cell.toLowerCase())
      const named = ++n === 1 ? columnsOf(cells, names) : null
      if (n === 1 && named === null) expectTwoColumns(cells, names)
      if (named !== null) {
        columns = named
        heading = cells
        continue
      }
      const [from = '', to = ''] = [row[columns.from], row[columns.to]]
      if (from !== '' && to !== '' && !isPattern(heading, cells)) {
        yield { n, from, to }
      }
      // A plugin's redirects may have no target.
      else if (heading.length < 3)
        throw new SourceError(`row ${n} ${troubleOfRow(row, from === '' ? columns.from : columns.to)}`)
    }
  } catch (error) {
    throw tableErrorOf(table, error)
  }
}

const open = (table: Table): Readable =>
  typeof table === 'string' ? createReadStream(table) : Readable.from([table.text])

const troubleOfRow = ({ length }: readonly string[], empty: number): string =>
  length < 2
    ? 'has not two columns, with a comma between them'
    : `has nothing in its ${empty === 0 ? 'first' : 'second'} column`

/**
 * All rows, and the second column by the first. Throws SourceError, also if one key has two
 * values.
 */
async function readTable(table: Table, names: Names, keyOf: KeyOf): Promise<{ rows: Row[]; pairs: Pairs }> {
  const rows: Row[] = []
  const pairs = new Pairs()
  for await (const row of eachRow(table, names)) {
    const other = pairs.add(keyOf(row.from), row.to, row.n)
    if (other !== null) {
      throw tableErrorOf(table, new SourceError(`row ${row.n} has another value than row ${other} for the same`))
    }
    rows.push(row)
  }
  return { rows, pairs }
}

const readPairs = async (table: Table, names: Names, keyOf: KeyOf): Promise<Pairs> =>
  (await readTable(table, names, keyOf)).pairs

/** The positions of the columns, if this row names both. */
function columnsOf(cells: readonly string[], names: Names): { from: number; to: number } | null {
  const placeOf = (known: readonly string[], except = -1): number =>
    known.map((name) => cells.findIndex((cell, index) => index !== except && cell === name)).find((at) => at >= 0) ?? -1
  const from = placeOf(names.from)
  const to = placeOf(names.to, from)
  return from < 0 || to < 0 ? null : { from, to }
}

/** Throws SourceError for a first row that names only one column, or has more than two. */
function expectTwoColumns(cells: readonly string[], { from, to }: Names): void {
  const isNamed = cells.some((cell) => from.includes(cell) || to.includes(cell))
  if (cells.length < 3 && !isNamed) return
  throw new SourceError(`row 1 does not say which columns count: name them ${from[0]},${to[0]}`)
}

/** A redirect by a pattern, as plugins mark it. */
const isPattern = (heading: readonly string[], cells: readonly string[]): boolean =>
  heading.some((name, index) => {
    const cell = cells[index] ?? ''
    return name === 'regex' ? cell !== '' && cell !== '0' : ['format', 'matching'].includes(name) && cell === 'regex'
  })

function tableErrorOf(table: Table, error: unknown): SourceError {
  // The library's message may quote the file, which contains personal addresses.
  const reason =
    error instanceof CsvError ? `line ${String(error.lines)}: its quotes are not those of CSV` : troubleOfFile(error)
  return new SourceError(`${typeof table === 'string' ? table : table.name}: ${reason}`, { cause: error })
}

/**
 * The new addresses of pages, by the old ones. WordPress plugins export redirects in this form too.
 */
export const readAddresses = (table: Table): Promise<Pairs> =>
  readPairs(
    table,
    {
      from: ['old', 'from', 'url', 'source', 'origin', 'request', 'source url', 'old url'],
      to: ['new', 'to', 'target', 'destination', 'target url', 'new url'],
    },
    keyOfAddress,
  )

/** The former and the new external ids of discussions, row by row. Throws SourceError. */
export async function readRenames(path: string): Promise<Row[]> {
  const names = { from: ['old', 'from', 'external id', 'external_id', 'externalid'], to: ['new', 'to'] }
  return (await readTable(path, names, (from) => from)).rows
}

/** The tenant's own ids of readers, by lower-case e-mail address or by id at the source. */
export const readAuthors = (table: Table): Promise<Pairs> =>
  readPairs(
    table,
    {
      from: ['email', 'e-mail', 'mail', 'author', 'source id', 'source_id', 'username', 'id'],
      to: ['id', 'external id', 'external_id', 'externalid', 'user id', 'user_id', 'userid', 'sub', 'reader'],
    },
    (from) => (from.includes('@') ? from.toLowerCase() : from),
  )

import { open } from 'node:fs/promises'

import { type SourceFile, SourceError } from '../item.ts'
import { beginningOf } from './files.ts'

/** A value as the file has it. */
type Value = null | number | bigint | string | Buffer

interface SqliteRow {
  rowid: number
  /** How many bytes of it are on the page of its table. */
  bytes: number
  /** By the names of columns; null for a row that is longer than any comment. */
  values: Readonly<Record<string, Value>> | null
}

const MAGIC = 'SQLite format 3\0'
const HEADER_BYTES = 100
/** What is read of the file at once: a part of an upload. */
const BLOCK_BYTES = 1024 * 1024
const MAX_BLOCKS = 8
/** How often a block of an upload is read: 20 times as much as an upload may have. */
const MAX_READS = 20_000
const MAX_ROW_BYTES = 4 * 1024 * 1024
/** Far longer than the statement of any table of a comment system. */
const MAX_STATEMENT = 10_000

const INTERIOR = 5
const LEAF = 13

/** Isso has 15. Each row is read for all columns of its table. */
const MAX_COLUMNS = 100

/** More levels of pages than SQLite makes. */
const MAX_DEPTH = 20

/** The database lacks a table or a column, or is damaged. */
export class DamagedDatabase extends Error {}

const damaged = (): DamagedDatabase => new DamagedDatabase()

interface Table {
  root: number
  /** What each column has in rows that are older than it. */
  columns: ReadonlyMap<string, string | number | null>
  /** The column that may stand for the rowid: then rows have null in its place. */
  rowidColumn: string | null
}

/**
 * Reads tables of an SQLite database, page by page (sqlite.org/fileformat2.html). SQLite itself
 * would run what the file brings along: a view or a computed column that never ends stops the whole
 * process. Here each page is read once, whatever the file says, and its rows have no more bytes
 * than the page.
 */
export class SqliteFile {
  readonly #read: (from: number, length: number) => Promise<Buffer>
  readonly #blocks = new Map<number, Buffer>()
  readonly #pageBytes: number
  /** The bytes of a page that SQLite uses. */
  readonly #usable: number
  readonly #decode: (bytes: Buffer) => string
  /** A bit for each page that was read. */
  readonly #seen: Uint8Array
  #readsLeft: number

  private constructor(
    read: (from: number, length: number) => Promise<Buffer>,
    { header, bytes, most }: { header: Buffer; bytes: number; most: number },
  ) {
    this.#read = read
    this.#readsLeft = most
    const given = header.readUInt16BE(16)
    this.#pageBytes = given === 1 ? 65_536 : given
    this.#usable = this.#pageBytes - header.readUInt8(20)
    const isPowerOfTwo = (this.#pageBytes & (this.#pageBytes - 1)) === 0
    if (this.#pageBytes < 512 || !isPowerOfTwo || this.#usable < 480) throw damaged()
    if (header.readUInt8(19) !== 1)
      throw new SourceError('a part of it may be in another file: run `PRAGMA journal_mode = DELETE` on it first')
    const decoder = new TextDecoder(['utf-8', 'utf-8', 'utf-16le', 'utf-16be'][header.readUInt32BE(56)] ?? 'utf-8')
    this.#decode = (content) => decoder.decode(content)
    this.#seen = new Uint8Array(Math.ceil((bytes / this.#pageBytes + 1) / 8))
  }

  /**
   * Runs `use` with a database. Throws SourceError for another file, and DamagedDatabase. Of an
   * upload at most `most` blocks are read: its pages may lie so that each one costs a block.
   */
  static async *reading<T>(
    file: SourceFile,
    use: (database: SqliteFile) => AsyncIterable<T>,
    most = MAX_READS,
  ): AsyncGenerator<T> {
    const handle = typeof file === 'string' ? await open(file) : null
    try {
      const bytes = typeof file === 'string' ? ((await handle?.stat())?.size ?? 0) : file.bytes
      const read = async (from: number, length: number): Promise<Buffer> => {
        if (typeof file !== 'string') return beginningOf(file, length, from)
        const found = await handle?.read(Buffer.alloc(length), 0, length, from)
        return found?.buffer.subarray(0, found.bytesRead) ?? Buffer.alloc(0)
      }
      const header = await read(0, HEADER_BYTES)
      if (header.toString('latin1', 0, MAGIC.length) !== MAGIC) throw new SourceError('it is no SQLite database')
      if (header.length < HEADER_BYTES) throw damaged()
      yield* use(new SqliteFile(read, { header, bytes, most: typeof file === 'string' ? Infinity : most }))
    } catch (error) {
      // Of a Buffer: the file points beyond a page.
      throw error instanceof RangeError ? damaged() : error
    } finally {
      await handle?.close()
    }
  }

  /** The rows of a table by their rowids. Throws DamagedDatabase, also without a column. */
  async *rowsOf(name: string, columns: readonly string[]): AsyncGenerator<SqliteRow> {
    this.#seen.fill(0)
    const table = await this.#tableOf(name)
    if (!columns.every((column) => table.columns.has(column))) throw damaged()
    this.#seen.fill(0)
    yield* this.#rows(table, new Set(columns))
  }

  async #tableOf(name: string): Promise<Table> {
    const names = ['type', 'name', 'tbl_name', 'rootpage', 'sql']
    const schema = { root: 1, columns: new Map(names.map((each) => [each, null])), rowidColumn: null }
    for await (const { values } of this.#rows(schema, new Set(names))) {
      if (values?.type !== 'table' || String(values.name).toLowerCase() !== name) continue
      const { sql, rootpage } = values
      if (typeof sql !== 'string' || !Number.isSafeInteger(rootpage)) throw damaged()
      return { root: Number(rootpage), ...columnsOf(sql) }
    }
    throw damaged()
  }

  async *#rows(table: Table, wanted: ReadonlySet<string>): AsyncGenerator<SqliteRow> {
    // The next page is the last.
    const waiting = [{ number: table.root, depth: 0 }]
    for (let next; (next = waiting.pop()) !== undefined;) {
      const { number, depth } = next
      if (depth > MAX_DEPTH) throw damaged()
      const page = await this.#take(number)
      const at = number === 1 ? HEADER_BYTES : 0
      const type = page.readUInt8(at)
      if (type !== INTERIOR && type !== LEAF) throw damaged()
      const cells = Array.from({ length: page.readUInt16BE(at + 3) }, (_, n) =>
        page.readUInt16BE(at + (type === LEAF ? 8 : 12) + 2 * n),
      )
      if (type === INTERIOR) {
        const children = [...cells.map((cell) => page.readUInt32BE(cell)), page.readUInt32BE(at + 8)]
        waiting.push(...children.toReversed().map((child) => ({ number: child, depth: depth + 1 })))
        continue
      }
      let left = page.length
      for (const cell of cells) {
        const row = await this.#row(page, cell, table, wanted)
        left -= row.bytes
        if (left < 0) throw damaged()
        yield row
      }
    }
  }

  async #row(page: Buffer, cell: number, table: Table, wanted: ReadonlySet<string>): Promise<SqliteRow> {
    const [length, afterLength] = varint(page, cell)
    const [rowid, from] = varint(page, afterLength)
    const bytes = this.#bytesOnPage(length)
    if (length > MAX_ROW_BYTES) return { rowid, bytes, values: null }
    const row = bytes === length ? within(page, from, length) : await this.#longRow(page, from, { bytes, length })
    return { rowid, bytes, values: this.#valuesOf(row, rowid, table, wanted) }
  }

  #bytesOnPage(length: number): number {
    const usable = this.#usable
    if (length <= usable - 35) return length
    const least = Math.floor(((usable - 12) * 32) / 255) - 23
    const most = least + ((length - least) % (usable - 4))
    return most <= usable - 35 ? most : least
  }

  /** A row that goes on in pages of its own, each of which names the next. */
  async #longRow(page: Buffer, from: number, { bytes, length }: { bytes: number; length: number }): Promise<Buffer> {
    const pieces = [within(page, from, bytes)]
    let next = page.readUInt32BE(from + bytes)
    for (let left = length - bytes; left > 0;) {
      const more = await this.#take(next)
      const piece = within(more, 4, Math.min(left, this.#usable - 4))
      pieces.push(piece)
      left -= piece.length
      next = more.readUInt32BE(0)
    }
    return Buffer.concat(pieces)
  }

  #valuesOf(row: Buffer, rowid: number, { columns, rowidColumn }: Table, wanted: ReadonlySet<string>) {
    const values: Record<string, Value> = {}
    const [headerBytes, afterLength] = varint(row, 0)
    let at = headerBytes
    let head = afterLength
    for (const [column, ofOlderRows] of columns) {
      if (head >= headerBytes) {
        if (wanted.has(column)) values[column] = ofOlderRows
        continue
      }
      const [type, behind] = varint(row, head)
      head = behind
      const length = lengthOf(type)
      const isRowid = type === 0 && column === rowidColumn
      if (wanted.has(column)) values[column] = isRowid ? rowid : this.#value(row, at, type, length)
      at += length
    }
    return values
  }

  #value(row: Buffer, at: number, type: number, length: number): Value {
    if (type >= 12) {
      const bytes = within(row, at, length)
      return type % 2 === 0 ? bytes : this.#decode(bytes)
    }
    if (type === 7) return row.readDoubleBE(at)
    if (type === 6) {
      const whole = row.readBigInt64BE(at)
      return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole
    }
    return type === 0 ? null : type >= 8 ? type - 8 : row.readIntBE(at, length)
  }

  /** A page, which may be taken once: a file whose pages lead in a circle would never end. */
  async #take(number: number): Promise<Buffer> {
    const place = number >> 3
    const bit = 1 << (number & 7)
    if (number < 1 || ((this.#seen[place] ?? bit) & bit) !== 0) throw damaged()
    this.#seen[place] = (this.#seen[place] ?? 0) | bit
    const from = (number - 1) * this.#pageBytes
    const block = await this.#block(Math.floor(from / BLOCK_BYTES))
    return within(block, from % BLOCK_BYTES, this.#pageBytes).subarray(0, this.#usable)
  }

  async #block(n: number): Promise<Buffer> {
    const known = this.#blocks.get(n)
    if (known !== undefined) return known
    if (this.#readsLeft-- <= 0) throw new SourceError('its pages lie too far apart: run `VACUUM` on it first')
    const block = await this.#read(n * BLOCK_BYTES, BLOCK_BYTES)
    const [oldest] = this.#blocks.keys()
    if (this.#blocks.size >= MAX_BLOCKS && oldest !== undefined) this.#blocks.delete(oldest)
    this.#blocks.set(n, block)
    return block
  }
}

function within(bytes: Buffer, from: number, length: number): Buffer {
  if (from + length > bytes.length) throw damaged()
  return bytes.subarray(from, from + length)
}

/** A number of one to nine bytes, and the place behind it. */
function varint(bytes: Buffer, from: number): [number, number] {
  let value = 0
  for (let at = from; at < from + 8; at++) {
    const byte = bytes.readUInt8(at)
    value = value * 128 + (byte & 127)
    if (byte < 128) return [value, at + 1]
  }
  value = value * 256 + bytes.readUInt8(from + 8)
  return [value >= 2 ** 63 ? value - 2 ** 64 : value, from + 9]
}

const LENGTHS = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0]

function lengthOf(type: number): number {
  const length = type < 12 ? LENGTHS[type] : Math.floor((type - 12) / 2)
  if (length === undefined || length < 0) throw damaged()
  return length
}

const TABLE = /^CREATE TABLE\s/i
const CONSTRAINT = /^(?:CONSTRAINT|PRIMARY|UNIQUE|CHECK|FOREIGN)\b/i
const INTEGER = /^\S+\s+INTEGER\b/i
const IS_KEY = /\bPRIMARY\s+KEY\b/i
/** A key that stands behind the columns, as some tools write it. */
const KEY = /\bPRIMARY\s+KEY\s*\(\s*(?:'(\d+)'|["`[]?(\w+)["`\]]?)(?:\s+\w+)?\s*\)/i
const NAME = /^(?:'(\d+)'|["`[]?(\w+))/
const DEFAULT = /\bDEFAULT\s*(?:\(\s*)?(?:'(\d+)'|([+-]?\d+(?:\.\d+)?))/i
/** A text, a name in quotes, or a comment: each may hold what begins another one. */
const QUOTED_OR_COMMENT = /'((?:[^']|'')*)'|"[^"]*"|--[^\n]*|\/\*[^]*?(?:\*\/|$)/g
/** Computed columns are not in the rows. */
const COMPUTED = /\bGENERATED\b|\bAS\s*\(/i

/** The columns of a table by the statement that made it. Throws DamagedDatabase. */
function columnsOf(statement: string): Omit<Table, 'root'> {
  if (statement.length > MAX_STATEMENT) throw damaged()
  // SQLite keeps the comments of a statement. In place of a text stands its number.
  const texts: string[] = []
  const text = statement.replaceAll(QUOTED_OR_COMMENT, (token, quoted?: string) => {
    if (quoted !== undefined) return `'${texts.push(quoted.replaceAll("''", "'")) - 1}'`
    return token.startsWith('"') ? token : ' '
  })
  const named = (pattern: RegExp, part: string): string => {
    const [, number, word = ''] = pattern.exec(part) ?? []
    return (texts[Number(number)] ?? word).toLowerCase()
  }
  if (!TABLE.test(text) || COMPUTED.test(text)) throw damaged()
  const columns = new Map<string, string | number | null>()
  const integers = new Set<string>()
  let rowidColumn: string | null = null
  for (const part of partsOf(text.slice(text.indexOf('(') + 1))) {
    if (CONSTRAINT.test(part)) {
      const key = named(KEY, part)
      if (integers.has(key)) rowidColumn = key
      continue
    }
    const name = named(NAME, part)
    // Of a name with other characters only the beginning is read.
    if (columns.has(name)) throw damaged()
    if (INTEGER.test(part)) integers.add(name)
    if (integers.has(name) && IS_KEY.test(part)) rowidColumn = name
    const [, quoted, number] = DEFAULT.exec(part) ?? []
    columns.set(name, texts[Number(quoted)] ?? (number === undefined ? null : Number(number)))
  }
  if (columns.size > MAX_COLUMNS) throw damaged()
  return { columns, rowidColumn }
}

/** What stands between the commas of a list, up to its closing bracket. */
function partsOf(text: string): string[] {
  const parts: string[] = []
  let part = ''
  let depth = 0
  for (const [token] of text.matchAll(/'[^']*'|"[^"]*"|[(),]|[^'"(),]+|['"]/g)) {
    if (token === '(') depth++
    if (token === ')' && depth-- === 0) return [...parts, part.trim()]
    if (token === ',' && depth === 0) {
      parts.push(part.trim())
      part = ''
    } else part += token
  }
  throw damaged()
}

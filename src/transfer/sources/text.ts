import { isUtf8 } from 'node:buffer'

import { type Found, type OnRead, SourceError, type SourceFile } from '../item.ts'
import { readBytes } from './files.ts'

/** Longer than any line that a comment system writes. */
const MAX_LINE = 4 * 1024 * 1024

/** The encoding in an XML declaration. */
const DECLARED = /^<\?xml[^>]{0,200}?encoding=["']([\w.:-]{1,40})["']/

const ZIP = 'PK\u0003\u0004'

/** Reports undecodable bytes of a file. */
export class Damage {
  private at: number | null = null

  note(byte: number): void {
    this.at ??= byte
  }

  *found(): Generator<Found> {
    if (this.at === null) return
    yield { place: `byte ${this.at}`, refused: 'is no UTF-8: what cannot be read has become �' }
  }
}

/**
 * A file as text, in pieces: in UTF-8, or in the encoding of its byte order mark or XML
 * declaration. Undecodable bytes become U+FFFD.
 */
export async function* readText(file: SourceFile, damage: Damage, onRead?: OnRead): AsyncGenerator<string> {
  let decoder: TextDecoder | null = null
  let rest: Buffer = Buffer.alloc(0)
  let position = 0
  for await (const chunk of readBytes(file, onRead)) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const encoding = position === 0 ? encodingOf(bytes) : null
    if (encoding !== null) decoder = decoderOf(encoding)
    if (decoder !== null) {
      position += bytes.length
      yield decoder.decode(bytes, { stream: true })
      continue
    }
    const end = endOfCharacters(bytes)
    rest = bytes.subarray(end)
    yield decode(bytes.subarray(0, end), position, damage)
    position += end
  }
  if (rest.length > 0) yield decode(rest, position, damage)
  if (decoder !== null) yield decoder.decode()
}

function decode(bytes: Buffer, position: number, damage: Damage): string {
  const text = bytes.toString('utf8')
  if (!isUtf8(bytes)) damage.note(position + Buffer.byteLength(text.slice(0, text.indexOf('\uFFFD'))))
  return position === 0 && text.startsWith('\uFEFF') ? text.slice(1) : text
}

/** The end of the last complete character. */
function endOfCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? bytes.length - back : bytes.length
    if (byte < 0x80) break
  }
  return bytes.length
}

/** The encoding by a text's beginning; null for UTF-8. */
function encodingOf(bytes: Buffer): string | null {
  const head = bytes.toString('latin1', 0, 300)
  if (head.startsWith(ZIP)) throw new SourceError('it is a ZIP archive: unpack it, and import each file in it')
  if (head.startsWith('\xff\xfe')) return 'utf-16le'
  if (head.startsWith('\xfe\xff')) return 'utf-16be'
  const declared = DECLARED.exec(head)?.[1]?.toLowerCase()
  return declared === undefined || declared === 'utf-8' || declared === 'utf8' ? null : declared
}

function decoderOf(encoding: string): TextDecoder {
  try {
    return new TextDecoder(encoding)
  } catch {
    throw new SourceError(`it says that its encoding is ${encoding}, which cannot be read`)
  }
}

/** The non-empty lines of a file, each with its number; null for one that is too long. */
export async function* readTextLines(
  file: SourceFile,
  damage: Damage,
  onRead?: OnRead,
): AsyncGenerator<{ line: number; text: string | null }> {
  let rest = ''
  let isTooLong = false
  let line = 1
  for await (const chunk of readText(file, damage, onRead)) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) {
      if (isTooLong) yield { line, text: null }
      else if (text.trim() !== '') yield { line, text }
      isTooLong = false
      line++
    }
    isTooLong ||= rest.length > MAX_LINE
    if (isTooLong) rest = ''
  }
  if (isTooLong) yield { line, text: null }
  else if (rest.trim() !== '') yield { line, text: rest }
}

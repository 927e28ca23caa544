import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'

import { type OnRead, SourceError, type SourceFile } from '../item.ts'

const GZIP = Buffer.from([0x1f, 0x8b])

/** The most bytes of an upload once it is unpacked: 20 times the most that it may have. */
const MAX_UNPACKED_BYTES = 20_000_000_000

/**
 * A file's bytes, unpacked if they are gzip, whatever the file's name. Throws SourceError if the
 * file cannot be read or is damaged, and where an upload unpacks to more than `most` bytes: a
 * gigabyte of gzip may hold a thousand, and the uploads of other tenants wait meanwhile.
 */
export async function* readBytes(file: SourceFile, onRead?: OnRead, most = MAX_UNPACKED_BYTES): AsyncGenerator<Buffer> {
  try {
    const isPacked = (await beginningOf(file, GZIP.length)).equals(GZIP)
    const bytes = counted(file, onRead)
    if (!isPacked) return yield* bytes
    let left = typeof file === 'string' ? Infinity : most
    // Errors also reach the iteration.
    for await (const chunk of pipeline(bytes, createGunzip(), () => undefined) as AsyncIterable<Buffer>) {
      left -= chunk.length
      if (left < 0) throw new SourceError(`${nameOf(file)}: it unpacks to more than ${most} bytes`)
      yield chunk
    }
  } catch (error) {
    throw sourceErrorOf(file, error)
  }
}

/** Its bytes as they lie there. */
const rawBytes = (file: SourceFile): AsyncIterable<Buffer> =>
  typeof file === 'string' ? createReadStream(file, { highWaterMark: 256 * 1024 }) : file.read(0)

async function* counted(file: SourceFile, onRead?: OnRead): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of rawBytes(file)) {
    onRead?.((bytes += chunk.length))
    yield chunk
  }
}

/** The bytes from `from` on; fewer than `length` at the end of the file. */
export async function beginningOf(file: SourceFile, length: number, from = 0): Promise<Buffer> {
  if (typeof file === 'string') return beginningOnDisk(file, length)
  const parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of file.read(from)) {
    parts.push(chunk)
    bytes += chunk.length
    if (bytes >= length) break
  }
  return Buffer.concat(parts).subarray(0, length)
}

async function beginningOnDisk(path: string, length: number): Promise<Buffer> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

/** The name of a file, without its folder. */
export const nameOf = (file: SourceFile): string => (typeof file === 'string' ? basename(file) : file.name)

export function sourceErrorOf(file: SourceFile, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === undefined) return error
  const isDamaged = code.startsWith('Z_')
  // Where a stored file cannot be read, that says nothing of the file.
  if (!isDamaged && typeof file !== 'string') return error
  const reason = isDamaged ? `the file is damaged: ${message}` : troubleOfFile(error)
  return new SourceError(`${typeof file === 'string' ? file : file.name}: ${reason}`, { cause: error })
}

const TROUBLES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'is a folder, not a file',
  EACCES: 'may not be read',
  EPERM: 'may not be read',
}

/** Why a file cannot be read, in plain words. */
export function troubleOfFile(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code === undefined ? message : (TROUBLES[code] ?? `cannot be read (${code})`)
}

/** Far longer than any item. */
const MAX_LINE_BYTES = 4 * 1024 * 1024

const LINE_BREAK = 10

/** The lines of a file; null for one of more than 4 MiB, which is dropped. */
export async function* readLines(file: SourceFile, onRead?: OnRead): AsyncGenerator<string | null> {
  let parts: Buffer[] = []
  let bytes = 0
  const take = (part: Buffer): void => {
    bytes += part.length
    if (bytes > MAX_LINE_BYTES) parts = []
    else parts.push(part)
  }
  const line = (): string | null => {
    const text = bytes > MAX_LINE_BYTES ? null : Buffer.concat(parts).toString('utf8')
    parts = []
    bytes = 0
    return text
  }
  for await (const chunk of readBytes(file, onRead)) {
    let from = 0
    for (let end; (end = chunk.indexOf(LINE_BREAK, from)) >= 0; from = end + 1) {
      if (bytes === 0) yield chunk.toString('utf8', from, end)
      else {
        take(chunk.subarray(from, end))
        yield line()
      }
    }
    if (from < chunk.length) take(chunk.subarray(from))
  }
  if (bytes > 0) yield line()
}

import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'

import { type OnRead, SourceError } from '../item.ts'

const GZIP = Buffer.from([0x1f, 0x8b])

/**
 * A file's bytes, unpacked if they are gzip, whatever the file's name. Throws SourceError if the
 * file cannot be read or is damaged.
 */
export async function* readBytes(path: string, onRead?: OnRead): AsyncGenerator<Buffer> {
  try {
    const isPacked = (await beginningOf(path, GZIP.length)).equals(GZIP)
    const bytes = counted(path, onRead)
    // Errors also reach the iteration below.
    yield* isPacked ? pipeline(bytes, createGunzip(), () => undefined) : bytes
  } catch (error) {
    throw sourceErrorOf(path, error)
  }
}

async function* counted(path: string, onRead?: OnRead): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>) {
    onRead?.((bytes += chunk.length))
    yield chunk
  }
}

export async function beginningOf(path: string, length: number): Promise<Buffer> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

export function sourceErrorOf(path: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === undefined) return error
  const reason = code.startsWith('Z_') ? `the file is damaged: ${message}` : troubleOfFile(error)
  return new SourceError(`${path}: ${reason}`, { cause: error })
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
export async function* readLines(path: string, onRead?: OnRead): AsyncGenerator<string | null> {
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
  for await (const chunk of readBytes(path, onRead)) {
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

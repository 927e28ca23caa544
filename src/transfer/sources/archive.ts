import { SourceError, type StoredFile } from '../item.ts'
import { beginningOf } from './files.ts'

/** All of an archive is in blocks of this size. */
const BLOCK = 512

/** More than any source has. */
const MAX_FILES = 100

/**
 * The files of an archive of `tar`, which is not packed as a whole; null for any other file. Only
 * the heads are read: each file is read from its place. Throws SourceError.
 */
export async function filesInArchive(archive: StoredFile): Promise<StoredFile[] | null> {
  const files: StoredFile[] = []
  let at = 0
  for (let n = 0; at < archive.bytes; n++) {
    const head = await beginningOf(archive, BLOCK, at)
    if (head.toString('latin1', 257, 262) !== 'ustar') {
      if (n === 0) return null
      // An archive ends with blocks of zeros.
      if (head.every((byte) => byte === 0)) break
      throw new SourceError(`byte ${at}: the archive is damaged`)
    }
    if (n >= MAX_FILES) throw new SourceError(`the archive has more than ${MAX_FILES} files`)
    const bytes = Number.parseInt(head.toString('latin1', 124, 136), 8)
    const from = at + BLOCK
    if (!(bytes >= 0) || from + bytes > archive.bytes) throw new SourceError(`byte ${at}: the archive is cut off`)
    // Folders and notes about files are other types.
    if (['0', '\0'].includes(head.toString('latin1', 156, 157))) {
      const name = head
        .toString('utf8', 0, 100)
        .replace(/\0[^]*/, '')
        .replace(/^.*\//, '')
      files.push(slice(archive, name, from, bytes))
    }
    at = from + Math.ceil(bytes / BLOCK) * BLOCK
  }
  return files
}

const slice = (archive: StoredFile, name: string, start: number, bytes: number): StoredFile => ({
  name,
  bytes,
  async *read(from) {
    let left = bytes - from
    if (left <= 0) return
    for await (const chunk of archive.read(start + from)) {
      yield chunk.subarray(0, left)
      left -= chunk.length
      if (left <= 0) return
    }
  },
})

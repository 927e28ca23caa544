import type { App } from '../../core/app.ts'
import { PART_BYTES, partsOf } from '../../domains/import-uploads/sizes.ts'
import type { ImportUpload } from '../../generated/prisma/client.ts'
import { patiently } from '../retry.ts'
import type { StoredFile } from '../item.ts'

/** An upload was deleted while it was read. */
export class UploadDeleted extends Error {
  override readonly message = 'the upload has been deleted'
}

/** Parsers take a piece at once, and the event loop serves others in between. */
const PIECE_BYTES = 128 * 1024

/** The file of an upload, read part by part. */
export const storedFile = (
  { prisma }: App,
  { tenantId, id, fileName, bytes }: Pick<ImportUpload, 'tenantId' | 'id' | 'fileName' | 'bytes'>,
): StoredFile => ({
  name: fileName,
  bytes,
  async *read(from) {
    let skip = from % PART_BYTES
    for (let n = Math.floor(from / PART_BYTES); n < partsOf(bytes); n++) {
      const where = { tenantId_uploadId_n: { tenantId, uploadId: id, n } }
      const part = await patiently(undefined, () => prisma.importUploadPart.findUnique({ where }))
      if (part === null) throw new UploadDeleted()
      const content = Buffer.from(part.bytes.buffer, part.bytes.byteOffset, part.bytes.length)
      for (let at = skip; at < content.length; at += PIECE_BYTES) yield content.subarray(at, at + PIECE_BYTES)
      skip = 0
    }
  },
})

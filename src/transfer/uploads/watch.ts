import type { App } from '../../core/app.ts'
import type { ImportUpload } from '../../generated/prisma/client.ts'
import { ImportStopped, type Watching } from '../import/run.ts'

const EVERY_MS = 1000

/** Notes how far an upload is read, and stops the reading once the upload is deleted. */
export function watchUpload(
  { prisma }: App,
  { tenantId, id }: ImportUpload,
  signal: AbortSignal,
): Watching & { stop(): Promise<void> } {
  const deleted = new AbortController()
  let bytesRead = 0
  let noting: Promise<void> | undefined
  const note = async (): Promise<void> => {
    const { count } = await prisma.importUpload.updateMany({
      where: { tenantId, id, expiresAt: null },
      data: { bytesRead },
    })
    if (count === 0) deleted.abort(new ImportStopped())
  }
  const timer = setInterval(() => {
    // A failure says nothing of the file: the next turn tries again.
    noting ??= note()
      .catch(() => undefined)
      .finally(() => (noting = undefined))
  }, EVERY_MS)
  return {
    signal: AbortSignal.any([signal, deleted.signal]),
    onProgress: ({ bytes }) => void (bytesRead = bytes),
    stop: async () => {
      clearInterval(timer)
      await noting
    },
  }
}

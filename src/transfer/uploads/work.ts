import type { App } from '../../core/app.ts'
import { FIRST_ID } from '../../core/ids.ts'
import { troubleOf } from '../../core/outage.ts'
import type { SourceName } from '../../domains/imports/options.ts'
import type { UploadOptions } from '../../domains/import-uploads/input.ts'
import { expiryFrom } from '../../domains/import-uploads/uploads.ts'
import type { ImportUpload, Prisma } from '../../generated/prisma/client.ts'
import { readAddresses, readAuthors } from '../csv.ts'
import { holdingImports, type ImportFile, importHeld, ImportRunning } from '../import/import.ts'
import { patiently } from '../retry.ts'
import { ImportStopped, type Watching } from '../import/run.ts'
import { SourceError, type StoredFile } from '../item.ts'
import { rehearseImport } from '../rehearsal/rehearse.ts'
import { PART_BYTES, partsOf } from '../../domains/import-uploads/sizes.ts'

/** After this many, a file counts as one that ends the workers which read it. */
const MAX_ATTEMPTS = 10

/**
 * Rehearses or imports the upload that has waited longest, unless another process imports into its
 * tenant. A process that dies leaves it waiting, and another one continues. Returns whether there
 * was one.
 */
export async function workOnUploads(app: App, signal: AbortSignal): Promise<boolean> {
  for (let after = FIRST_ID; ;) {
    const where = { expiresAt: null, id: { gt: after } }
    const waiting = await app.prisma.importUpload.findFirst({ where, orderBy: { id: 'asc' } })
    if (waiting === null) return false
    try {
      await holdingImports(app, waiting.tenantId, (lost) => work(app, waiting, AbortSignal.any([signal, lost])))
      return true
    } catch (error) {
      if (!(error instanceof ImportRunning)) throw error
      after = waiting.id
    }
  }
}

async function work(app: App, { tenantId, id }: ImportUpload, signal: AbortSignal): Promise<void> {
  const key = { tenantId, id }
  // Read again: another process may have been faster.
  const { count } = await app.prisma.importUpload.updateMany({
    where: { ...key, expiresAt: null },
    data: { attempts: { increment: 1 } },
  })
  const upload = await app.prisma.importUpload.findUnique({ where: { tenantId_id: key } })
  if (count === 0 || upload === null) return
  const { attempts } = upload
  if (attempts > MAX_ATTEMPTS)
    return end(app, upload, { error: `Workers have begun it ${MAX_ATTEMPTS} times in vain.` })
  const watch = watchUpload(app, upload, signal)
  try {
    await (upload.startedAt === null ? rehearse(app, upload, watch) : run(app, upload, watch))
  } catch (error) {
    await fail(app, upload, error, signal)
  } finally {
    await watch.stop()
  }
}

/** Stores why it failed, unless it was stopped. */
async function fail(app: App, upload: ImportUpload, error: unknown, signal: AbortSignal): Promise<void> {
  const { tenantId, id, startedAt } = upload
  // Neither a stop nor trouble with the database is a fault of the file.
  const isNoFault = signal.aborted || troubleOf(error) !== null
  if (isNoFault) {
    const data = { attempts: { decrement: 1 } }
    await patiently(signal, () => app.prisma.importUpload.updateMany({ where: { tenantId, id }, data }))
  }
  if (signal.aborted) return
  if (error instanceof ImportStopped || error instanceof UploadDeleted) return
  if (error instanceof SourceError) return end(app, upload, { error: error.message })
  if (troubleOf(error) !== null) throw error
  app.log.error({ err: error, uploadId: id }, 'an upload could not be imported')
  const what = startedAt === null ? 'rehearsed' : 'imported'
  return end(app, upload, { error: `It could not be ${what}. The log of the worker says why.` })
}

type Ending = Pick<Prisma.ImportUploadUncheckedUpdateManyInput, 'error' | 'report' | 'bytesRead' | 'importId'>

/** An upload that is deleted meanwhile stays so. */
async function end(app: App, { tenantId, id }: ImportUpload, how: Ending): Promise<void> {
  const now = new Date()
  // The tables of authors have personal addresses.
  const data = { ...how, options: {}, endedAt: now, expiresAt: expiryFrom(now) }
  await patiently(undefined, () =>
    app.prisma.importUpload.updateMany({ where: { tenantId, id, expiresAt: null }, data }),
  )
}

/** What is read of an upload, as the command line reads its file. Throws SourceError. */
async function fileOf(app: App, upload: ImportUpload): Promise<ImportFile> {
  const { map, authors, page, keepQuery, as } = upload.options as UploadOptions
  return {
    source: upload.source as SourceName,
    path: storedFile(app, upload),
    as: as ?? undefined,
    page: page ?? undefined,
    keepsQuery: keepQuery ?? undefined,
    ...(map != null && { addresses: await readAddresses({ name: 'map', text: map }) }),
    ...(authors != null && { authors: await readAuthors({ name: 'authors', text: authors }) }),
  }
}

async function rehearse(app: App, upload: ImportUpload, watching: Watching): Promise<void> {
  const { tenantId, id, bytes } = upload
  const rehearsal = await rehearseImport(app, tenantId, await fileOf(app, upload), watching)
  const now = new Date()
  const data = { rehearsal: asJson(rehearsal), rehearsedAt: now, bytesRead: bytes, expiresAt: expiryFrom(now) }
  await patiently(undefined, () =>
    app.prisma.importUpload.updateMany({ where: { tenantId, id, expiresAt: null }, data }),
  )
}

async function run(app: App, upload: ImportUpload, watching: Watching): Promise<void> {
  const { tenantId, id, bytes, importId } = upload
  // A process may have died after the end of the import, before it was noted here.
  const begun =
    importId === null
      ? null
      : await app.prisma.import.findUnique({ where: { tenantId_id: { tenantId, id: importId } } })
  if (begun?.finishedAt != null) {
    const { counts, refused, changed, tables } = begun
    return end(app, upload, { report: asJson({ counts, already: 0, refused, changed, tables }), bytesRead: bytes })
  }
  const onBegin = async (importing: string): Promise<void> => {
    await app.prisma.importUpload.updateMany({ where: { tenantId, id }, data: { importId: importing } })
  }
  const report = await importHeld(app, tenantId, await fileOf(app, upload), { ...watching, onBegin })
  await end(app, upload, { report: asJson(report), importId: report.id, bytesRead: bytes })
}

const asJson = (value: object): Prisma.InputJsonObject => JSON.parse(JSON.stringify(value)) as Prisma.InputJsonObject

/** An upload was deleted while it was read. */
class UploadDeleted extends Error {
  override readonly message = 'the upload has been deleted'
}

/** Parsers take a piece at once, and the event loop serves others in between. */
const PIECE_BYTES = 128 * 1024

/** The file of an upload, read part by part. */
const storedFile = (
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

const EVERY_MS = 1000

/** Notes how far an upload is read, and stops the reading once the upload is deleted. */
function watchUpload(
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

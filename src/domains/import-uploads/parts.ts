import { createHash } from 'node:crypto'

import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import type { ImportUpload } from '../../generated/prisma/client.ts'
import { bytesOfPart, partsOf } from './sizes.ts'
import { expiryFrom, getImportUpload } from './uploads.ts'

/** The numbers of the parts that are not there yet, in order. */
export async function missingParts(ctx: Ctx, { id, bytes, completedAt }: ImportUpload): Promise<number[]> {
  if (completedAt !== null) return []
  const where = { tenantId: requireCaller(ctx).tenant.id, uploadId: id }
  const found = await ctx.app.prisma.importUploadPart.findMany({ where, select: { n: true } })
  const there = new Set(found.map(({ n }) => n))
  return Array.from({ length: partsOf(bytes) }, (_, n) => n).filter((n) => !there.has(n))
}

/** A part as it comes in. */
interface GivenPart {
  id: string
  /** Its number, in decimal. */
  n: string
  bytes: Buffer
  /** The header `Content-Digest` (RFC 9530). */
  digest: string | undefined
}

/**
 * Stores a part, in any order, or replaces it. Throws `not_found`, `validation_failed` for a wrong
 * number, size or digest, and `invalid_transition` once the upload is completed.
 */
export async function putPart(ctx: Ctx, { id, n: given, bytes, digest }: GivenPart): Promise<void> {
  const { tenant } = requireCaller(ctx)
  const { bytes: total, completedAt } = await getImportUpload(ctx, { id })
  const n = numberOf(given, total)
  const expected = bytesOfPart(total, n)
  if (bytes.length !== expected) throw invalid('', 'wrong_size', `must have ${expected} bytes, not ${bytes.length}`)
  requireDigest(bytes, digest)
  if (completedAt !== null) throw isCompleted()
  await ctx.app.db.transaction(async (sql) => {
    // Locks the upload, so that it is not completed meanwhile, and keeps it for another day.
    const now = new Date()
    const { count } = await sql.prisma.importUpload.updateMany({
      where: { tenantId: tenant.id, id, completedAt: null, expiresAt: { gt: now } },
      data: { expiresAt: expiryFrom(now) },
    })
    if (count === 0) throw isCompleted()
    const key: { tenantId: Id; uploadId: Id; n: number } = { tenantId: tenant.id, uploadId: id, n }
    const content = new Uint8Array(bytes)
    await sql.prisma.importUploadPart.upsert({
      where: { tenantId_uploadId_n: key },
      create: { ...key, bytes: content },
      update: { bytes: content },
    })
  })
}

const isCompleted = (): ServiceError =>
  new ServiceError('invalid_transition', { detail: 'The upload is completed or deleted: it takes no parts.' })

/** Throws `not_found` for what is no number of a part of this file. */
function numberOf(given: string, total: number): number {
  const n = /^(?:0|[1-9]\d{0,5})$/.test(given) ? Number(given) : -1
  if (n >= 0 && n < partsOf(total)) return n
  throw new ServiceError('not_found', { detail: `The file has the parts 0 to ${partsOf(total) - 1}.` })
}

/** Throws `validation_failed` if the bytes have another SHA-256. Other digests are passed over. */
function requireDigest(bytes: Buffer, given: string | undefined): void {
  const expected = given === undefined ? null : /(?:^|[\s,])sha-256=:([A-Za-z0-9+/=]+):/.exec(given)
  if (expected === null) return
  if (createHash('sha256').update(bytes).digest('base64') === expected[1]) return
  throw invalid('', 'wrong_digest', 'must have the digest of Content-Digest: it was damaged on its way')
}

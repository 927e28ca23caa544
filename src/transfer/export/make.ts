import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

import type { App } from '../../core/app.ts'
import { FIRST_ID, type Id } from '../../core/ids.ts'
import { codeOf, troubleOf } from '../../core/outage.ts'
import type { TxSql } from '../../core/database/database.ts'
import { exportLines } from './export.ts'
import * as sql from './make-sql.ts'

/** How long a file is kept. */
const KEPT_HOURS = 24
/** The bytes of a file that a process holds at once. */
const PIECE_BYTES = 1024 * 1024
/** An erasure has ended meanwhile, or another process was faster. */
const LOST_RACE = '40001'

/**
 * Makes the export that has waited longest, unless another process is making it. One transaction
 * reads everything as of one instant and writes the file, so that a process that dies leaves
 * nothing. Returns whether there was one.
 */
export async function makeNextExport(app: App, signal: AbortSignal): Promise<boolean> {
  for (let after: Id = FIRST_ID; ;) {
    const waiting = await sql.selectWaiting(app.db.query, after)
    if (waiting === undefined) return false
    if (await makeExport(app, waiting, signal)) return true
    after = waiting.id
  }
}

/** False if another process is making it. */
async function makeExport(app: App, waiting: sql.WaitingExport, signal: AbortSignal): Promise<boolean> {
  try {
    return await app.db.transaction(async (tx) => {
      if (!(await sql.takeExport(tx, waiting))) return false
      const bytes = await writeFile(tx, waiting, signal)
      await sql.completeExport(tx, waiting, bytes, KEPT_HOURS)
      return true
    })
  } catch (error) {
    // The transaction left nothing: this process or another one starts again.
    if (signal.aborted || (error instanceof Error && codeOf(error) === LOST_RACE)) return true
    if (troubleOf(error) !== null) throw error
    app.log.error({ err: error, exportId: waiting.id }, 'an export could not be made')
    const { tenantId, id } = waiting
    await app.prisma.tenantExport.updateMany({
      where: { tenantId, id, expiresAt: null },
      data: {
        error: 'It could not be made. The log of the worker says why.',
        expiresAt: new Date(Date.now() + KEPT_HOURS * 3_600_000),
      },
    })
    return true
  }
}

/** Writes the compressed file in pieces. Returns its size in bytes. */
async function writeFile(tx: TxSql, waiting: sql.WaitingExport, signal: AbortSignal): Promise<number> {
  let total = 0
  let n = 0
  const add = async (piece: Buffer): Promise<void> => {
    total += piece.length
    await sql.addPiece(tx, waiting, n++, piece)
  }
  await pipeline(
    exportLines(tx, waiting.tenantId),
    createGzip(),
    async (compressed: AsyncIterable<Buffer>) => {
      let held: Buffer[] = []
      let bytes = 0
      for await (const chunk of compressed) {
        held.push(chunk)
        bytes += chunk.length
        if (bytes < PIECE_BYTES) continue
        await add(Buffer.concat(held))
        held = []
        bytes = 0
      }
      if (bytes > 0) await add(Buffer.concat(held))
    },
    { signal },
  )
  return total
}

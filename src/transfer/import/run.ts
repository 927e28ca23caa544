import type { Id } from '../../core/ids.ts'
import { codeOf } from '../../core/outage.ts'
import type { Pace } from '../../core/queues/pace.ts'
import type { Rules } from './checking.ts'
import { deleteWaiting } from '../store/imports-sql.ts'
import type { PlacedOwn } from '../store/imported.ts'
import type { Key } from '../../domains/imports/keys.ts'
import { storeOwn } from './own.ts'
import { patiently } from '../retry.ts'
import {
  addFindings,
  type ImportFinding,
  type ImportFindings,
  type TransferCounts,
} from '../../domains/imports/report.ts'
import type { ItemBatch, Stored, Work } from '../store/store.ts'
import { storeNamed } from '../store/named.ts'
import { storeThreads } from '../store/threads.ts'

/** The import was asked to stop. Items that were taken stay; another call continues. */
export class ImportStopped extends Error {
  override readonly message = 'stopped: the same command goes on where this one has stopped'
}

/** The progress of an import. */
export interface Progress {
  /** Bytes of the file whose items were taken or refused. */
  bytes: number
  /** The number of these items. */
  items: number
  counts: TransferCounts
  refused: number
}

export interface Watching {
  /** Called before anything is stored. */
  onBegin?: (importId: Id) => Promise<void>
  onProgress?: (progress: Progress) => void
  onFinding?: (kind: 'refused' | 'changed', finding: ImportFinding) => void
  signal?: AbortSignal
}

/** An import under way, with this run's findings. */
export interface Run extends Work {
  rules: Rules
  watching: Watching
  pace: Pace
  refused: ImportFindings
  already: number
}

export const storeRows = (run: Run, batch: ItemBatch): Promise<void> =>
  reportingChanges(run, async () => {
    for (const storeSome of [storeNamed, storeThreads]) {
      await storeInHalves(run, batch.rows, (rows) => storeSome(run, { ...batch, rows }))
    }
  })

export const storeOwnItems = (run: Run, items: readonly PlacedOwn[]): Promise<void> =>
  reportingChanges(run, () => storeInHalves(run, items, (some) => storeOwn(run, some)))

async function reportingChanges(run: Run, store: () => Promise<void>): Promise<void> {
  const before = run.changed.first.length
  await store()
  for (const finding of run.changed.first.slice(before)) run.watching.onFinding?.('changed', finding)
}

/**
 * Stores items together. If the database refuses a value, it stores halves, down to the item with
 * that value: that one is refused, and the import continues.
 */
async function storeInHalves<Each extends { place: string; key?: Key }>(
  run: Run,
  items: readonly Each[],
  storeSome: (items: readonly Each[]) => Promise<Stored>,
): Promise<void> {
  try {
    const { already, refused } = await patiently(run.signal, () => storeSome(items))
    run.already += already
    note(run, 'refused', refused)
  } catch (error) {
    const code = refusedValue(error)
    const [first] = items
    if (code === null || first === undefined) throw error
    if (items.length > 1) {
      const half = Math.ceil(items.length / 2)
      await storeInHalves(run, items.slice(0, half), storeSome)
      await storeInHalves(run, items.slice(half), storeSome)
      return
    }
    const reason = `has a value that the database refuses (SQLSTATE ${code})`
    note(run, 'refused', [{ place: first.place, reason }])
    if (first.key !== undefined) await deleteWaiting(run.app.db.query, run.tenantId, run.importId, [first.key])
  }
}

/**
 * The SQLSTATE of an error that is caused by the values themselves. Class 22: data. 23: a
 * constraint. 54: a limit of the database. The error's message would quote the values.
 */
function refusedValue(error: unknown): string | null {
  const code = error instanceof Error ? codeOf(error) : null
  return typeof code === 'string' && /^(22|23|54)\w{3}$/.test(code) ? code : null
}

export function note(run: Run, kind: 'refused' | 'changed', found: readonly ImportFinding[]): void {
  run[kind] = addFindings(run[kind], found)
  for (const finding of found) run.watching.onFinding?.(kind, finding)
}

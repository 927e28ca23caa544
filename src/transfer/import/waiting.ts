import * as sql from '../store/imports-sql.ts'
import type { Key } from '../../domains/imports/keys.ts'
import { BATCH_ITEMS, BATCH_LENGTH, newBatch, type ReadBatch, takeFound } from './read-batches.ts'
import { ImportStopped, note, type Run, storeRows } from './run.ts'
import { OF_ERASED_READER } from '../store/sort-out.ts'
import { moveReason } from '../store/thread-places.ts'

/**
 * Takes items that have waited. They only wait for comments: anything else that is missing is not
 * in the file. So each comment is taken before the items that wait for it. Comments that reply to
 * each other in a circle come last.
 */
export async function takeWaiting(run: Run): Promise<void> {
  const { app, tenantId, importId } = run
  for (let after: Key | null = null; ;) {
    const limit = run.pace.sized(BATCH_ITEMS)
    const items = await sql.selectWaitingRoots(app.db.query, tenantId, importId, { after, limit })
    if (items.length === 0) break
    after = items.at(-1)?.key ?? null
    await takeWaited(run, items)
    await takeBelow(run, keysOf(items))
  }
  while (await breakCircle(run)) continue
}

/** Takes everything that waits for these comments, directly or indirectly. */
async function takeBelow(run: Run, keys: readonly Key[]): Promise<void> {
  const { app, tenantId, importId } = run
  const stack = [keys]
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const limit = run.pace.sized(BATCH_ITEMS)
    const items = await sql.selectWaitingBelow(app.db.query, tenantId, importId, { keys: next, limit })
    await takeWaited(run, items)
    // Fewer than `limit` were all. Otherwise more may wait for these, or for those that were
    // taken.
    if (items.length === limit) stack.push(next, keysOf(items))
  }
}

const keysOf = (items: readonly sql.WaitedItem[]): Key[] => items.map(({ key }) => key)

/** Gives the rows of a batch to store, and the changes to report. */
type Storing = (batch: ReadBatch) => Pick<ReadBatch, 'rows' | 'changes'>

async function takeWaited(
  run: Run,
  items: readonly sql.WaitedItem[],
  storing: Storing = (batch) => batch,
): Promise<void> {
  for (const { taken, batch } of checkAgain(run, items)) {
    if (run.signal?.aborted === true) throw new ImportStopped()
    await run.pace.slice(async () => {
      await refuseWaited(run, taken, batch)
      const { rows, changes } = storing(batch)
      await storeRows(run, { rows, changes, hasWaited: true, isLast: true })
    })
  }
}

interface Checked {
  taken: sql.WaitedItem[]
  batch: ReadBatch
}

/** Items that have waited, checked again, in parts with as much text as is stored together. */
function* checkAgain({ rules }: Run, items: readonly sql.WaitedItem[]): Generator<Checked> {
  let length = 0
  let part: Checked = { taken: [], batch: newBatch() }
  for (const each of items) {
    const { item, place } = each
    const found =
      item === null
        ? { refused: OF_ERASED_READER, place }
        : { item, place, ...(item.changed !== undefined && { changed: item.changed }) }
    length += takeFound(part.batch, found, rules)
    part.taken.push(each)
    if (length < BATCH_LENGTH) continue
    yield part
    length = 0
    part = { taken: [], batch: newBatch() }
  }
  if (part.taken.length > 0) yield part
}

/**
 * An item that was valid when it waited may be refused now, because the tenant's settings may have
 * changed.
 */
async function refuseWaited(run: Run, items: readonly sql.WaitedItem[], { rows, refused }: ReadBatch): Promise<void> {
  if (refused.length === 0) return
  const fit = new Set(rows.map(({ key }) => key))
  const keys = keysOf(items).filter((key) => !fit.has(key))
  await sql.deleteWaiting(run.app.db.query, run.tenantId, run.importId, keys)
  note(run, 'refused', refused)
}

/**
 * Moves a comment of a circle to the top level, and takes everything that waits for it. False if
 * nothing waits.
 */
async function breakCircle(run: Run): Promise<boolean> {
  const { app, tenantId, importId } = run
  const found = topOf(await sql.selectPathUp(app.db.query, tenantId, importId))
  const item = found === null ? null : await sql.findWaiting(app.prisma, tenantId, importId, found.key)
  if (found === null || item === null) return false
  const reason = moveReason('circle', run.maxDepth)
  const atTop: Storing = ({ rows, changes }) => ({
    rows: rows.map((row) => (row.kind === 'comment' ? { ...row, parentKey: null } : row)),
    changes: [...changes, { key: item.key, place: item.place, reason }],
  })
  await takeWaited(run, [item], found.isInCircle ? atTop : undefined)
  await takeBelow(run, [item.key])
  return true
}

/** Where a path of replies ends, at the top or in a circle; null for an empty path. */
function topOf(path: readonly sql.WaitingLink[]): { key: Key; isInCircle: boolean } | null {
  const above = new Map(path.map(({ key, commentKey }) => [key, commentKey]))
  const passed = new Set<Key>()
  let key = path[0]?.key
  if (key === undefined) return null
  for (;;) {
    passed.add(key)
    const next: Key | null = above.get(key) ?? null
    if (next === null || !above.has(next)) return { key, isInCircle: false }
    key = next
    if (!passed.has(key)) continue
    // Always the same comment of a circle, wherever the path began.
    const passes = [...passed]
    return { key: passes.slice(passes.indexOf(key)).toSorted()[0] ?? key, isInCircle: true }
  }
}

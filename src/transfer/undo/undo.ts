import { recordAuditOfImport } from '../../core/audit.ts'
import type { App } from '../../core/app.ts'
import { type Id, isId } from '../../core/ids.ts'
import { Pace } from '../../core/queues/pace.ts'
import { ofTenant } from '../../core/queues/patience.ts'
import { announceChange } from '../../core/read-cache.ts'
import type { TxSql } from '../../core/database/database.ts'
import { foldTenant } from '../../domains/analytics/fold.ts'
import { touchPages } from '../../domains/tenants/tenants.ts'
import { holdingImports } from '../import/import.ts'
import type { Key } from '../../domains/imports/keys.ts'
import { addReplies, lockDiscussions } from '../store/threads-sql.ts'
import type { Removed } from '../../domains/imports/report.ts'
import * as sql from './undo-sql.ts'

/** What an undo has removed, over all its runs, and what stays because it was touched since. */
export interface Undone {
  id: Id
  removed: Removed
  stays: Removed
}

/** An undo under way, and its progress. */
interface Undoing {
  app: App
  tenantId: Id
  importId: Id
  startedAt: Date
  removed: Removed
  pace: Pace
}

const BATCH = 500

/**
 * Removes the comments and readers that an import has made, except those that were touched since by
 * a reply, a reaction, a report, an edit, a moderator's decision, or another import. Pages stay,
 * because others may have named them since; settings, endpoints and the audit log stay too.
 * After an interruption another call continues it; a later call removes what nothing keeps any
 * longer. Null if there is no such import. Throws ImportRunning.
 */
export function undoImport(app: App, tenantId: Id, importId: Id): Promise<Undone | null> {
  return holdingImports(app, tenantId, async (signal) => {
    const found = isId(importId) ? await sql.findUndoable(app, tenantId, importId) : null
    if (found === null) return null
    const { readers = 0, comments = 0 } = found.removed as Partial<Removed>
    const removed = { readers, comments }
    const pace = new Pace(app.db, signal)
    const undoing = { app: ofTenant(app, tenantId), tenantId, importId, startedAt: found.startedAt, removed, pace }
    await pace.keep(async () => {
      // Replies before their parents: each pass removes at least one level.
      while ((await pass(undoing, 'comment', removeComments)) > 0);
      await pass(undoing, 'reader', removeReaders)
    })
    await foldTenant(undoing.app, tenantId)
    const stays = await countStays(undoing)
    const undone = { id: importId, removed: undoing.removed, stays }
    // A repeated undo may find more to remove, but usually finds nothing.
    const isMore = removed.readers > readers || removed.comments > comments
    if (found.undoneAt !== null && !isMore) return undone
    await app.db.transaction(async (tx) => {
      await sql.forgetNames(tx, tenantId, importId)
      await sql.endUndo(tx, tenantId, found, new Date())
      const after = { removed: undone.removed, stays }
      await recordAuditOfImport(tx, undoing, { action: 'import.undo', targetId: importId, after })
    })
    return undone
  })
}

type Remove = (undoing: Undoing, keys: readonly Key[]) => Promise<number>

/** One pass over all remaining rows of a kind. Returns how many were removed. */
async function pass(undoing: Undoing, kind: 'reader' | 'comment', remove: Remove): Promise<number> {
  let removed = 0
  for await (const keys of madeItems(undoing, kind)) {
    removed += await undoing.pace.slice(() => remove(undoing, keys))
  }
  return removed
}

async function* madeItems(undoing: Undoing, kind: 'reader' | 'comment'): AsyncGenerator<Key[]> {
  for (let after: Key | null = null; ;) {
    const limit = undoing.pace.sized(BATCH)
    const keys: Key[] = await sql.selectCreated(undoing.app.db.query, undoing, kind, { after, limit })
    if (keys.length === 0) return
    after = keys.at(-1) ?? null
    yield keys
  }
}

const countStays = async (undoing: Undoing): Promise<Removed> => ({
  readers: await countLeft(undoing, 'reader'),
  comments: await countLeft(undoing, 'comment'),
})

async function countLeft(undoing: Undoing, kind: 'reader' | 'comment'): Promise<number> {
  let left = 0
  for await (const keys of madeItems(undoing, kind)) left += keys.length
  return left
}

async function removeComments(undoing: Undoing, keys: readonly Key[]): Promise<number> {
  const { tenantId, startedAt } = undoing
  return advance(undoing, 'comments', async (tx) => {
    await lockDiscussions(tx, tenantId, await sql.discussionsOf(tx, tenantId, keys))
    const gone = await sql.removeComments(tx, tenantId, keys, startedAt)
    if (gone.length === 0) return 0
    await addReplies(tx, tenantId, repliesGone(gone))
    await sql.countDown(tx, tenantId, departuresOf(gone))
    const goneKeys = gone.map(({ key }) => key)
    await sql.forgetComments(tx, tenantId, goneKeys)
    await touchPages(tx, tenantId)
    return gone.length
  })
}

/** The number of replies in view that each parent has lost, negative. */
function repliesGone(gone: readonly sql.RemovedComment[]): Map<Id, number> {
  const replies = new Map<Id, number>()
  for (const { parentId, wasInView } of gone) {
    if (parentId !== null && wasInView) replies.set(parentId, (replies.get(parentId) ?? 0) - 1)
  }
  return replies
}

function departuresOf(gone: readonly sql.RemovedComment[]): Map<Id, sql.Departure> {
  const departures = new Map<Id, sql.Departure>()
  for (const { discussionId, createdAt, wasApproved } of gone) {
    if (!wasApproved) continue
    const { approved, lastAt } = departures.get(discussionId) ?? { approved: 0, lastAt: createdAt }
    departures.set(discussionId, { approved: approved + 1, lastAt: createdAt > lastAt ? createdAt : lastAt })
  }
  return departures
}

async function removeReaders(undoing: Undoing, keys: readonly Key[]): Promise<number> {
  const { app, tenantId, startedAt } = undoing
  let gone: sql.RemovedReader[] = []
  const removed = await advance(undoing, 'readers', async (tx) => {
    gone = await sql.removeReaders(tx, tenantId, keys, startedAt)
    const goneIds = gone.map(({ id }) => id)
    await sql.forgetReaders(tx, tenantId, goneIds)
    return gone.length
  })
  const names = gone.flatMap(({ externalId, formerExternalIds }) => [externalId, ...formerExternalIds])
  for (const externalId of names) announceChange(app, { kind: 'reader', tenantId, externalId })
  return removed
}

/** One transaction of an undo, which also stores the progress. Returns how many rows it removed. */
async function advance(undoing: Undoing, kind: keyof Removed, remove: (tx: TxSql) => Promise<number>): Promise<number> {
  const { app, tenantId, importId, removed } = undoing
  const count = await app.db.transaction(async (tx) => {
    const gone = await remove(tx)
    if (gone > 0) await sql.noteRemoved(tx, tenantId, importId, { ...removed, [kind]: removed[kind] + gone })
    return gone
  })
  removed[kind] += count
  return count
}

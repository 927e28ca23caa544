import type { App } from '../../core/context.ts'
import { type Id, isId, newId } from '../../core/ids.ts'
import { ofTenant } from '../../core/patience.ts'
import { announceChange } from '../../core/read-cache.ts'
import type { TxSql } from '../../core/sql.ts'
import { foldTenant } from '../analytics/fold.ts'
import { holdingImports } from './import.ts'
import type { Key } from './keys.ts'
import { addReplies, insertAudit, lockDiscussions, touchPages } from './store-sql.ts'
import * as sql from './undo-sql.ts'

/** What an undo has taken back, and what stays because somebody has touched it since. */
export interface Undone {
  id: Id
  removed: { readers: number; comments: number }
  stays: { readers: number; comments: number }
}

/** The import whose effects are taken back. */
interface Undoing {
  app: App
  tenantId: Id
  importId: Id
  startedAt: Date
}

const BATCH = 500

/**
 * Takes back the comments and readers that an import has made, but for those that somebody has
 * touched since: by a reply, a reaction, a report, an edit, or a moderator's decision. Pages stay,
 * as a page keeps its discussion for good; settings, endpoints and the audit log stay too. Cut off,
 * it goes on when it is called again. Null where there is no such import. Throws ImportRunning.
 */
export function undoImport(app: App, tenantId: Id, importId: Id): Promise<Undone | null> {
  return holdingImports(app, tenantId, async () => {
    const found = isId(importId) ? await sql.findImport(app.db.query, tenantId, importId) : undefined
    if (found === undefined) return null
    const undoing = { app: ofTenant(app, tenantId), tenantId, importId, startedAt: found.startedAt }
    // Replies before what they reply to: each pass removes a level at least.
    let comments = 0
    for (let removed = -1; removed !== 0;) comments += removed = await pass(undoing, 'comment', removeComments)
    const readers = await pass(undoing, 'reader', removeReaders)
    await foldTenant(undoing.app, tenantId)
    const stays = { readers: await countLeft(undoing, 'reader'), comments: await countLeft(undoing, 'comment') }
    const undone = { id: importId, removed: { readers, comments }, stays }
    await app.db.transaction(async (tx) => {
      await sql.forgetNames(tx, tenantId, importId)
      await sql.endUndo(tx, tenantId, importId, new Date())
      const { removed } = undone
      await insertAudit(tx, tenantId, { id: newId(), action: 'import.undo', importId, after: { removed, stays } })
    })
    return undone
  })
}

type Remove = (undoing: Undoing, items: readonly sql.MadeItem[]) => Promise<number>

/** One look at all that is left of a kind. Returns how many were removed. */
async function pass(undoing: Undoing, kind: 'reader' | 'comment', remove: Remove): Promise<number> {
  let removed = 0
  for await (const items of madeItems(undoing, kind)) removed += await remove(undoing, items)
  return removed
}

async function* madeItems(undoing: Undoing, kind: 'reader' | 'comment'): AsyncGenerator<sql.MadeItem[]> {
  for (let after: Key | null = null; ;) {
    const items: sql.MadeItem[] = await sql.selectMade(undoing.app.db.query, undoing, kind, { after, limit: BATCH })
    if (items.length === 0) return
    after = items.at(-1)?.key ?? null
    yield items
  }
}

async function countLeft(undoing: Undoing, kind: 'reader' | 'comment'): Promise<number> {
  let left = 0
  for await (const items of madeItems(undoing, kind)) left += items.length
  return left
}

function removeComments({ app, tenantId, startedAt }: Undoing, items: readonly sql.MadeItem[]): Promise<number> {
  const ids = items.map(({ itemId }) => itemId)
  return app.db.transaction(async (tx) => {
    await lockDiscussions(tx, tenantId, await sql.discussionsOf(tx, tenantId, ids))
    const removed = await sql.removeComments(tx, tenantId, ids, startedAt)
    if (removed.length === 0) return 0
    const approved = new Map<Id, number>()
    const replies = new Map<Id, number>()
    for (const { discussionId, parentId, wasApproved, wasInView } of removed) {
      approved.set(discussionId, (approved.get(discussionId) ?? 0) + Number(wasApproved))
      if (parentId !== null && wasInView) replies.set(parentId, (replies.get(parentId) ?? 0) - 1)
    }
    await addReplies(tx, tenantId, replies)
    await sql.countDown(tx, tenantId, approved, startedAt)
    await forget(tx, tenantId, items, removed)
    await touchPages(tx, tenantId)
    return removed.length
  })
}

async function removeReaders({ app, tenantId, startedAt }: Undoing, items: readonly sql.MadeItem[]): Promise<number> {
  const ids = items.map(({ itemId }) => itemId)
  const removed = await app.db.transaction(async (tx) => {
    const gone = await sql.removeReaders(tx, tenantId, ids, startedAt)
    await forget(tx, tenantId, items, gone)
    return gone
  })
  for (const { externalId } of removed) announceChange(app, { kind: 'reader', tenantId, externalId })
  return removed.length
}

/** Forgets what is gone, so that the file brings it again. */
async function forget(
  tx: TxSql,
  tenantId: Id,
  items: readonly sql.MadeItem[],
  gone: readonly { id: Id }[],
): Promise<void> {
  const ids = new Set(gone.map(({ id }) => id))
  await sql.forgetItems(
    tx,
    tenantId,
    items.filter(({ itemId }) => ids.has(itemId)).map(({ key }) => key),
  )
}

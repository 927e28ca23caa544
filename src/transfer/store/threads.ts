import type { Id } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'
import type { ImportedComment, ImportedReaction, ImportedReport } from './imported.ts'
import { deleteWaiting, insertWaiting, type WaitingItem } from './imports-sql.ts'
import type { Key } from '../../domains/imports/keys.ts'
import type { ImportFinding } from '../../domains/imports/report.ts'
import { type Known, OF_OWN_COMMENT, type Sorted, sortOut, type ThreadItem } from './sort-out.ts'
import { advance, findKnown, freshOf, type ItemBatch, latestOf, type Stored, type Work } from './store.ts'
import { findItems, insertItems, insertNotes, lockReadersOfItems, noteHung } from './sql.ts'
import * as sql from './threads-sql.ts'
import {
  countReplies,
  maxDepthOf,
  type Move,
  placeBelow,
  type PlacedComment,
  moveReason,
  WITHOUT_AUTHOR,
} from './thread-places.ts'

/**
 * Stores comments, reactions and reports with all their counters, in one transaction. Items that
 * lack another item wait, unless it is the last chance.
 */
export async function storeThreads(work: Work, batch: ItemBatch): Promise<Stored> {
  const rows = batch.rows.filter((row): row is ThreadItem => row.kind !== 'reader' && row.kind !== 'discussion')
  const { tenantId, importId } = work
  let stored: Stored = { already: 0, refused: [] }
  if (rows.length === 0) return stored
  await advance(work, async (tx) => {
    const { known, facts } = await lockKnown(tx, work, rows)
    const fresh = freshOf(rows, known)
    stored = { already: rows.length - fresh.length, refused: [] }
    if (fresh.length === 0 && !batch.hasWaited) return null
    const { comments, onComments, waiting, refused: unfit } = sortOut(fresh, known, batch.isLast)
    const threads = await placeAll(tx, work, comments, known, facts)
    const hung = hang(onComments, known, threads)
    const refused = [...unfit, ...hung.refused]
    stored.refused = refused.map(({ place, reason }) => ({ place, reason }))
    await storeComments(tx, work, threads, hung.reactions)
    const given = await insertOnComments(tx, work, threads, hung)
    // A refused item may have waited since an earlier run.
    const over = batch.hasWaited ? rows : refused
    await deleteWaiting(
      tx,
      tenantId,
      importId,
      over.map(({ key }) => key),
    )
    await insertWaiting(tx, tenantId, importId, waiting.map(waitingItem))
    const notNew = onComments.length - hung.refused.length - given.reactions - given.reports
    stored.already += threads.there.length + notNew
    const keys = new Set([...comments, ...onComments].map(({ key }) => key))
    return {
      counts: {
        comments: threads.placed.length,
        revisions: threads.placed.reduce((sum, { row }) => sum + row.revisions.length, 0),
        ...given,
      },
      changes: [...batch.changes.filter(({ key }) => keys.has(key)), ...threads.notes],
      touchesPages: threads.placed.length + given.reactions > 0,
    }
  })
  return stored
}

/**
 * The rows of items; locks what they refer to until the end of the transaction: first discussions,
 * so that no comment is added or removed, then readers, whose erasure waits.
 */
async function lockKnown(
  tx: TxSql,
  work: Work,
  rows: readonly ThreadItem[],
): Promise<{ known: Known; facts: Map<Id, sql.CommentFacts> }> {
  const { tenantId } = work
  const known = await findKnown(tx, work, rows)
  const idsOf = (keys: readonly (Key | null)[]): Id[] => [
    ...new Set(keys.flatMap((key) => (key === null ? [] : (known.get(key) ?? [])))),
  ]
  const ofComments = rows.filter((row) => row.kind === 'comment')
  const hungOn = idsOf(rows.map((row) => (row.kind === 'comment' ? null : row.commentKey)))
  // A comment's place never changes, so it tells which discussion to lock.
  const places = hungOn.length === 0 ? [] : await sql.selectFacts(tx, tenantId, hungOn)
  const discussionIds = new Set(places.map(({ discussionId }) => discussionId))
  for (const id of idsOf(ofComments.map(({ discussionKey }) => discussionKey))) discussionIds.add(id)
  // A parent on another page need not be locked: the reply will not be attached to it.
  const parents = idsOf(ofComments.map(({ parentKey }) => parentKey))
  const involved = new Set([...hungOn, ...parents, ...ofComments.map(({ id }) => id)])
  // Sent concurrently. The facts belong to pages, which are locked first.
  const [locked, , found] = await Promise.all([
    sql.lockDiscussions(tx, tenantId, [...discussionIds]),
    lockReaders(tx, tenantId, rows, known),
    sql.selectFacts(tx, tenantId, [...involved]),
  ])
  for (const { discussionKey } of ofComments) {
    const id = known.get(discussionKey)
    if (id != null && !locked.has(id)) known.set(discussionKey, null)
  }
  const facts = new Map(found.map((each) => [each.id, each]))
  return { known, facts }
}

/**
 * Locks the readers of these rows, and enters them in `known`. Those whose erasure has begun are
 * null.
 */
async function lockReaders(
  tx: TxSql,
  tenantId: Id,
  rows: readonly ThreadItem[],
  known: Map<Key, Id | null>,
): Promise<void> {
  const keys = rows.map((row) => (row.kind === 'comment' ? row.authorKey : row.readerKey))
  let left = [...new Set(keys.filter((key) => key !== null))]
  // Twice: while the first look-up waited for a lock, an item may have moved to another reader.
  for (let n = 0; n < 2 && left.length > 0; n++) {
    for (const { key, itemId } of await lockReadersOfItems(tx, tenantId, left)) known.set(key, itemId)
    const missing = await findItems(
      tx,
      tenantId,
      left.filter((key) => !known.has(key)),
    )
    left = n > 0 ? [] : missing.flatMap(({ key, itemId }) => (itemId === null ? [] : key))
    for (const { key } of missing) if (!left.includes(key)) known.set(key, null)
  }
}

function idOf(known: Known, key: Key): Id {
  const id = known.get(key)
  if (id == null) throw new Error(`the item ${key} is not known`)
  return id
}

interface Threads {
  placed: PlacedComment[]
  /** Comments that the tenant has already, by their kept ids. */
  there: ImportedComment[]
  notes: ImportFinding[]
  find: (key: Key) => sql.CommentFacts | null | undefined
}

/** Places new comments, parents before their replies. */
async function placeAll(
  tx: TxSql,
  { tenantId, maxDepth }: Work,
  rows: readonly ImportedComment[],
  known: Known,
  facts: Map<Id, sql.CommentFacts>,
): Promise<Threads> {
  const placed = new Map<Key, PlacedComment>()
  const notes: ImportFinding[] = []
  const there: ImportedComment[] = []
  const find = (key: Key): sql.CommentFacts | null | undefined => {
    const id = known.get(key)
    return placed.get(key) ?? (id == null ? undefined : (facts.get(id) ?? null))
  }
  const load = async (id: Id): Promise<sql.CommentFacts | undefined> => {
    const [read] = facts.has(id) ? [] : await sql.selectFacts(tx, tenantId, [id])
    if (read !== undefined) facts.set(id, read)
    return facts.get(id)
  }
  const note = (row: ImportedComment, move: Move): void =>
    void notes.push({ place: row.place, reason: moveReason(move, maxDepthOf(row, maxDepth)) })
  for (const row of rows) {
    const discussionId = idOf(known, row.discussionKey)
    const isThere = facts.get(row.id)
    if (isThere !== undefined) {
      there.push(row)
      placed.set(row.key, { ...isThere, row, replyCount: 0 })
      continue
    }
    const authorId = row.authorKey === null ? null : (known.get(row.authorKey) ?? null)
    if (row.authorKey !== null && authorId === null) notes.push({ place: row.place, reason: WITHOUT_AUTHOR })
    const place = await placeBelow(row, discussionId, { find, load, maxDepth, note })
    const comment = { id: row.id, discussionId, ...place, createdAt: row.createdAt, row, authorId, replyCount: 0 }
    placed.set(row.key, comment)
    facts.set(comment.id, comment)
  }
  const isThere = new Set(there)
  return { placed: [...placed.values()].filter(({ row }) => !isThere.has(row)), there, notes, find }
}

interface Hung {
  reactions: (sql.NewReaction & { commentKey: Key; isOnNew: boolean })[]
  shadowReactions: (sql.NewShadowReaction & { commentKey: Key })[]
  reports: (sql.NewReport & { commentKey: Key; answered: boolean })[]
  refused: Sorted['refused']
}

/** The reactions and reports on existing comments, one per reader. No author reports their own. */
function hang(rows: readonly (ImportedReaction | ImportedReport)[], known: Known, threads: Threads): Hung {
  const isNew = new Set(threads.placed.map(({ id }) => id))
  const reactions = new Map<string, Hung['reactions'][number]>()
  const shadowReactions = new Map<string, Hung['shadowReactions'][number]>()
  const reports = new Map<string, Hung['reports'][number]>()
  const refused: Hung['refused'] = []
  for (const row of rows) {
    const comment = threads.find(row.commentKey)
    if (comment == null) continue
    const readerId = idOf(known, row.readerKey)
    const pair = `${comment.id} ${readerId}`
    const { commentKey } = row
    const at = row.createdAt ?? comment.createdAt
    if (row.kind === 'reaction') {
      const { type, counted } = row
      const reaction = { commentId: comment.id, commentKey, readerId, updatedAt: at }
      if (!counted) {
        if (!shadowReactions.has(pair)) shadowReactions.set(pair, { ...reaction, type })
      } else if (type !== null && !reactions.has(pair)) {
        reactions.set(pair, { ...reaction, type, isOnNew: isNew.has(comment.id) })
      }
    } else if (comment.authorId === readerId) {
      refused.push({ key: row.key, place: row.place, reason: OF_OWN_COMMENT })
    } else if (!reports.has(pair)) {
      const { reason, note, counted, answered } = row
      const on = { commentId: comment.id, commentKey, readerId }
      reports.set(pair, { ...on, reason, note, counted, answered, createdAt: at })
    }
  }
  return {
    reactions: [...reactions.values()],
    shadowReactions: [...shadowReactions.values()],
    reports: [...reports.values()],
    refused,
  }
}

async function storeComments(
  tx: TxSql,
  work: Work,
  { placed, there }: Threads,
  reactions: Hung['reactions'],
): Promise<void> {
  const { tenantId, importId } = work
  // Texts that take long to encode come last, while the database is busy with the others.
  const areItems = insertItems(tx, tenantId, importId, [
    ...placed.map(({ row, id }) => {
      const { key, kind, editedAt, deletedAt, pinnedAt, firstApprovedAt } = row
      const latestAt = latestOf(work, [editedAt, deletedAt, pinnedAt, firstApprovedAt])
      return { key, kind, itemId: id, made: true, latestAt }
    }),
    ...there.map(({ key, kind, id }) => ({ key, kind, itemId: id, made: false, latestAt: null })),
  ])
  const isReplied = sql.addReplies(tx, tenantId, countReplies(placed))
  const counts = countByType(reactions.filter(({ isOnNew }) => isOnNew))
  const comments = placed.map((comment): sql.NewComment => {
    const { row, discussionId, parentId, depth, authorId, replyCount } = comment
    const reactionCounts = JSON.stringify(Object.fromEntries(counts.get(comment.id) ?? []))
    return { row, discussionId, parentId, depth, authorId, replyCount, reactionCounts }
  })
  const revisions = placed.flatMap(({ id, row }) =>
    row.revisions.map(({ body, replacedAt, wasPublic }, index) => {
      const revision = row.revision - row.revisions.length + index
      return { commentId: id, revision, body, createdAt: replacedAt, wasPublic }
    }),
  )
  // Each is sent as soon as the one before is answered.
  await Promise.all([
    areItems,
    isReplied,
    comments.length === 0 ? null : sql.insertImportedComments(tx, tenantId, comments),
    revisions.length === 0 ? null : sql.insertRevisions(tx, tenantId, revisions),
    placed.length === 0 ? null : sql.addComments(tx, tenantId, changesOf(placed)),
    insertNotes(
      tx,
      tenantId,
      placed.flatMap(({ row, id }) => row.notes.map((note) => ({ ...note, readerId: null, commentId: id }))),
    ),
  ])
}

function countByType(reactions: readonly Pick<sql.NewReaction, 'commentId' | 'type'>[]) {
  const counts = new Map<Id, Map<string, number>>()
  for (const { commentId, type } of reactions) {
    const ofComment = counts.get(commentId) ?? new Map<string, number>()
    counts.set(commentId, ofComment.set(type, (ofComment.get(type) ?? 0) + 1))
  }
  return counts
}

/** The changes that new comments make to their discussions. */
function changesOf(placed: readonly PlacedComment[]): Map<Id, sql.DiscussionChange> {
  const changes = new Map<Id, sql.DiscussionChange>()
  const later = (one: Date | null, other: Date): Date => (one !== null && one > other ? one : other)
  for (const { discussionId, row } of placed) {
    const change = changes.get(discussionId) ?? { approved: 0, lastAt: row.createdAt, lastApprovedAt: null }
    const isApproved = row.status === 'approved'
    changes.set(discussionId, {
      approved: change.approved + Number(isApproved),
      lastAt: later(change.lastAt, row.createdAt),
      lastApprovedAt: isApproved ? later(change.lastApprovedAt, row.createdAt) : change.lastApprovedAt,
    })
  }
  return changes
}

/** Inserts new reactions and reports, and counts them on existing comments. */
async function insertOnComments(
  tx: TxSql,
  work: Work,
  threads: Threads,
  { reactions, shadowReactions, reports }: Hung,
): Promise<{ reactions: number; reports: number }> {
  const { tenantId, importId } = work
  const isNew = new Set(threads.placed.map(({ id }) => id))
  const given = reactions.length === 0 ? [] : await sql.insertReactions(tx, tenantId, reactions)
  const onOthers = countByType(given.filter(({ commentId }) => !isNew.has(commentId)))
  if (onOthers.size > 0) await sql.addReactions(tx, tenantId, onOthers)
  const alone = shadowReactions.length === 0 ? [] : await sql.insertShadowReactions(tx, tenantId, shadowReactions)
  const made = reports.length === 0 ? [] : await sql.insertReports(tx, tenantId, reports)
  const pairs = new Set(made.map(({ commentId, readerId }) => `${commentId} ${readerId}`))
  const numbers = new Map<Id, sql.ReportNumbers>()
  for (const { commentId, readerId, counted, answered } of reports) {
    if (!counted || !pairs.has(`${commentId} ${readerId}`)) continue
    const before = numbers.get(commentId) ?? { reports: 0, answered: 0 }
    numbers.set(commentId, { reports: before.reports + 1, answered: before.answered + Number(answered) })
  }
  if (numbers.size > 0) await sql.addReports(tx, tenantId, numbers)
  const hung = new Map<Key, Date | null>()
  const note = (commentKey: Key, at: Date): void =>
    void hung.set(commentKey, latestOf(work, [hung.get(commentKey) ?? null, at]))
  const reacted = new Set([...given, ...alone].map(({ commentId }) => commentId))
  for (const { commentId, commentKey, updatedAt } of [...reactions, ...shadowReactions]) {
    if (reacted.has(commentId) && (!isNew.has(commentId) || updatedAt > work.startedAt)) note(commentKey, updatedAt)
  }
  for (const { commentId, commentKey, readerId, createdAt } of reports) {
    const isGiven = pairs.has(`${commentId} ${readerId}`)
    if (isGiven && (!isNew.has(commentId) || createdAt > work.startedAt)) note(commentKey, createdAt)
  }
  if (hung.size > 0) await noteHung(tx, tenantId, importId, hung)
  return { reactions: given.length + alone.length, reports: made.length }
}

function waitingItem(row: ThreadItem): WaitingItem {
  const { key, place, item } = row
  return row.kind === 'comment'
    ? { key, place, item, commentKey: row.parentKey, readerKey: row.authorKey }
    : { key, place, item, commentKey: row.commentKey, readerKey: row.readerKey }
}

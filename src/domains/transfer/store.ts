import type { App } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import type { TxSql } from '../../core/sql.ts'
import { storeFormer } from './former.ts'
import * as imports from './imports-sql.ts'
import { idAt, type Key } from './keys.ts'
import { addCounts, addFindings, type ImportFinding, type ImportFindings, type TransferCounts } from './report.ts'
import type {
  ImportedComment,
  ImportedDiscussion,
  ImportedItem,
  ImportedReaction,
  ImportedReader,
  ImportedReport,
} from './imported.ts'
import { type Known, OF_ERASED_READER, sortOut, type ThreadItem } from './sort-out.ts'
import * as sql from './store-sql.ts'
import {
  countReplies,
  maxDepthOf,
  type Move,
  placeBelow,
  type PlacedComment,
  reasonOf,
  WITHOUT_AUTHOR,
} from './threads.ts'

/** An import under way, and how far it has come. */
export interface Work {
  app: App
  tenantId: Id
  importId: Id
  /** What the ids of the file are unique in. */
  source: string
  startedAt: Date
  maxDepth: number
  /** What was taken, over all runs of this import. */
  counts: TransferCounts
  /** What was taken otherwise than it stands in the file, likewise. */
  changed: ImportFindings
  /** Whether entries of the audit log are taken; undefined before the first one. */
  takesAudit?: boolean
  /** Whether nothing of it stays. */
  isRehearsal?: boolean
}

/** Items to store together, in transactions of some hundred milliseconds. */
export interface ItemBatch {
  rows: readonly ImportedItem[]
  /** What the check has changed in them. */
  changes: readonly (ImportFinding & { key: Key })[]
  /** Whether its items have waited: they wait no longer. */
  hasWaited: boolean
  /** Whether what its items still lack will not come: they are taken without it, or refused. */
  isLast: boolean
}

export interface Stored {
  /** Items that were imported before. */
  already: number
  refused: ImportFinding[]
}

/** What the items of a batch, and what they refer to, have become so far. */
async function findKnown(tx: TxSql, tenantId: Id, rows: readonly ImportedItem[]): Promise<Map<Key, Id | null>> {
  const keys = new Set<Key>()
  for (const row of rows) for (const key of keysOf(row)) if (key !== null) keys.add(key)
  return new Map((await sql.findItems(tx, tenantId, [...keys])).map(({ key, itemId }) => [key, itemId]))
}

function keysOf(row: ImportedItem): (Key | null)[] {
  switch (row.kind) {
    case 'comment':
      return [row.key, row.discussionKey, row.parentKey, row.authorKey]
    case 'reaction':
    case 'report':
      return [row.commentKey, row.readerKey]
    default:
      return [row.key]
  }
}

/** Those that no import has taken, each once: the first of a key counts. */
const freshOf = <Row extends ImportedItem>(rows: readonly Row[], known: Known): Row[] =>
  [...new Map(rows.toReversed().map((row) => [row.key, row])).values()]
    .toReversed()
    .filter(({ key }) => !known.has(key))

// Readers and discussions

type NamedItem = ImportedReader | ImportedDiscussion

/** Stores the readers and discussions of a batch. Each is found again by its external id. */
export async function storeNamed(work: Work, batch: ItemBatch): Promise<Stored> {
  const rows = batch.rows.filter((row): row is NamedItem => row.kind === 'reader' || row.kind === 'discussion')
  const firstAt = earliest(batch.rows)
  let stored: Stored = { already: 0, refused: [] }
  if (rows.length === 0) return stored
  await advance(work, async (tx) => {
    const fresh = freshOf(rows, await findKnown(tx, work.tenantId, rows))
    const chosen = fresh.map((row) => choose(row, firstAt.get(row.key) ?? work.startedAt))
    stored = { already: rows.length - fresh.length, refused: [] }
    if (fresh.length === 0) return null
    const readers = await storeReaders(tx, work, chosen.filter(isOfReader))
    const discussions = await storeDiscussions(tx, work, chosen.filter(isOfDiscussion))
    await sql.insertItems(tx, work.tenantId, work.importId, [...readers, ...discussions])
    const made = new Set(readers.flatMap(({ key, made: isMade }) => (isMade ? [key] : [])))
    const notes = await storeFormer(
      tx,
      work,
      chosen.filter(isOfReader).filter(({ row }) => made.has(row.key)),
    )
    const erased = new Set(readers.filter(({ itemId }) => itemId === null).map(({ key }) => key))
    for (const { key, place } of fresh) if (erased.has(key)) stored.refused.push({ place, reason: OF_ERASED_READER })
    const keys = new Set(fresh.map(({ key }) => key))
    return {
      counts: { readers: countMade(readers), discussions: countMade(discussions) },
      changes: [...batch.changes.filter(({ key }) => keys.has(key) && !erased.has(key)), ...notes],
    }
  })
  return stored
}

const countMade = (items: readonly sql.NewItem[]): number => items.filter(({ made }) => made).length

interface Chosen<Row> {
  row: Row
  id: Id
  createdAt: Date
}

function choose<Row extends NamedItem>(row: Row, otherwiseAt: Date): Chosen<Row> {
  const createdAt = row.createdAt ?? otherwiseAt
  return { row, createdAt, id: row.keptId ?? idAt(row.key, createdAt) }
}

const isOfReader = (chosen: Chosen<NamedItem>): chosen is Chosen<ImportedReader> => chosen.row.kind === 'reader'
const isOfDiscussion = (chosen: Chosen<NamedItem>): chosen is Chosen<ImportedDiscussion> =>
  chosen.row.kind === 'discussion'

/** Two of the source may be one at the tenant: the first counts. */
const byName = <Row extends NamedItem>(chosen: readonly Chosen<Row>[]): Chosen<Row>[] => [
  ...new Map(chosen.toReversed().map((each) => [each.row.externalId, each])).values(),
]

/** Inserts those whose external id is new, and finds the others by theirs. */
async function storeReaders(tx: TxSql, work: Work, chosen: readonly Chosen<ImportedReader>[]): Promise<sql.NewItem[]> {
  if (chosen.length === 0) return []
  const { tenantId, importId } = work
  const rows = byName(chosen).map(({ row, id, createdAt }) => newReader(row, id, createdAt))
  const inserted = new Set((await sql.insertReaders(tx, tenantId, rows)).map(({ id }) => id))
  // Locked against erasures that have not begun; those that have begun are seen after it.
  const find = await finder(sql.findReaders, tx, tenantId, chosen)
  const erased = await imports.findErasedNames(
    tx,
    tenantId,
    importId,
    chosen.map(({ row }) => row.externalId),
  )
  await sql.removeInserted(
    tx,
    tenantId,
    rows.filter(({ id, externalId }) => inserted.has(id) && erased.has(externalId)).map(({ id }) => id),
  )
  return chosen.map((each) => {
    const { row, id, createdAt } = each
    const itemId = erased.has(row.externalId) ? null : find(each)
    const times = [row.profileIssuedAt, createdAt, ...row.formerly.map(({ mergedAt }) => mergedAt)]
    const latestAt = itemId === null ? null : latestOf(work, times)
    return { key: row.key, kind: row.kind, itemId, made: itemId === id && inserted.has(id), latestAt }
  })
}

async function storeDiscussions(
  tx: TxSql,
  { tenantId }: Work,
  chosen: readonly Chosen<ImportedDiscussion>[],
): Promise<sql.NewItem[]> {
  if (chosen.length === 0) return []
  const rows = byName(chosen).map(({ row, id, createdAt }) => newDiscussion(row, id, createdAt))
  const inserted = new Set((await sql.insertDiscussions(tx, tenantId, rows)).map(({ id }) => id))
  const find = await finder(sql.findDiscussions, tx, tenantId, chosen)
  return chosen.map((each) => {
    const { row, id } = each
    const itemId = find(each)
    return { key: row.key, kind: row.kind, itemId, made: itemId === id && inserted.has(id), latestAt: null }
  })
}

/** Finds what is there, by its external id or by the id that it keeps; null of what is gone. */
async function finder<Row extends NamedItem>(
  select: typeof sql.findReaders,
  tx: TxSql,
  tenantId: Id,
  chosen: readonly Chosen<Row>[],
): Promise<(chosen: Chosen<Row>) => Id | null> {
  const idByName = new Map<string, Id>()
  const ids = new Set<Id>()
  const find = ({ row, id }: Chosen<Row>): Id | null => idByName.get(row.externalId) ?? (ids.has(id) ? id : null)
  // Twice: a lock that was waited for may have merged a reader into another one.
  for (let n = 0; n < 2; n++) {
    const left = chosen.filter((each) => find(each) === null)
    if (left.length === 0) break
    const names = left.map(({ row }) => row.externalId)
    const found = await select(
      tx,
      tenantId,
      names,
      left.map(({ id }) => id),
    )
    for (const { id, externalId } of found) {
      idByName.set(externalId, id)
      ids.add(id)
    }
  }
  return find
}

/** The latest of these times, as far as it is after the import began. */
function latestOf({ startedAt }: Work, times: readonly (Date | null)[]): Date | null {
  const latest = new Date(Math.max(...times.map((time) => time?.getTime() ?? 0), 0))
  return latest > startedAt ? latest : null
}

/** When the first comment of each reader and discussion was written, as far as these tell. */
function earliest(rows: readonly ImportedItem[]): Map<Key, Date> {
  const first = new Map<Key, Date>()
  for (const row of rows) {
    if (row.kind !== 'comment') continue
    for (const key of [row.authorKey, row.discussionKey]) {
      if (key !== null && (first.get(key) ?? row.createdAt) >= row.createdAt) first.set(key, row.createdAt)
    }
  }
  return first
}

// A profile of the source is older than anything that the tenant vouches for.
function newReader(row: ImportedReader, id: Id, createdAt: Date): sql.NewReader {
  return { ...row, id, createdAt, profileIssuedAt: row.profileIssuedAt ?? createdAt }
}

function newDiscussion(row: ImportedDiscussion, id: Id, createdAt: Date): sql.NewDiscussion {
  return { ...row, id, createdAt, updatedAt: row.updatedAt ?? createdAt, activeAt: row.activeAt ?? createdAt }
}

// Comments and what hangs on them

/**
 * Stores comments, reactions and reports with all that counts them, in one transaction. What lacks
 * another item waits, unless it is the last chance.
 */
export async function storeThreads(work: Work, batch: ItemBatch): Promise<Stored> {
  const rows = batch.rows.filter((row): row is ThreadItem => row.kind !== 'reader' && row.kind !== 'discussion')
  const { tenantId, importId } = work
  let stored: Stored = { already: 0, refused: [] }
  if (rows.length === 0) return stored
  await advance(work, async (tx) => {
    const { known, facts } = await lockKnown(tx, tenantId, rows)
    const fresh = freshOf(rows, known)
    const { comments, onComments, waiting, refused } = sortOut(fresh, known, batch.isLast)
    stored = { already: rows.length - fresh.length, refused }
    if (fresh.length === 0 && !batch.hasWaited) return null
    const threads = await placeAll(tx, work, comments, known, facts)
    const hung = hang(onComments, known, threads)
    await insertComments(tx, work, threads, hung.reactions)
    const given = await insertOnComments(tx, work, threads, hung)
    const waited = batch.hasWaited ? rows.map(({ key }) => key) : []
    await imports.deleteWaiting(tx, tenantId, importId, waited)
    await imports.insertWaiting(tx, tenantId, importId, waiting.map(waitingItem))
    stored.already += threads.there.length + onComments.length - given.reactions - given.reports
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
 * What items have become, with what they refer to locked until the end of the transaction: first
 * discussions, in which no comment comes or goes, then readers, whose erasure waits.
 */
async function lockKnown(
  tx: TxSql,
  tenantId: Id,
  rows: readonly ThreadItem[],
): Promise<{ known: Known; facts: Map<Id, sql.CommentFacts> }> {
  const known = await findKnown(tx, tenantId, rows)
  const idsOf = (keys: readonly (Key | null)[]): Id[] => [
    ...new Set(keys.flatMap((key) => (key === null ? [] : (known.get(key) ?? [])))),
  ]
  const commentIds = idsOf(rows.map((row) => (row.kind === 'comment' ? row.parentKey : row.commentKey)))
  // Where comments stand never changes: it says what to lock.
  const places = commentIds.length === 0 ? [] : await sql.selectFacts(tx, tenantId, commentIds)
  const discussionIds = new Set(places.map(({ discussionId }) => discussionId))
  for (const id of idsOf(rows.map((row) => (row.kind === 'comment' ? row.discussionKey : null)))) discussionIds.add(id)
  await sql.lockDiscussions(tx, tenantId, [...discussionIds])
  await lockReaders(tx, tenantId, rows, known)
  const involved = [...commentIds, ...rows.flatMap((row) => (row.kind === 'comment' ? [row.id] : []))]
  const facts = new Map((await sql.selectFacts(tx, tenantId, involved)).map((each) => [each.id, each]))
  return { known, facts }
}

/** Locks the readers of these rows. Those whose erasure has begun are null from here on. */
async function lockReaders(
  tx: TxSql,
  tenantId: Id,
  rows: readonly ThreadItem[],
  known: Map<Key, Id | null>,
): Promise<void> {
  const keys = rows.map((row) => (row.kind === 'comment' ? row.authorKey : row.readerKey))
  let left = [...new Set(keys.filter((key) => key !== null))].filter((key) => known.get(key) != null)
  // Twice: a lock that was waited for may have moved an item to another reader.
  for (let n = 0; n < 2 && left.length > 0; n++) {
    const locked = new Map((await sql.lockReaders(tx, tenantId, left)).map(({ key, itemId }) => [key, itemId]))
    for (const key of left) known.set(key, locked.get(key) ?? null)
    left = left.filter((key) => !locked.has(key))
  }
}

function idOf(known: Known, key: Key): Id {
  const id = known.get(key)
  if (id == null) throw new Error(`the item ${key} is not known`)
  return id
}

interface Threads {
  placed: PlacedComment[]
  /** Those that the tenant has already, by their kept ids. */
  there: ImportedComment[]
  notes: ImportFinding[]
  find: (key: Key) => sql.CommentFacts | null | undefined
}

/** Gives new comments their places. Parents come before what replies to them. */
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
    void notes.push({ place: row.place, reason: reasonOf(move, maxDepthOf(row, maxDepth)) })
  for (const row of rows) {
    const discussionId = idOf(known, row.discussionKey)
    const isThere = facts.get(row.id)
    if (isThere !== undefined) {
      there.push(row)
      placed.set(row.key, { ...isThere, row, authorId: null, replyCount: 0 })
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
  reports: (sql.NewReport & { commentKey: Key; answered: boolean })[]
}

/** What hangs on comments that are there; of one reader once each. */
function hang(rows: readonly (ImportedReaction | ImportedReport)[], known: Known, threads: Threads): Hung {
  const isNew = new Set(threads.placed.map(({ id }) => id))
  const reactions = new Map<string, Hung['reactions'][number]>()
  const reports = new Map<string, Hung['reports'][number]>()
  for (const row of rows) {
    const comment = threads.find(row.commentKey)
    if (comment == null) continue
    const readerId = idOf(known, row.readerKey)
    const pair = `${comment.id} ${readerId}`
    const { commentKey } = row
    const at = row.createdAt ?? comment.createdAt
    if (row.kind === 'reaction') {
      if (reactions.has(pair)) continue
      const isOnNew = isNew.has(comment.id)
      reactions.set(pair, { commentId: comment.id, commentKey, readerId, type: row.type, updatedAt: at, isOnNew })
    } else if (!reports.has(pair)) {
      const { reason, note, counted, answered } = row
      const on = { commentId: comment.id, commentKey, readerId }
      reports.set(pair, { ...on, reason, note, counted, answered, createdAt: at })
    }
  }
  return { reactions: [...reactions.values()], reports: [...reports.values()] }
}

async function insertComments(
  tx: TxSql,
  work: Work,
  { placed, there }: Threads,
  reactions: Hung['reactions'],
): Promise<void> {
  const { tenantId, importId } = work
  const repliesOfOthers = countReplies(placed)
  const counts = countByType(reactions.filter(({ isOnNew }) => isOnNew))
  const comments = placed.map(({ row, id, discussionId, parentId, depth, authorId, replyCount }) => {
    const reactionCounts = JSON.stringify(Object.fromEntries(counts.get(id) ?? []))
    return { ...row, id, discussionId, parentId, depth, authorId, replyCount, reactionCounts }
  })
  const revisions = placed.flatMap(({ id, row }) =>
    row.revisions.map(({ body, replacedAt }, index) => {
      const revision = row.revision - row.revisions.length + index
      return { commentId: id, revision, body, createdAt: replacedAt }
    }),
  )
  if (comments.length > 0) await sql.insertComments(tx, tenantId, comments)
  if (revisions.length > 0) await sql.insertRevisions(tx, tenantId, revisions)
  await sql.insertItems(tx, tenantId, importId, [
    ...placed.map(({ row, id }) => {
      const { key, kind, editedAt, deletedAt, pinnedAt, firstApprovedAt } = row
      const latestAt = latestOf(work, [editedAt, deletedAt, pinnedAt, firstApprovedAt])
      return { key, kind, itemId: id, made: true, latestAt }
    }),
    ...there.map(({ key, kind, id }) => ({ key, kind, itemId: id, made: false, latestAt: null })),
  ])
  await sql.addReplies(tx, tenantId, repliesOfOthers)
  if (placed.length > 0) await sql.addComments(tx, tenantId, changesOf(placed))
}

function countByType(reactions: readonly Pick<sql.NewReaction, 'commentId' | 'type'>[]) {
  const counts = new Map<Id, Map<string, number>>()
  for (const { commentId, type } of reactions) {
    const ofComment = counts.get(commentId) ?? new Map<string, number>()
    counts.set(commentId, ofComment.set(type, (ofComment.get(type) ?? 0) + 1))
  }
  return counts
}

/** What new comments change in their discussions. */
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

/** Inserts reactions and reports that are new, and counts them on comments that were there. */
async function insertOnComments(
  tx: TxSql,
  work: Work,
  threads: Threads,
  { reactions, reports }: Hung,
): Promise<{ reactions: number; reports: number }> {
  const { tenantId, importId } = work
  const isNew = new Set(threads.placed.map(({ id }) => id))
  const given = reactions.length === 0 ? [] : await sql.insertReactions(tx, tenantId, reactions)
  const onOthers = countByType(given.filter(({ commentId }) => !isNew.has(commentId)))
  if (onOthers.size > 0) await sql.addReactions(tx, tenantId, onOthers)
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
  const reacted = new Set(given.map(({ commentId }) => commentId))
  for (const { commentId, commentKey, updatedAt } of reactions) {
    if (reacted.has(commentId) && (!isNew.has(commentId) || updatedAt > work.startedAt)) note(commentKey, updatedAt)
  }
  for (const { commentId, commentKey, readerId, createdAt } of reports) {
    const isGiven = pairs.has(`${commentId} ${readerId}`)
    if (isGiven && (!isNew.has(commentId) || createdAt > work.startedAt)) note(commentKey, createdAt)
  }
  if (hung.size > 0) await sql.noteHung(tx, tenantId, importId, hung)
  return { reactions: given.length, reports: made.length }
}

function waitingItem(row: ThreadItem): imports.WaitingItem {
  const { key, place, item } = row
  return row.kind === 'comment'
    ? { key, place, item, commentKey: row.parentKey, readerKey: row.authorKey }
    : { key, place, item, commentKey: row.commentKey, readerKey: row.readerKey }
}

interface Step {
  counts: TransferCounts
  changes: readonly ImportFinding[]
  /** Whether pages that readers see have changed. */
  touchesPages?: boolean
}

/**
 * One transaction of an import; how far the import has come is written with it. Null: nothing was
 * done.
 */
export async function advance(work: Work, run: (tx: TxSql) => Promise<Step | null>): Promise<void> {
  const { app, tenantId, importId } = work
  const next = await app.db.transaction(async (tx) => {
    const step = await run(tx)
    if (step === null) return null
    const after = {
      counts: addCounts(work.counts, step.counts),
      changed: addFindings(
        work.changed,
        step.changes.map(({ place, reason }) => ({ place, reason })),
      ),
    }
    await imports.noteProgress(tx, tenantId, importId, after.counts, after.changed)
    if (step.touchesPages === true) await sql.touchPages(tx, tenantId)
    return after
  })
  if (next !== null) Object.assign(work, next)
}

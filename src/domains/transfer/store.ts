import type { App } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import type { TxSql } from '../../core/sql.ts'
import * as imports from './imports-sql.ts'
import { idAt, type Key } from './keys.ts'
import { addCounts, addFindings, type Counts, type Finding, type Findings } from './report.ts'
import type { CommentRow, DiscussionRow, ItemRow, ReactionRow, ReaderRow, ReportRow } from './rows.ts'
import * as sql from './store-sql.ts'
import { countReplies, placeBelow, type PlacedComment } from './threads.ts'

/** An import under way, and how far it has come. */
export interface Work {
  app: App
  tenantId: Id
  importId: Id
  startedAt: Date
  maxDepth: number
  /** What was taken, over all runs of this import. */
  counts: Counts
  /** What was taken otherwise than it stands in the file, likewise. */
  changed: Findings
}

/** Items to store together, in transactions of some hundred milliseconds. */
export interface Batch {
  rows: readonly ItemRow[]
  /** What the check has changed in them. */
  changes: readonly (Finding & { key: Key })[]
  /** Items that have waited: they wait no longer. */
  waited: readonly Key[]
  /** Whether what its items still lack will not come: they are taken without it, or refused. */
  isLast: boolean
}

export interface Stored {
  /** Items that were imported before. */
  already: number
  refused: Finding[]
}

/** Stores what there is of a batch. What lacks another item waits, unless it is the last chance. */
export async function storeBatch(work: Work, batch: Batch): Promise<Stored> {
  const known = await findKnown(work, batch.rows)
  const isNew = (row: ItemRow): boolean => !known.has(row.key)
  const distinct = [...new Map(batch.rows.map((row) => [row.key, row])).values()]
  const fresh = distinct.filter(isNew)
  const changes = batch.changes.filter(({ key }) => !known.has(key))
  const refused: Finding[] = []
  await storeNamed(work, fresh, known, changes, refused)
  const rest = sortOut(fresh, known, batch.isLast, refused)
  const isIdle = rest.comments.length + rest.onComments.length + rest.waiting.length + batch.waited.length === 0
  const stored = isIdle ? 0 : await storeRest(work, rest, { known, batch, changes })
  return { already: batch.rows.length - fresh.length + stored, refused }
}

/** What the items of a batch, and what they refer to, have become so far. */
async function findKnown({ app, tenantId }: Work, rows: readonly ItemRow[]): Promise<Map<Key, Id>> {
  const keys = new Set<Key>()
  for (const row of rows) for (const key of keysOf(row)) if (key !== null) keys.add(key)
  const items = keys.size === 0 ? [] : await sql.findItems(app.db.query, tenantId, [...keys])
  return new Map(items.map(({ key, itemId }) => [key, itemId]))
}

function keysOf(row: ItemRow): (Key | null)[] {
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

// Readers and discussions

/** Stores readers and discussions, each of which is found again by its external id. */
async function storeNamed(
  work: Work,
  rows: readonly ItemRow[],
  known: Map<Key, Id>,
  changes: readonly (Finding & { key: Key })[],
  refused: Finding[],
): Promise<void> {
  const readers = rows.filter((row) => row.kind === 'reader')
  const discussions = rows.filter((row) => row.kind === 'discussion')
  if (readers.length + discussions.length === 0) return
  const firstAt = earliest(rows)
  const keys = new Set([...readers, ...discussions].map(({ key }) => key))
  await advance(work, async (tx) => {
    const { tenantId, importId } = work
    const gone: Finding[] = []
    const madeReaders = await nameRows(tx, work, readers, gone, {
      insert: (chosen) =>
        sql.insertReaders(
          tx,
          tenantId,
          chosen.map(({ row, id, createdAt }) => newReader(row, id, createdAt)),
        ),
      find: sql.findReaders,
      firstAt,
    })
    const madeDiscussions = await nameRows(tx, work, discussions, gone, {
      insert: (chosen) =>
        sql.insertDiscussions(
          tx,
          tenantId,
          chosen.map(({ row, id, createdAt }) => newDiscussion(row, id, createdAt)),
        ),
      find: sql.findDiscussions,
      firstAt,
    })
    const items = [...madeReaders, ...madeDiscussions]
    await sql.insertItems(tx, tenantId, importId, items)
    const countOf = (made: readonly sql.NewItem[]): number => made.filter((item) => item.made).length
    return {
      counts: { readers: countOf(madeReaders), discussions: countOf(madeDiscussions) },
      changes: changes.filter(({ key }) => keys.has(key)),
      committed: () => {
        for (const { key, itemId } of items) known.set(key, itemId)
        refused.push(...gone)
      },
    }
  })
}

interface Chosen<Row> {
  row: Row
  id: Id
  createdAt: Date
}

/** Inserts those whose external id is new, and finds the others by theirs. */
async function nameRows<Row extends ReaderRow | DiscussionRow>(
  tx: TxSql,
  work: Work,
  rows: readonly Row[],
  gone: Finding[],
  how: {
    insert: (chosen: readonly Chosen<Row>[]) => Promise<{ id: Id }[]>
    find: typeof sql.findReaders
    firstAt: ReadonlyMap<Key, Date>
  },
): Promise<sql.NewItem[]> {
  if (rows.length === 0) return []
  const { tenantId, startedAt } = work
  const chosen = rows.map((row) => {
    const createdAt = row.createdAt ?? how.firstAt.get(row.key) ?? startedAt
    return { row, createdAt, id: row.keptId ?? idAt(row.key, createdAt) }
  })
  // Two of the source may be one at the tenant.
  const byName = [...new Map(chosen.toReversed().map((each) => [each.row.externalId, each])).values()]
  const made = new Set((await how.insert(byName)).map(({ id }) => id))
  const found = await how.find(
    tx,
    tenantId,
    rows.map(({ externalId }) => externalId),
    chosen.map(({ id }) => id),
  )
  const idByName = new Map(found.map(({ id, externalId }) => [externalId, id]))
  const ids = new Set(found.map(({ id }) => id))
  return chosen.flatMap(({ row, id, createdAt }) => {
    const itemId = idByName.get(row.externalId) ?? (ids.has(id) ? id : undefined)
    if (itemId === undefined) {
      gone.push({ place: row.place, reason: 'is being erased' })
      return []
    }
    const latestAt = latestOf(work, row.kind === 'reader' ? [row.profileIssuedAt, createdAt] : [])
    return [{ key: row.key, kind: row.kind, itemId, made: itemId === id && made.has(id), latestAt }]
  })
}

/** The latest of these times, as far as it is after the import began. */
function latestOf({ startedAt }: Work, times: readonly (Date | null)[]): Date | null {
  const latest = new Date(Math.max(...times.map((time) => time?.getTime() ?? 0), 0))
  return latest > startedAt ? latest : null
}

/** When the first comment of each reader and discussion was written, as far as these tell. */
function earliest(rows: readonly ItemRow[]): Map<Key, Date> {
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
function newReader(row: ReaderRow, id: Id, createdAt: Date): sql.NewReader {
  return { ...row, id, createdAt, profileIssuedAt: row.profileIssuedAt ?? createdAt }
}

function newDiscussion(row: DiscussionRow, id: Id, createdAt: Date): sql.NewDiscussion {
  return { ...row, id, createdAt, updatedAt: row.updatedAt ?? createdAt, activeAt: row.activeAt ?? createdAt }
}

// Comments and what hangs on them

interface Rest {
  comments: CommentRow[]
  onComments: (ReactionRow | ReportRow)[]
  waiting: ItemRow[]
}

/** What can be stored now, and what has to wait for another item. */
function sortOut(rows: readonly ItemRow[], known: ReadonlyMap<Key, Id>, isLast: boolean, refused: Finding[]): Rest {
  const rest: Rest = { comments: [], onComments: [], waiting: [] }
  const comments = rows.filter((row) => row.kind === 'comment')
  const byKey = new Map(comments.map((row) => [row.key, row]))
  const canStand = new Map<Key, boolean>()
  const lacks = (key: Key | null): boolean => key !== null && !known.has(key)
  // Upwards without recursion: a thread may be as long as the batch. One that comes back to itself
  // cannot stand.
  const stands = (row: CommentRow): boolean => {
    const path: Key[] = []
    let result: boolean | undefined
    for (let next: CommentRow | undefined = row; result === undefined;) {
      path.push(next.key)
      canStand.set(next.key, false)
      if (lacks(next.discussionKey) || (!isLast && lacks(next.authorKey))) result = false
      else if (!lacks(next.parentKey)) result = true
      else {
        const above: CommentRow | undefined = byKey.get(next.parentKey ?? '')
        if (above === undefined) result = isLast
        else if (canStand.has(above.key)) result = canStand.get(above.key) ?? false
        else next = above
      }
    }
    for (const key of path) canStand.set(key, result)
    return result
  }
  for (const row of comments) {
    if (canStand.get(row.key) ?? stands(row)) rest.comments.push(row)
    else if (isLast) refused.push({ place: row.place, reason: 'is of a page that was not taken' })
    else rest.waiting.push(row)
  }
  for (const row of rows) {
    if (row.kind !== 'reaction' && row.kind !== 'report') continue
    const hasComment = !lacks(row.commentKey) || canStand.get(row.commentKey) === true
    if (hasComment && !lacks(row.readerKey)) rest.onComments.push(row)
    else if (isLast) {
      const what = hasComment ? 'of a reader who' : 'on a comment that'
      refused.push({ place: row.place, reason: `is ${what} was not taken` })
    } else rest.waiting.push(row)
  }
  return rest
}

interface Given {
  known: ReadonlyMap<Key, Id>
  batch: Batch
  changes: readonly (Finding & { key: Key })[]
}

/**
 * Stores comments, reactions and reports with all that counts them, in one transaction. Returns how
 * many of them there were before.
 */
async function storeRest(work: Work, rest: Rest, { known, batch, changes }: Given): Promise<number> {
  const { tenantId, importId } = work
  const targets = rest.onComments.flatMap(({ commentKey }) => known.get(commentKey) ?? [])
  const parents = rest.comments.flatMap(({ parentKey }) => (parentKey === null ? [] : (known.get(parentKey) ?? [])))
  const involved = [...new Set([...targets, ...parents, ...rest.comments.map(({ id }) => id)])]
  const keys = new Set([...rest.comments, ...rest.onComments].map(({ key }) => key))
  let already = 0
  await advance(work, async (tx) => {
    // Where comments stand never changes: it says what to lock.
    const places = targets.length === 0 ? [] : await sql.selectFacts(tx, tenantId, targets)
    const discussionIds = new Set(places.map(({ discussionId }) => discussionId))
    for (const { discussionKey } of rest.comments) discussionIds.add(idOf(known, discussionKey))
    await sql.lockDiscussions(tx, tenantId, [...discussionIds])
    const facts = new Map((await sql.selectFacts(tx, tenantId, involved)).map((each) => [each.id, each]))
    const threads = await placeAll(tx, work, rest.comments, known, facts)
    const hung = hang(rest.onComments, known, threads)
    await insertComments(tx, work, threads, hung.reactions)
    const given = await insertOnComments(tx, work, threads, hung)
    await imports.deleteWaiting(tx, tenantId, importId, batch.waited)
    await imports.insertWaiting(tx, tenantId, importId, rest.waiting.map(waitingItem))
    already = threads.there.length + rest.onComments.length - given.reactions - given.reports
    return {
      counts: {
        comments: threads.placed.length,
        revisions: threads.placed.reduce((sum, { row }) => sum + row.revisions.length, 0),
        ...given,
      },
      changes: [...changes.filter(({ key }) => keys.has(key)), ...threads.notes],
      touchesPages: threads.placed.length + given.reactions > 0,
    }
  })
  return already
}

function idOf(known: ReadonlyMap<Key, Id>, key: Key): Id {
  const id = known.get(key)
  if (id === undefined) throw new Error(`the item ${key} is not known`)
  return id
}

interface Threads {
  placed: PlacedComment[]
  /** Those that the tenant has already, by their kept ids. */
  there: CommentRow[]
  notes: Finding[]
  find: (key: Key) => sql.CommentFacts | null | undefined
}

/** Gives new comments their places, parents before what replies to them. */
async function placeAll(
  tx: TxSql,
  { tenantId, maxDepth }: Work,
  rows: readonly CommentRow[],
  known: ReadonlyMap<Key, Id>,
  facts: Map<Id, sql.CommentFacts>,
): Promise<Threads> {
  const placed = new Map<Key, PlacedComment>()
  const notes: Finding[] = []
  const there: CommentRow[] = []
  const find = (key: Key): sql.CommentFacts | null | undefined => {
    const id = known.get(key)
    return placed.get(key) ?? (id === undefined ? undefined : (facts.get(id) ?? null))
  }
  const load = async (id: Id): Promise<sql.CommentFacts | undefined> => {
    const [read] = facts.has(id) ? [] : await sql.selectFacts(tx, tenantId, [id])
    if (read !== undefined) facts.set(id, read)
    return facts.get(id)
  }
  const note = ({ place }: CommentRow, reason: string): void => void notes.push({ place, reason })
  for (const row of parentsFirst(rows)) {
    const discussionId = idOf(known, row.discussionKey)
    const isThere = facts.get(row.id)
    if (isThere !== undefined) {
      there.push(row)
      placed.set(row.key, { ...isThere, row, authorId: null, replyCount: 0 })
      continue
    }
    const authorId = row.authorKey === null ? null : (known.get(row.authorKey) ?? null)
    if (row.authorKey !== null && authorId === null)
      note(row, 'is of a reader who is not in the file: it has no author')
    const place = await placeBelow(row, discussionId, { find, load, maxDepth, note })
    const comment = { id: row.id, discussionId, ...place, createdAt: row.createdAt, row, authorId, replyCount: 0 }
    placed.set(row.key, comment)
    facts.set(comment.id, comment)
  }
  const isThere = new Set(there)
  return { placed: [...placed.values()].filter(({ row }) => !isThere.has(row)), there, notes, find }
}

/** The same comments; a reply comes after what it replies to. */
function parentsFirst(rows: readonly CommentRow[]): CommentRow[] {
  const byKey = new Map(rows.map((row) => [row.key, row]))
  const ordered = new Set<CommentRow>()
  for (const row of rows) {
    const path: CommentRow[] = []
    for (
      let next: CommentRow | undefined = row;
      next !== undefined && !ordered.has(next) && !path.includes(next);
      next = byKey.get(next.parentKey ?? '')
    ) {
      path.push(next)
    }
    for (const each of path.toReversed()) ordered.add(each)
  }
  return [...ordered]
}

interface Hung {
  reactions: (sql.NewReaction & { commentKey: Key; isOnNew: boolean })[]
  reports: (sql.NewReport & { commentKey: Key; answered: boolean })[]
}

/** What hangs on comments that are there; of one reader once each. */
function hang(rows: readonly (ReactionRow | ReportRow)[], known: ReadonlyMap<Key, Id>, threads: Threads): Hung {
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
    const reactionCounts = JSON.stringify(counts.get(id) ?? {})
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
  const counts = new Map<Id, Record<string, number>>()
  for (const { commentId, type } of reactions) {
    const ofComment = counts.get(commentId) ?? {}
    ofComment[type] = (ofComment[type] ?? 0) + 1
    counts.set(commentId, ofComment)
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

function waitingItem(row: ItemRow): imports.WaitingItem {
  const { key, place, item } = row
  const none = { discussionKey: null, commentKey: null, readerKey: null }
  if (row.kind === 'comment') {
    const { discussionKey, parentKey, authorKey } = row
    return { key, place, item, discussionKey, commentKey: parentKey, readerKey: authorKey }
  }
  if (row.kind === 'reaction' || row.kind === 'report') {
    return { key, place, item, ...none, commentKey: row.commentKey, readerKey: row.readerKey }
  }
  return { key, place, item, ...none }
}

interface Step {
  counts: Counts
  changes: readonly Finding[]
  /** Whether pages that readers see have changed. */
  touchesPages?: boolean
  /** Done once it is committed. */
  committed?: () => void
}

/** One transaction of an import; how far the import has come is written with it. */
export async function advance(work: Work, run: (tx: TxSql) => Promise<Step>): Promise<void> {
  const { app, tenantId, importId } = work
  const { counts, changed, committed } = await app.db.transaction(async (tx) => {
    const step = await run(tx)
    const next = {
      counts: addCounts(work.counts, step.counts),
      changed: addFindings(
        work.changed,
        step.changes.map(({ place, reason }) => ({ place, reason })),
      ),
    }
    await imports.noteProgress(tx, tenantId, importId, next.counts, next.changed)
    if (step.touchesPages === true) await sql.touchPages(tx, tenantId)
    return { ...next, committed: step.committed }
  })
  work.counts = counts
  work.changed = changed
  committed?.()
}

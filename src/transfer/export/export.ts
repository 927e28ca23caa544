import { setImmediate } from 'node:timers/promises'

import type { App } from '../../core/app.ts'
import { inJson } from '../../core/fields.ts'
import { grouped } from '../../core/grouped.ts'
import { FIRST_ID, type Id } from '../../core/ids.ts'
import { readOneInstant, type Sql } from '../../core/database/database.ts'
import { EXPORTED, type ExportedColumn } from '../../domains/comments/fields.ts'
import * as discussions from '../../domains/discussions/fields.ts'
import * as readers from '../../domains/readers/fields.ts'
import * as rows from './export-sql.ts'
import {
  type CommentItem,
  type DiscussionItem,
  discussionItem,
  FORM_VERSION,
  type Item,
  type ReactionItem,
  type ReaderItem,
  readerItem,
} from '../item.ts'
import { addCounts, type TransferCounts } from '../../domains/imports/report.ts'

/** Rows per read. */
const PAGE = 500

/** Takes a piece of the export, and resolves when it can take more. */
export type Write = (lines: string) => Promise<unknown>

interface Watching {
  /** Gets the number of written comments, and the total. */
  onProgress?: (written: number, total: number) => void
}

/**
 * Writes all data of a tenant except secrets, as of one instant, one item a line. Memory is
 * constant: it reads only as fast as `write` takes pieces.
 */
export function exportTenant(
  { db }: App,
  tenantId: Id,
  write: Write,
  { onProgress }: Watching = {},
): Promise<TransferCounts> {
  return db.transaction(async (sql) => {
    await readOneInstant(sql)
    await rows.takeAnyTime(sql)
    const total = await rows.countComments(sql, tenantId)
    let counts: TransferCounts = {}
    for await (const items of exportItems(sql, tenantId)) {
      await write(linesOf(items))
      counts = addCounts(counts, countsOf(items))
      onProgress?.(counts.comments ?? 0, total)
    }
    return counts
  })
}

/**
 * A tenant's export as pieces of whole lines. The caller has begun the transaction, which must be
 * REPEATABLE READ for one instant.
 */
export async function* exportLines(sql: Sql, tenantId: Id): AsyncGenerator<string> {
  for await (const items of exportItems(sql, tenantId)) yield linesOf(items)
}

const linesOf = (items: readonly Item[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join('')

async function* exportItems(sql: Sql, tenantId: Id): AsyncGenerator<Item[]> {
  for await (const items of readItems(sql, tenantId)) {
    if (items.length === 0) continue
    yield items
    // The embedded database answers within this turn of the event loop.
    await setImmediate()
  }
}

async function* readItems(sql: Sql, tenantId: Id): AsyncGenerator<Item[]> {
  const { slug, settings, sites } = await rows.selectTenant(sql, tenantId)
  const exportedAt = new Date().toISOString()
  yield [{ kind: 'header', form: 'engagement-service', version: FORM_VERSION, tenant: slug, exportedAt }]
  if (Object.keys(settings).length > 0) yield [{ kind: 'settings', settings }]
  yield sites.map(siteItem)
  for await (const page of pagesOf(sql, tenantId, rows.selectEndpoints)) yield page.map(endpointItem)
  for await (const page of pagesOf(sql, tenantId, rows.selectReaders)) yield await withFormer(sql, tenantId, page)
  for await (const page of mutesOf(sql, tenantId)) yield page.map(muteItem)
  for await (const page of pagesOf(sql, tenantId, rows.selectDiscussions)) yield page.map(discussionItemOf)
  for await (const page of pagesOf(sql, tenantId, rows.selectComments)) {
    yield await withRevisions(sql, tenantId, page)
    for await (const hung of hangingOn(sql, tenantId, page, rows.selectReactions)) yield hung.map(reactionItem)
    for await (const hung of hangingOn(sql, tenantId, page, rows.selectShadowReactions)) {
      yield hung.map((row) => ({ ...reactionItem(row), counted: false }))
    }
    for await (const hung of hangingOn(sql, tenantId, page, rows.selectReports)) yield hung.map(reportItem)
  }
  for await (const page of pagesOf(sql, tenantId, rows.selectAudit)) yield page.map(auditItem)
}

const COUNTS: Readonly<Partial<Record<Item['kind'], keyof TransferCounts>>> = {
  settings: 'settings',
  endpoint: 'endpoints',
  site: 'sites',
  mute: 'mutes',
  reader: 'readers',
  discussion: 'discussions',
  comment: 'comments',
  reaction: 'reactions',
  report: 'reports',
  audit: 'auditEntries',
}

function countsOf(items: readonly Item[]): TransferCounts {
  const counts: TransferCounts = {}
  for (const item of items) {
    const name = COUNTS[item.kind]
    if (name !== undefined) counts[name] = (counts[name] ?? 0) + 1
    if (item.kind === 'comment') counts.revisions = (counts.revisions ?? 0) + (item.revisions?.length ?? 0)
  }
  return counts
}

/** All rows of a list, in pages. */
async function* pagesOf<Row extends { id: Id }>(
  sql: Sql,
  tenantId: Id,
  select: (sql: Sql, page: rows.KeysetPage) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  for (let after: Id | null = null; ;) {
    const page: Row[] = await select(sql, { tenantId, after, limit: PAGE })
    yield page
    if (page.length < PAGE) return
    after = page.at(-1)?.id ?? null
  }
}

async function* mutesOf(sql: Sql, tenantId: Id): AsyncGenerator<rows.TenantExportMute[]> {
  for (let after: [Id, Id] = [FIRST_ID, FIRST_ID]; ;) {
    const page = await rows.selectMutes(sql, { tenantId, after, limit: PAGE })
    yield page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    after = [last.readerId, last.id]
  }
}

/** The rows that belong to a page of comments, in pages: one comment may have any number. */
async function* hangingOn<Row extends { commentId: Id; readerId: Id }>(
  sql: Sql,
  tenantId: Id,
  comments: readonly { id: Id }[],
  select: (sql: Sql, of: rows.Hanging) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  const [first] = comments
  const last = comments.at(-1)
  const ids = new Set(comments.map(({ id }) => id))
  if (first === undefined || last === undefined) return
  // The start: no row of the first comment can precede it.
  let after: [Id, Id] = [first.id, FIRST_ID]
  for (;;) {
    const page = await select(sql, { tenantId, after, last: last.id, limit: PAGE })
    yield page.filter(({ commentId }) => ids.has(commentId))
    const end = page.at(-1)
    if (end === undefined || page.length < PAGE) return
    after = [end.commentId, end.readerId]
  }
}

// Nulls and defaults are left out. The order of fields is fixed.

/** The stored fields of an item. Nulls are left out, but for those that an import must see. */
function storedIn<Name extends string>(
  row: { readonly [Each in Name]: unknown },
  names: readonly Name[],
  withNull: ReadonlySet<Name> = new Set(),
): Partial<Record<Name, unknown>> {
  const stored: Partial<Record<Name, unknown>> = {}
  for (const name of names) {
    const value = row[name]
    const isLeftOut = value === false || (value === null && !withNull.has(name))
    if (!isLeftOut) stored[name] = inJson(value)
  }
  return stored
}

/** The names of stored fields that an item has as well, in the order of the item. */
const namesIn = <Name extends string>({ shape }: { shape: object }, names: readonly Name[]): Name[] =>
  Object.keys(shape).flatMap((field) => names.find((name) => name === field) ?? [])

/** Of a reader, left out where they are the default. */
const NOT_ALWAYS: ReadonlySet<string> = new Set(['trust', 'assignedBadges', 'claimedBadges'])
const READER = namesIn(readerItem, readers.EXPORTED).filter((name) => !NOT_ALWAYS.has(name))
const DISCUSSION = namesIn(discussionItem, discussions.EXPORTED)

const siteItem = (site: rows.ExportedSite): Item => ({
  kind: 'site',
  ...site,
  createdAt: new Date(site.createdAt).toISOString(),
})

const endpointItem = ({ description, discussionIds, policy, createdAt, ...row }: rows.TenantExportEndpoint): Item => ({
  kind: 'endpoint',
  ...row,
  ...(discussionIds.length > 0 && { discussionIds }),
  ...(description !== null && { description }),
  ...(Object.keys(policy).length > 0 && { policy }),
  createdAt: createdAt.toISOString(),
})

async function withFormer(sql: Sql, tenantId: Id, page: readonly rows.TenantExportReader[]): Promise<ReaderItem[]> {
  const ids = page.map(({ id }) => id)
  const found = ids.length === 0 ? [] : await rows.selectFormer(sql, tenantId, ids)
  const former = grouped(found, ({ readerId }) => readerId)
  const notes = await notesOn(sql, 'reader', tenantId, ids)
  return page.map((row) => ({ ...readerItemOf(row, former.get(row.id) ?? []), ...notes(row.id) }))
}

/** The notes on readers or comments, as a part of the item of each. */
async function notesOn(
  sql: Sql,
  kind: 'reader' | 'comment',
  tenantId: Id,
  ids: readonly Id[],
): Promise<(id: Id) => Pick<ReaderItem, 'notes'>> {
  const notes = grouped(await rows.selectNotes(sql, kind, tenantId, ids), ({ onId }) => onId)
  return (id) => {
    const found = notes.get(id)
    return found === undefined ? {} : { notes: found.map(noteOf) }
  }
}

const noteOf = ({ id, text, actorKind, actorId, createdAt }: rows.TenantExportNote) => ({
  id,
  text,
  actorKind: actorKind as NonNullable<ReaderItem['notes']>[number]['actorKind'],
  ...(actorId !== null && { actorId }),
  createdAt: createdAt.toISOString(),
})

function readerItemOf(row: rows.TenantExportReader, former: readonly rows.TenantExportFormerReader[]): ReaderItem {
  const { bannedAt, bannedUntil, banReason, shadowBanned, trust, assignedBadges, claimedBadges } = row
  return {
    kind: 'reader',
    ...(storedIn(row, READER) as Omit<ReaderItem, 'kind' | 'ban' | 'formerly'>),
    ...(bannedAt !== null && {
      ban: {
        at: bannedAt.toISOString(),
        until: bannedUntil?.toISOString() ?? null,
        ...(banReason !== null && { reason: banReason }),
        ...(shadowBanned && { shadow: true }),
      },
    }),
    ...(trust !== 'normal' && { trust }),
    ...(assignedBadges.length > 0 && { assignedBadges }),
    ...(claimedBadges.length > 0 && { claimedBadges }),
    ...(former.length > 0 && {
      formerly: former.map((each) => ({
        id: each.id,
        externalId: each.externalId,
        mergedAt: each.mergedAt.toISOString(),
      })),
    }),
  }
}

const discussionItemOf = (row: rows.TenantExportDiscussion): DiscussionItem => ({
  kind: 'discussion',
  ...(storedIn(row, DISCUSSION) as Omit<DiscussionItem, 'kind'>),
})

async function withRevisions(
  sql: Sql,
  tenantId: Id,
  page: readonly rows.TenantExportComment[],
): Promise<CommentItem[]> {
  const edited = page.filter(({ revision, isErased }) => revision > 1 && !isErased).map(({ id }) => id)
  const found = edited.length === 0 ? [] : await rows.selectRevisions(sql, tenantId, edited)
  const revisions = grouped(found, ({ commentId }) => commentId)
  const kept = page.filter(({ isErased }) => !isErased).map(({ id }) => id)
  const notes = await notesOn(sql, 'comment', tenantId, kept)
  return page.map((row) => ({ ...commentItem(row, revisions.get(row.id) ?? []), ...notes(row.id) }))
}

/** An import would take a default in place of these. */
const WITH_NULL: ReadonlySet<ExportedColumn> = new Set(['body', 'editedAt', 'firstApprovedAt'])

function commentItem(row: rows.TenantExportComment, revisions: readonly rows.TenantExportRevision[]): CommentItem {
  const erased = { authorId: null, body: null, status: 'deleted' as const }
  const comment = row.isErased ? { ...row, ...erased } : row
  const createdAt = row.createdAt.toISOString()
  const replaced = revisions.map(({ body, replacedAt, wasPublic }, index) => ({
    body,
    createdAt: revisions[index - 1]?.replacedAt.toISOString() ?? createdAt,
    replacedAt: replacedAt.toISOString(),
    wasPublic,
  }))
  return {
    kind: 'comment',
    ...(storedIn(comment, EXPORTED, WITH_NULL) as Omit<CommentItem, 'kind' | 'revisions'>),
    ...(replaced.length > 0 && { revisions: replaced }),
  }
}

const reactionItem = ({ createdAt, ...row }: rows.TenantExportShadowReaction): ReactionItem => ({
  kind: 'reaction',
  ...row,
  createdAt: createdAt.toISOString(),
})

const reportItem = ({
  commentId,
  readerId,
  reason,
  note,
  createdAt,
  counted,
  answered,
}: rows.TenantExportReport): Item => ({
  kind: 'report',
  commentId,
  readerId,
  reason,
  ...(note !== null && { note }),
  createdAt: createdAt.toISOString(),
  ...(!counted && { counted: false }),
  ...(answered && { answered: true }),
})

const muteItem = ({ createdAt, ...row }: rows.TenantExportMute): Item => ({
  kind: 'mute',
  ...row,
  createdAt: createdAt.toISOString(),
})

const auditItem = ({ actorId, targetId, before, after, at, ...row }: rows.TenantExportAuditEntry): Item => ({
  kind: 'audit',
  ...row,
  ...(actorId !== null && { actorId }),
  ...(targetId !== null && { targetId }),
  ...(before !== null && { before }),
  ...(after !== null && { after }),
  at: at.toISOString(),
})

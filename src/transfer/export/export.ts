import { setImmediate } from 'node:timers/promises'

import type { App } from '../../core/context.ts'
import { grouped } from '../../core/grouped.ts'
import { FIRST_ID, type Id } from '../../core/ids.ts'
import { readOneInstant, type Sql } from '../../core/sql.ts'
import { EXPORTED, type ExportedColumn } from '../../domains/comments/fields.ts'
import * as rows from './export-sql.ts'
import {
  type CommentItem,
  type DiscussionItem,
  FORM_VERSION,
  type Item,
  type ReactionItem,
  type ReaderItem,
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
 * The same as pieces of whole lines. The caller has begun the transaction, which must be REPEATABLE
 * READ for one instant.
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
  const { slug, settings } = await rows.selectTenant(sql, tenantId)
  const exportedAt = new Date().toISOString()
  yield [{ kind: 'header', form: 'engagement-service', version: FORM_VERSION, tenant: slug, exportedAt }]
  if (Object.keys(settings).length > 0) yield [{ kind: 'settings', settings }]
  for await (const page of pagesOf(sql, tenantId, rows.selectEndpoints)) yield page.map(endpointItem)
  for await (const page of pagesOf(sql, tenantId, rows.selectReaders)) yield await withFormer(sql, tenantId, page)
  for await (const page of pagesOf(sql, tenantId, rows.selectDiscussions)) yield page.map(discussionItem)
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

/** The rows that belong to a page of comments, in pages: one comment may have any number. */
async function* hangingOn<Row extends { commentId: Id; readerId: Id }>(
  sql: Sql,
  tenantId: Id,
  comments: readonly { id: Id }[],
  select: (sql: Sql, of: rows.Hanging) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  const [first] = comments
  const last = comments.at(-1)
  if (first === undefined || last === undefined) return
  // The start: no row of the first comment can precede it.
  let after: [Id, Id] = [first.id, FIRST_ID]
  for (;;) {
    const page = await select(sql, { tenantId, after, last: last.id, limit: PAGE })
    yield page
    const end = page.at(-1)
    if (end === undefined || page.length < PAGE) return
    after = [end.commentId, end.readerId]
  }
}

// Nulls and defaults are left out. The order of fields is fixed.

const textOf = (date: Date | null): string | undefined => date?.toISOString()

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
  return page.map((row) => readerItem(row, former.get(row.id) ?? []))
}

function readerItem(row: rows.TenantExportReader, former: readonly rows.TenantExportFormerReader[]): ReaderItem {
  const { id, externalId, name, avatarUrl, profileUrl, bannedAt, bannedUntil, banReason, shadowBanned } = row
  return {
    kind: 'reader',
    id,
    externalId,
    ...(name !== null && { name }),
    ...(avatarUrl !== null && { avatarUrl }),
    ...(profileUrl !== null && { profileUrl }),
    profileIssuedAt: row.profileIssuedAt.toISOString(),
    createdAt: row.createdAt.toISOString(),
    ...(bannedAt !== null && {
      ban: {
        at: bannedAt.toISOString(),
        until: bannedUntil?.toISOString() ?? null,
        ...(banReason !== null && { reason: banReason }),
        ...(shadowBanned && { shadow: true }),
      },
    }),
    ...(former.length > 0 && {
      formerly: former.map((each) => ({
        id: each.id,
        externalId: each.externalId,
        mergedAt: each.mergedAt.toISOString(),
      })),
    }),
  }
}

function discussionItem(row: rows.TenantExportDiscussion): DiscussionItem {
  const { id, externalId, url, title, state, seq } = row
  return {
    kind: 'discussion',
    id,
    externalId,
    ...(url !== null && { url }),
    ...(title !== null && { title }),
    state,
    seq,
    createdAt: textOf(row.createdAt),
    updatedAt: textOf(row.updatedAt),
    lastCommentedAt: textOf(row.lastCommentedAt),
    activeAt: textOf(row.activeAt),
    autoClosedAt: textOf(row.autoClosedAt),
  }
}

async function withRevisions(
  sql: Sql,
  tenantId: Id,
  page: readonly rows.TenantExportComment[],
): Promise<CommentItem[]> {
  const edited = page.filter(({ revision, isErased }) => revision > 1 && !isErased).map(({ id }) => id)
  const found = edited.length === 0 ? [] : await rows.selectRevisions(sql, tenantId, edited)
  const revisions = grouped(found, ({ commentId }) => commentId)
  return page.map((row) => commentItem(row, revisions.get(row.id) ?? []))
}

/** An import would take a default in place of these. */
const WITH_NULL: ReadonlySet<ExportedColumn> = new Set(['body', 'editedAt', 'firstApprovedAt'])

function commentItem(row: rows.TenantExportComment, revisions: readonly rows.TenantExportRevision[]): CommentItem {
  const erased = { authorId: null, body: null, status: 'deleted' as const }
  const comment = row.isErased ? { ...row, ...erased } : row
  const stored: Partial<Record<ExportedColumn, unknown>> = {}
  for (const name of EXPORTED) {
    const value = comment[name]
    const isLeftOut = value === false || (value === null && !WITH_NULL.has(name))
    if (!isLeftOut) stored[name] = value instanceof Date ? value.toISOString() : value
  }
  const createdAt = row.createdAt.toISOString()
  const replaced = revisions.map(({ body, replacedAt }, index) => ({
    body,
    createdAt: revisions[index - 1]?.replacedAt.toISOString() ?? createdAt,
    replacedAt: replacedAt.toISOString(),
  }))
  return {
    kind: 'comment',
    ...(stored as Omit<CommentItem, 'kind' | 'revisions'>),
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

const auditItem = ({ actorId, targetId, before, after, at, ...row }: rows.TenantExportAuditEntry): Item => ({
  kind: 'audit',
  ...row,
  ...(actorId !== null && { actorId }),
  ...(targetId !== null && { targetId }),
  ...(before !== null && { before }),
  ...(after !== null && { after }),
  at: at.toISOString(),
})

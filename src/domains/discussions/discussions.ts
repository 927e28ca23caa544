import { z } from 'zod'

import { recordAudit } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import { afterCommit, perApp } from '../../core/app.ts'
import type { Tenant } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import { decodeCursor, encodeCursor, idInCursor, idOf, instantOf } from '../../core/input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../../core/input/page.ts'
import { noSuch, ServiceError } from '../../core/errors.ts'
import { roomOf } from '../../core/cache.ts'
import { type Id, isId, newId } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { sharedReads } from '../../core/queues/shared-reads.ts'
import { isDuplicate } from '../../core/database/locks.ts'
import { searchSchema } from '../../core/database/search.ts'
import { externalIdSchema } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import type { DiscussionState } from '../../generated/prisma/enums.ts'
import { lockDiscussionRow } from './locks.ts'
import {
  auditForm,
  changedRow,
  differs,
  type Discussion,
  type DiscussionInput,
  discussionInput,
  type DiscussionRow,
  JSON_FIELDS,
  toDiscussion,
} from './fields.ts'
import { selectDiscussion } from './row.ts'
import * as sql from './sql.ts'

const RENAMING = 'The discussion is being given another external id.'

/**
 * The discussion of an external id, created if there is none; a given title or url replaces the old
 * one. The audit log has no entry for one that a reader's comment creates. Throws
 * `discussion_archived` if that would change an archived discussion.
 */
export async function createDiscussion(
  ctx: Ctx,
  input: DiscussionInput,
  { isForReader = false } = {},
): Promise<{ discussion: Discussion; created: boolean }> {
  const { tenant } = requireCaller(ctx)
  const fields = validate(discussionInput, input)
  const id = newId()
  const writing = isForReader
    ? sql.upsertDiscussion(ctx.app.db.query, tenant.id, id, fields)
    : upsertAudited(ctx, id, fields)
  const written = await writing.catch((error: unknown) => {
    // It was given up between the look-up and the write; the next look-up finds where it leads.
    if (isDuplicate(error)) throw new ServiceError('unavailable', { detail: RENAMING, retryAfterSeconds: 1 })
    throw error
  })
  if (written !== undefined) return { discussion: toDiscussion(written), created: written.id === id }
  const row = await sql.selectByExternalId(ctx.app.db.query, tenant.id, fields.externalId)
  if (row === undefined) throw new ServiceError('unavailable', { detail: 'The discussion is being removed.' })
  if (row.state === 'archived' && differs(row, fields)) throw new ServiceError('discussion_archived')
  return { discussion: toDiscussion(row), created: false }
}

function upsertAudited(ctx: Ctx, id: Id, input: DiscussionInput): Promise<DiscussionRow | undefined> {
  const { tenant } = requireCaller(ctx)
  return ctx.app.db.transaction(async (tx) => {
    // Most calls name an existing, unchanged page: these do not wait for its row.
    const known = await sql.selectByExternalId(tx, tenant.id, input.externalId)
    if (known !== undefined && !differs(known, input)) return known
    const before = known && (await lockDiscussionRow(tx, tenant.id, known.id))
    if (before !== undefined && (before.state === 'archived' || !differs(before, input))) return undefined
    const written =
      before === undefined
        ? await sql.upsertDiscussion(tx, tenant.id, id, input)
        : await sql.updateDiscussionRow(
            tx,
            tenant.id,
            before.id,
            changedRow(before, { ...input, externalId: undefined }),
          )
    if (written === undefined) return undefined
    const verb = written.id === id ? 'create' : 'update'
    const target = { action: `discussion.${verb}`, targetId: written.id } as const
    await recordAudit(tx, ctx, { ...target, before: before && auditForm(before), after: auditForm(written) })
    return written
  })
}

/** One discussion by either of its ids. Throws `not_found`. */
export async function getDiscussion(ctx: Ctx, key: DiscussionName): Promise<Discussion> {
  const row = await findRow(ctx, key)
  if (row === undefined) throw noSuch('discussion')
  return toDiscussion(row)
}

/**
 * A discussion for answers that show only what belongs to it. Makes no query if this process knows
 * that it exists. Throws `not_found`.
 */
export async function getDiscussionUnread(ctx: Ctx, key: DiscussionName): Promise<Discussion> {
  const { tenant } = requireCaller(ctx)
  const { id, externalId } = key
  const known = knownIds(ctx.app).get(id == null ? ofExternalId(tenant, externalId ?? '') : ofId(tenant, id))
  if (known !== undefined) return UnreadDiscussion.of(known)
  const discussion = await getDiscussion(ctx, key)
  rememberIds(ctx, discussion.id, externalId ?? discussion.externalId)
  return discussion
}

/** A discussion of which only the id is known. */
class UnreadDiscussion {
  readonly id: Id

  constructor(id: Id) {
    this.id = id
  }

  static of(id: Id): Discussion {
    return new UnreadDiscussion(id) as Partial<Discussion> as Discussion
  }
}

for (const name of JSON_FIELDS)
  if (name !== 'id') Object.defineProperty(UnreadDiscussion.prototype, name, { get: unread })

function unread(): never {
  throw new Error('of this discussion nothing but its id was read')
}

/** Names a discussion by exactly one of its ids: the schema has it so (`@oneOf`). */
export interface DiscussionName {
  id?: Id | null | undefined
  externalId?: string | null | undefined
}

function findRow(ctx: Ctx, { id, externalId }: DiscussionName): Promise<DiscussionRow | undefined> {
  const { tenant } = requireCaller(ctx)
  if (id != null) return isId(id) ? selectDiscussion(ctx.app.db.query, tenant.id, id) : Promise.resolve(undefined)
  return sql.selectByExternalId(ctx.app.db.query, tenant.id, validate(externalIdInput, { externalId }).externalId)
}

// An external id leads to its discussion for a year after it was given up. An entry is stale only
// where a former id was still in use after that year, for a day at most. Each deletion of a
// discussion gives all of its tenant other keys.
const knownIds = perApp((app) => roomOf(app, 'externalIds')<string, Id>({ part: 1, maxAgeMs: DAY_MS }))
const DAY_MS = 86_400_000

// All tenant ids have the same length, so keys are unambiguous.
const ofExternalId = (tenant: Tenant, externalId: string): string =>
  `${tenant.id}${tenant.discussionsDeleted}:${externalId}`
const ofId = (tenant: Tenant, id: Id): string => `${tenant.id}${tenant.discussionsDeleted}/${id}`

/** In a transaction of the whole request, the discussion may not be committed yet. */
function rememberIds(ctx: Ctx, id: Id, externalId: string): void {
  const { tenant } = requireCaller(ctx)
  const known = knownIds(ctx.app)
  afterCommit(ctx.app, () => known.set(ofExternalId(tenant, externalId), id).set(ofId(tenant, id), id))
}

/** The id of an external id's discussion; null if it does not exist. */
export async function findDiscussionId(ctx: Ctx, externalId: string): Promise<Id | null> {
  const known = knownIds(ctx.app).get(ofExternalId(requireCaller(ctx).tenant, externalId))
  if (known !== undefined) return known
  const row = await findRow(ctx, { externalId })
  if (row === undefined) return null
  rememberIds(ctx, row.id, externalId)
  return row.id
}

/** The discussions of several external ids, those that there are. */
export async function findDiscussionIds(ctx: Ctx, externalIds: readonly string[]): Promise<ReadonlyMap<string, Id>> {
  const { tenant } = requireCaller(ctx)
  const known = knownIds(ctx.app)
  const recall = (externalId: string): Id | undefined => known.get(ofExternalId(tenant, externalId))
  const unknown = externalIds.filter((externalId) => recall(externalId) === undefined)
  const read = unknown.length === 0 ? [] : await sql.selectIds(ctx.app.db.query, tenant.id, unknown)
  for (const { id, externalId } of read) rememberIds(ctx, id, externalId)
  const all = new Map(read.map(({ id, externalId }) => [externalId, id]))
  for (const externalId of externalIds) {
    const id = recall(externalId)
    if (id !== undefined) all.set(externalId, id)
  }
  return all
}

/** The id of an external id's discussion, which is created if there is none. */
export async function ensureDiscussion(ctx: Ctx, externalId: string): Promise<Id> {
  return (await findDiscussionId(ctx, externalId)) ?? (await createDiscussion(ctx, { externalId })).discussion.id
}

/**
 * A discussion by the id in another row of the tenant, also one that is deleted, for as long as
 * workers have not removed that row. One statement serves all rows of a request. Throws
 * `not_found`.
 */
export async function loadDiscussion(ctx: Ctx, id: Id): Promise<Discussion> {
  const found = await loadById(ctx, id)
  if (found === null) throw noSuch('discussion')
  return found.discussion
}

/** A discussion by its id; null where there is none, or where it was deleted. */
export async function findDiscussion(ctx: Ctx, id: Id): Promise<Discussion | null> {
  const found = await loadById(ctx, id)
  return found?.isHere === true ? found.discussion : null
}

const loadById = perRequest<Id, { discussion: Discussion; isHere: boolean } | null>(async (ctx, ids) => {
  const rows = await sql.selectDiscussions(ctx.app.db.query, requireCaller(ctx).tenant.id, [...new Set(ids)])
  const discussions = new Map(rows.map((row) => [row.id, { discussion: toDiscussion(row), isHere: row.isHere }]))
  return ids.map((id) => discussions.get(id) ?? null)
})

export type DiscussionSort = 'recent' | 'active'

interface ListDiscussions extends PageArgs {
  state?: DiscussionState | null | undefined
  sort?: DiscussionSort | null | undefined
  search?: string | null | undefined
}

const listSchema = z.object({ search: searchSchema.nullish() })

/**
 * Discussions, newest first or last active first (to the minute), all or those that match a search.
 * Throws `validation_failed`.
 */
export async function listDiscussions(ctx: Ctx, args: ListDiscussions): Promise<Page<Discussion>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const { search = null } = validate(listSchema, { search: args.search })
  const filter = { state: args.state ?? null, search }
  const query = ctx.app.db.query
  if (args.sort === 'active') {
    const after = decodeCursor('active', 2, args.after)
    const before = after === null ? null : { activeAt: instantOf(after[0]), id: idOf(after[1]) }
    const rows = await sql.listActive(query, tenant.id, filter, before, size + 1)
    const cursors = new Map(rows.map((row) => [row.id, encodeCursor('active', row.activeAt.toISOString(), row.id)]))
    return pageOf(rows.map(toDiscussion), size, args, ({ id }) => cursors.get(id) ?? '')
  }
  const rows = await sql.listRecent(query, tenant.id, filter, idInCursor('recent', args.after), size + 1)
  return pageOf(rows.map(toDiscussion), size, args, ({ id }) => encodeCursor('recent', id))
}

export const countsSchema = z.array(externalIdSchema).min(1).max(200)

// Built once: zod compiles a schema at its first use, which takes as long as the rest of the
// request.
const countsInput = z.object({ externalIds: countsSchema })
const externalIdInput = z.object({ externalId: externalIdSchema })

/**
 * Comment count and state of up to 200 pages, in the given order. An unknown page counts as open
 * and empty.
 */
export async function countDiscussions(ctx: Ctx, externalIds: readonly string[]): Promise<sql.DiscussionCount[]> {
  const result = validate(countsInput, { externalIds })
  const known = await readCounts(ctx, '', result.externalIds)
  return result.externalIds.map((externalId) => known.get(externalId) ?? countOfUnknown(externalId))
}

export const countOfUnknown = (externalId: string): sql.DiscussionCount => ({
  externalId,
  commentCount: 0,
  state: 'open',
  lastEventId: '0',
})

const readCounts = sharedReads<readonly string[], ReadonlyMap<string, sql.DiscussionCount>>({
  most: 16,
  load: async (query, tenantId, _group, keys) => {
    const asked = keys.length === 1 ? keys.flat() : [...new Set(keys.flat())]
    const rows = await sql.selectCounts(query, tenantId, asked)
    const known = new Map(rows.map((row) => [row.externalId, row]))
    return keys.map(() => known)
  },
})

import { requireCaller } from '../../core/access.ts'
import type { NamedDiscussions } from '../../core/caller.ts'
import { type Ctx, ofRequest } from '../../core/context.ts'
import { noSuch, ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { perRequest } from '../../core/per-request.ts'
import { discussionsOf, isPageOf, siteOf } from '../sites/pages.ts'
import { countOfUnknown, type DiscussionName, findDiscussionId, findDiscussionIds } from './discussions.ts'

export type DiscussionCount = ReturnType<typeof countOfUnknown>

// A token that names discussions sees no others, and a site its own pages alone: others are as
// unknown to it as another tenant's.

/** The discussions that the request's client token names; null where it may see all of them. */
function namedOf(ctx: Ctx): NamedDiscussions | null {
  const { actor } = requireCaller(ctx)
  return actor.kind === 'client' ? actor.discussions : null
}

/** Whether the caller sees some discussions alone. */
const isLimited = (ctx: Ctx): boolean => namedOf(ctx) !== null || siteOf(ctx) !== null

/** What a token's external ids lead to, found once for a request. */
const found = ofRequest<{ ids?: Promise<ReadonlySet<Id>> }>(() => ({}))

function idsOf(ctx: Ctx, { ids, externalIds }: NamedDiscussions): Promise<ReadonlySet<Id>> {
  return (found(ctx).ids ??= findDiscussionIds(ctx, externalIds).then(
    (byName) => new Set([...ids, ...byName.values()]),
  ))
}

async function isNamed(ctx: Ctx, discussionId: Id): Promise<boolean> {
  if (siteOf(ctx) !== null) return loadIsOfSite(ctx, discussionId)
  const named = namedOf(ctx)
  return named === null || named.ids.includes(discussionId) || (await idsOf(ctx, named)).has(discussionId)
}

/** Whether a discussion belongs to a page of the request's site. */
const loadIsOfSite = perRequest<Id, boolean>(async (ctx, ids) => {
  const origins = siteOf(ctx)?.origins ?? []
  const own = await discussionsOf(ctx.app, { tenantId: requireCaller(ctx).tenant.id, origins }, ids.filter(isId))
  return ids.map((id) => own.has(id))
})

/**
 * The ids of the discussions that the request's client token names; null where it sees all, and for
 * a site.
 */
export async function namedIds(ctx: Ctx): Promise<readonly Id[] | null> {
  const named = namedOf(ctx)
  return named === null ? null : [...(await idsOf(ctx, named))]
}

/** Whether a browser may see a comment or a discussion. */
export const isSeenByClient = (ctx: Ctx, value: { id: Id; discussionId?: Id }): Promise<boolean> =>
  isNamed(ctx, value.discussionId ?? value.id)

/** Throws `not_found` for a discussion that the browser does not see. */
export async function requireNamed(ctx: Ctx, discussionId: Id): Promise<void> {
  if (!(await isNamed(ctx, discussionId))) throw noSuch('discussion')
}

/** Counts in which discussions that the browser does not see count as unknown. */
export async function namedCounts(ctx: Ctx, counts: readonly DiscussionCount[]): Promise<DiscussionCount[]> {
  const site = siteOf(ctx)
  if (site !== null)
    return counts.map((count) => (isPageOf(site, count.externalId) ? count : countOfUnknown(count.externalId)))
  const named = namedOf(ctx)
  if (named === null) return [...counts]
  const externalIds = counts.map(({ externalId }) => externalId)
  const [ids, byName] = await Promise.all([idsOf(ctx, named), findDiscussionIds(ctx, externalIds)])
  return counts.map((count) => (ids.has(byName.get(count.externalId) ?? '') ? count : countOfUnknown(count.externalId)))
}

/** `client` of a field about one comment, in its input or its arguments. */
export const ofComment = async (ctx: Ctx, { input: { commentId } }: { input: { commentId: Id } }): Promise<void> => {
  if (!isLimited(ctx) || !isId(commentId)) return
  const discussionId = await findDiscussionOfComment(ctx.app.db.query, requireCaller(ctx).tenant.id, commentId)
  if (discussionId === undefined || !(await isNamed(ctx, discussionId))) throw noSuch('comment')
}

/** `client` of a field with the argument `discussionId`. */
export const ofDiscussion = (ctx: Ctx, { discussionId }: { discussionId: Id }): Promise<void> =>
  requireNamed(ctx, discussionId)

/**
 * `client` of a new comment, which begins only discussions whose external ids the token names, or
 * that are pages of the site.
 */
export const ofNewComment = async (ctx: Ctx, { input }: { input: { discussion: DiscussionName } }): Promise<void> => {
  const { id: discussionId, externalId } = input.discussion
  if (discussionId != null) await requireNamed(ctx, discussionId)
  if (externalId == null || namedOf(ctx)?.externalIds.includes(externalId) === true) return
  const site = siteOf(ctx)
  if (site !== null && isPageOf(site, externalId)) return
  const id = await findDiscussionId(ctx, externalId)
  if (id !== null && (await isNamed(ctx, id))) return
  throw new ServiceError('not_found', { detail: site === null ? BEGINS_NAMED : BEGINS_PAGES })
}

const BEGINS_NAMED = 'There is no such discussion. A client token begins only those whose external ids it names.'
const BEGINS_PAGES = 'There is no such discussion. A site begins only those of pages of its origins.'

/**
 * A comment or a discussion that a field has found, if the browser may see it. Throws
 * `not_found`.
 */
export async function seenByClient<T extends { id: Id; discussionId?: Id } | null>(ctx: Ctx, value: T): Promise<T> {
  if (value !== null && !(await isSeenByClient(ctx, value))) {
    throw noSuch(value.discussionId === undefined ? 'discussion' : 'comment')
  }
  return value
}

const DISCUSSION_OF_COMMENT = statement(
  'discussion_of_comment',
  'SELECT discussion_id AS "discussionId" FROM comments WHERE tenant_id = $1 AND id = $2',
)

/** The discussion of a comment in any state; undefined if there is none. */
const findDiscussionOfComment = async (sql: Sql, tenantId: Id, commentId: Id): Promise<Id | undefined> =>
  (await sql<{ discussionId: Id }>(DISCUSSION_OF_COMMENT, [tenantId, commentId]))[0]?.discussionId

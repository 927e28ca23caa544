import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { authorsAmong } from '../readers/in-view.ts'
import { followReaders } from '../readers/merged.ts'
import { escapeText } from './text/markdown.ts'
import { hasMentions, mentionsIn, replaceMentions, writtenMentions } from './text/mentions.ts'

const NOBODY: ReadonlySet<Id> = new Set()

/**
 * The readers whom a text for this discussion names: those who have written there. Null: a page
 * without a discussion.
 */
export async function findMentioned(ctx: Ctx, body: string, discussionId: Id | null): Promise<ReadonlySet<Id>> {
  const ids = writtenMentions(body)
  if (ids.length === 0 || discussionId === null) return NOBODY
  const present = await followReaders(ctx.app.prisma, requireCaller(ctx).tenant.id, ids)
  const authors = await authorsAmong(ctx, [...new Set([...present.values()].map(({ id }) => id))], discussionId)
  return new Set(ids.filter((id) => authors.has(present.get(id)?.id ?? '')))
}

const loadReader = perRequest<Id, { id: Id; name: string | null } | null>(async (ctx, ids) => {
  const present = await followReaders(ctx.app.prisma, requireCaller(ctx).tenant.id, [...new Set(ids)])
  return ids.map((id) => present.get(id) ?? null)
})

/**
 * The HTML of a comment with the present names of those whom it names. Readers who are gone have
 * none. One look-up serves all comments of a request.
 */
export const withNames = (ctx: Ctx, html: string | null): Promise<string> | string | null =>
  hasMentions(html) ? fillIn(ctx, html) : html

async function fillIn(ctx: Ctx, html: string): Promise<string> {
  const ids = mentionsIn(html)
  const readers = await Promise.all(ids.map((id) => loadReader(ctx, id)))
  return replaceMentions(html, (written, id) => {
    const reader = readers[ids.indexOf(id)]
    if (reader?.name == null) return written
    return `<span class="mention" data-reader="${reader.id}">@${escapeText(reader.name)}</span>`
  })
}

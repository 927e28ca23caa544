import type { CommentPage, First, Me, PublicSettings } from './answers.ts'
import type { Discussion } from '../browser/stream.ts'

type Ask = <T>(path: string, query?: Record<string, string>) => Promise<T>

/** What a page shows first, from a backend that has no path for all of it. */
export async function firstByParts(ask: Ask, query: Record<string, string>): Promise<First> {
  const [{ reader }, settings, discussion] = await Promise.all([
    ask<{ reader: Me | null }>('/me'),
    ask<PublicSettings>('/settings'),
    ask<Discussion | null>('/discussion', {}),
  ])
  // After the discussion, so that changes in between come again by the stream.
  const [comments, own] = await Promise.all([
    discussion && ask<CommentPage>('/comments', query),
    discussion && reader && ownOf(ask, discussion.id),
  ])
  return { settings, reader, discussion, comments, ...(own && { own }), ticket: null }
}

/** The reader's comments that wait; null from a backend that is older still. */
const ownOf = async (ask: Ask, discussionId: string): Promise<CommentPage['data'] | null> => {
  const page = ask<CommentPage>(`/me/comments?${new URLSearchParams({ discussionId, status: 'pending' })}`)
  return (await page.catch(() => null))?.data ?? null
}

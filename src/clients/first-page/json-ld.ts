import type { Drawing } from '../backend/drawing.ts'
import type { First, PageComment } from '../widget/backend.ts'
import { contentOf } from './content.ts'

type NameOf = (comment: PageComment) => string

const counter = (type: string, n: number): object => ({
  '@type': 'InteractionCounter',
  interactionType: { '@type': type },
  userInteractionCount: n,
})

/**
 * The page for search engines, by Google's rules for discussions: each posting and comment has an
 * author, a date and a text. Null before there is anything to tell.
 */
export function jsonLd(first: First, { externalId, posting, tenant }: Drawing, nameOf: NameOf): object | null {
  const { discussion, comments } = first
  const { title, url, author, text } = posting
  const datePublished = posting.datePublished ?? discussion?.createdAt
  if (datePublished === undefined) return null
  const headline = title || discussion?.title || externalId
  const address = url?.split('#')[0]
  return {
    '@context': 'https://schema.org',
    '@type': 'DiscussionForumPosting',
    headline,
    text: text || headline,
    ...(address && { url: address, mainEntityOfPage: address }),
    datePublished,
    author: {
      '@type': author?.type ?? (author ? 'Person' : 'Organization'),
      name: author?.name ?? tenant,
      ...(author?.url && { url: author.url }),
    },
    interactionStatistic: counter('CommentAction', discussion?.commentCount ?? 0),
    comment: (comments?.data ?? []).flatMap((each) => commentLd(each, address, nameOf)),
  }
}

/** In place of a tombstone, its replies. */
function commentLd(comment: PageComment, address: string | undefined, nameOf: NameOf): object[] {
  const { id, author, bodyHtml, createdAt, editedAt, reactionCounts, replies } = comment
  const below = (replies?.data ?? []).flatMap((each) => commentLd(each, address, nameOf))
  if (bodyHtml === null) return below
  return [
    {
      '@type': 'Comment',
      text: contentOf(bodyHtml).text,
      ...(address && { url: `${address}#comment-${id}` }),
      datePublished: createdAt,
      ...(editedAt && { dateModified: editedAt }),
      author: { '@type': 'Person', name: nameOf(comment), ...(author?.profileUrl && { url: author.profileUrl }) },
      ...(Object.hasOwn(reactionCounts, 'like') && {
        interactionStatistic: counter('LikeAction', reactionCounts['like'] ?? 0),
      }),
      ...(below.length > 0 && { comment: below }),
    },
  ]
}

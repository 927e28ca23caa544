import { type DiscussionDownloadQuery, DiscussionDownloadDocument } from '../../../generated/console.ts'
import { request } from '../../api/request.ts'
import { saveFile } from '../../ui/inputs/save.ts'

type Downloaded = NonNullable<DiscussionDownloadQuery['comments']>['nodes'][number]

interface Discussion {
  id: string
  externalId: string
  title: string | null
  url: string | null
  createdAt: string
}

const PAGE = 100

/**
 * Saves the comments of a discussion, in every state, as JSON Lines that an import takes. `onRead`
 * gets the number of comments so far. Returns it.
 */
export async function downloadDiscussion(discussion: Discussion, onRead: (count: number) => void): Promise<number> {
  const { id, externalId, title, url, createdAt } = discussion
  const parts: string[] = [linesOf([{ kind: 'discussion', id, externalId, title, url, createdAt }])]
  const readers = new Set<string>()
  let count = 0
  for (let after: string | null = null; ;) {
    const { comments }: DiscussionDownloadQuery = await request(DiscussionDownloadDocument, { id, first: PAGE, after })
    if (comments == null) throw new Error('The comments cannot be read.')
    for (const comment of comments.nodes) parts.push(linesOf(itemsOf(id, comment, readers)))
    count += comments.nodes.length
    onRead(count)
    after = comments.pageInfo.endCursor ?? null
    if (!comments.pageInfo.hasNextPage || after === null) break
  }
  saveFile(`${externalId.replaceAll(/[^\w.-]+/g, '-').slice(0, 80)}.jsonl`, new Blob(parts))
  return count
}

const linesOf = (items: readonly object[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join('')

/** A comment as an item, after that of its author where this is the first of theirs. */
function itemsOf(discussionId: string, { author, ...comment }: Downloaded, readers: Set<string>): object[] {
  const { id, parentId, body, status, createdAt, editedAt, pinnedAt } = comment
  const isNew = author != null && !readers.has(author.id)
  if (isNew) readers.add(author.id)
  return [
    ...(isNew ? [{ kind: 'reader', id: author.id, externalId: author.externalId, name: author.name }] : []),
    {
      kind: 'comment',
      id,
      discussionId,
      parentId,
      authorId: author?.id ?? null,
      body,
      status,
      createdAt,
      editedAt,
      pinnedAt,
    },
  ]
}

import { z } from 'zod'

import { anonymous, requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { foldForSearch } from '../../core/input/letters.ts'
import { atMost, noNul } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import type { Reader as ReaderRecord } from '../../generated/prisma/client.ts'
import { isBanned } from '../readers/bans.ts'
import { MAX_NAME_LENGTH } from '../readers/fields.ts'
import { mutedByViewer } from '../readers/mutes/mutes.ts'
import { findReader } from '../readers/records.ts'
import { requireReader } from '../readers/readers.ts'
import type { Comment } from './comment.ts'
import { listComments, listRepliesOf } from './list.ts'

/** Authors of the newest threads are found, and of their newest replies. */
const THREADS = 100
const REPLIES = 3

export const authorsInput = z.object({
  prefix: noNul(atMost(MAX_NAME_LENGTH, z.string().trim().min(1))).nullish(),
  limit: z.int().min(1).max(100).nullish(),
})

interface ListAuthors {
  prefix?: string | null | undefined
  limit?: number | null | undefined
}

/**
 * Readers whom a comment in this discussion may name, the last one to write first: authors with a
 * name, of which a word begins with `prefix`. Not the asserted reader, whom they have muted, nor
 * who is banned in shadow. Throws `validation_failed`.
 */
export async function listAuthors(ctx: Ctx, discussionId: Id, args: ListAuthors): Promise<ReaderRecord[]> {
  const { prefix: given, limit } = validate(authorsInput, args)
  const prefix = foldForSearch(given ?? '')
  // A text that folds to nothing, such as a vowel mark alone, begins no name.
  if (prefix === '' && given !== undefined && given !== null) return []
  const isWanted = (name: string | null): boolean => name !== null && ` ${foldForSearch(name)}`.includes(` ${prefix}`)
  const left = new Set(await mutedByViewer(ctx))
  if (requireCaller(ctx).identity !== null) left.add((await requireReader(ctx)).id)
  const authors = new Map(
    (await recentComments(ctx, discussionId)).flatMap(({ author }) => (author ? [[author.id, author]] : [])),
  )
  const ids = [...authors.values()].filter(({ id, name }) => isWanted(name) && !left.has(id)).map(({ id }) => id)
  const now = new Date()
  const readers = await Promise.all(ids.map((id) => findReader(ctx, id)))
  return readers
    .filter((reader) => reader !== null)
    .filter((reader) => !(reader.shadowBanned && isBanned(reader, now)))
    .slice(0, limit ?? 20)
}

/** As the public sees them, newest first. */
async function recentComments(ctx: Ctx, discussionId: Id): Promise<Comment[]> {
  const asPublic = anonymous(ctx)
  const page = await listComments(asPublic, { discussionId, first: THREADS, sort: 'newest' })
  const threads = page.edges.map(({ node }) => node)
  const replies = await Promise.all(
    threads.map((thread) => listRepliesOf(asPublic, thread, { first: REPLIES, sort: 'newest' })),
  )
  const found = [...threads, ...replies.flatMap(({ edges }) => edges.map(({ node }) => node))]
  return found.toSorted((one, other) => (one.id < other.id ? 1 : -1))
}

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { type Found, type OnRead, type ReaderItem, type Source, SourceError, type SourceFile } from '../item.ts'
import { filesInArchive } from './archive.ts'
import { nameOf, sourceErrorOf } from './files.ts'
import { htmlToMarkdown } from './html.ts'
import { flag, parseLine, text } from './rows.ts'
import { Tally } from './tally.ts'
import { Damage, readTextLines } from './text.ts'
import { timeOf } from './times.ts'

// The collections of Coral 6 to 9, `server/src/core/server/models`.

const user = z.object({
  id: z.string().min(1),
  username: text,
  email: text,
  avatar: text,
  profiles: z.array(z.object({ type: z.string(), id: text })).nullish(),
  createdAt: text,
  deletedAt: text,
  status: z
    .object({
      ban: z
        .object({
          active: flag,
          siteIDs: z.array(z.string()).nullish(),
          history: z.array(z.object({ active: flag, createdAt: text, message: text })).nullish(),
        })
        .nullish(),
      suspension: z
        .object({
          history: z
            .array(z.object({ from: z.object({ start: text, finish: text }).nullish(), message: text }))
            .nullish(),
        })
        .nullish(),
    })
    .nullish(),
})

const story = z.object({
  id: z.string().min(1),
  url: text,
  metadata: z.object({ title: text }).nullish(),
  createdAt: text,
  closedAt: z.union([z.string(), z.boolean()]).nullish(),
  isArchived: flag,
})

const comment = z.object({
  id: z.string().min(1),
  storyID: z.string().min(1),
  parentID: text,
  authorID: text,
  status: z.string(),
  createdAt: z.string(),
  deletedAt: text,
  rating: z.number().nullish(),
  tags: z.array(z.object({ type: z.string() })).nullish(),
  revisions: z
    .array(z.object({ body: text, createdAt: z.string(), media: z.object({ url: text }).nullish() }))
    .nullish(),
})

const action = z.object({
  commentID: z.string().min(1),
  userID: text,
  actionType: z.string(),
  reason: text,
  additionalDetails: text,
  createdAt: text,
  reviewed: flag,
})

const STATUSES: Readonly<Record<string, 'approved' | 'rejected'>> = {
  NONE: 'approved',
  APPROVED: 'approved',
  REJECTED: 'rejected',
}

const REASONS: Readonly<Record<string, string>> = {
  COMMENT_REPORTED_OFFENSIVE: 'abuse',
  COMMENT_REPORTED_ABUSIVE: 'abuse',
  COMMENT_REPORTED_SPAM: 'spam',
}

export const coral: Source = {
  about: 'a folder with what mongoexport writes of the collections of Coral',
  async *read(folder, onRead?: OnRead) {
    const reading: Reading = { tally: new Tally(), now: new Date().toISOString() }
    let done = 0
    for (const { collection, file } of await filesIn(folder)) {
      const damage = new Damage()
      let bytes = 0
      const name = nameOf(file)
      const lines = readTextLines(file, damage, (read) => onRead?.(done + (bytes = read)))
      for await (const { line, text: content } of lines) {
        if (line === 1 && content?.startsWith('[') === true) {
          throw new SourceError(`${name} is one list: leave out --jsonArray, so that each document is a line`)
        }
        yield* COLLECTIONS[collection](content, `${name} line ${line}`, reading)
      }
      done += bytes
      for (const found of damage.found()) yield { ...found, place: `${name} ${found.place}` }
    }
    yield* reading.tally.found()
  },
}

interface Reading {
  tally: Tally
  now: string
}

type Collection = keyof typeof COLLECTIONS

/** In an order in which no item has to wait for another. */
const COLLECTIONS = {
  users: usersOf,
  stories: storiesOf,
  comments: commentsOf,
  archivedComments: commentsOf,
  commentActions: actionsOf,
  archivedCommentActions: actionsOf,
} satisfies Record<string, (content: string | null, place: string, reading: Reading) => Generator<Found>>

const COLLECTION_FILE = /^(\w+)\.(?:json|jsonl|ndjson)(?:\.gz)?$/

const REQUIRED: readonly Collection[] = ['users', 'stories', 'comments']

async function filesIn(folder: SourceFile): Promise<{ collection: Collection; file: SourceFile }[]> {
  const files = await (typeof folder === 'string' ? filesOnDisk(folder) : filesInArchive(folder))
  if (files === null) throw new SourceError('Coral is read from an archive of tar, with a file for each collection')
  const found = (Object.keys(COLLECTIONS) as Collection[]).flatMap((collection) => {
    const file = files.find((each) => COLLECTION_FILE.exec(nameOf(each))?.[1] === collection)
    return file === undefined ? [] : [{ collection, file }]
  })
  const missing = REQUIRED.filter((name) => !found.some(({ collection }) => collection === name))
  if (missing.length > 0) throw new SourceError(`the folder has no ${missing.map((name) => `${name}.json`).join(', ')}`)
  return found
}

const filesOnDisk = async (path: string): Promise<string[]> =>
  readdir(path).then(
    (names) => names.map((name) => join(path, name)),
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTDIR') throw sourceErrorOf(path, error)
      throw new SourceError('Coral is read from a folder, with a file for each collection', { cause: error })
    },
  )

/** Reads MongoDB's notation for types that JSON lacks: times become RFC 3339. */
function fromExtendedJson(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const [key = '', ...others] = Object.keys(value)
  if (others.length > 0 || !key.startsWith('$')) return value
  const [inner] = Object.values(value) as unknown[]
  if (key === '$date') return typeof inner === 'number' ? dateOf(inner) : inner
  return /^\$number(?:Int|Long|Double|Decimal)$/.test(key) ? Number(inner) : key === '$oid' ? inner : value
}

const dateOf = (ms: number): string | null => (Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : null)

function* usersOf(content: string | null, at: string, { tally, now }: Reading): Generator<Found> {
  const { row, found } = parseLine(user, content, at, { reviver: fromExtendedJson })
  if (row === undefined) return void (yield found)
  // Nothing is kept of people who deleted their account.
  if (row.deletedAt != null) return
  const own = row.profiles?.find(({ type }) => type === 'sso')?.id
  if ((row.status?.ban?.siteIDs?.length ?? 0) > 0) tally.add(at, 'ban', 'it is for some sites alone')
  yield {
    place: at,
    item: {
      kind: 'reader',
      id: row.id,
      // Single sign-on: the publisher's own id.
      ...(own ? { externalId: own } : {}),
      ...(row.email ? { email: row.email } : {}),
      name: row.username ?? null,
      avatarUrl: row.avatar ?? null,
      createdAt: timeOf(row.createdAt),
      ban: banOf(row, now),
    },
  }
}

function banOf({ status }: z.output<typeof user>, now: string): ReaderItem['ban'] {
  const { ban, suspension } = status ?? {}
  if (ban?.active === true) {
    const last = ban.history?.findLast(({ active }) => active === true)
    return { at: timeOf(last?.createdAt), reason: last?.message || null }
  }
  const suspended = suspension?.history?.findLast(({ from }) => (timeOf(from?.finish) ?? '') > now)
  if (suspended === undefined) return null
  const { from, message } = suspended
  return { at: timeOf(from?.start), until: timeOf(from?.finish), reason: message || null }
}

function* storiesOf(content: string | null, at: string, { now }: Reading): Generator<Found> {
  const { row, found } = parseLine(story, content, at, { reviver: fromExtendedJson })
  if (row === undefined) return void (yield found)
  const isClosed = typeof row.closedAt === 'string' && (timeOf(row.closedAt) ?? now) <= now
  yield {
    place: `${at}, story ${row.id}`,
    item: {
      kind: 'discussion',
      id: row.id,
      url: row.url ?? null,
      title: row.metadata?.title ?? null,
      state: row.isArchived === true ? 'archived' : isClosed ? 'locked' : 'open',
      createdAt: timeOf(row.createdAt),
    },
  }
}

function* commentsOf(content: string | null, at: string, { tally }: Reading): Generator<Found> {
  const { row, found } = parseLine(comment, content, at, { reviver: fromExtendedJson })
  if (row === undefined) return void (yield found)
  const place = `${at}, comment ${row.id}`
  const createdAt = timeOf(row.createdAt)
  if (createdAt === null) return void (yield { place, refused: 'has no time that can be read' })
  const revisions = (row.revisions ?? []).map((revision) => ({
    body: bodyOf(revision),
    createdAt: timeOf(revision.createdAt) ?? createdAt,
  }))
  const last = revisions.pop()
  const isDeleted = row.deletedAt != null
  if (row.rating != null) tally.add(place, 'rating', 'comments have none here')
  if (row.tags?.some(({ type }) => type === 'FEATURED')) tally.add(place, 'feature', 'pin the comment to show it first')
  yield {
    place,
    item: {
      kind: 'comment',
      id: row.id,
      discussionId: row.storyID,
      parentId: row.parentID || null,
      authorId: row.authorID || null,
      body: isDeleted ? null : (last?.body ?? null),
      status: isDeleted ? 'deleted' : (STATUSES[row.status] ?? 'pending'),
      createdAt,
      editedAt: revisions.length > 0 && !isDeleted ? (last?.createdAt ?? null) : null,
      deletedAt: timeOf(row.deletedAt),
      revisions: isDeleted ? [] : revisions,
    },
  }
}

/** A text, with a link to its picture or video. */
function bodyOf({ body, media }: NonNullable<z.output<typeof comment>['revisions']>[number]): string {
  const markdown = htmlToMarkdown(body ?? '')
  const link = media?.url == null ? '' : htmlToMarkdown(`<img src="${media.url.replaceAll('"', '%22')}">`)
  return [markdown, link].filter((part) => part !== '').join('\n\n')
}

function* actionsOf(content: string | null, at: string, { tally }: Reading): Generator<Found> {
  const { row, found } = parseLine(action, content, at, { reviver: fromExtendedJson })
  if (row === undefined) return void (yield found)
  const { commentID: commentId, userID: readerId, actionType } = row
  const createdAt = timeOf(row.createdAt)
  if (!readerId) return tally.add(at, 'flag', 'Coral itself has set it, and no reader')
  if (actionType === 'REACTION') {
    return void (yield { place: at, item: { kind: 'reaction', commentId, readerId, type: 'like', createdAt } })
  }
  if (actionType !== 'FLAG' && actionType !== 'ILLEGAL') {
    return tally.add(at, 'disagreement', 'it is no report')
  }
  const note = row.additionalDetails || (actionType === 'ILLEGAL' ? 'Reported as illegal' : null)
  const reason = REASONS[row.reason ?? ''] ?? 'other'
  const answered = row.reviewed === true
  yield { place: at, item: { kind: 'report', commentId, readerId, reason, note, createdAt, answered } }
}

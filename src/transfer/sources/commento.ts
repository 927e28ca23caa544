import { z } from 'zod'

import type { CommentItem, Found, OnRead, Source } from '../item.ts'
import { readJson } from './json.ts'
import { fromMarkdown } from './markdown.ts'
import { htmlToMarkdown } from './html.ts'
import { People, Seen } from './people.ts'
import { addressIn, flag, parseRow, text } from './rows.ts'
import { Tally } from './tally.ts'
import { Damage } from './text.ts'
import { timeOf } from './times.ts'

/** `api/commenter.go`. The export repeats a commenter for each of their comments. */
const commenter = z.object({
  commenterHex: z.string().min(1),
  email: text,
  name: text,
  link: text,
  photo: text,
  joinDate: text,
})

/** `api/comment.go`, version 1 of the export; `deleted` comes from Commento++. */
const comment = z.object({
  commentHex: z.string().min(1),
  domain: text,
  url: text,
  commenterHex: text,
  markdown: text,
  html: text,
  parentHex: text,
  score: z.number().nullish(),
  state: text,
  creationDate: z.string(),
  deleted: flag,
})

const STATUSES: Readonly<Record<string, NonNullable<CommentItem['status']>>> = {
  approved: 'approved',
  unapproved: 'pending',
  flagged: 'pending',
  deleted: 'deleted',
}

const ANONYMOUS = 'anonymous'

export const commento: Source = {
  about: 'the JSON export of Commento and Commento++',
  async *read(file, onRead?: OnRead) {
    const damage = new Damage()
    const reading: Reading = { people: new People(), pages: new Seen(), tally: new Tally() }
    for await (const { list, index, value } of readJson(file, ['$.commenters', '$.comments'], damage, onRead)) {
      const place = `${list}[${index}]`
      yield* list === 'commenters' ? commenterOf(value, place, reading) : commentOf(value, place, reading)
    }
    yield* reading.tally.found()
    yield* damage.found()
  },
}

interface Reading {
  people: People
  pages: Seen
  tally: Tally
}

function* commenterOf(value: unknown, place: string, { people }: Reading): Generator<Found> {
  const { row, found } = parseRow(commenter, value, place)
  if (row === undefined) return void (yield found)
  yield* people.once(place, {
    id: row.commenterHex,
    ...(row.email ? { email: row.email } : {}),
    name: row.name ?? null,
    avatarUrl: addressIn(row.photo),
    profileUrl: addressIn(row.link),
    createdAt: timeOf(row.joinDate),
  })
}

function* commentOf(value: unknown, at: string, { people, pages, tally }: Reading): Generator<Found> {
  const { row, found } = parseRow(comment, value, at)
  if (row === undefined) return void (yield found)
  const place = `${at}, comment ${row.commentHex}`
  const createdAt = timeOf(row.creationDate)
  if (createdAt === null) return void (yield { place, refused: 'has no time that can be read' })
  const page = `${row.domain ?? ''}${row.url ?? ''}`
  if (page === '') return void (yield { place, refused: 'has no page' })
  if (pages.isNew(page)) {
    yield { place, item: { kind: 'discussion', id: page, url: row.domain ? `https://${page}` : page } }
  }
  const authorId = row.commenterHex || ANONYMOUS
  if (authorId === ANONYMOUS) yield* people.once(place, { id: ANONYMOUS, name: 'Anonymous' })
  const isDeleted = row.deleted === true || row.state === 'deleted' || row.markdown === '[deleted]'
  yield {
    place,
    item: {
      kind: 'comment',
      id: row.commentHex,
      discussionId: page,
      parentId: row.parentHex === 'root' ? null : row.parentHex || null,
      authorId,
      body: isDeleted ? null : bodyOf(row),
      status: isDeleted ? 'deleted' : (STATUSES[row.state ?? ''] ?? 'pending'),
      createdAt,
    },
  }
  tally.add(place, 'vote', 'the export has only their sum, not who gave them', Math.abs(row.score ?? 0))
}

const bodyOf = ({ markdown, html }: z.output<typeof comment>): string =>
  markdown ? fromMarkdown(markdown) : htmlToMarkdown(html ?? '')

import { z } from 'zod'

import { type Found, type OnRead, type ReaderItem, type Source, SourceError } from '../item.ts'
import { htmlToMarkdown, textOfHtml } from './html.ts'
import { Ids, People, Seen } from './people.ts'
import { addressIn, flag, parseLine, text } from './rows.ts'
import { Tally } from './tally.ts'
import { Damage, readTextLines } from './text.ts'
import { timeOf } from './times.ts'

/** The first line: `backend/app/migrator/native.go`. */
const header = z.object({
  version: z.literal(1),
  users: z.array(z.object({ id: z.string(), blocked: z.object({ status: flag, until: text }).nullish() })).nullish(),
  posts: z.array(z.object({ url: z.string(), read_only: flag })).nullish(),
})

/** Every other line: `backend/app/store/comment.go`. The IP addresses of readers are not read. */
const comment = z.object({
  id: z.string().min(1),
  pid: text,
  text,
  orig: text,
  user: z.object({ id: z.string().min(1), name: text, picture: text }),
  locator: z.object({ url: z.string().min(1) }),
  score: z.number().nullish(),
  votes: z.record(z.string(), z.unknown()).nullish(),
  time: z.string(),
  edit: z.object({ time: text }).nullish(),
  pin: flag,
  delete: flag,
  title: text,
})

type Ban = NonNullable<ReaderItem['ban']>

export const remark42: Source = {
  about: 'a backup of Remark42',
  async *read(file, onRead?: OnRead) {
    const damage = new Damage()
    const reading = new Reading()
    for await (const { line, text: content } of readTextLines(file, damage, onRead)) {
      // Concatenated backups repeat the line.
      if (line === 1 || content?.startsWith('{"version"') === true) reading.begin(content, `line ${line}`)
      else yield* reading.comment(content, `line ${line}`)
    }
    yield* reading.end()
    yield* damage.found()
  },
}

class Reading {
  private readonly tally = new Tally()
  private readonly pages = new Seen()
  private readonly people = new People()
  private readonly bans = new Map<string, Ban>()
  private readonly readOnly = new Ids()
  private readonly authors = new Ids()
  private readonly voters = new Ids()
  private hasBegun = false

  begin(content: string | null, at: string): void {
    const { row, found } = parseLine(header, content, at, { isBounded: false })
    if (row === undefined) {
      throw new SourceError(
        `${at} is not the first line of a backup of version 1: ${'refused' in found ? found.refused : ''}`,
      )
    }
    this.hasBegun = true
    for (const { id, blocked } of row.users ?? []) {
      if (blocked?.status === true) this.bans.set(id, banUntil(blocked.until))
    }
    for (const { url, read_only } of row.posts ?? []) if (read_only === true) this.readOnly.add(url)
  }

  *comment(content: string | null, at: string): Generator<Found> {
    const { row, found } = parseLine(comment, content, at)
    if (row === undefined) return void (yield found)
    const place = `${at}, comment ${row.id}`
    const createdAt = timeOf(row.time)
    if (createdAt === null) return void (yield { place, refused: 'has no time that can be read' })
    const { user, locator } = row
    yield* this.page(locator.url, row.title, place)
    this.authors.add(user.id)
    const ban = this.bans.get(user.id) ?? null
    const isGone = user.id === 'deleted'
    if (!isGone) {
      yield* this.people.once(place, {
        id: user.id,
        name: textOfHtml(user.name ?? '') || null,
        avatarUrl: addressIn(user.picture),
        ban,
      })
    }
    const isDeleted = row.delete === true
    yield {
      place,
      item: {
        kind: 'comment',
        id: row.id,
        discussionId: locator.url,
        parentId: row.pid || null,
        authorId: isGone ? null : user.id,
        body: isDeleted ? null : htmlToMarkdown(row.text || row.orig || ''),
        status: isDeleted ? 'deleted' : 'approved',
        createdAt,
        editedAt: timeOf(row.edit?.time),
        // A backup does not say when it was pinned.
        pinnedAt: row.pin === true ? createdAt : null,
      },
    }
    yield* this.votes(row, place)
  }

  private *page(url: string, title: string | null | undefined, place: string): Generator<Found> {
    const isReadOnly = this.readOnly.has(url)
    if (this.pages.isNew(url)) {
      const state = isReadOnly ? 'locked' : 'open'
      yield { place, item: { kind: 'discussion', id: url, url, title: textOfHtml(title ?? '') || null, state } }
    }
  }

  private *votes({ id, votes, score }: z.output<typeof comment>, place: string): Generator<Found> {
    const given = Object.entries(votes ?? {}).filter(([, isUp]) => typeof isUp === 'boolean')
    for (const [readerId, isUp] of given) {
      this.voters.add(readerId)
      yield { place, item: { kind: 'reaction', commentId: id, readerId, type: isUp === true ? 'like' : 'dislike' } }
    }
    if (given.length === 0) {
      this.tally.add(place, 'vote', 'the backup has only their sum, not who gave them', Math.abs(score ?? 0))
    }
  }

  /** People who voted or are banned, but wrote nothing: their names are nowhere. */
  *end(): Generator<Found> {
    if (!this.hasBegun) throw new SourceError('it is empty')
    for (const id of new Set([...this.voters, ...this.bans.keys()])) {
      if (this.authors.has(id)) continue
      yield { place: 'line 1', item: { kind: 'reader', id, ban: this.bans.get(id) ?? null } }
    }
    yield* this.tally.found()
  }
}

/** In Remark42, a permanent block lasts a hundred years. */
function banUntil(written: string | null | undefined): Ban {
  const until = timeOf(written)
  return { until: until === null || until > '2100' ? null : until }
}

import { stat } from 'node:fs/promises'

import { decodeXML } from 'entities'
import { z } from 'zod'

import { type CommentItem, type Found, type OnRead, type Source, SourceError, type SourceFile } from '../item.ts'
import { sourceErrorOf } from './files.ts'
import { fromMarkdown } from './markdown.ts'
import { People } from './people.ts'
import { parseRow, text } from './rows.ts'
import { DamagedDatabase, SqliteFile } from './sqlite.ts'
import { Tally } from './tally.ts'
import { timeOfSeconds } from './times.ts'

/** `isso/db/threads.py`. */
const thread = z.object({ id: z.number(), uri: z.string().min(1), title: text })

/** Isso stores profile texts with `&`, `<` and `>` as entities. */
const escaped = text.transform((value) => value && decodeXML(value))

/** `isso/db/comments.py`. `remote_addr` and `voters`, a filter of addresses, are not read. */
const comment = z.object({
  tid: z.number(),
  id: z.number(),
  parent: z.number().nullish(),
  created: z.number(),
  modified: z.number().nullish(),
  mode: z.number(),
  text,
  author: escaped,
  email: escaped,
  website: escaped,
  likes: z.number().nullish(),
  dislikes: z.number().nullish(),
})

/** Isso's modes are bits. */
const PENDING = 2
const DELETED = 4

export const isso: Source = {
  about: 'the SQLite database of Isso',
  async *read(file, onRead?: OnRead, salt?: string) {
    const tally = new Tally()
    const people = new People(salt)
    for await (const { place, table, row } of readTables(file)) {
      if (row === null) yield { place, refused: 'is too long' }
      else yield* table === 'threads' ? threadOf(row, place) : commentOf(row, place, people, tally)
    }
    yield* tally.found()
    onRead?.(typeof file === 'string' ? (await stat(file)).size : file.bytes)
  },
}

async function* readTables(file: SourceFile): AsyncGenerator<{ place: string; table: string; row: unknown }> {
  try {
    yield* SqliteFile.reading(file, async function* (database) {
      for (const table of ['threads', 'comments']) {
        const columns = Object.keys(table === 'threads' ? thread.shape : comment.shape)
        for await (const { rowid, values } of database.rowsOf(table, columns)) {
          yield { place: `${table.slice(0, -1)} ${rowid}`, table, row: values }
        }
      }
    })
  } catch (error) {
    if (!(error instanceof DamagedDatabase)) throw sourceErrorOf(file, error)
    throw new SourceError('it is no database of Isso 0.10 to 0.13, or it is damaged', { cause: error })
  }
}

function* threadOf(value: unknown, place: string): Generator<Found> {
  const { row, found } = parseRow(thread, value, place)
  if (row === undefined) return void (yield found)
  yield { place, item: { kind: 'discussion', id: String(row.id), url: row.uri, title: row.title ?? null } }
}

function* commentOf(value: unknown, place: string, people: People, tally: Tally): Generator<Found> {
  const { row, found } = parseRow(comment, value, place)
  if (row === undefined) return void (yield found)
  const createdAt = timeOfSeconds(row.created)
  if (createdAt === null) return void (yield { place, refused: 'has no time' })
  const isDeleted = (row.mode & DELETED) !== 0
  // For a deleted comment, Isso removes the name, but not the e-mail address.
  const author = isDeleted ? null : people.guest({ name: row.author, email: row.email, profileUrl: row.website })
  if (author !== null) yield* people.once(place, author)
  const status: CommentItem['status'] = isDeleted ? 'deleted' : (row.mode & PENDING) === 0 ? 'approved' : 'pending'
  yield {
    place,
    item: {
      kind: 'comment',
      id: String(row.id),
      discussionId: String(row.tid),
      parentId: row.parent == null ? null : String(row.parent),
      authorId: author?.id ?? null,
      body: isDeleted ? null : fromMarkdown(row.text ?? ''),
      status,
      createdAt,
      editedAt: isDeleted ? null : timeOfSeconds(row.modified),
      ...(isDeleted ? { deletedAt: timeOfSeconds(row.modified) } : {}),
    },
  }
  const votes = (row.likes ?? 0) + (row.dislikes ?? 0)
  tally.add(place, 'vote', 'the database has only their number, not who gave them', votes)
}

import { mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { decodeXML } from 'entities'
import { z } from 'zod'

import { type CommentItem, type Found, type OnRead, type Source, SourceError, type SourceFile } from '../item.ts'
import { beginningOf, rawBytes, sourceErrorOf } from './files.ts'
import { fromMarkdown } from './markdown.ts'
import { People } from './people.ts'
import { parseRow, text } from './rows.ts'
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
    await requireDatabase(file)
    const tally = new Tally()
    const people = new People(salt)
    for await (const { place, table, row } of readTables(file)) {
      yield* table === 'threads' ? threadOf(row, place) : commentOf(row, place, people, tally)
    }
    yield* tally.found()
    onRead?.(typeof file === 'string' ? (await stat(file)).size : file.bytes)
  },
}

const MAGIC = 'SQLite format 3\0'

async function requireDatabase(file: SourceFile): Promise<void> {
  try {
    if ((await beginningOf(file, MAGIC.length)).toString('latin1') !== MAGIC) {
      throw new SourceError('it is no SQLite database')
    }
  } catch (error) {
    throw sourceErrorOf(file, error)
  }
}

/** Rows are read one by one: WebAssembly reads pages of the file as needed. */
async function* readTables(file: SourceFile): AsyncGenerator<{ place: string; table: string; row: unknown }> {
  // 1.3 MB that only this source needs.
  const { default: sqlite } = await import('node-sqlite3-wasm')
  // SQLite creates a lock beside the file, where writing may be forbidden and which stays after a
  // `kill -9`; so it opens a link in a temporary folder.
  const folder = await mkdtemp(join(tmpdir(), 'engagement-isso-'))
  const link = join(folder, 'database')
  let database: InstanceType<typeof sqlite.Database> | undefined
  try {
    // SQLite jumps about in the file and waits for no promise: a stored file has to lie on the disk
    // meanwhile, where only this user can read it.
    if (typeof file === 'string') await symlink(resolve(file), link)
    else await writeFile(link, rawBytes(file), { mode: 0o600 })
    database = new sqlite.Database(link, { readOnly: true })
    for (const table of ['threads', 'comments']) {
      const columns = Object.keys(table === 'threads' ? thread.shape : comment.shape)
      const statement = database.prepare(`SELECT ${columns.join(', ')} FROM ${table} ORDER BY id`)
      try {
        for (const row of statement.iterate()) {
          const { id } = row as { id: unknown }
          yield { place: `${table.slice(0, -1)} ${String(id)}`, table, row }
        }
      } finally {
        statement.finalize()
      }
    }
  } catch (error) {
    if (!(error instanceof sqlite.SQLite3Error)) throw error
    throw new SourceError('it is no database of Isso 0.10 to 0.13, or it is damaged', { cause: error })
  } finally {
    database?.close()
    await rm(folder, { recursive: true, force: true })
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

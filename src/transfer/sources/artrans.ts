import { z } from 'zod'

import type { Found, OnRead, Source } from '../item.ts'
import { readJson } from './json.ts'
import { fromMarkdown } from './markdown.ts'
import { People, Seen } from './people.ts'
import { parseRow } from './rows.ts'
import { Tally } from './tally.ts'
import { Damage } from './text.ts'
import { anyTimeOf } from './times.ts'

/** Artalk's own exports have texts in all fields; other tools that write Artrans use any type. */
const field = z
  .union([z.string(), z.number(), z.boolean()])
  .nullish()
  .transform((value) => String(value ?? ''))

/** `internal/entity/artran.go`. `ip` and `ua` are not read. */
const artran = z.object({
  id: field,
  rid: field,
  content: field,
  is_collapsed: field,
  is_pending: field,
  is_pinned: field,
  vote_up: field,
  vote_down: field,
  created_at: field,
  updated_at: field,
  nick: field,
  email: field,
  link: field,
  page_key: field,
  page_title: field,
  page_admin_only: field,
  site_name: field,
  site_urls: field,
})

type Artran = z.output<typeof artran>

export const artrans: Source = {
  about: 'Artrans, the export of Artalk',
  async *read(file, onRead?: OnRead, salt?: string) {
    const damage = new Damage()
    const reading: Reading = { people: new People(salt), pages: new Seen(), tally: new Tally() }
    for await (const { index, value } of readJson(file, ['$'], damage, onRead)) {
      yield* commentOf(value, `comment ${index + 1} of the list`, reading)
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

const isTrue = (value: string): boolean => value === 'true' || value === '1'

function* commentOf(value: unknown, at: string, { people, pages, tally }: Reading): Generator<Found> {
  const { row, found } = parseRow(artran, value, at)
  if (row === undefined) return void (yield found)
  if (row.id === '' || row.page_key === '') {
    const missing = [row.id, row.page_key, row.content, row.created_at].filter((each) => each === '')
    return void (yield { place: at, refused: 'has no id or no page_key', isForeign: missing.length > 2 })
  }
  const place = `${at}, comment ${row.id}`
  const createdAt = anyTimeOf(row.created_at)
  if (createdAt === null) return void (yield { place, refused: 'has no time that can be read' })
  const discussionId = row.site_name === '' ? row.page_key : `${row.site_name}:${row.page_key}`
  if (pages.isNew(discussionId)) yield { place, item: discussionOf(row, discussionId) }
  const author = people.guest({ name: row.nick, email: row.email, profileUrl: row.link })
  yield* people.once(place, author)
  yield {
    place,
    item: {
      kind: 'comment',
      id: row.id,
      discussionId,
      parentId: row.rid === '' || row.rid === '0' ? null : row.rid,
      authorId: author.id,
      body: fromMarkdown(row.content, { breaks: true }),
      status: isTrue(row.is_pending) ? 'pending' : 'approved',
      createdAt,
      pinnedAt: isTrue(row.is_pinned) ? createdAt : null,
    },
  }
  const votes = (Number(row.vote_up) || 0) + (Number(row.vote_down) || 0)
  tally.add(place, 'vote', 'the export has only their number, not who gave them', votes)
  if (isTrue(row.is_collapsed)) tally.add(place, 'collapse', 'a comment that was folded is shown as all others')
}

function discussionOf(row: Artran, id: string) {
  const site = row.site_urls.split(',')[0]?.trim() ?? ''
  const url = URL.canParse(row.page_key, site) ? new URL(row.page_key, site).href : row.page_key
  const state = isTrue(row.page_admin_only) ? ('locked' as const) : ('open' as const)
  return { kind: 'discussion' as const, id, url, title: row.page_title || null, state }
}

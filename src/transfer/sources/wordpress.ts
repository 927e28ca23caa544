import type { CommentItem, Found, OnRead, Source } from '../item.ts'
import { htmlToMarkdown, textOfHtml } from './html.ts'
import { People } from './people.ts'
import { Tally } from './tally.ts'
import { Damage } from './text.ts'
import { timeOf } from './times.ts'
import { lengthOf, readXml, type XmlForm, type XmlRecord } from './xml.ts'

/** WXR 1.0 to 1.2, as `wp-admin/includes/export.php` writes it. Metadata is not read. */
const FORM: XmlForm = {
  isRoot: (name, attributes) =>
    name === 'rss' && /^https?:\/\/wordpress\.org\/export\/1\.[0-2]\/?$/.test(attributes['xmlns:wp'] ?? ''),
  records: {
    'rss/channel/wp:author': ['wp:author_id', 'wp:author_email', 'wp:author_display_name', 'wp:author_login'],
    'rss/channel/item': [
      'title',
      'link',
      ...['post_id', 'post_date', 'post_date_gmt', 'comment_status', 'status', 'post_password'].map(
        (name) => `wp:${name}`,
      ),
    ],
    'rss/channel/item/wp:comment': [
      ...[
        'id',
        'author',
        'author_email',
        'author_url',
        'date',
        'date_gmt',
        'content',
        'approved',
        'type',
        'parent',
      ].map((name) => `wp:comment_${name}`),
      'wp:comment_user_id',
    ],
  },
}

const TAKEN_TYPES = new Set(['', 'comment', 'review'])

const STATUSES: Readonly<Record<string, NonNullable<CommentItem['status']>>> = {
  '1': 'approved',
  approve: 'approved',
  approved: 'approved',
  '0': 'pending',
  hold: 'pending',
  spam: 'rejected',
  trash: 'rejected',
  'post-trashed': 'rejected',
}

export const wordpress: Source = {
  about: 'the export of WordPress (WXR)',
  async *read(file, onRead?: OnRead, salt?: string) {
    const damage = new Damage()
    const reading: Reading = {
      people: new People(salt),
      tally: new Tally(),
      begun: new WeakSet(),
      offsets: new Map(),
      waiting: [],
      mostWaiting: MAX_WAITING,
      roomToWait: MAX_WAITING_LENGTH,
    }
    for await (const record of readXml(file, FORM, damage, onRead)) {
      if (record.name === 'wp:author') yield* authorOf(record, reading)
      else if (record.name === 'wp:comment') yield* commentOf(record, reading)
      else noteOffsetOfPost(reading, record)
    }
    reading.mostWaiting = 0
    for (const record of reading.waiting) yield* commentOf(record, reading)
    yield* reading.tally.found()
    yield* damage.found()
  },
}

interface Reading {
  people: People
  tally: Tally
  /** The posts whose comments were read: the others are not needed. */
  begun: WeakSet<XmlRecord>
  /** The offset of the site's clock from UTC in milliseconds, by days since 1970. */
  offsets: Map<number, number>
  /** Comments whose local time needs the offset of a date that may come later in the file. */
  waiting: XmlRecord[]
  mostWaiting: number
  /** How many characters more may wait. */
  roomToWait: number
}

const fieldOf = ({ fields }: XmlRecord, name: string): string => fields.get(`wp:${name}`)?.trim() ?? ''

function* authorOf(record: XmlRecord, { people }: Reading): Generator<Found> {
  const id = fieldOf(record, 'author_id')
  if (id === '') return
  const name = textOfHtml(fieldOf(record, 'author_display_name')) || fieldOf(record, 'author_login')
  yield* people.once(`line ${record.line}`, { id, name, ...emailOf(fieldOf(record, 'author_email')) })
}

const emailOf = (email: string) => (email === '' ? {} : { email })

function* commentOf(record: XmlRecord, reading: Reading): Generator<Found> {
  const { people, tally, begun } = reading
  const post = record.within
  const id = fieldOf(record, 'comment_id')
  const place = `line ${record.line}, comment ${id || 'without an id'}`
  const type = fieldOf(record, 'comment_type')
  if (!TAKEN_TYPES.has(type)) return tally.add(place, type.replace(':', ' '), 'no reader wrote it here')
  const postId = post === null ? '' : fieldOf(post, 'post_id')
  if (post === null || id === '' || postId === '')
    return void (yield { place, refused: 'has no id, of its own or of a post' })
  if (record.isTooLong) return void (yield { place, refused: 'is longer than any comment' })
  const { createdAt, changed } = timesOf(record, reading)
  if (createdAt === null) return void (yield { place, refused: 'has no time that can be read' })
  if (changed !== undefined && reading.waiting.length < reading.mostWaiting && reading.roomToWait > 0) {
    reading.roomToWait -= lengthOf(record)
    return void reading.waiting.push(record)
  }
  if (!begun.has(post)) {
    begun.add(post)
    yield {
      place: `line ${post.line}, post ${postId}`,
      ...(!isPublic(post) && { changed: 'is not public: it comes archived, and its comments rejected' }),
      item: discussionOf(post, postId),
    }
  }
  const author = commenterOf(record, people)
  yield* people.once(place, author)
  const parentId = fieldOf(record, 'comment_parent')
  yield {
    place,
    ...(changed !== undefined && { changed }),
    item: {
      kind: 'comment',
      id,
      discussionId: postId,
      parentId: parentId === '0' ? null : parentId || null,
      authorId: author.id,
      // When it shows a comment, WordPress turns line ends into paragraphs and line breaks.
      body: htmlToMarkdown(record.fields.get('wp:comment_content') ?? '', { lineBreaks: true }),
      status: isPublic(post) ? (STATUSES[fieldOf(record, 'comment_approved')] ?? 'pending') : 'rejected',
      createdAt,
    },
  }
}

/** An attachment inherits the status of its post, and older files have none. */
const PUBLIC = new Set(['', 'publish', 'inherit'])

/** Whether everyone can read a post: it is no draft, not private, not in the trash, and so on. */
const isPublic = (post: XmlRecord): boolean =>
  PUBLIC.has(fieldOf(post, 'status')) && fieldOf(post, 'post_password') === ''

function discussionOf(post: XmlRecord, id: string) {
  return {
    kind: 'discussion' as const,
    id,
    url: post.fields.get('link')?.trim() || null,
    title: textOfHtml(post.fields.get('title') ?? '') || null,
    state: stateOf(post),
    createdAt: timeOf(fieldOf(post, 'post_date_gmt')),
  }
}

const stateOf = (post: XmlRecord): 'archived' | 'locked' | 'open' =>
  !isPublic(post) ? 'archived' : fieldOf(post, 'comment_status') === 'closed' ? 'locked' : 'open'

/** An account has a number; `0` is a guest. */
function commenterOf(record: XmlRecord, people: People) {
  const [userId, name, email] = ['comment_user_id', 'comment_author', 'comment_author_email'].map((field) =>
    fieldOf(record, field),
  ) as [string, string, string]
  const called = textOfHtml(name)
  const profileUrl = fieldOf(record, 'comment_author_url')
  if (userId === '' || userId === '0') return people.guest({ name: called, email, profileUrl })
  return { id: userId, name: called, profileUrl: profileUrl || null, ...emailOf(email) }
}

/**
 * When a comment was written. Some programs omit the time in UTC: then it follows from the site's
 * clock.
 */
function timesOf(record: XmlRecord, reading: Reading): { createdAt: string | null; changed?: string } {
  const inUtc = timeOf(fieldOf(record, 'comment_date_gmt'))
  const local = timeOf(fieldOf(record, 'comment_date'))
  if (inUtc !== null) {
    noteOffset(reading, local, inUtc)
    return { createdAt: inUtc }
  }
  if (record.within !== null) noteOffsetOfPost(reading, record.within)
  if (local === null) return { createdAt: null }
  const nearest = nearestOffset(reading, local)
  if (nearest === null) return { createdAt: local, changed: 'has only a local time, which is taken as UTC' }
  const createdAt = new Date(Date.parse(local) - nearest.offset).toISOString()
  // Most clocks change between summer and winter.
  if (nearest.days > MAX_DAYS_APART)
    return { createdAt, changed: 'has only a local time, and no date within 30 days tells its offset' }
  return { createdAt }
}

/** The greatest offset of any time zone. */
const MAX_OFFSET_MS = 14 * 3_600_000
const DAY_MS = 24 * 3_600_000
const MAX_DAYS_APART = 30
/**
 * They are held in memory. Beyond this number or length, only offsets from earlier in the file
 * count.
 */
const MAX_WAITING = 1000
const MAX_WAITING_LENGTH = 32 * 1024 * 1024

const dayOf = (time: string): number => Math.floor(Date.parse(time) / DAY_MS)

function noteOffset({ offsets }: Reading, local: string | null, inUtc: string | null): void {
  if (local === null || inUtc === null) return
  const offset = Date.parse(local) - Date.parse(inUtc)
  if (Math.abs(offset) <= MAX_OFFSET_MS) offsets.set(dayOf(local), offset)
}

const noteOffsetOfPost = (reading: Reading, post: XmlRecord): void =>
  noteOffset(reading, timeOf(fieldOf(post, 'post_date')), timeOf(fieldOf(post, 'post_date_gmt')))

/** The offset of the day nearest to a local time, and the distance in days. */
function nearestOffset({ offsets }: Reading, local: string): { offset: number; days: number } | null {
  const day = dayOf(local)
  for (let days = 0; days <= MAX_DAYS_APART; days++) {
    const offset = offsets.get(day - days) ?? offsets.get(day + days)
    if (offset !== undefined) return { offset, days }
  }
  let nearest: { offset: number; days: number } | null = null
  for (const [noted, offset] of offsets) {
    const days = Math.abs(noted - day)
    if (nearest === null || days < nearest.days) nearest = { offset, days }
  }
  return nearest
}

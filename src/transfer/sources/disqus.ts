import { decodeHTMLStrict } from 'entities'

import type { Found, OnRead, Source } from '../item.ts'
import { htmlToMarkdown } from './html.ts'
import { Ids, People } from './people.ts'
import { Damage } from './text.ts'
import { timeOf } from './times.ts'
import { lengthOf, readXml, type XmlForm, type XmlRecord } from './xml.ts'

/** http://disqus.com/api/schemas/1.0/disqus.xsd */
const FORM: XmlForm = {
  isRoot: (name, { xmlns }) => name === 'disqus' && /^https?:\/\/disqus\.com\/?$/.test(xmlns ?? ''),
  records: {
    'disqus/thread': ['@dsq:id', 'id', 'link', 'title', 'createdAt', 'isClosed', 'isDeleted'],
    'disqus/post': [
      '@dsq:id',
      'message',
      'createdAt',
      'isDeleted',
      'isSpam',
      'thread/@dsq:id',
      'parent/@dsq:id',
      'author/name',
      'author/username',
      'author/email',
      'author/isAnonymous',
    ],
  },
}

export const disqus: Source = {
  about: 'the XML export of Disqus',
  async *read(file, onRead?: OnRead, salt?: string) {
    const damage = new Damage()
    const reading: Reading = { people: new People(salt), deleted: new Ids(), waiting: [], waitingLength: 0 }
    for await (const record of readXml(file, FORM, damage, onRead)) {
      if (record.name === 'thread') yield* threadOf(record, reading)
      else {
        yield* deletedThreads(reading)
        yield* postOf(record, reading)
      }
    }
    yield* deletedThreads(reading)
    yield* damage.found()
  },
}

interface Reading {
  people: People
  /** The ids of deleted threads. */
  deleted: Ids
  /**
   * Deleted threads that were not yielded yet. They wait for the others, whose title and state
   * count where several threads are of one page.
   */
  waiting: Found[]
  waitingLength: number
}

/** The most characters of deleted threads that wait. Only a hostile file has as many. */
const MAX_WAITING_LENGTH = 32 * 1024 * 1024

function* deletedThreads(reading: Reading): Generator<Found> {
  const { waiting } = reading
  reading.waiting = []
  reading.waitingLength = 0
  yield* waiting
}

const isTrue = (text: string | undefined): boolean => text?.trim() === 'true'

const placeOf = (record: XmlRecord): string =>
  `line ${record.line}, ${record.name} ${record.fields.get('@dsq:id') ?? 'without an id'}`

function* threadOf(record: XmlRecord, reading: Reading): Generator<Found> {
  const { deleted, waiting } = reading
  const { fields } = record
  const place = placeOf(record)
  const id = fields.get('@dsq:id') ?? ''
  if (id === '') return void (yield { place, refused: 'has no dsq:id' })
  const identifier = fields.get('id')?.trim() ?? ''
  const isDeleted = isTrue(fields.get('isDeleted'))
  const found: Found = {
    place,
    ...(isDeleted && { changed: 'is a thread that was deleted: it comes archived, and its comments rejected' }),
    item: {
      kind: 'discussion',
      id,
      ...(identifier === '' ? {} : { externalId: identifier }),
      url: fields.get('link')?.trim() || null,
      // WordPress has sent its titles to Disqus as HTML.
      title: decodeHTMLStrict(fields.get('title') ?? '').trim() || null,
      state: isDeleted ? 'archived' : isTrue(fields.get('isClosed')) ? 'locked' : 'open',
      createdAt: timeOf(fields.get('createdAt')),
    },
  }
  if (!isDeleted) return void (yield found)
  deleted.add(id)
  waiting.push(found)
  reading.waitingLength += lengthOf(record)
  if (reading.waitingLength > MAX_WAITING_LENGTH) yield* deletedThreads(reading)
}

function* postOf(record: XmlRecord, { people, deleted }: Reading): Generator<Found> {
  const { fields } = record
  const place = placeOf(record)
  const id = fields.get('@dsq:id') ?? ''
  const discussionId = fields.get('thread/@dsq:id') ?? ''
  const createdAt = timeOf(fields.get('createdAt'))
  if (id === '' || discussionId === '')
    return void (yield { place, refused: 'has no dsq:id, of its own or of a thread' })
  if (createdAt === null) return void (yield { place, refused: 'has no time that can be read' })
  if (record.isTooLong) return void (yield { place, refused: 'is longer than any comment' })
  const isDeleted = isTrue(fields.get('isDeleted'))
  const author = authorOf(fields, people)
  yield* people.once(place, author)
  yield {
    place,
    item: {
      kind: 'comment',
      id,
      discussionId,
      parentId: fields.get('parent/@dsq:id') || null,
      authorId: author.id,
      body: isDeleted ? null : htmlToMarkdown(asShown(fields.get('message') ?? '')),
      status: isDeleted
        ? 'deleted'
        : isTrue(fields.get('isSpam')) || deleted.has(discussionId)
          ? 'rejected'
          : 'approved',
      createdAt,
    },
  }
}

const REDIRECT = /https?:\/\/disq\.us\/url\?url=([\w%.~-]+)[^\s"'<>]*/g

/** `@ann:disqus` refers to the user `ann`, whose name Disqus shows. */
const MENTION = /(?<=^|[\s>(])@([\w-]+):disqus\b/g

/**
 * A message as Disqus shows it. Every link goes through an address of Disqus, which contains the
 * link's own address and a code.
 */
const asShown = (html: string): string =>
  html.replace(MENTION, '@$1').replace(REDIRECT, (redirect, encoded: string) => {
    try {
      const address = decodeURIComponent(encoded).replace(/:[\w-]{20,40}$/, '')
      return address.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
    } catch {
      return redirect
    }
  })

/** Only people with an account have a username. */
function authorOf(fields: ReadonlyMap<string, string>, people: People) {
  const [name, username, email] = ['name', 'username', 'email'].map(
    (field) => fields.get(`author/${field}`)?.trim() ?? '',
  )
  if (isTrue(fields.get('author/isAnonymous')) || !username) return people.guest({ name, email })
  return { id: username, name: name || username, ...(email ? { email } : {}) }
}

import { createHmac } from 'node:crypto'

import { LRUCache } from 'lru-cache'

import { sha256Hex } from '../../core/secrets/crypto.ts'
import { type Found, type ReaderItem, SourceError } from '../item.ts'

/** How many recent ones are remembered: one that comes again later is yielded again. */
const REMEMBERED = 20_000
/** Of a longer id, which no item can have, only a digest is remembered. */
const MAX_LENGTH = 500

/** Makes a reader or page that a source repeats with every comment be yielded once. */
export class Seen {
  private readonly ids = new LRUCache<string, true>({ max: REMEMBERED })

  /** Whether it is new, or was not seen for long. */
  isNew(id: string): boolean {
    const short = id.length > MAX_LENGTH ? sha256Hex(id) : id
    if (this.ids.has(short)) return false
    this.ids.set(short, true)
    return true
  }
}

/** The most bytes of ids that a source remembers, and what each takes beside its characters. */
const MAX_BYTES = 128 * 1024 * 1024
const BYTES_OF_ID = 100

/** Ids that a source remembers to its end. Throws SourceError where they would fill the memory. */
export class Ids extends Set<string> {
  private left: number

  constructor(most = MAX_BYTES) {
    super()
    this.left = most
  }

  override add(id: string): this {
    if (!this.has(id)) this.left -= 2 * id.length + BYTES_OF_ID
    if (this.left < 0) throw new SourceError('it names more people or pages than any comment system has')
    return super.add(id)
  }
}

interface Guest {
  name?: string | null | undefined
  email?: string | null | undefined
  profileUrl?: string | null | undefined
}

/** The people in a file. */
export class People {
  private readonly seen = new Seen()
  private readonly salt: string

  constructor(salt = '') {
    this.salt = salt
  }

  *once(place: string, person: Omit<ReaderItem, 'kind'>): Generator<Found> {
    if (this.seen.isNew(person.id)) yield { place, item: { kind: 'reader', ...person } }
  }

  /**
   * A person without an account, identified by e-mail address and name: a family may share an
   * address, and many people share a name. The resulting id is public, so it is salted: otherwise
   * anyone could test addresses against it.
   */
  guest({ name, email, profileUrl }: Guest): Omit<ReaderItem, 'kind'> {
    const address = email?.trim().toLowerCase() ?? ''
    const called = name?.trim() ?? ''
    const digest = createHmac('sha256', this.salt)
      .update(JSON.stringify([address, called]))
      .digest('hex')
    return {
      id: address === '' && called === '' ? 'guest' : `guest-${digest.slice(0, 24)}`,
      name: called || 'Guest',
      ...(address === '' ? {} : { email: address }),
      profileUrl: profileUrl || null,
    }
  }
}

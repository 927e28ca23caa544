import { createHmac } from 'node:crypto'

import { LRUCache } from 'lru-cache'

import type { Found, ReaderItem } from '../item.ts'

/** How many of the last ones are remembered: one who comes again after more is given once more. */
const REMEMBERED = 20_000

/** What a source names with every comment, such as its author and its page, is to be given once. */
export class Seen {
  private readonly ids = new LRUCache<string, true>({ max: REMEMBERED })

  /** Whether it is the first time; or the first time in long. */
  isNew(id: string): boolean {
    if (this.ids.has(id)) return false
    this.ids.set(id, true)
    return true
  }
}

interface Guest {
  name?: string | null | undefined
  email?: string | null | undefined
  profileUrl?: string | null | undefined
}

/** Who is named in a file. */
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
   * Someone without an account: one person for an e-mail address and a name, as a family shares an
   * address and a name says little. Everybody who sees a comment sees what is made of this id.
   * Without the salt nobody can try addresses out.
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

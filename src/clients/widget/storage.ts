import { newKey } from './backend.ts'

/** What a reader wanted to do, and with which comment, when the page asked them to sign in. */
export interface Wish {
  kind: string
  id: string
}

/** Of the names of what is stored. */
export const PREFIX = 'engagement:'
const WISH = 'wish'
const storeOf = (name: string): globalThis.Storage => (name === WISH ? sessionStorage : localStorage)

/** A draft, and the key under which it is sent, however often, until it changes. */
export interface Draft {
  text: string
  key: string
  /** The ids of the readers whom it mentions, by the names that it shows. */
  mentioned?: Record<string, string> | undefined
  /** Of an edit: the revision of the comment that its author has read. */
  revision?: number | undefined
  /** When it was written, in milliseconds since 1970. */
  at?: number
}

/**
 * Drafts of a reader on a page, which all tabs of the site see, and what a reader wanted to do,
 * which only this tab sees. What has been read here stays as it is, so that no other tab changes an
 * open box. If the page may not store anything, all is kept in memory.
 */
export class Storage {
  readonly name: string
  readonly #memory = new Map<string, unknown>()

  constructor(name: string) {
    this.name = PREFIX + name + ':'
  }

  draft(place: string): Draft {
    return (this.#get(place) as Draft | null) ?? { text: '', key: '' }
  }

  setDraft(
    place: string,
    text: string,
    mentioned = this.draft(place).mentioned,
    revision = this.draft(place).revision,
    key = newKey(),
  ): void {
    const { key: before } = this.draft(place)
    // The last tab that writes wins. It does not remove what another tab has written since.
    if (text !== '') this.#set(place, { text, key, mentioned, revision, at: Date.now() })
    else this.#set(place, null, (this.#read(place) as Draft | null)?.key !== before)
  }

  get wish(): Wish | null {
    return this.#get(WISH) as Wish | null
  }
  set wish(wish: Wish | null) {
    this.#set(WISH, wish)
  }

  #get(name: string): unknown {
    if (!this.#memory.has(name)) this.#memory.set(name, this.#read(name))
    return this.#memory.get(name)
  }

  #set(name: string, value: unknown, isOfOther = false): void {
    this.#memory.set(name, value)
    try {
      const store = storeOf(name)
      if (value !== null) store.setItem(this.name + name, JSON.stringify(value))
      else if (!isOfOther) store.removeItem(this.name + name)
    } catch {
      // Storage is forbidden, or full.
    }
  }

  #read(name: string): unknown {
    try {
      return JSON.parse(storeOf(name).getItem(this.name + name) ?? 'null')
    } catch {
      return null
    }
  }
}

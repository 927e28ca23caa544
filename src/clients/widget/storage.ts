import { newKey } from './backend.ts'

/** What a reader wanted to do, and with which comment, when the page asked them to sign in. */
export interface Wish {
  kind: string
  id: string
}

/** A draft, and the key under which it is sent, however often, until it changes. */
export interface Draft {
  text: string
  key: string
  /** The ids of the readers whom it mentions, by the names that it shows. */
  mentioned?: Record<string, string> | undefined
  /** Of an edit: the revision of the comment that its author has read. */
  revision?: number | undefined
}

/**
 * Data of this tab that must survive a reload of the page. If the page may not store anything, it
 * is kept in memory.
 */
export class Storage {
  readonly name: string
  readonly #memory = new Map<string, unknown>()

  constructor(name: string) {
    this.name = `engagement:${name}:`
  }

  draft(place: string): Draft {
    return (this.#get(place) as Draft | null) ?? { text: '', key: '' }
  }

  setDraft(
    place: string,
    text: string,
    mentioned = this.draft(place).mentioned,
    revision = this.draft(place).revision,
  ): void {
    this.#set(place, text === '' ? null : { text, key: newKey(), mentioned, revision })
  }

  get wish(): Wish | null {
    return this.#get('wish') as Wish | null
  }
  set wish(wish: Wish | null) {
    this.#set('wish', wish)
  }

  #get(name: string): unknown {
    if (!this.#memory.has(name)) this.#memory.set(name, this.#read(name))
    return this.#memory.get(name)
  }

  #set(name: string, value: unknown): void {
    this.#memory.set(name, value)
    try {
      if (value === null) sessionStorage.removeItem(this.name + name)
      else sessionStorage.setItem(this.name + name, JSON.stringify(value))
    } catch {
      // Storage is forbidden, or full.
    }
  }

  #read(name: string): unknown {
    try {
      return JSON.parse(sessionStorage.getItem(this.name + name) ?? 'null')
    } catch {
      return null
    }
  }
}

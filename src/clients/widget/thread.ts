import type { DiscussionStream, StreamEvent } from '../browser/stream.ts'
import {
  backendFor,
  type Me,
  type PageBackend,
  type PageComment,
  type PublicSettings,
  RequestError,
  type Sort,
  SORTS,
} from './backend.ts'
import { tellCount } from './count.ts'
import { WidgetElement } from './element.ts'
import { Nodes } from './views/nodes.ts'
import { ThreadState, TOP } from './state.ts'
import { Storage, type Wish } from './storage.ts'
import { loadStreamClient } from './stream-client.ts'

/** The open panel below a comment. */
export interface Panel {
  id: string
  kind: 'reply' | 'edit' | 'delete' | 'report' | 'react'
}

const MINUTE_MS = 60_000

/**
 * The state and the behaviour of `<engagement-thread>`. Its views import this; `widget.ts` joins
 * both.
 */
export abstract class Thread extends WidgetElement {
  static readonly observedAttributes = ['discussion', 'backend', 'sort', 'page-size', 'lang']

  phase: 'loading' | 'failed' | 'unknown_page' | 'ready' = 'loading'
  me: Me | null = null
  settings: PublicSettings = { reactionTypes: [], editWindowSeconds: 0, maxDepth: 0 }
  state = new ThreadState('newest')
  storage = new Storage('')
  panel: Panel | null = null
  /** Why actions failed, by place. */
  readonly errors = new Map<string, unknown>()
  /** The places of actions under way. */
  readonly busy = new Set<string>()
  readonly unfolded = new Set<string>()
  nodes = new Nodes()
  /** A message for screen readers about what has happened. */
  status = ''
  pages: PageBackend = backendFor('', '')
  #stream: DiscussionStream | undefined
  /** The number of the current start: results of earlier ones are ignored. */
  #start = 0
  #failures = 0
  /** Streams that were lost before one became complete. */
  #lost = 0
  #retry: ReturnType<typeof setTimeout> | undefined
  #clock: ReturnType<typeof setInterval> | undefined
  #seen: IntersectionObserver | undefined

  /** Goes on with what the reader wanted to do before they signed in. */
  protected abstract resume(wish: Wish): void

  connectedCallback(): void {
    this.#clock = setInterval(() => void this.update(), MINUTE_MS)
    void this.update()
    if (this.getAttribute('loading') !== 'lazy') return this.#begin()
    this.#seen = new IntersectionObserver(([entry]) => entry?.isIntersecting && this.#begin(), { rootMargin: '50%' })
    this.#seen.observe(this)
  }

  disconnectedCallback(): void {
    clearInterval(this.#clock)
    this.#clock = undefined
    this.#end()
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    // Attributes in the page's markup are set before the element is connected.
    if (this.#clock === undefined || before === after) return
    if (name === 'lang') return void this.loadWords().then(() => this.update())
    // Nothing of one page may be shown, or answered, on another.
    if (name === 'discussion' || name === 'backend') this.phase = 'loading'
    void this.update()
    this.#begin()
  }

  get sort(): Sort {
    return SORTS.find((sort) => sort === this.getAttribute('sort')) ?? 'newest'
  }
  set sort(sort: Sort) {
    this.setAttribute('sort', sort)
  }

  get pageSize(): string {
    return this.getAttribute('page-size') ?? '20'
  }

  /** Whether the reader can write here, or the name of the text that says why not. */
  get access(): 'open' | 'locked' | 'archived' | 'reader_banned' {
    const { until } = this.me?.ban ?? {}
    const isBanned = until === null || Date.parse(until ?? '') > Date.now()
    return isBanned ? 'reader_banned' : this.state.state
  }

  /** Storage of the tab's readers before they sign in. */
  get signedOut(): Storage {
    return new Storage(`${this.backend}:${this.discussion}:`)
  }

  /** Loads everything again: the signed-in reader, the page, and its stream. */
  reload(): void {
    this.#begin()
  }

  #end(): void {
    this.#start++
    this.#stream?.close()
    this.#stream = undefined
    this.#seen?.disconnect()
    clearTimeout(this.#retry)
  }

  #begin(): void {
    this.#end()
    this.nodes = new Nodes()
    this.errors.clear()
    if (this.discussion) void this.#open(this.#start)
    else this.warn('discussion')
  }

  async #open(start: number): Promise<void> {
    this.pages = backendFor(this.backend, this.discussion)
    const { pages } = this
    const client = loadStreamClient((error) => this.emit('error', { error, action: 'stream' }))
    try {
      const lastEventId = await this.#load(() => start === this.#start)
      if (start !== this.#start) return
      this.#failures = 0
      this.emit('ready', { count: this.state.count, reader: this.me })
      const { openDiscussionStream } = await client
      if (start !== this.#start) return
      this.#stream = openDiscussionStream({
        ticket: pages.ticket,
        lastEventId,
        onEvent: (event) => this.#hear(event),
        onReload: () => this.#load(() => start === this.#start),
        onState: (state) => {
          if (state === 'open') this.#lost = Infinity
        },
        onError: (error) => {
          this.emit('error', { error, action: 'stream' })
          if (!(error instanceof RequestError) && ++this.#lost === 2) this.warn('stream')
        },
      })
    } catch (error) {
      if (start !== this.#start) return
      const isUnknown = error instanceof RequestError && error.code === 'unknown_page'
      if (isUnknown) this.phase = 'unknown_page'
      else if (this.phase !== 'ready') {
        if (this.phase === 'loading') this.warn('backend')
        this.phase = 'failed'
      }
      void this.update()
      this.emit('error', { error, action: 'load' })
      if (isUnknown) return this.warn('page')
      const backoffMs = Math.random() * Math.min(30_000, 1000 * 2 ** ++this.#failures)
      this.#retry = setTimeout(() => this.#begin(), 2000 + backoffMs)
    }
  }

  /** Loads the first page. Returns a position that it includes. */
  async #load(isWanted: () => boolean): Promise<string> {
    const { pages, sort } = this
    const [, me, settings, discussion] = await Promise.all([
      this.loadWords(),
      pages.me(),
      pages.settings(),
      pages.discussion(),
    ])
    const state = new ThreadState(sort)
    if (discussion) {
      // After the discussion, so that changes in between come again by the stream.
      state.addPage(TOP, await pages.comments({ sort, limit: this.pageSize, replies: '3' }))
      state.state = discussion.state
      state.count = discussion.commentCount
    }
    // Per reader: another one may sign in on the same machine.
    const own = new Storage(`${this.backend}:${this.discussion}:${me?.id}`)
    // An action under way continues with the storage that it began with.
    const storage = own.name === this.storage.name ? this.storage : own
    await this.#lookAtWithheld(storage)
    if (!isWanted()) return ''
    for (const comment of storage.withheld) {
      state.withdrawn.add(comment.id)
      if (comment.parentId === null || state.comments.has(comment.parentId)) state.add(comment)
    }
    Object.assign(this, { me, settings, state, storage, phase: 'ready' })
    this.#tell()
    const { signedOut } = this
    const { wish } = signedOut
    if (me && wish) {
      signedOut.wish = null
      this.resume(wish)
    }
    return discussion?.lastEventId ?? '0'
  }

  /** Checks the reader's comments that were withheld. An approved one is on the page by now. */
  async #lookAtWithheld(storage: Storage): Promise<void> {
    const { pages } = this
    const found = storage.withheld.map(async (known): Promise<PageComment> => {
      const comment = await pages.comment(known.id).catch(() => known)
      return comment ?? { ...known, status: 'deleted' }
    })
    for (const comment of await Promise.all(found)) storage.keep(comment)
  }

  #hear(event: StreamEvent): void {
    const { state, storage, me } = this
    const before = state.list(TOP).waiting.length
    state.apply(event, me?.id ?? '')
    const waiting = state.list(TOP).waiting.length
    if (waiting > before) this.status = this.words.text('newComments', { n: waiting })
    if (event.type === 'notification_reply') this.emit('reply', event.data)
    if ('comment' in event.data) {
      const comment = state.comments.get(event.data.comment.id)
      // Withdrawn comments, or edits from elsewhere, are also shown to their author after a
      // reload.
      if (me && comment?.author?.externalId === me.id) storage.keep(comment)
    }
    // The message may say that the reader's own comment waits.
    if (event.type === 'comment_approved') this.status = ''
    this.#tell()
  }

  #tell(): void {
    tellCount(this.backend, this.discussion, this.state.count)
    void this.update()
  }
}

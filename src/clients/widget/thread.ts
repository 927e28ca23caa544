import type { DiscussionStream, StreamEvent, StreamOptions, StreamTicket } from '../browser/stream.ts'
import {
  backendFor,
  type First,
  type Me,
  now,
  type PageBackend,
  type PageComment,
  type PublicSettings,
  RequestError,
  setAttribute,
  type Sort,
  SORTS,
} from './backend.ts'
import { followLive, tellCount } from './count.ts'
import { WidgetElement } from './element.ts'
import { Nodes } from './nodes/nodes.ts'
import { ThreadState, TOP } from './state.ts'
import { Storage, type Wish } from './storage.ts'

/** The open panel below a comment. */
export interface Panel {
  id: string
  kind: 'reply' | 'edit' | 'delete' | 'report'
}

/** What is open over a comment, and closes when the focus leaves it. */
export interface Popup {
  id: string
  kind: 'menu' | 'react'
}

/** What only signed-in readers need, in a file of its own (`writing/writing.ts`). */
export interface Writing {
  /** The reader's notifications, behind a button that shows how many are unread. */
  bellView: (thread: Thread) => unknown
  /** Hears the events of the discussion. `known` is their comment as it was before. */
  hear: (thread: Thread, event: StreamEvent, known: PageComment | undefined) => void
  /** Sends what waits for the line. */
  goOn: (thread: Thread) => void
  /** Whether a field holds a text. */
  isHeld: (thread: Thread) => boolean
  /**
   * After the page was loaded: shows the reader's own that nobody else sees, keeps the field that
   * holds a text, with its comment, and goes on with what the reader wanted before they signed in.
   */
  loaded: (thread: Thread, before: ThreadState) => void
  /** After further comments were loaded: adds the reader's own that nobody else sees. */
  addOwn: (thread: Thread) => void
  /** Called each minute. */
  look: (thread: Thread) => void
  /** Whether there is anything in the menu of a comment. */
  hasMenu: (thread: Thread, comment: PageComment) => boolean
  /** What is open over a comment. */
  popupView: (thread: Thread, comment: PageComment) => unknown
  /** The form for a comment of the top level. */
  newView: (thread: Thread) => unknown
  /** That the reader's own comment waits or was rejected, and why. */
  decisionView: (thread: Thread, comment: PageComment) => unknown
  /** In place of the text of a muted reader. */
  mutedView: (thread: Thread, comment: PageComment) => unknown
  /** What is open below a comment. */
  panelView: (thread: Thread, comment: PageComment) => unknown
  /** Opens or closes a panel or a popup. */
  openPanel: (thread: Thread, id: string, kind: (Panel | Popup)['kind']) => void
  react: (thread: Thread, comment: PageComment, type: string) => Promise<void>
  /** Asks a reader who is not signed in for a name and an e-mail address. */
  askGuest: (thread: Thread) => unknown
  /** Opens what the reader wants to do. */
  resume: (thread: Thread, wish: Wish) => Promise<void>
}

/** The stream's client and what its events change, in a file of its own (`stream.ts`). */
export interface Live {
  openStream: (thread: Thread, options: Omit<StreamOptions, 'ticket'>) => DiscussionStream | undefined
  hear: (thread: Thread, event: StreamEvent) => void
}

export type Ticket = StreamTicket & { expiresAt?: string }

/** What takes over a page that the server has drawn, in a file of its own (`take-over.ts`). */
export interface TakeOver {
  takeOver: (thread: Thread, askReader: () => Promise<{ reader: Me | null }>) => First | null
  keepPlaces: (thread: Thread) => void
}

/** The comment that the page's address names. */
const idInHash = (): string | undefined => /^#comment-([\da-f-]{36})$/.exec(location.hash)?.[1]

const NEWS = ['hashchange', 'online', 'offline']
const MINUTE_MS = 60_000

/**
 * The state and the behaviour of `<engagement-thread>`. Its views import this; `widget.ts` joins
 * both.
 */
export abstract class Thread extends WidgetElement {
  static readonly observedAttributes = [
    'discussion',
    'backend',
    'site',
    'service',
    'sort',
    'page-size',
    'replies',
    'lang',
  ]

  phase: 'loading' | 'failed' | 'unknown_page' | 'ready' = 'loading'
  me: Me | null = null
  settings: PublicSettings = { reactionTypes: [], editWindowSeconds: 0, maxDepth: 0 }
  state = new ThreadState('newest')
  storage = new Storage('')
  panel: Panel | null = null
  popup: Popup | null = null
  /** Why actions failed, by place. */
  readonly errors = new Map<string, unknown>()
  /** The places of actions under way. */
  readonly busy = new Set<string>()
  readonly unfolded = new Set<string>()
  /** Comments of muted readers that the reader wants to see. */
  readonly unmuted = new Set<string>()
  nodes = new Nodes()
  /** A message for screen readers about what has happened. */
  status = ''
  pages: PageBackend = backendFor('', '')
  #stream: DiscussionStream | undefined
  /** The last ticket that came with the page, or the first one after it. */
  ticket: Ticket | null = null
  /** The number of the current start: results of earlier ones are ignored. */
  #start = 0
  #failures = 0
  /** Streams that were lost before one became complete. */
  #lost = 0
  #retry: ReturnType<typeof setTimeout> | undefined
  #clock: ReturnType<typeof setInterval> | undefined
  #seen: IntersectionObserver | undefined

  isOffline = !navigator.onLine
  /** Null until a reader is signed in. */
  writing: Writing | null = null

  /** The id of the discussion, once there is one. */
  discussionId: string | undefined
  /** The token of the link that a guest has got by mail. */
  guestLink: string | undefined
  /** The comment whose address the page was opened by. */
  linked: string | undefined
  /** The comment of the address that was followed last. */
  #followed: string | undefined
  readonly #onNews = (): void => {
    this.isOffline = !navigator.onLine
    this.#takeLink()
    this.#follow()
    if (this.phase === 'failed' && !this.isOffline) this.#begin()
    this.#goOn()
    void this.update()
  }

  /**
   * Shows a comment of this page, wherever it stands. Returns whether the reader may see it.
   * Quietly, it moves neither the focus nor the page.
   */
  abstract reveal(id: string, isQuiet?: boolean): Promise<boolean>

  /** With `more="scroll"`: loads the next page each time that the end comes near. */
  protected abstract watchEnd(isWanted: () => boolean): void

  /** Shows the versions of a comment. */
  abstract showHistory(comment: PageComment): Promise<void>

  protected abstract loadWriting(): Promise<Writing>

  protected abstract loadTakeOver(): Promise<TakeOver>

  protected abstract loadLive(onError: (error: unknown) => void): Promise<Live>

  connectedCallback(): void {
    this.#clock = setInterval(() => {
      void this.update()
      this.writing?.look(this)
    }, MINUTE_MS)
    void this.update()
    for (const name of NEWS) addEventListener(name, this.#onNews)
    this.#takeLink()
    this.isWaiting = true
    // A framework sets what it knows of the element after it has put it into the page.
    if (this.getAttribute('loading') !== 'lazy' || idInHash() || this.guestLink)
      return queueMicrotask(() => this.isWaiting && this.isConnected && this.#begin())
    this.#seen = new IntersectionObserver(([entry]) => entry?.isIntersecting && this.#begin(), { rootMargin: '50%' })
    this.#seen.observe(this)
  }

  disconnectedCallback(): void {
    clearInterval(this.#clock)
    this.#clock = undefined
    for (const name of NEWS) removeEventListener(name, this.#onNews)
    this.#end()
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    // Attributes in the page's markup are set before the element is connected.
    if (this.#clock === undefined || before === after) return
    if (name === 'lang') return void this.loadWords().then(() => this.update())
    // Nothing of one page may be shown, or answered, on another.
    if (!/sort|page-size|replies/.test(name)) {
      this.endServed()
      this.#followed = undefined
      this.phase = 'loading'
      this.nodes = new Nodes()
      this.state = new ThreadState('newest')
      this.storage = new Storage('')
      this.panel = null
    }
    void this.update()
    if (!this.isWaiting) this.#begin()
  }

  get sort(): Sort {
    return SORTS.find((sort) => sort === this.getAttribute('sort')) ?? 'newest'
  }
  set sort(sort: Sort | null | undefined) {
    setAttribute(this, 'sort', sort)
  }

  /** Of the page, without a fragment. */
  get address(): string {
    return location.href.split('#')[0] ?? ''
  }

  get pageSize(): string {
    return this.getAttribute('page-size') ?? '20'
  }

  /**
   * With how many replies or fewer a comment shows them at once. Frameworks would set a property
   * with the name of its attribute.
   */
  get shownReplies(): string {
    return this.getAttribute('replies') ?? '3'
  }

  /** Whether the reader can write here, or the name of the text that says why not. */
  get access(): 'open' | 'locked' | 'archived' | 'reader_banned' | 'unknown_page' | 'nobody_yet' {
    const ban = this.me?.ban
    if (this.phase === 'unknown_page') return this.phase
    if (this.settings.posting === false) return this.settings.closed ?? 'locked'
    return ban && !this.isPast(ban.until) ? 'reader_banned' : this.state.state
  }

  /** Storage of the tab's readers before they sign in. */
  get signedOut(): Storage {
    return new Storage(`${this.backend}:${this.discussion}:`)
  }

  reload(): void {
    this.#begin()
  }

  /** Takes a guest's token out of the page's address, so that it is not copied with it. */
  #takeLink(): void {
    const [, token] = /^#engagement-guest=([\da-f]{64})$/.exec(location.hash) ?? []
    if (!token || !this.hasAttribute('site')) return
    this.guestLink = token
    history.replaceState(history.state, '', this.address)
  }

  /** Goes to the comment of the page's address, once. */
  #follow(): void {
    const id = idInHash()
    if (this.phase !== 'ready' || id === this.#followed) return
    this.#followed = id
    if (id) void this.reveal(id).catch(() => null)
  }

  async #needWriting(): Promise<void> {
    this.writing ??= await this.loadWriting()
    // It has brought further texts.
    await this.loadWords()
  }

  /** Where it could not be loaded with the comments. */
  async lateWriting(): Promise<void> {
    await this.#needWriting()
    this.writing?.loaded(this, this.state)
    void this.update()
  }

  /** The line is back, as far as the browser knows. */
  #goOn(): void {
    if (this.isOffline) return
    const { errors, me, words, writing } = this
    for (const [place, reason] of errors) if (reason === words.text('network')) errors.delete(place)
    if ((me || this.guestLink) && !writing) void this.lateWriting().catch(() => null)
    writing?.goOn(this)
    void this.update()
  }

  /** Null is never. */
  isPast(time: string | null | undefined): boolean {
    return Date.parse(String(time)) <= now()
  }

  #end(): void {
    this.#start++
    this.#stream?.close()
    this.#stream = undefined
    this.#seen?.disconnect()
    clearTimeout(this.#retry)
    // It tells no further count.
    followLive()
  }

  #begin(): void {
    this.isWaiting = false
    this.#end()
    this.errors.clear()
    this.enter()
    if (this.discussion) void this.#open(this.#start)
    else this.warn('discussion')
  }

  async #open(start: number): Promise<void> {
    this.pages = backendFor(this.backend, this.discussion)
    const live = this.loadLive((error) => this.emit('error', { error, action: 'stream' }))
    try {
      const isWanted = (): boolean => start === this.#start
      const lastEventId = await this.#load(isWanted)
      if (start !== this.#start) return
      this.#failures = 0
      this.#follow()
      void this.update().then(() => this.watchEnd(isWanted))
      this.emit('ready', { count: this.state.count, reader: this.me })
      const { hear, openStream } = await live
      if (start !== this.#start) return
      this.#stream = openStream(this, {
        lastEventId,
        onEvent: (event) => hear(this, event),
        onReload: () => this.#load(isWanted),
        onState: (state) => {
          if (state !== 'open') return
          this.#lost = Infinity
          this.#goOn()
        },
        onError: (error) => {
          this.emit('error', { error, action: 'stream' })
          if (!(error instanceof RequestError) && ++this.#lost === 2) this.warn('stream')
        },
      })
    } catch (error) {
      if (start !== this.#start) return
      const { code, retryAfterSeconds } = error instanceof RequestError ? error : new RequestError('error')
      const isUnknown = code === 'unknown_page'
      if (isUnknown) this.phase = 'unknown_page'
      else if (this.phase !== 'ready') {
        if (this.phase === 'loading') this.warn('backend')
        this.phase = 'failed'
        const { words } = this
        if (code === 'rate_limited')
          this.errors.set(code, words.text(code, { time: words.inSeconds(retryAfterSeconds) }))
      }
      void this.update()
      this.emit('error', { error, action: 'load' })
      if (isUnknown) return this.warn('page')
      const backoffMs = Math.random() * Math.min(30_000, 1000 * 2 ** ++this.#failures)
      this.#retry = setTimeout(() => this.#begin(), 2000 + backoffMs + retryAfterSeconds * 1000)
    }
  }

  /** Loads the first page. Returns a position that it includes. */
  async #load(isWanted: () => boolean): Promise<string> {
    const { pages, sort } = this
    const served = this.isServed ? await this.loadTakeOver().catch(() => null) : null
    const [{ reader: me, settings, discussion, comments, own, ticket }] = await Promise.all([
      served?.takeOver(this, pages.me) ?? pages.first({ sort, limit: this.pageSize, replies: this.shownReplies }),
      this.loadWords(),
    ])
    // The JSON of another program.
    if (!settings) throw new RequestError('unavailable')
    // Without it, comments can be read, and it is loaded when it is needed.
    if (me || this.guestLink) await this.#needWriting().catch(() => null)
    const state = new ThreadState(sort)
    if (discussion && comments) {
      state.addPage(TOP, comments)
      state.state = discussion.state
      state.exactCount = discussion.commentCount
    }
    state.hold(own ?? [])
    // Per reader: another one may sign in on the same machine.
    const stored = new Storage(`${this.backend}:${this.discussion}:${me?.id}`)
    // An action under way continues with the storage that it began with. A text that is being
    // written stays where its writer is signed out.
    const isSame = stored.name === this.storage.name || (!me && this.writing?.isHeld(this))
    const { storage, panel } = isSame ? this : { storage: stored, panel: null }
    if (!isWanted()) return ''
    const before = this.state
    Object.assign(this, { me, settings, ticket, discussionId: discussion?.id, state, storage, panel, phase: 'ready' })
    if (settings.closed) this.warn('closed')
    this.writing?.loaded(this, before)
    served?.keepPlaces(this)
    this.endServed()
    this.tell()
    return discussion?.lastEventId ?? '0'
  }

  /**
   * The external id that the service has of the signed-in reader, empty for none. After a merge it
   * is another than `me.id`, which the page's backend asserts.
   */
  get self(): string {
    return this.me ? (this.ticket?.recipient?.externalId ?? this.me.id) : ''
  }

  /** Whether the signed-in reader has written it. */
  isOwn({ author }: PageComment): boolean {
    return author?.externalId === this.self
  }

  tell(): void {
    tellCount(this, this.state.count)
    void this.update()
  }
}

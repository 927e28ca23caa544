// Counts that follow their discussions by one stream (attribute `live`): a file of its own.
import type { SeveralStream, StreamTicketForSeveral } from '../browser/stream.ts'
import type { EngagementCount, Page } from './count.ts'
import type { WidgetElement } from './element.ts'

/** The most discussions of one ticket. */
const MOST = 50
/** Elements that come or go in this time change the stream once, a reader who scrolls after it. */
const SETTLE_MS = 500
/** A stream is not opened again earlier, so that a reader who scrolls costs few requests. */
const REOPEN_MS = 5000
/** How soon it tries again, and looks again at a site's page that had no comment. */
const LOOK_MS = 60_000

/** The client of the stream, in the file that threads load. */
type Client = Pick<typeof import('./stream.ts'), 'countChange' | 'openSeveralStream'>

/**
 * Follows all live elements of the page whose count is known, those of a backend by one stream.
 * Each count continues from the position that it was read at. Returns a function to call when
 * elements have changed.
 */
export async function follow(page: Page): Promise<() => void> {
  const client = await import('./stream.ts')
  const followers = new Map<string, Follower>()
  const visible = new Set<Element>()
  const askedAgain = new WeakMap<EngagementCount, number>()
  let timer: ReturnType<typeof setTimeout> | undefined

  const change = (): void => {
    const all = [...page.elements].filter((element) => element.hasAttribute('live'))
    for (const element of all) seen.observe(element)
    const free = all.filter((element) => !hasThread(element))
    const followed = free.filter((element) => element.position !== undefined)
    // A thread that has gone, or follows nothing, has told a count without a position.
    for (const element of free) {
      if (element.position !== undefined || element.toldAt <= (askedAgain.get(element) ?? 0)) continue
      askedAgain.set(element, element.toldAt)
      element.reload()
    }
    const backends = new Set([...followers.keys(), ...followed.map((element) => element.backend)])
    for (const backend of backends) {
      const own = followed.filter((element) => element.backend === backend)
      const follower = followers.get(backend) ?? new Follower(page, backend, client)
      followers.set(backend, follower)
      follower.choose(document.hidden ? [] : own, visible)
    }
  }
  const changeSoon = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined
      change()
    }, SETTLE_MS)
  }
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) visible.add(target)
      else visible.delete(target)
    }
    clearTimeout(timer)
    timer = undefined
    changeSoon()
  })
  document.addEventListener('visibilitychange', change)
  return changeSoon
}

/** A thread on the same page that follows it tells its count itself. */
const hasThread = ({ backend, discussion }: EngagementCount): boolean =>
  Array.from(document.querySelectorAll<WidgetElement>('engagement-thread:not([stream=off])')).some(
    (thread) => !thread.isWaiting && thread.backend === backend && thread.discussion === discussion,
  )

/** The stream of one backend. */
class Follower {
  readonly #page: Page
  readonly #backend: string
  readonly #client: Client
  #names: readonly string[] = []
  #stream: SeveralStream | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #opening: ReturnType<typeof setTimeout> | undefined
  #openedAt = -REOPEN_MS
  /** The number of the current stream: answers for earlier ones are ignored. */
  #current = 0
  readonly #withdrawn = new Set<string>()

  constructor(page: Page, backend: string, client: Client) {
    this.#page = page
    this.#backend = backend
    this.#client = client
  }

  /** Of more discussions than one stream takes, those that the reader sees. */
  choose(elements: readonly EngagementCount[], visible: ReadonlySet<Element>): void {
    for (const element of elements) this.#catchUp(element)
    const all = new Set(elements.map(({ discussion }) => discussion))
    const first = elements.filter((element) => visible.has(element)).map(({ discussion }) => discussion)
    // Those that it has stay while there is room: a stream that is opened again costs a request.
    const names = [...new Set([...first, ...this.#names.filter((name) => all.has(name)), ...all])].slice(0, MOST)
    if (names.length === this.#names.length && names.every((name) => this.#names.includes(name))) return
    this.#names = names
    clearTimeout(this.#opening)
    if (names.length === 0) return this.#close()
    const waitMs = this.#openedAt + REOPEN_MS - performance.now()
    if (waitMs <= 0) void this.#open()
    else this.#opening = setTimeout(() => void this.#open(), waitMs)
  }

  /** A shared cache may have answered a new element with a count that the stream has passed. */
  #catchUp(element: EngagementCount): void {
    for (const { count, position } of this.#elements(element.discussion)) {
      if (Number(position) > Number(element.position)) Object.assign(element, { count, position })
    }
  }

  #close(): void {
    this.#current++
    clearTimeout(this.#timer)
    clearTimeout(this.#opening)
    this.#stream?.close()
    this.#stream = undefined
  }

  async #open(): Promise<void> {
    this.#close()
    this.#openedAt = performance.now()
    const names = this.#names
    const current = this.#current
    const { countChange, openSeveralStream } = this.#client
    const query = new URLSearchParams(names.map((name) => ['externalId', name]))
    const request = (): Promise<StreamTicketForSeveral | null> =>
      this.#page.ask(`${this.#backend}/tickets?${query}`, 'POST')
    let first = await request().catch(() => undefined)
    if (current !== this.#current) return
    const found = first?.discussions.map(({ externalId }) => externalId) ?? []
    // A site's page without comments has no discussion yet.
    const missing = names.filter((name) => !found.includes(name))
    if (missing.length > 0) this.#look(missing, first === undefined)
    if (!first) return
    const ids = new Map<string, string>()
    this.#stream = openSeveralStream({
      ticket: async () => {
        const ticket = first ?? (await request())
        first = undefined
        if (!ticket) throw new Error('the discussions are gone')
        const discussions = ticket.discussions.map((one) => {
          ids.set(one.discussionId, one.externalId)
          return { ...one, lastEventId: this.#position(one.externalId) ?? one.lastEventId }
        })
        return { ...ticket, discussions }
      },
      onEvent: (event) => {
        const change = event.type.startsWith('comment_')
          ? countChange(event as Parameters<typeof countChange>[0], this.#withdrawn)
          : 0
        for (const element of this.#elements(ids.get(event.discussionId))) {
          // One without a position waits for its count.
          if (!(event.seq > Number(element.position))) continue
          element.position = event.seq
          element.count = Number(element.count) + change
        }
      },
      onReload: async (lastEventIds) => {
        const gone = Object.keys(lastEventIds)
        await this.#recount(gone.map((id) => ids.get(id) ?? ''))
        return Object.fromEntries(gone.map((id) => [id, this.#position(ids.get(id)) ?? lastEventIds[id] ?? '']))
      },
      onGone: (id) => this.#recount([ids.get(id) ?? '']),
      // The service is restarting, or the reader has no line. The stream goes on by itself.
      onError: () => undefined,
    })
  }

  /** Asks again each minute: for a ticket if that failed, or if one that was empty has begun. */
  #look(names: readonly string[], hasFailed: boolean): void {
    // Of another page that has comments, the backend gives no ticket.
    const empty = names.filter((name) => !(Number(this.#position(name)) > 0))
    const look = async (): Promise<void> => {
      const current = this.#current
      await this.#recount(names)
      if (current !== this.#current) return
      const isBegun = empty.some((name) => Number(this.#position(name)) > 0)
      if (isBegun || hasFailed) void this.#open()
      else this.#look(names, false)
    }
    this.#timer = setTimeout(() => void look(), LOOK_MS * (0.5 + Math.random()))
  }

  #recount(names: readonly string[]): Promise<unknown> {
    return this.#page.recount(this.#backend, names)
  }

  #elements(discussion: string | undefined): EngagementCount[] {
    return [...this.#page.elements].filter((one) => one.backend === this.#backend && one.discussion === discussion)
  }

  #position(discussion: string | undefined): string | undefined {
    const position = this.#elements(discussion)[0]?.position
    return position === undefined ? undefined : String(position)
  }
}

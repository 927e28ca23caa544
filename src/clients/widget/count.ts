import { html } from 'lit/html.js'

import { ask } from './backend.ts'
import { WidgetElement } from './element.ts'

interface Counts {
  /** An older service has no `lastEventId`. */
  data: { externalId: string; commentCount: number; lastEventId?: string }[]
}

/** All elements on the page now. */
const elements = new Set<EngagementCount>()
const wanting = new Set<EngagementCount>()

/** The service's bound for one request, which also keeps the address short enough for servers. */
const MAX_IDS = 200
const MAX_LENGTH = 4000

/**
 * `<engagement-count discussion backend>`: a page's number of comments. All elements that appear at
 * the same time share a request.
 */
export class EngagementCount extends WidgetElement {
  static readonly observedAttributes = ['discussion', 'backend', 'site', 'service', 'format', 'lang', 'live']
  #count: number | undefined
  /** The position in the events of the discussion that the count was read at. */
  position: number | undefined
  /** When a thread of this page has told its count. Answers to earlier requests are older. */
  toldAt = 0

  get count(): number | undefined {
    return this.#count
  }
  set count(count: number | undefined) {
    this.#count = count
    void this.update()
  }

  connectedCallback(): void {
    elements.add(this)
    this.reload()
    void this.update()
    void this.loadWords().then(() => this.update())
  }

  disconnectedCallback(): void {
    elements.delete(this)
    followLive(this)
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (!this.isConnected || before === after) return
    if (name !== 'format' && name !== 'lang') {
      this.position = undefined
      this.reload()
    }
    if (name === 'live') followLive(this)
    void this.update()
  }

  reload(): void {
    this.enter()
    if (wanting.size === 0) queueMicrotask(askAll)
    wanting.add(this)
  }

  protected view(): unknown {
    const { words, count } = this
    // The server's own content stays until the count is known.
    if (count === undefined) return html`<slot></slot>`
    const text = this.getAttribute('format') === 'number' ? words.number(count) : words.text('comments', { n: count })
    return html`<span part="count" lang=${words.lang} dir=${words.dir}>${text}</span>`
  }
}

/** A thread on the same page has a newer count than the last answer. */
export const tellCount = (thread: WidgetElement, count: number): void =>
  show(thread.backend, thread.discussion, count, Infinity)

/** `askedAt` is `Infinity` for what a thread tells, which has no position. */
function show(backend: string, discussion: string, count: number, askedAt: number, position?: string): void {
  for (const element of elements) {
    if (element.backend !== backend || element.discussion !== discussion) continue
    // A shared cache may have an older answer than the stream.
    if (element.toldAt > askedAt || Number(element.position) > Number(position)) continue
    if (askedAt === Infinity) element.toldAt = performance.now()
    element.count = count
    element.position = position ? Number(position) : undefined
    followLive(element)
  }
}

/** What follows live elements, in a file of its own (`live.ts`). */
export interface Page {
  elements: ReadonlySet<EngagementCount>
  ask: typeof ask
  /** Asks for counts again, and shows them. */
  recount: (backend: string, externalIds: readonly string[]) => Promise<unknown>
}

/** `widget.ts` loads it, as it stands on this file. */
export const later = {} as { live: () => Promise<{ follow: (page: Page) => Promise<() => void> }> }

let live: Promise<() => void> | undefined

/** With `live`, a count follows its discussion, by code in a file of its own. */
export function followLive(element?: EngagementCount): void {
  if (!live && !element?.hasAttribute('live')) return
  live ??= later.live().then(({ follow }) => follow({ elements, ask, recount }))
  void live.then((change) => change()).catch(() => (live = undefined))
}

const recount = (backend: string, externalIds: Iterable<string>): Promise<unknown> =>
  Promise.all(Array.from(queries(externalIds), (query) => askCounts(backend, query)))

function askAll(): void {
  const byBackend = new Map<string, Set<string>>()
  for (const { backend, discussion } of wanting) {
    if (discussion !== '' && Array.from(discussion).length < 256)
      byBackend.set(backend, (byBackend.get(backend) ?? new Set()).add(discussion))
  }
  wanting.clear()
  for (const [backend, ids] of byBackend) void recount(backend, ids)
}

function* queries(ids: Iterable<string>): Generator<URLSearchParams> {
  let query = new URLSearchParams()
  for (const id of ids) {
    if (query.size === MAX_IDS || String(query).length > MAX_LENGTH) {
      yield query
      query = new URLSearchParams()
    }
    query.append('externalId', id)
  }
  if (query.size > 0) yield query
}

/** Without an answer, the server's own content stays. */
async function askCounts(backend: string, query: URLSearchParams): Promise<void> {
  const askedAt = performance.now()
  try {
    const { data } = await ask<Counts>(`${backend}/counts?${query}`)
    for (const { externalId, commentCount, lastEventId } of data) {
      show(backend, externalId, commentCount, askedAt, lastEventId)
    }
  } catch {
    for (const element of elements) if (element.backend === backend) return element.warn('backend')
  }
}

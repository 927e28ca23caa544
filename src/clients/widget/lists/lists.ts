// Lists of what belongs to many pages, for front pages:
// `<script type="module" src="…/lists.js">`. They need no thread, and use no templates: two scripts
// of one page could not both make the policies that those need where Trusted Types are required.
import type { ListEvents } from '../../elements/events.ts'
import { ask, baseOf, type PageComment, setAttribute } from '../backend.ts'
import { loadStrings, type Words, wordsFor } from '../words.ts'
import css from './lists.css?inline'

export { setStrings } from '../words.ts'

/** A page, as far as a list shows it. */
interface Page {
  externalId: string
  url: string | null
  title: string | null
}

const sheet = new CSSStyleSheet()
sheet.replaceSync(css)

type Child = Node | string | null

/** An element with a `part` and children; null ones are left out. */
function make(tag: string, part: string, children: readonly Child[], attributes: Record<string, string> = {}): Element {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries({ part, ...attributes })) element.setAttribute(name, value)
  element.append(...children.filter((child) => child !== null))
  return element
}

/** A link, where the page has an address that a browser may open. */
function link({ url }: Page, content: Element, hash = ''): Element {
  if (url === null || !/^https?:/i.test(url)) return content
  return make('a', 'link', [content], { href: hash === '' ? url : `${url.split('#', 1).join('')}#${hash}` })
}

const nameOf = (part: string, tag: string, { title, externalId }: Page): Element =>
  make(tag, part, [title ?? externalId], { dir: 'auto' })

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/** The text of `bodyHtml`. Whatever it leaves is shown as text. */
const textOf = (html: string): string =>
  html
    .replace(/<[^<>]*>/g, ' ')
    .replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '')
    .replace(/\s+/g, ' ')
    .trim()

/** A list that the element's attributes choose. It is loaded once, and again when they change. */
abstract class ListElement<Item> extends HTMLElement {
  /** For the warnings of the widget: a list is of no page. */
  readonly discussion = ''
  readonly #root = this.attachShadow({ mode: 'open' })
  #items: readonly Item[] | undefined
  /** The number of the current load: results of earlier ones are ignored. */
  #load = 0

  constructor() {
    super()
    this.#root.adoptedStyleSheets = [sheet]
    // The server's own content stays until there is a list.
    this.#root.append(document.createElement('slot'))
  }

  protected abstract readonly path: string
  /** The attributes that are parameters of the request. */
  protected abstract readonly parameters: readonly string[]
  protected abstract item(item: Item, words: Words): readonly Child[]

  connectedCallback(): void {
    void this.reload()
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (!this.isConnected || before === after) return
    if (name === 'lang') void this.#draw()
    else void this.reload()
  }

  /** The base path of the publisher's backend, or of the site. */
  get backend(): string {
    return baseOf(this)
  }
  set backend(value: string | null | undefined) {
    setAttribute(this, 'backend', value)
  }

  /** Loads the list again. Without an answer, what is shown stays. */
  async reload(): Promise<void> {
    const load = ++this.#load
    const query = new URLSearchParams()
    for (const name of this.parameters) if (this.hasAttribute(name)) query.set(name, this.getAttribute(name) ?? '')
    try {
      const { data } = await ask<{ data: Item[] }>(`${this.backend}${this.path}?${query}`)
      if (load !== this.#load) return
      this.#items = data
      await this.#draw()
      this.#emit('ready', { count: data.length })
    } catch (error) {
      if (load !== this.#load) return
      this.#emit('error', { error, action: 'load' })
      void import('../warnings.ts').then(({ warn }) => warn('backend', this)).catch(() => null)
    }
  }

  async #draw(): Promise<void> {
    const language = this.closest<HTMLElement>('[lang]')?.lang || navigator.language
    await loadStrings(language)
    const items = this.#items
    if (items === undefined) return
    const words = wordsFor(language)
    const { lang, dir } = words
    const rows = items.map((item) => make('li', 'item', this.item(item, words)))
    const list = rows.length === 0 ? make('p', 'empty', [words.text('empty')]) : make('ol', 'list', rows)
    list.setAttribute('lang', lang)
    list.setAttribute('dir', dir)
    this.#root.replaceChildren(list)
  }

  #emit<Name extends keyof ListEvents>(name: Name, detail: ListEvents[Name]): void {
    this.dispatchEvent(new CustomEvent(`engagement-${name}`, { detail, bubbles: true, composed: true }))
  }
}

interface Latest {
  comment: PageComment
  discussion: Page
}

/** `<engagement-latest limit>`: the newest comments of all pages. */
export class EngagementLatest extends ListElement<Latest> {
  static readonly observedAttributes = ['backend', 'site', 'service', 'limit', 'lang']
  protected readonly path = '/latest-comments'
  protected readonly parameters = ['limit']

  protected item({ comment, discussion }: Latest, words: Words): readonly Child[] {
    const { author, createdAt, bodyHtml, id } = comment
    const name = author === null ? null : make('bdi', 'author', [author.name ?? words.text('anonymous')])
    const time = make('time', 'time', [words.ago(createdAt)], { datetime: createdAt })
    return [
      make('p', 'line', [name, ' ', time]),
      link(discussion, make('span', 'text', [textOf(bodyHtml ?? '')], { dir: 'auto' }), `comment-${id}`),
      nameOf('page', 'p', discussion),
    ]
  }
}

interface Discussed {
  discussion: Page
  comments: number
}

/** `<engagement-most-discussed window limit>`: the pages with the most comments of late. */
export class EngagementMostDiscussed extends ListElement<Discussed> {
  static readonly observedAttributes = ['backend', 'site', 'service', 'limit', 'window', 'lang']
  protected readonly path = '/most-discussed'
  protected readonly parameters = ['window', 'limit']

  protected item({ discussion, comments }: Discussed, words: Words): readonly Child[] {
    const count = make('p', 'line', [words.text('comments', { n: comments })])
    return [link(discussion, nameOf('page', 'span', discussion)), count]
  }
}

// A page may load it twice, from two addresses.
if (!customElements.get('engagement-latest')) {
  customElements.define('engagement-latest', EngagementLatest)
  customElements.define('engagement-most-discussed', EngagementMostDiscussed)
}

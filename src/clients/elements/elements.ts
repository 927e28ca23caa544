// What components of frameworks know of the elements of the widget: their attributes, their events,
// and how a page that the server has rendered is taken over.
import type { ListEvents, ThreadEvents } from './events.ts'

/** A number, a text, one of some texts, or whether the attribute is there. */
type Kind = typeof NUMBER | typeof TEXT | typeof SWITCH | readonly string[]
const NUMBER = 'number'
const SWITCH = 'switch'
const TEXT = 'text'

/** An element: the file of the service that defines it, its attributes, and its events. */
interface ElementTable {
  tag: string
  file: string
  attributes: Readonly<Record<string, Kind>>
  events: readonly string[]
}

const PLACE = {
  /** The base path of your backend; `/engagement` by default. */
  backend: TEXT,
  /** The public key of a site, for a page without a backend. */
  site: TEXT,
  /** The address of the service. The widget is loaded from there. */
  service: TEXT,
  /** The language of the texts; else that of the element around it. */
  lang: TEXT,
} as const

const LIST_EVENTS = ['ready', 'error'] as const satisfies readonly (keyof ListEvents)[]

/** The elements. Attributes have the names of properties: `pageSize` is `page-size`. */
export const ELEMENTS = {
  thread: {
    tag: 'engagement-thread',
    file: 'widget.js',
    attributes: {
      ...PLACE,
      /** The external id of the page; of a site its address. */
      discussion: TEXT,
      /** Where a reader signs in. */
      signIn: TEXT,
      /** `newest` by default. */
      sort: ['newest', 'oldest', 'top'],
      /** How many comments are loaded at a time: 1 to 100, 20 by default. */
      pageSize: NUMBER,
      /** With how many replies or fewer a comment shows them at once: 0 to 3, 3 by default. */
      replies: NUMBER,
      /** Loads further comments while the reader scrolls. */
      more: ['scroll'],
      /** Else as the page is. */
      theme: ['light', 'dark', 'auto'],
      /** Loads nothing before a reader comes near. */
      loading: ['lazy'],
      /** No live events. */
      stream: ['off'],
      /** No formatting bar, and no preview. */
      formatting: ['off'],
      /** Whether a reader is signed in, as `renderThread` writes it. */
      signedIn: ['yes', 'no'],
    },
    events: ['ready', 'posted', 'reply', 'sign-in', 'error'] satisfies readonly (keyof ThreadEvents)[],
  },
  count: {
    tag: 'engagement-count',
    file: 'widget.js',
    attributes: {
      ...PLACE,
      /** The external id of the page; of a site its address. */
      discussion: TEXT,
      /** `12` in the place of `12 comments`. */
      format: ['number'],
      /** Follows the discussion while the page is open. */
      live: SWITCH,
    },
    events: [],
  },
  latest: {
    tag: 'engagement-latest',
    file: 'lists.js',
    attributes: {
      ...PLACE,
      /** 1 to 50, 10 by default. */
      limit: NUMBER,
    },
    events: LIST_EVENTS,
  },
  mostDiscussed: {
    tag: 'engagement-most-discussed',
    file: 'lists.js',
    attributes: {
      ...PLACE,
      /** 1 to 50, 10 by default. */
      limit: NUMBER,
      /** `day` (yesterday and today) by default. */
      window: ['day', 'week', 'month'],
    },
    events: LIST_EVENTS,
  },
} as const satisfies Readonly<Record<string, ElementTable>>

export type ElementName = keyof typeof ELEMENTS
type AttributesOf<Name extends ElementName> = (typeof ELEMENTS)[Name]['attributes']
type ValueOf<Of> = Of extends typeof NUMBER
  ? number
  : Of extends typeof SWITCH
    ? boolean
    : Of extends readonly (infer Value)[]
      ? Value
      : string

/** The attributes of an element, by the names of properties. */
type Attributes<Name extends ElementName> = {
  -readonly [Key in keyof AttributesOf<Name>]?: ValueOf<AttributesOf<Name>[Key]> | undefined
}

interface Details {
  thread: ThreadEvents
  /** It tells nothing. */
  count: object
  latest: ListEvents
  mostDiscussed: ListEvents
}
/** The events of an element, by name. */
export type EventsOf<Name extends ElementName> = {
  [Event in keyof Details[Name]]: CustomEvent<Details[Name][Event]>
}

/** An element of the page. */
export interface EngagementElement extends HTMLElement {
  /** Loads all again, as after a sign-in without a new page. */
  reload(): void
}

/**
 * The token of the reader who is signed in on a page of a site; null for none. Asked with true
 * after the service has refused the last one.
 */
export type Identity = (isRefused: boolean) => Token | Promise<Token>
type Token = string | null | undefined

/** Texts instead of those of the language. */
export type Texts = Readonly<Record<string, string | Partial<Record<Intl.LDMLPluralRule, string>>>>

/** The properties of `<engagement-thread>` that are no attributes. */
export interface ThreadProperties {
  /** What `renderThread` has drawn. It says which page it is, and how it is shown. */
  html?: string | undefined
  strings?: Texts | undefined
  /**
   * Who reads a page of a site. The widget asks again when this changes between null, or nothing,
   * and a function. After any other change call `reload()` of the element.
   */
  identity?: Identity | null | undefined
}

const THREAD_PROPERTIES = ['html', 'strings', 'identity'] as const satisfies readonly (keyof ThreadProperties)[]

/** What the component of an element is given, beside its events and what every element has. */
export type Properties<Name extends ElementName> = Attributes<Name> &
  (Name extends 'thread' ? ThreadProperties : unknown)

/** The properties of any element that components read by themselves. */
export type Given = ThreadProperties & { service?: string }

/** The names of `Properties`. */
export const propertiesOf = (name: ElementName): string[] => [
  ...Object.keys(ELEMENTS[name].attributes),
  ...(name === 'thread' ? THREAD_PROPERTIES : []),
]

/** Whether a server draws the page. The browser makes a shadow root of what it reads there. */
export const isServer = typeof document === 'undefined'

/** A thread that is defined. */
export interface Thread extends EngagementElement {
  strings: Texts
  setIdentity(identity: Identity | null): void
}

const hyphenated = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** The attributes of an element as HTML has them, without those that are not set. */
export function attributesOf(name: ElementName, props: object): Record<string, string> {
  const values = props as Readonly<Record<string, string | number | boolean | null | undefined>>
  const kinds: Readonly<Record<string, Kind>> = ELEMENTS[name].attributes
  const attributes: Record<string, string> = {}
  for (const [key, kind] of Object.entries(kinds)) {
    const value = values[key] ?? null
    if (value === null || (kind === SWITCH && value === false)) continue
    // Templates of Vue give '' for a switch without a value.
    attributes[hyphenated(key)] = kind === SWITCH ? '' : String(value)
  }
  return attributes
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/**
 * The attributes and the content of the element in the `html` of `renderThread`, which has no `>`
 * in its attributes. Throws a TypeError for any other text.
 */
export function readRendered(html: string): { attributes: Record<string, string>; content: string } {
  const [, start, content] =
    /^<engagement-thread((?: [a-z][a-z0-9-]*="[^"<>]*")*)>([^]*)<\/engagement-thread>$/.exec(html) ?? []
  if (start === undefined || content === undefined) throw new TypeError('html must be that of renderThread')
  const pairs = [...start.matchAll(/ ([a-z][a-z0-9-]*)="([^"]*)"/g)]
  const plain = (value = ''): string => value.replace(/&(#?\w+);/g, (entity, name: string) => ENTITIES[name] ?? entity)
  return { attributes: Object.fromEntries(pairs.map(([, key = '', value]) => [key, plain(value)])), content }
}

/** The attributes of an element, first those of `html`, and the content of `html`. */
export function draw(
  name: ElementName,
  props: ThreadProperties,
): { attributes: Record<string, string>; content: string | undefined } {
  const rendered = props.html === undefined ? undefined : readRendered(props.html)
  return { attributes: { ...rendered?.attributes, ...attributesOf(name, props) }, content: rendered?.content }
}

/** Those of this page, by their addresses. */
const scripts = new Map<string, HTMLScriptElement>()

/** How long a page without `service` may take to load the widget before the console warns. */
const OWN_SCRIPT_MS = 10_000

/** Without the widget the element stays empty: the browser's console says why. */
function warnUnlessLoaded({ tag, file }: ElementTable): () => void {
  const timer = setTimeout(() => {
    if (customElements.get(tag)) return
    console.warn(`<${tag}> stays empty: give its component \`service\`, or load ${file} in the page`)
  }, OWN_SCRIPT_MS)
  return () => clearTimeout(timer)
}

/**
 * Loads the widget from the service, once; without `service` the page does. By an element, as
 * bundlers would look for the module of an `import()`. Returns what ends its reports of a failure.
 */
export function loadFor(name: ElementName, element: Element, service: string | undefined): () => void {
  if (service === undefined) return warnUnlessLoaded(ELEMENTS[name])
  const url = `${service.replace(/(?<!\/)\/+$/, '')}/${ELEMENTS[name].file}`
  const known = scripts.get(url)
  const script = known ?? document.createElement('script')
  const tell = (error: unknown): void => {
    const init = { detail: { error, action: 'script' }, bubbles: true, composed: true }
    element.dispatchEvent(new CustomEvent('engagement-error', init))
  }
  const fail = (): void => tell(new Error(`${url} does not load`))
  script.addEventListener('error', fail)
  const stop = (): void => script.removeEventListener('error', fail)
  if (known) return stop
  // Also when all elements are gone by then: the next one tries again.
  script.addEventListener('error', () => scripts.delete(url))
  try {
    script.type = 'module'
    script.src = url
    scripts.set(url, script)
    document.head.append(script)
  } catch (error) {
    // Trusted Types are required: the page loads the widget.
    tell(error)
  }
  return stop
}

/** Calls `listener` with each event of the element. Returns what ends it. */
export function listen(name: ElementName, element: Element, listener: (event: string, of: Event) => void): () => void {
  const stop = ELEMENTS[name].events.map((event) => {
    const hear = (of: Event): void => listener(event, of)
    element.addEventListener(`engagement-${event}`, hear)
    return () => element.removeEventListener(`engagement-${event}`, hear)
  })
  return () => stop.forEach((end) => end())
}

/**
 * Calls `tell` once the widget has defined the thread. The first request of a thread waits for it
 * (`connectedCallback`).
 */
export function tellThread(element: Element, tell: (thread: Thread) => void): void {
  const { tag } = ELEMENTS.thread
  if (customElements.get(tag)) tell(element as Thread)
  else void customElements.whenDefined(tag).then(() => tell(element as Thread))
}

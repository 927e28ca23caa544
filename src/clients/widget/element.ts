import { render } from 'lit/html.js'

import type { ThreadEvents } from '../elements/events.ts'
import { baseOf, identities, type Identity, setAttribute } from './backend.ts'
import css from './widget.css?inline'
import type { Strings } from './strings/strings.ts'
import type { Warning } from './warnings.ts'
import { loadStrings, type Words, wordsFor } from './words.ts'

const sheets = new Map<string, CSSStyleSheet>()
/**
 * Created by script, which no Content-Security-Policy refuses. Shared by all elements of the page.
 */
export const sheetOf = (rules: string): CSSStyleSheet => {
  let sheet = sheets.get(rules)
  if (!sheet) {
    sheet = new CSSStyleSheet()
    sheet.replaceSync(rules)
    sheets.set(rules, sheet)
  }
  return sheet
}

/** The canonical address of the page if it is of this origin, else its own without query. */
const addressOf = (): string => {
  const { origin, pathname } = location
  const canonical = document.querySelector<HTMLLinkElement>('[rel=canonical]')?.href.split('#')[0]
  return canonical?.startsWith(`${origin}/`) ? canonical : origin + pathname
}

/**
 * The base of both elements: a shadow tree that is drawn once for simultaneous changes, attributes,
 * and texts.
 */
export abstract class WidgetElement extends HTMLElement {
  // `attachShadow` would empty what the server has drawn.
  readonly #root = this.shadowRoot ?? this.attachShadow({ mode: 'open' })
  /** Whether the server's drawing stands, until there is a better one. */
  isServed = this.#root.hasChildNodes()
  #drawn: Promise<void> | undefined
  #strings: Partial<Strings> = {}
  #words: { lang: string; own: Partial<Strings>; words: Words } | undefined

  #address = ''
  /** With `loading="lazy"`, until a reader comes near. */
  isWaiting = false
  #identity: Identity | undefined

  constructor() {
    super()
    this.#root.adoptedStyleSheets = [sheetOf(css)]
  }

  protected abstract view(): unknown

  /** Loads everything again, for the reader who is signed in now. */
  abstract reload(): void

  /**
   * Says who reads the page of a site; null for nobody. To be called again when somebody signs in
   * or out.
   */
  setIdentity(identity: Identity | null): void {
    this.#identity = identity ?? (() => null)
    if (this.isConnected && !this.isWaiting) this.reload()
  }

  /** Called before the first request, and before those for another reader or page. */
  enter(): void {
    if (this.#identity) identities.set(this.backend, this.#identity)
    if (this.hasAttribute('site')) this.#address ||= addressOf()
  }

  /** Draws the changes. Settles when they are drawn. */
  update(): Promise<void> {
    this.#drawn ??= Promise.resolve().then(() => {
      this.#drawn = undefined
      if (this.isServed) return
      const focused = this.#root.activeElement
      render(this.view(), this.#root)
      if (focused?.isConnected !== false) return
      // What had the focus is gone. An action that sends it elsewhere does so before.
      setTimeout(() => {
        if (document.activeElement === document.body)
          this.#root.querySelector<HTMLElement>('#title')?.focus({ preventScroll: true })
      })
    })
    return this.#drawn
  }

  /** The next drawing replaces the server's. */
  protected endServed(): void {
    if (this.isServed) this.#root.replaceChildren()
    this.isServed = false
  }

  /** The external id of the page; of a site's page its address. */
  get discussion(): string {
    return this.getAttribute('discussion') || this.#address
  }
  set discussion(value: string | null | undefined) {
    setAttribute(this, 'discussion', value)
  }

  /** The base path of the publisher's backend, or of the site. */
  get backend(): string {
    return baseOf(this)
  }
  set backend(value: string | null | undefined) {
    setAttribute(this, 'backend', value)
  }

  /** Texts for this element alone, instead of those of its language. */
  get strings(): Partial<Strings> {
    return this.#strings
  }
  set strings(strings: Partial<Strings>) {
    this.#strings = strings
    void this.update()
  }

  /** Its own language, or that of the enclosing page. */
  protected get language(): string {
    return this.closest<HTMLElement>('[lang]')?.lang || navigator.language
  }

  /** Loads the texts of its language. */
  async loadWords(): Promise<void> {
    await loadStrings(this.language)
    this.#words = undefined
  }

  get words(): Words {
    const lang = this.language
    if (this.#words?.lang !== lang || this.#words.own !== this.#strings) {
      this.#words = { lang, own: this.#strings, words: wordsFor(lang, this.#strings) }
    }
    return this.#words.words
  }

  /** Dispatches an event to the page. Returns whether the widget should do the default action. */
  emit<Name extends keyof ThreadEvents>(name: Name, detail: ThreadEvents[Name]): boolean {
    const init = { detail, bubbles: true, composed: true, cancelable: true }
    return this.dispatchEvent(new CustomEvent(`engagement-${name}`, init))
  }

  /** Warns the page's developer, with code in a file that other readers need not load. */
  warn(about: Warning): void {
    void import('./warnings.ts').then(({ warn }) => warn(about, this)).catch(() => null)
  }

  /**
   * Moves the focus once its target is drawn; not away from a text that is being written, unless
   * the reader has just asked for it.
   */
  async focusOn(selector: string, isAsked = false): Promise<void> {
    await this.update()
    if (isAsked || !this.isTyping) this.#root.querySelector<HTMLElement>(selector)?.focus()
  }

  /** Whether the focus is in a field that holds a text. */
  get isTyping(): boolean {
    const at = this.#root.activeElement
    return at instanceof HTMLTextAreaElement && at.value !== ''
  }
}

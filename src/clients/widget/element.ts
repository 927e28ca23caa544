import { render } from 'lit/html.js'

import css from './widget.css?inline'
import { loadStrings, type Strings, type Words, wordsFor } from './strings.ts'
import type { Warning } from './warnings.ts'

/**
 * Made by script, which no Content-Security-Policy of a page refuses. One for all elements of the
 * page.
 */
let sheet: CSSStyleSheet | undefined
const styles = (): CSSStyleSheet => {
  if (!sheet) {
    sheet = new CSSStyleSheet()
    sheet.replaceSync(css)
  }
  return sheet
}

/**
 * What both elements have: a shadow tree drawn once for all changes of a moment, attributes, and
 * texts.
 */
export abstract class WidgetElement extends HTMLElement {
  readonly #root = this.attachShadow({ mode: 'open' })
  #drawn: Promise<void> | undefined
  #strings: Partial<Strings> = {}
  #words: { lang: string; own: Partial<Strings>; words: Words } | undefined

  constructor() {
    super()
    this.#root.adoptedStyleSheets = [styles()]
  }

  protected abstract view(): unknown

  /** Draws what has changed. Settles when it stands. */
  update(): Promise<void> {
    this.#drawn ??= Promise.resolve().then(() => {
      this.#drawn = undefined
      render(this.view(), this.#root)
    })
    return this.#drawn
  }

  get discussion(): string {
    return this.getAttribute('discussion') ?? ''
  }
  set discussion(value: string) {
    this.setAttribute('discussion', value)
  }

  /** Where the publisher's backend has its paths. */
  get backend(): string {
    return (this.getAttribute('backend') ?? '/engagement').replace(/\/+$/, '')
  }
  set backend(value: string) {
    this.setAttribute('backend', value)
  }

  /** Texts of this element alone, in the place of those of its language. */
  get strings(): Partial<Strings> {
    return this.#strings
  }
  set strings(strings: Partial<Strings>) {
    this.#strings = strings
    void this.update()
  }

  /** Its own, or that of the page around it. */
  protected get language(): string {
    return this.closest<HTMLElement>('[lang]')?.lang || navigator.language
  }

  /** Brings in the texts of its language. */
  protected async loadWords(): Promise<void> {
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

  /** Tells the page. Whether it leaves to the widget what follows. */
  emit(name: string, detail: object): boolean {
    const init = { detail, bubbles: true, composed: true, cancelable: true }
    return this.dispatchEvent(new CustomEvent(`engagement-${name}`, init))
  }

  /** Tells the page's developer: in a file that other readers need not load. */
  warn(about: Warning): void {
    void import('./warnings.ts').then(({ warn }) => warn(about, this)).catch(() => null)
  }

  /** Moves the focus once what it goes to is drawn. */
  async focusOn(selector: string): Promise<void> {
    await this.update()
    this.#root.querySelector<HTMLElement>(selector)?.focus()
  }
}

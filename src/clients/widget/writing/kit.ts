import type { html } from 'lit/html.js'

import type { act, loadMore, open, write } from '../actions.ts'
import type { ask, isPassing, now } from '../backend.ts'
import type { sheetOf } from '../element.ts'
import type { en } from '../strings/strings.ts'
import type { Thread } from '../thread.ts'
import type { faceView } from '../views/actions-view.ts'
import type { button, errorView, named, nameOf, notice } from '../views/parts.ts'

/**
 * What this folder has of the rest of the widget. It is handed over, not imported: a page may load
 * `widget.js` from an address of its own choice, and an import would load it a second time.
 */
export interface Kit {
  html: typeof html
  nothing: symbol
  act: typeof act
  ask: typeof ask
  /** The English texts, to which this folder adds its own. */
  en: typeof en
  loadMore: typeof loadMore
  isPassing: typeof isPassing
  NEW: string
  /** Of the names of what is stored in the browser. */
  PREFIX: string
  button: typeof button
  errorView: typeof errorView
  faceView: typeof faceView
  named: typeof named
  nameOf: typeof nameOf
  notice: typeof notice
  now: typeof now
  open: typeof open
  sheetOf: typeof sheetOf
  write: typeof write
}

export const kit = {} as Kit

/** Adds rules to a thread, once. */
export function addStyles({ shadowRoot }: Thread, css: string): void {
  const sheet = kit.sheetOf(css)
  const adopted = shadowRoot?.adoptedStyleSheets
  if (adopted && !adopted.includes(sheet)) adopted.push(sheet)
}

// The readers' side of the service, for pages: `<script type="module" src="…/widget.js">`.
import { html, nothing } from 'lit/html.js'

import { act, loadMore, NEW, open, write } from './actions.ts'
import { ask, isPassing, now } from './backend.ts'
import { EngagementCount } from './count.ts'
import { sheetOf } from './element.ts'
import { TOP } from './state.ts'
import { en } from './strings.ts'
import { Thread, type Writing } from './thread.ts'
import { faceView } from './views/actions-view.ts'
import { button, errorView, named, nameOf, notice } from './views/parts.ts'
import { threadView } from './views/thread-view.ts'

export { setStrings } from './strings.ts'
export { EngagementCount }

const kit = {
  html,
  nothing,
  act,
  ask,
  en,
  loadMore,
  isPassing,
  NEW,
  button,
  errorView,
  faceView,
  named,
  nameOf,
  notice,
  now,
  open,
  sheetOf,
  write,
}

/** `<engagement-thread discussion backend>`: the comments of a page. */
export class EngagementThread extends Thread {
  protected view(): unknown {
    return threadView(this)
  }

  protected async readOn(): Promise<boolean> {
    const { ids, hasMore } = this.state.list(TOP)
    const { length } = ids
    if (hasMore) await loadMore(this, TOP, true)
    return ids.length > length
  }

  // A file of its own, for those who come by a comment's address.
  async reveal(id: string, isQuiet = false): Promise<boolean> {
    return (await import('./reveal.ts')).reveal(this, id, loadMore, isQuiet)
  }

  protected async loadWriting(): Promise<Writing> {
    return (await import('./writing/writing.ts')).writing(kit)
  }
}

// A page may load it twice, from two addresses.
if (!customElements.get('engagement-thread')) {
  customElements.define('engagement-thread', EngagementThread)
  customElements.define('engagement-count', EngagementCount)
}

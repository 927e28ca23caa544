// The readers' side of the service, for pages: `<script type="module" src="…/widget.js">`.
import { loadMore, openPanel } from './actions.ts'
import { EngagementCount } from './count.ts'
import type { Wish } from './storage.ts'
import { Thread } from './thread.ts'
import { threadView } from './views/thread-view.ts'

export { setStrings } from './strings.ts'
export { EngagementCount }

/** `<engagement-thread discussion backend>`: the comments of a page. */
export class EngagementThread extends Thread {
  protected view(): unknown {
    return threadView(this)
  }

  // A file of its own, which only readers who have just signed in load.
  protected resume(wish: Wish): void {
    void import('./resume.ts').then(({ resume }) => resume(this, wish, { loadMore, openPanel })).catch(() => null)
  }
}

// A page may load it twice, from two addresses.
if (!customElements.get('engagement-thread')) {
  customElements.define('engagement-thread', EngagementThread)
  customElements.define('engagement-count', EngagementCount)
}

// The readers' side of the service, for pages: `<script type="module" src="…/widget.js">`.
import { EngagementCount } from './count.ts'
import { Thread } from './thread.ts'
import { threadView } from './thread-view.ts'

export { setStrings } from './strings.ts'
export { EngagementCount }

/** `<engagement-thread discussion backend>`: the comments of a page. */
export class EngagementThread extends Thread {
  protected view(): unknown {
    return threadView(this)
  }
}

// A page may load it twice, from two addresses.
if (!customElements.get('engagement-thread')) {
  customElements.define('engagement-thread', EngagementThread)
  customElements.define('engagement-count', EngagementCount)
}

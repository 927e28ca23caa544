// The reader's side of the service, for pages: `<script type="module" src="…/widget.js">`.
import { EngagementCount } from './count.ts'
import { EngagementThread } from './thread.ts'

export { setStrings } from './strings.ts'
export { EngagementCount, EngagementThread }

// A page may load it twice, by two addresses.
if (!customElements.get('engagement-thread')) {
  customElements.define('engagement-thread', EngagementThread)
  customElements.define('engagement-count', EngagementCount)
}

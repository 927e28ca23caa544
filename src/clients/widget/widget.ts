// The readers' side of the service, for pages: `<script type="module" src="…/widget.js">`.
import { html, nothing } from 'lit/html.js'

import { act, loadMore, NEW, open, write } from './actions.ts'
import { ask, isPassing, now, type PageComment, RequestError } from './backend.ts'
import { EngagementCount, later } from './count.ts'
import { sheetOf } from './element.ts'
import { en } from './strings/strings.ts'
import { PREFIX } from './storage.ts'
import { type Live, type TakeOver, Thread, type Writing } from './thread.ts'
import { faceView } from './views/actions-view.ts'
import { button, errorView, named, nameOf, notice } from './views/parts.ts'
import { threadView } from './views/thread-view.ts'

export { setStrings } from './words.ts'
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
  PREFIX,
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

  // Files of their own: for pages that ask for it, and for those who come by a comment's address.
  protected watchEnd(isWanted: () => boolean): void {
    if (this.getAttribute('more') === 'scroll')
      void import('./scroll.ts').then(({ watchEnd }) => watchEnd(this, loadMore, isWanted)).catch(() => null)
  }

  async reveal(id: string, isQuiet = false): Promise<boolean> {
    return (await import('./reveal.ts')).reveal(this, id, loadMore, isQuiet)
  }

  showHistory(comment: PageComment): Promise<void> {
    return act(this, comment.id, 'history', async () =>
      (await import('./history/history.ts')).showHistory(this, comment, kit),
    )
  }

  protected loadTakeOver(): Promise<TakeOver> {
    return import('./take-over.ts')
  }

  protected loadLive(onError: (error: unknown) => void): Promise<Live> {
    return loadStreamClient(onError)
  }

  protected async loadWriting(): Promise<Writing> {
    const file = await import('./writing/writing.ts').catch((cause: unknown) => {
      // Where this file is of an earlier build, a reload of the page gets the present one.
      void fetch(import.meta.url, { cache: 'reload' }).catch(() => null)
      throw Object.assign(new RequestError('unloaded'), { cause })
    })
    return file.writing(kit)
  }
}

later.live = () => import('./live.ts')

// A page may load it twice, from two addresses.
if (!customElements.get('engagement-thread')) {
  customElements.define('engagement-thread', EngagementThread)
  customElements.define('engagement-count', EngagementCount)
}

/**
 * Loads the client of the stream, a file of its own, which comes while the comments do. Tries until
 * it is there: without it, comments can be read and written.
 */
async function loadStreamClient(onError: (error: unknown) => void): Promise<Live> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await import('./stream.ts')
    } catch (error) {
      onError(error)
      await new Promise((resolve) => setTimeout(resolve, 1000 * 2 ** Math.min(attempt, 5)))
    }
  }
}

import type { First, Me } from './backend.ts'
import type { Thread } from './thread.ts'

/**
 * What the server has drawn the thread from. Null if it is gone, of another page, or not that of a
 * signed-in reader. Where the page does not say who reads, the thread is loaded again for one who
 * is signed in.
 */
export function takeOver(thread: Thread, askReader: () => Promise<{ reader: Me | null }>): First | null {
  const data = thread.shadowRoot?.querySelector('script')
  data?.remove()
  const signedIn = thread.getAttribute('signed-in')
  if (!data || signedIn === 'yes') return null
  let first: First
  try {
    first = JSON.parse(data.textContent) as First
  } catch {
    // A program between the server and the browser has changed it.
    return null
  }
  if (first.discussion && first.discussion.externalId !== thread.discussion) return null
  if (signedIn !== 'no')
    void askReader()
      .then(({ reader }) => reader && thread.isConnected && thread.reload())
      .catch(() => null)
  return first
}

const FOCUSABLE = 'a,button,select,[tabindex]'
const HEADS = '.head'
const TIME = '.quiet a'

/**
 * Called before the widget draws in place of the server. The focus stays where it is. The server
 * writes dates, the widget the time since then: where that would break a line elsewhere, it takes
 * the room of the date.
 */
export function keepPlaces(thread: Thread): void {
  const root = thread.shadowRoot
  if (!root) return
  const all = <T extends HTMLElement>(selector: string): T[] => [...root.querySelectorAll<T>(selector)]
  const before = all(HEADS).map((head) => ({
    height: head.offsetHeight,
    width: head.querySelector(TIME)?.getBoundingClientRect().width,
  }))
  const focused = all(FOCUSABLE).findIndex((each) => each === root.activeElement)
  void thread.update().then(() => {
    for (const [n, head] of all(HEADS).entries()) {
      const time = head.querySelector<HTMLElement>(TIME)
      if (!time || head.offsetHeight === before[n]?.height) continue
      time.style.inlineSize = `${before[n]?.width}px`
      time.style.whiteSpace = 'nowrap'
    }
    all(FOCUSABLE)[focused]?.focus({ preventScroll: true })
  })
}

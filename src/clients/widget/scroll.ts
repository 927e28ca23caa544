import type { loadMore } from './actions.ts'
import type { Thread } from './thread.ts'

/** With `more="scroll"`: loads the next page each time that the end comes near. */
export function watchEnd(thread: Thread, more: typeof loadMore, isWanted: () => boolean): void {
  const end = thread.shadowRoot?.querySelector('.end')
  if (!end) return
  const seen = new IntersectionObserver(
    ([entry]) => {
      if (!isWanted()) seen.disconnect()
      else if (entry?.isIntersecting) void readOn()
    },
    { rootMargin: '50%' },
  )
  const readOn = async (): Promise<void> => {
    const list = thread.state.list(null)
    const { length } = list.ids
    if (list.hasMore) await more(thread, '', true)
    // After a failure, the button is left.
    if (list.ids.length === length) return
    // Observed again, it tells whether the end is still near.
    seen.unobserve(end)
    seen.observe(end)
  }
  seen.observe(end)
}

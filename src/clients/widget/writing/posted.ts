// What another tab has posted is no draft here any more.
import type { Thread } from '../thread.ts'
import { setPanel } from './fields.ts'
import { isWaiting } from './line.ts'

/** The text of a draft that was posted. */
interface Posted {
  page: string
  place: string
  text: string
}

const threads = new Set<Thread>()
const channel = openChannel()

/** A browser that lets the page store nothing may throw here. Then each tab keeps its text. */
function openChannel(): BroadcastChannel | null {
  try {
    return new BroadcastChannel('engagement-posted')
  } catch {
    return null
  }
}

/** The same for all readers: a guest's tabs may not all know yet who they are. */
const pageOf = ({ signedOut }: Thread): string => signedOut.name

channel?.addEventListener('message', ({ data }: MessageEvent<Posted>) => {
  for (const thread of threads) {
    if (!thread.isConnected) threads.delete(thread)
    else if (pageOf(thread) === data.page) hear(thread, data)
  }
})

function hear(thread: Thread, { place, text }: Posted): void {
  const { storage, panel } = thread
  // A post of this tab that is under way, or waits, clears its text itself.
  if (storage.draft(place).text === text && !thread.busy.has(place) && !isWaiting(thread, place)) {
    storage.setDraft(place, '')
    if (panel?.kind === 'reply' && panel.id === place) setPanel(thread, null)
    void thread.update()
  }
  // The comment may have begun the discussion of a site's page, and with it the stream.
  if (!thread.discussionId && thread.hasAttribute('site')) thread.reload()
}

export const hearPosts = (thread: Thread): unknown => threads.add(thread)

export const tellPost = (thread: Thread, place: string, text: string): void =>
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no origin
  channel?.postMessage({ page: pageOf(thread), place, text } satisfies Posted)

// What another tab has posted is no draft here any more.
import type { Thread } from '../thread.ts'
import { setPanel } from './fields.ts'
import { isWaiting } from './line.ts'

/** A draft that was posted. Each has a key of its own, which tabs with the same draft share. */
interface Posted {
  page: string
  place: string
  key: string
}

/** The version of the messages. Tabs with another version keep their texts. */
const PROTOCOL = 1
/** Many tabs hear of a post in the same instant. */
const SPREAD_MS = 2000

const threads = new Set<Thread>()
let channel = openChannel()

/** A browser that lets the page store nothing may throw here. Then each tab keeps its text. */
function openChannel(): BroadcastChannel | null {
  try {
    const opened = new BroadcastChannel(`engagement-posted ${PROTOCOL}`)
    opened.addEventListener('message', hear)
    return opened
  } catch {
    return null
  }
}

// An open channel keeps a page out of the browser's back/forward cache.
addEventListener('pagehide', () => {
  channel?.close()
  channel = null
})
addEventListener('pageshow', () => (channel ??= openChannel()))

/** The same for all readers: a guest's tabs may not all know yet who they are. */
const pageOf = ({ signedOut }: Thread): string => signedOut.name

/** Other scripts can use the channel as well. */
function isPosted(data: unknown): data is Posted {
  const { page, place, key } = Object(data) as Partial<Posted>
  return [page, place, key].every((part) => typeof part === 'string' && part !== '')
}

function hear({ data }: MessageEvent<unknown>): void {
  if (!isPosted(data)) return
  for (const thread of threads) {
    if (!thread.isConnected) threads.delete(thread)
    else if (pageOf(thread) === data.page) drop(thread, data)
  }
}

function drop(thread: Thread, { place, key }: Posted): void {
  const { storage, panel } = thread
  // A post of this tab that is under way, or waits, clears its text itself.
  if (storage.draft(place).key === key && !thread.busy.has(place) && !isWaiting(thread, place)) {
    storage.setDraft(place, '')
    if (panel?.kind === 'reply' && panel.id === place) setPanel(thread, null)
    void thread.update()
  }
  // The comment may have begun the discussion of a site's page, and with it the stream.
  const isNone = (): boolean => !thread.discussionId && thread.hasAttribute('site')
  if (isNone()) setTimeout(() => thread.isConnected && isNone() && thread.reload(), Math.random() * SPREAD_MS)
}

export const hearPosts = (thread: Thread): unknown => threads.add(thread)

export const tellPost = (thread: Thread, place: string, key: string): void =>
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no origin
  channel?.postMessage({ page: pageOf(thread), place, key } satisfies Posted)

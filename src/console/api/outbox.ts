/** Sends something, and says when the answer is there. It never rejects. */
type Send = () => Promise<void>

/** What waits for its time, in order. */
const waiting = new Map<Send, ReturnType<typeof setTimeout>>()

/** Calls `send` after `ms`, or earlier if the page is left. */
export function sendLater(send: Send, ms: number): void {
  waiting.set(
    send,
    setTimeout(() => void sendNow(send), ms),
  )
}

/** Takes back what still waits. Returns whether it did. */
export function takeBack(send: Send): boolean {
  clearTimeout(waiting.get(send))
  return waiting.delete(send)
}

/** Sends at once what still waits. */
export async function sendNow(send: Send): Promise<void> {
  if (takeBack(send)) await send()
}

/** What is told to the service last. */
const lastWords = new Set<Send>()

/** Has `send` called when the page is left, after what waits. Returns what ends that. */
export function beforeLeaving(send: Send): () => void {
  lastWords.add(send)
  return () => void lastWords.delete(send)
}

/** Sends at once all that waits, and the last words. */
export async function sendAll(): Promise<void> {
  await Promise.all([...[...waiting.keys()].map(sendNow), ...[...lastWords].map((send) => send())])
}

// `pagehide` is the last event of a page that is closed; a phone freezes one without closing it.
addEventListener('pagehide', () => void sendAll())
document.addEventListener('freeze', () => void sendAll())

// A post that cannot be sent waits in its field, and is sent once there is a connection.
import type { RequestError } from '../backend.ts'
import type { Storage } from '../storage.ts'
import type { Thread } from '../thread.ts'
import { kit } from './kit.ts'

interface Waiting {
  /** That of the reader who has posted. */
  storage: Storage
  send: () => Promise<void>
  timer: ReturnType<typeof setTimeout>
  /** What to do where the reader takes it back, if the service may have taken it. */
  undo: (() => void) | undefined
}

/** By their places. */
const posts = new WeakMap<Thread, Map<string, Waiting>>()

/** The browser tells of its own line alone: that the service is back is found out by trying. */
const AGAIN_MS = 10_000

/** Whether there was no answer. A proxy's error page may be a refusal that never ends. */
export const isAway = ({ code }: RequestError): boolean => code === 'network'

export const isWaiting = (thread: Thread, place: string): boolean => posts.get(thread)?.has(place) === true

/** Whether the answer to an earlier attempt was lost. */
export const isLost = (thread: Thread, place: string): boolean => posts.get(thread)?.get(place)?.undo !== undefined

export function waitForLine(
  thread: Thread,
  place: string,
  storage: Storage,
  send: () => Promise<void>,
  undo?: () => void,
): void {
  stopWaiting(thread, place)
  const timer = setTimeout(() => goOn(thread), AGAIN_MS * (0.5 + Math.random()))
  const all = posts.get(thread) ?? new Map<string, Waiting>()
  posts.set(thread, all.set(place, { storage, send, timer, undo }))
}

export function stopWaiting(thread: Thread, place: string): void {
  const all = posts.get(thread)
  clearTimeout(all?.get(place)?.timer)
  all?.delete(place)
}

/** The places of posts under way that their reader has taken back. */
const takenBack = new WeakMap<Thread, Set<string>>()

const takenBackOf = (thread: Thread): Set<string> => {
  const known = takenBack.get(thread) ?? new Set<string>()
  takenBack.set(thread, known)
  return known
}

/** The reader does not want to post this any more. It may be under way. */
export function takeBack(thread: Thread, place: string): void {
  const undo = posts.get(thread)?.get(place)?.undo
  stopWaiting(thread, place)
  if (thread.busy.has(place)) takenBackOf(thread).add(place)
  else undo?.()
}

export const isTakenBack = (thread: Thread, place: string): boolean => takenBackOf(thread).has(place)
/** A further post at this place. */
export const beginPost = (thread: Thread, place: string): unknown => takenBackOf(thread).delete(place)

/** Sends what waits. Another reader who has signed in meanwhile sends nothing of it. */
export function goOn(thread: Thread): void {
  if (thread.isOffline) return
  for (const [place, { storage, send }] of posts.get(thread) ?? []) {
    if (thread.storage === storage) void send()
    else stopWaiting(thread, place)
  }
}

/** Whether another reader has signed in, in another tab: what waits would be sent as theirs. */
export async function isOtherReader({ pages, me }: Thread): Promise<boolean> {
  const { reader } = await pages.me()
  return reader !== null && reader.id !== me?.id
}

/** What becomes of a text that waits. That the reader is offline stands above the comments. */
export function lineView(thread: Thread, place: string): unknown {
  const { words, isOffline } = thread
  if (!isWaiting(thread, place)) return kit.nothing
  const waits = words.text('waits')
  return kit.errorView(isOffline ? waits : `${words.text('away')} ${waits}`)
}

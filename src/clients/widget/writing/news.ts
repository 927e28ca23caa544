import type { StreamEvent } from '../../browser/stream.ts'
import type { PageComment } from '../backend.ts'
import type { Thread } from '../thread.ts'
import { recountOf } from './bell.ts'

/** How many of a reader's comments that wait are asked for each minute. */
const MOST_ASKED = 5

/** Asks what has become of the reader's own comment. The stream tells everyone the same. */
async function learn(thread: Thread, { id }: PageComment): Promise<void> {
  const { state, pages } = thread
  const news = await pages.comment(id).catch(() => null)
  const known = state.comments.get(id)
  if (!news || !known || known.revision > news.revision) return
  const { status, decision } = news
  if (status !== known.status) {
    // The message may say that it waits.
    thread.status = ''
    recountOf(thread)
  }
  if (status === 'approved') state.add(news)
  else state.comments.set(id, { ...known, status, decision })
  void thread.update()
}

/** A moderator has done something with the reader's own comment. */
export function hearOfOwn(thread: Thread, { actor }: StreamEvent, known: PageComment | undefined): void {
  if (known && actor.kind !== 'reader' && thread.isOwn(known)) void learn(thread, known)
}

/** No event says that a comment was rejected which nobody else has seen. */
export function lookAtPending(thread: Thread): void {
  const waiting = [...thread.state.comments.values()].filter(({ status }) => status === 'pending')
  for (const comment of waiting.slice(-MOST_ASKED)) void learn(thread, comment)
}
